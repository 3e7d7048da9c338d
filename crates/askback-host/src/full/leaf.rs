//! Connects the screen to a terminal.

use std::{
    io::{self, Write},
    pin::Pin,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    task::{Context, Poll, ready},
    time::Duration,
};

use askback::witness::Renderer;
use base64::{Engine, engine::general_purpose::STANDARD};
use crossterm::{
    event::{
        DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, Event,
        EventStream,
    },
    execute,
    terminal::{disable_raw_mode, enable_raw_mode},
};
use futures_core::Stream as _;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

use super::{
    key::Key,
    region::Region,
    screen::{Screen, Size},
};
use crate::{
    browser,
    host::waited,
    leaf::{Did, Leaf, LinkOpening},
    model::{Call, Cause, Conversation, Desk, EventOutcome, link},
    page::{Look, Page, Rows, Style, out},
    settling::{Pause, Settling},
    signals,
    text::{Words, given},
    view::Reader,
    words,
};

/// The silence after which the screen says what the program waits for.
const SILENT: Duration = Duration::from_secs(1);

/// How long the size must stay the same before the question is drawn again. While a window is being
/// resized, each drawn frame would be wrapped and pushed into the scrollback.
const SAME_SIZE: Duration = Duration::from_millis(60);

/// The row of the cursor below the scrollback, plus one, so that other code can erase the region; 0
/// if nothing is drawn.
static ROW: AtomicUsize = AtomicUsize::new(0);

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// A terminal that shows a whole form at once.
///
/// The terminal is restored on drop and after a panic.
pub struct Full {
    screen: Screen,
    region: Region,
    page: Page,
    keys: Keys,
    attention: Attention,
    size: Size,
    resizing: Pause,
    styled: bool,
    prompt: Option<Words>,
    settling: Settling,
    /// When Tab takes the suggestion on the screen, if it does not yet.
    suggested: Pause,
    /// When the screen says what the program waits for.
    waited: Pause,
    is_waiting: bool,
    waited_for: Duration,
    out: Box<dyn Write + Send>,
}

impl Full {
    /// Takes the terminal; must be called within the runtime. Shows at most `shown` characters of a
    /// server's text about a question.
    /// Fails if the terminal cannot be switched to raw mode.
    pub fn new(shown: usize) -> io::Result<Self> {
        signals::restore_after_panic();
        take()?;
        let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
        Ok(Self {
            screen: Screen::new(shown, Reader::here()),
            region: Region::new(rewraps()),
            page: out::stderr_page(),
            keys: Keys::new(),
            attention: Attention::new(),
            size: size(columns, rows),
            resizing: Pause::default(),
            styled: Look::of_stderr().styled,
            prompt: None,
            settling: Settling::default(),
            suggested: Pause::default(),
            waited: Pause::of(SILENT),
            is_waiting: false,
            waited_for: Duration::ZERO,
            out: out::stderr(),
        })
    }

    /// Copies a text to the user's clipboard with OSC 52, even over SSH, if the terminal supports
    /// it.
    fn copy(&mut self, text: &str) {
        let encoded = STANDARD.encode(text);
        self.write(&format!("\x1b]52;c;{encoded}\x1b\\"));
    }

    /// Restores the terminal and stops this process until the shell continues it.
    #[cfg(unix)]
    fn suspend(&mut self) {
        use rustix::process::{self, getpid, kill_process};
        let leave = self.left();
        self.write(&leave);
        restore();
        // The system does not stop a process that no shell could continue.
        let _ = kill_process(getpid(), process::Signal::TSTP);
        // Fails only if the terminal was closed.
        let _ = take();
        if let Ok((columns, rows)) = crossterm::terminal::size() {
            self.size = size(columns, rows);
        }
    }

    /// Erases the region until the terminal keeps this size for a moment.
    fn resize(&mut self, size: Size) {
        self.size = size;
        ROW.store(1, Ordering::Relaxed);
        self.resizing = Pause::of(SAME_SIZE);
        let gone = self.region.resized(size.columns);
        self.write(&gone);
    }

    fn left(&mut self) -> String {
        ROW.store(0, Ordering::Relaxed);
        self.region.leave()
    }

