use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};

use askama::Template;
use askback::{limits::Limits, witness::Renderer};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::Instant,
};

use super::{
    LOG_LINES, PACE, TABS,
    bench::{self, BenchState},
    form,
    html::Html,
    question,
    serve::{self, WebService},
    snapshot::{BENCH, LOG, QUESTION, RESULTS, SERVERS, Shared, Submission},
    visit::{Visit, random},
};
use crate::{
    browser,
    content::CallOutcome,
    leaf::{Did, Leaf, LinkOpening},
    model::{Call, Conversation, Desk, Effect, EventOutcome, Step},
    page::{Look, Page, Rows, out::Unwritten},
    question::{answered, notice},
    server_id::ServerId,
    settling::{Pause, Settling},
    tasks::Tasks,
    text::{Words, given},
    view::{Reader, view},
    wire::SharedWire,
    words,
};

/// The log's layout. The browser wraps it again.
const LOOK: Look = Look {
    columns: 100,
    styled: false,
};

/// The question shown, its turn, and its number of fields. A form drawn for anything else is
/// rejected.
type Shown = (ServerId, u64, u64, usize);

/// A page in a browser on this machine. It needs no terminal.
pub struct WebPage {
    shared: Arc<Shared>,
    submissions: mpsc::Receiver<Submission>,
    shown: Option<Shown>,
    settling: Settling,
    taken: Vec<oneshot::Sender<()>>,
    /// Commands that are running.
    running: Vec<oneshot::Sender<()>>,
    /// Whether a command could be run when the page was last rendered.
    is_idle: bool,
    page: Page,
    log: VecDeque<String>,
    /// Whether the log has rows that were not rendered.
    has_logged: bool,
    /// Whether there is a result that was not rendered.
    has_result: bool,
    /// Whether there is a result, or something happened to a question, since the page was rendered.
    has_happened: bool,
    /// When the page was last rendered.
    rendered: Option<Instant>,
    /// When changes that were not rendered are due.
    due: Pause,
    serving: JoinHandle<()>,
    /// When a question last opened the browser. `None` if questions do not open it.
    opened: Option<Instant>,
}

#[derive(Template)]
#[template(path = "web/idle.html")]
struct IdlePart;

#[derive(Template)]
#[template(path = "web/log.html")]
struct LogPart<'a> {
    rows: &'a VecDeque<String>,
}