    fn write(&mut self, text: &str) {
        // If writing fails, no user sees the terminal.
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    fn write_rows(&mut self, rows: &Rows) {
        self.write(&rows.to_string().replace('\n', "\r\n"));
    }
}

impl Leaf for Full {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        let desk = talk.seen();
        let is_same = self.resizing.poll_over(context).is_ready();
        let is_settled = self.suggested.poll_over(context).is_ready();
        if is_same || is_settled || self.settling.poll_over(context).is_ready() {
            return Poll::Ready(Did::Action(Vec::new()));
        }
        if let (None, Some(prompt)) = (desk.front(), &self.prompt)
            && let Some(did) = self.screen.take_entered(prompt, &mut self.page)
        {
            return Poll::Ready(did);
        }
        if let Some(said) = self.screen.begun(desk) {
            return Poll::Ready(Did::Action(vec![said]));
        }
        let event = match self.keys.poll_next(context) {
            Poll::Ready(Some(event)) => event,
            // The terminal is closed. A task's question stays open, because the task may outlive
            // this process and ask the next client. Any other question is cancelled, which ends its
            // call.
            Poll::Ready(None) if self.keys.is_closed() && asks_for_task(desk) => {
                return Poll::Pending;
            }
            Poll::Ready(None) if desk.front().is_some() => return Poll::Ready(Did::End),
            Poll::Ready(None) if self.prompt.is_some() && !self.keys.is_closed() => {
                return Poll::Ready(Did::End);
            }
            Poll::Ready(None) => return Poll::Pending,
            Poll::Pending => {
                let is_idle = desk.front().is_none() && self.prompt.is_none();
                if is_idle && self.waited.poll_over(context).is_ready() {
                    self.is_waiting = true;
                    self.waited_for = self.waited_for.saturating_add(SILENT);
                    self.waited = Pause::of(SILENT);
                    return Poll::Ready(Did::Action(Vec::new()));
                }
                return Poll::Pending;
            }
        };
        if let Event::Resize(columns, rows) = event {
            // The size may have changed since the event.
            let (columns, rows) = crossterm::terminal::size().unwrap_or((columns, rows));
            self.resize(size(columns, rows));
            return Poll::Ready(Did::Action(Vec::new()));
        }
        self.attention.turn(&event);
        let Some(key) = Key::read(event) else {
            return Poll::Ready(Did::Action(Vec::new()));
        };
        #[cfg(unix)]
        if key == Key::Ctrl('z') {
            self.suspend();
            return Poll::Ready(Did::Action(Vec::new()));
        }
        if !is_for_what_is_shown(&mut self.settling, desk, &key) {
            return Poll::Ready(Did::Action(Vec::new()));
        }
        let did = self
            .screen
            .press(talk, self.prompt.as_ref(), &key, &mut self.page);
        if let Some(link) = self.screen.take_copied() {
            self.copy(&link);
        }
        Poll::Ready(did)
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        self.screen.happened(desk, happened, &mut self.page);
        let is_step = self.settling.happened(desk, happened.cause);
        if is_step && desk.front().is_some_and(|front| front.step.is_reviewed()) {
            self.settling.blink();
        }
        let front = desk.front().map(|front| front.id);
        let is_new = front.is_some() && front != happened.before.map(|(id, _)| id);
        if is_new && happened.cause == Cause::Server {
            let words = words!("{} asks", given(&desk.asker().name).short());
            let call = self.attention.call(&words);
            self.write(&call);
        }
    }

    fn open(&mut self, url: &str) -> LinkOpening {
        let Err(error) = browser::open(url) else {
            return LinkOpening::Started;
        };
        let page = &mut self.page;
        error.put(page);
        if let Ok(link) = link::judge(url) {
            page.say(Style::Plain, "Open it yourself, up to the next empty line:");
            page.link_alone(&link);
            page.blank();
        }
        LinkOpening::Failed
    }

    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>) {
        let desk = talk.seen();
        self.settling.show(desk, self.screen.has_begun());
        let is_idle = desk.front().is_none() && prompt.is_none() && talk.waits_for_server();
        if !is_idle || self.prompt.is_some() {
            self.is_waiting = false;
            self.waited_for = Duration::ZERO;
            self.waited = Pause::of(SILENT);
        }
        self.prompt = prompt.cloned();
        if self.resizing.goes_on() {
            return;
        }
        let waiting = waited(desk, self.waited_for);
        let waiting = self.is_waiting.then_some(&waiting);
        let frame = self.screen.frame(
            talk,
            prompt,
            waiting,
            self.size,
            self.styled,
            self.settling.goes_on(),
        );
        let settles_after = self.screen.settles_after();
        self.suggested = settles_after.map(Pause::of).unwrap_or_default();
        let above = self.page.take();
        let text = self.region.draw(&above, &frame, self.styled);
        ROW.store(self.region.row().saturating_add(1), Ordering::Relaxed);
        self.write(&text);
    }

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn print(&mut self, rows: Rows) -> Result<(), out::Unwritten> {
        if !out::is_seen() {
            return out::print(&rows);
        }
        let above = self.page.take();
        let text = self.left();
        self.write(&text);
        for rows in [above, rows] {
            self.write_rows(&rows);
        }
        Ok(())
    }

    fn shows_offers(&self) -> bool {
        true
    }

    fn shows_waiting(&self) -> bool {
        true
    }

    fn renderer(&self) -> Renderer {
        Renderer::Terminal
    }

    fn is_person(&self) -> bool {
        true
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        if !IS_TAKEN.load(Ordering::Relaxed) {
            // The terminal was restored by a panic, whose message is where the region was.
            return;
        }
        let text = self.left();
        self.write(&text);
        restore();
    }
}