impl WebPage {
    /// Serves a page on a free port of 127.0.0.1. Must be called within the runtime.
    /// Fails if no port is available, or the system has no random numbers.
    pub fn start(limits: &Limits) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        let visit = Visit::new(address.port())?;
        let (said, submissions) = mpsc::channel(TABS);
        let shared = Arc::new(Shared::new(address, visit, said)?);
        let serving = serve::serve(
            listener,
            WebService::new(Arc::clone(&shared)),
            limits.clone(),
        );
        Ok(Self {
            shared,
            submissions,
            shown: None,
            settling: Settling::default(),
            taken: Vec::new(),
            running: Vec::new(),
            is_idle: false,
            page: Page::new(LOOK),
            log: VecDeque::new(),
            has_logged: false,
            has_result: false,
            has_happened: false,
            rendered: None,
            due: Pause::default(),
            serving: tokio::spawn(serving),
            opened: None,
        })
    }

    /// Makes a question open the browser if no browser shows the page, at most once a minute.
    pub fn open_for_questions(&mut self) {
        self.opened = Some(Instant::now());
    }

    /// Whether a browser shows the page. A browser without JavaScript does not count.
    pub fn is_open(&self) -> watch::Receiver<bool> {
        self.shared.is_open.subscribe()
    }

    /// Opens the browser if none shows the page.
    fn reopen(&mut self) {
        let is_due = self
            .opened
            .is_some_and(|last| last.elapsed() >= OPENING_PAUSE);
        if !is_due || *self.shared.is_open.borrow() {
            return;
        }
        self.opened = Some(Instant::now());
        // The question waits for another front end if this fails.
        if self.shared.visit.renew().is_ok() {
            let _ = self.open_browser();
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Returns the link that lets one browser in, or `None` if it was used.
    pub fn link(&self) -> Option<String> {
        self.shared.visit.link()
    }

    /// Opens the page in the system's browser.
    /// Fails if no browser could be started. The message says how to open the page.
    pub fn open_browser(&self) -> Result<(), Words> {
        let Some(link) = self.link() else {
            return Ok(());
        };
        let opened = browser::open_by_file(&link);
        opened.map_err(|_| {
            words!(
                "Open the page in a browser of this machine, within 10 minutes and once: {}",
                given(&link)
            )
        })
    }

    fn is_for(&self, submission: &Submission) -> bool {
        self.shown.is_some() && submission.form.has_token(&self.shared.snapshot().token)
    }

    fn log(&mut self, rows: &Rows) {
        let rows = rows.to_string();
        self.has_logged |= !rows.is_empty();
        self.log.extend(rows.lines().map(str::to_owned));
        let surplus = self.log.len().saturating_sub(LOG_LINES);
        self.log.drain(..surplus);
    }
}

impl Leaf for WebPage {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        if self.due.poll_over(context).is_ready() {
            // Only redraw.
            return Poll::Ready(Did::Action(Vec::new()));
        }
        loop {
            let Some(submission) = ready!(self.submissions.poll_recv(context)) else {
                return Poll::Pending;
            };
            let desk = talk.seen();
            let front = desk.front();
            if submission.is_command {
                let is_idle = self.shared.snapshot().is_idle && front.is_none();
                let Some(did) = submission.form.command(is_idle) else {
                    continue;
                };
                self.running.push(submission.taken);
                return Poll::Ready(did);
            }
            let Some(front) = front else { continue };
            // The question may have changed since the page was drawn.
            if !self.is_for(&submission) || shown(talk) != self.shown {
                continue;
            }
            let reader = Reader {
                is_elsewhere: false,
                reveals: true,
            };
            let view = view(desk.asker(), &front, reader);
            self.taken.push(submission.taken);
            return Poll::Ready(Did::Action(form::actions(&view, &submission.form)));
        }
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        self.has_happened = true;
        self.settling.happened(desk, happened.cause);
        for effect in &happened.effects {
            match effect {
                Effect::Tell(it) => notice(&mut self.page, desk.asker(), it),
                Effect::Answer(id, reply) if happened.before == Some((*id, false)) => {
                    answered(&mut self.page, desk.asker(), reply, happened.is_link);
                }
                _ => {}
            }
        }
    }

    /// Opens no browser: the page shows the link itself.
    fn open(&mut self, _: &str) -> LinkOpening {
        LinkOpening::Shown
    }

    fn result(&mut self, _: &Desk, call: &Call, outcome: &CallOutcome) {
        self.shared.snapshot().results.add(call, outcome);
        self.has_result = true;
        self.has_happened = true;
    }

    fn wire(&mut self, id: ServerId, wire: &SharedWire) {
        self.shared.wires().insert(id, wire.clone());
    }

    fn tasks(&mut self, tasks: &Tasks) {
        self.shared.tasks.get_or_init(|| tasks.clone());
    }

    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>) {
        let told = self.page.take();
        self.log(&told);
        let now = shown(talk);
        let desk = talk.seen();
        let front = desk.front();
        let is_new = now != self.shown;
        let is_idle = prompt.is_some() && front.is_none();
        // A command is done when the next one can be run, or when it asks a question.
        if prompt.is_some() || front.is_some() {
            self.taken.append(&mut self.running);
        }
        let has_happened = std::mem::take(&mut self.has_happened);
        let is_urgent = is_new || has_happened || !self.taken.is_empty() || is_idle != self.is_idle;
        let next = self.rendered.and_then(|last| last.checked_add(PACE));
        if let Some(next) = next.filter(|next| !is_urgent && Instant::now() < *next) {
            // A server that sends thousands of events is rendered a few times a second.
            if !self.due.goes_on() {
                self.due = Pause::of(next.saturating_duration_since(Instant::now()));
            }
            return;
        }
        self.due = Pause::default();
        self.rendered = Some(Instant::now());
        let id = |shown: Option<Shown>| shown.map(|(server, id, ..)| (server, id));
        let is_other = id(now) != id(self.shown);
        self.shown = now;
        self.is_idle = is_idle;
        let mut snapshot = self.shared.snapshot();
        if is_other {
            snapshot.drawn = None;
        }
        let mut has_changed = snapshot.server != talk.seen_id();
        snapshot.server = talk.seen_id();
        if is_new {
            // Without a random token, no form is accepted.
            snapshot.token = random().unwrap_or_default();
            self.settling.show(desk, false);
            snapshot.is_news = front.is_some() && self.settling.goes_on();
            snapshot.seen = None;
        }
        let html = match &front {
            Some(front) => {
                let view = view(desk.asker(), front, Reader::default());
                let begun = match front.step {
                    Step::Write(sampling) => sampling.so_far.as_str(),
                    Step::Rewrite(_, _, text) => text,
                    _ => "",
                };
                let say = format!("{}say", self.shared.visit.path());
                let (token, is_news) = (&snapshot.token, snapshot.is_news);
                question::question(&view, begun, front.suggests(), token, is_news, say)
            }
            None => Html::of(&IdlePart),
        };
        has_changed |= snapshot.put(QUESTION, html);
        if std::mem::take(&mut self.has_logged) {
            has_changed |= snapshot.put(LOG, Html::of(&LogPart { rows: &self.log }));
        }
        snapshot.is_idle = is_idle;
        let visit = self.shared.visit.path();
        if std::mem::take(&mut self.has_result) {
            let results = snapshot.results.html(&visit);
            has_changed |= snapshot.put(RESULTS, results);
        }
        let state = BenchState {
            token: &self.shared.command_token,
            visit: &visit,
            is_idle,
        };
        has_changed |= snapshot.put(SERVERS, bench::servers(talk, state));
        has_changed |= snapshot.put(BENCH, bench::bench(talk, state));
        let waiting = front.map_or(0, |front| {
            front.total.saturating_sub(front.position).saturating_add(1)
        });
        let title = match waiting {
            0 => "askback".to_owned(),
            waiting => format!("({waiting}) askback"),
        };
        has_changed |= snapshot.title != title;
        snapshot.title = title;
        drop(snapshot);
        if has_changed {
            self.shared
                .changes
                .send_modify(|changes| *changes = changes.wrapping_add(1));
        }
        if waiting > 0 {
            self.reopen();
        }
        if is_new {
            self.shared.questions.send_replace(());
        }
        for taken in self.taken.drain(..) {
            // The browser may have disconnected.
            let _ = taken.send(());
        }
    }

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        let told = self.page.take();
        self.log(&told);
        self.log(&rows);
        Ok(())
    }

    fn shows_offers(&self) -> bool {
        true
    }

    fn renderer(&self) -> Renderer {
        Renderer::Page
    }

    fn drawn(&self) -> Option<SystemTime> {
        self.shared.snapshot().drawn
    }

    fn is_person(&self) -> bool {
        true
    }
}

impl Drop for WebPage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn shown(talk: &Conversation) -> Option<Shown> {
    let front = talk.seen().front()?;
    let fields = match front.step {
        Step::Secret(draft) | Step::Filling(draft) | Step::Review(draft) => draft.fields().len(),
        _ => 0,
    };
    Some((talk.seen_id(), front.id, front.turn, fields))
}

/// The minimum time between two openings of the browser. A browser without JavaScript does not report that it shows
/// the page, so each question would open another tab.
const OPENING_PAUSE: Duration = Duration::from_secs(60);