fn size(columns: u16, rows: u16) -> Size {
    // Some terminals report a size of 0.
    let or = |said: u16, usual: usize| if said == 0 { usual } else { said.into() };
    Size {
        columns: or(columns, 80),
        rows: or(rows, 24),
    }
}

/// Whether the terminal wraps existing rows when it becomes narrower. Most do; so does tmux.
fn rewraps() -> bool {
    if std::env::var_os("TMUX").is_some() {
        return true;
    }
    let is_old = |term: std::ffi::OsString| {
        let term = term.to_string_lossy().into_owned();
        term.starts_with("linux") || term.starts_with("vt")
    };
    std::env::var_os("XTERM_VERSION").is_none() && !std::env::var_os("TERM").is_some_and(is_old)
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::Relaxed);
    execute!(out::stderr(), EnableBracketedPaste, EnableFocusChange)
}

/// Restores the terminal if this program has it.
pub(crate) fn leave() {
    if IS_TAKEN.load(Ordering::Relaxed) {
        restore();
    }
}

/// Restores the terminal and erases the rows below the scrollback.
fn restore() {
    IS_TAKEN.store(false, Ordering::Relaxed);
    let mut out = out::stderr();
    if let Some(row) = ROW.swap(0, Ordering::Relaxed).checked_sub(1) {
        let _ = out.write_all(Region::leave_from(row).as_bytes());
    }
    let _ = execute!(
        out,
        DisableBracketedPaste,
        DisableFocusChange,
        crossterm::cursor::Show
    );
    let _ = disable_raw_mode();
}

/// Whether a key was meant for the current question or line. A rejected key may be followed by more
/// of the same input.
fn is_for_what_is_shown(settling: &mut Settling, desk: &Desk, key: &Key) -> bool {
    let is_for_another = match (desk.front(), key) {
        (Some(_), key) => settling.is_unseen(desk) && !key.leaves(),
        // A function key that shows something at a question would run a command here.
        (None, key) if settling.is_for_what_is_gone() => !matches!(key, Key::Esc | Key::Ctrl('c')),
        (None, Key::Enter | Key::Ctrl('d')) => settling.follows(),
        (None, _) => {
            // Further typing shows that the user has seen the line.
            settling.end();
            false
        }
    };
    if is_for_another {
        settling.pressed();
    }
    !is_for_another
}

fn asks_for_task(desk: &Desk) -> bool {
    let call = desk.front().and_then(|front| front.question.call.as_ref());
    matches!(call, Some(Call::Task { .. }))
}

/// After this long without a key, the user counts as away from the terminal.
const AWAY: Duration = Duration::from_secs(20);

/// Whether the user is looking, as far as the terminal reports it.
struct Attention {
    /// Whether the window has the focus; `None` until the terminal reports it.
    is_here: Option<bool>,
    pressed: Instant,
}

impl Attention {
    fn new() -> Self {
        Self {
            is_here: None,
            pressed: Instant::now(),
        }
    }

    fn turn(&mut self, event: &Event) {
        match event {
            Event::FocusGained => self.is_here = Some(true),
            Event::FocusLost => self.is_here = Some(false),
            Event::Key(_) | Event::Paste(_) => self.pressed = Instant::now(),
            _ => {}
        }
    }

    /// Returns codes that call an absent user: a bell, and a desktop notification if the window is
    /// known to have lost the focus.
    fn call(&self, words: &Words) -> String {
        match self.is_here {
            Some(true) => String::new(),
            Some(false) => format!("\x07\x1b]9;{}\x1b\\", words.as_str()),
            None if self.pressed.elapsed() > AWAY => "\x07".to_owned(),
            None => String::new(),
        }
    }
}

struct Keys {
    events: EventStream,
    /// SIGHUP reports a closed window; reading does not.
    #[cfg(unix)]
    closed: Option<Signal>,
    is_closed: bool,
}

impl Keys {
    fn new() -> Self {
        Self {
            events: EventStream::new(),
            #[cfg(unix)]
            closed: signal(SignalKind::hangup()).ok(),
            is_closed: false,
        }
    }

    /// Returns the next event, or `None` if the terminal is gone.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        #[cfg(unix)]
        if let Some(closed) = &mut self.closed {
            let is_closed = self.is_closed || closed.poll_recv(context).is_ready();
            if is_closed && !self.is_closed {
                // A program that was started with `nohup` has no use for a terminal that is gone either.
                tokio::spawn(signals::close());
            }
            self.is_closed = is_closed;
        }
        if self.is_closed {
            return Poll::Ready(None);
        }
        let next = ready!(Pin::new(&mut self.events).poll_next(context));
        Poll::Ready(next.and_then(Result::ok))
    }

    /// Whether the window was closed. The process will end soon.
    fn is_closed(&self) -> bool {
        self.is_closed
    }
}
