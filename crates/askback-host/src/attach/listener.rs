//! The board's side: a socket and its connections.

use std::{
    collections::{BTreeMap, hash_map::RandomState},
    fs::File,
    hash::{BuildHasher, Hasher},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback::{
    Error, Result,
    bridge::{Answers, Withdrawal, WithdrawalReason},
    client::HostQuestion,
    internal::future::BoxFuture,
    limits::Limits,
    protocol::{AnswerSource, ClientCapabilities, ElicitResult, InputRequest, InputResponse},
};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};

use super::{
    board::{Effect, End, Notice, Questions},
    connection::{self, MAX_LINE_BYTES, Reader, Writer},
    folder,
    line::{
        self, AskedLine, BoardHello, BoardLine, FrontEndLine, MAX_TYPED_BYTES, TypedFields, VERSION,
    },
};
use crate::{ending::QuestionEnd, model::Asker, text::given, words};

/// Options for [`Board::open`].
#[derive(Debug, Clone)]
pub struct BoardOptions {
    /// The server that asks, as the user knows it. Its own claims are sent with each question.
    pub server: Asker,
    /// Identifies the server for [receipts](crate::receipts), which the front end that draws a question signs. Without
    /// it, nothing is signed.
    pub identity: Option<String>,
    /// How long a question waits for a reply.
    pub keep: Duration,
    /// The limits for lines.
    pub limits: Limits,
    /// The folder of the socket, instead of the user's.
    pub folder: Option<PathBuf>,
}

impl BoardOptions {
    /// Options for a server: 15 minutes.
    pub fn new(server: Asker) -> Self {
        Self {
            server,
            identity: None,
            keep: Duration::from_secs(15 * 60),
            limits: Limits::default(),
            folder: None,
        }
    }
}

/// Answers questions through its user's front ends. Clones share one board.
#[derive(Clone)]
pub struct Board(Arc<OpenBoard>);

struct OpenBoard {
    shared: Arc<Shared>,
    socket: PathBuf,
    listening: JoinHandle<()>,
    _lock: File,
}

struct Shared {
    state: Mutex<State>,
    hello: BoardHello,
    began: Instant,
    /// Notified when the next deadline may have changed.
    changed: Notify,
    notify: Box<dyn Fn(Notice) + Send + Sync>,
}

struct State {
    questions: Questions,
    waiting: BTreeMap<u64, WaitingQuestion>,
    writers: BTreeMap<u64, Writer>,
    next_front_end: u64,
}

/// An answer, or the reason for a refusal.
type Response = Result<InputResponse, String>;

struct WaitingQuestion {
    question: HostQuestion,
    /// The first reply, until it is passed on.
    response: Option<Response>,
    reply: oneshot::Sender<Response>,
}

fn every_kind() -> ClientCapabilities {
    let mut all = ClientCapabilities::default();
    let elicitation = all.elicitation.get_or_insert_default();
    elicitation.form.get_or_insert_default();
    elicitation.url.get_or_insert_default();
    all.sampling.get_or_insert_default();
    all.roots.get_or_insert_default();
    all
}

/// How long a front end may take to send its first line.
const HELLO: Duration = Duration::from_secs(10);

impl Board {
    /// Listens for front ends; must be called within the runtime. `notify` receives the events for
    /// the owner and must not block.
    ///
    /// # Errors
    ///
    /// If the folder does not belong to the user, or the socket cannot be created.
    pub fn open(
        options: BoardOptions,
        notify: impl Fn(Notice) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let folder = folder::given(options.folder)?;
        let random = RandomState::new().build_hasher().finish();
        let socket = folder.join(format!("{}-{random:016x}.sock", std::process::id()));
        let lock = folder::open_lock(&socket)?;
        lock.try_lock()?;
        let listener = UnixListener::bind(&socket)?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                questions: Questions::new(options.keep),
                waiting: BTreeMap::new(),
                writers: BTreeMap::new(),
                next_front_end: 0,
            }),
            hello: BoardHello {
                version: VERSION,
                name: words!("{}", given(options.server.name)),
                reached: options.server.reached,
                identity: options.identity,
            },
            began: Instant::now(),
            changed: Notify::new(),
            notify: Box::new(notify),
        });
        let listening = tokio::spawn(listen(listener, Arc::clone(&shared)));
        Ok(Self(Arc::new(OpenBoard {
            shared,
            socket,
            listening,
            _lock: lock,
        })))
    }

    /// The path of the socket.
    pub fn socket(&self) -> &Path {
        &self.0.socket
    }
}

impl Answers for Board {
    fn capabilities(&self) -> ClientCapabilities {
        every_kind()
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>> {
        self.answer_unless(question, Withdrawal::default())
    }

    fn answer_unless(
        &self,
        question: HostQuestion,
        withdrawal: Withdrawal,
    ) -> BoxFuture<'_, Result<InputResponse>> {
        let shared = &self.0.shared;
        Box::pin(async move {
            let request = question.request.clone();
            let Some((id, reply)) = shared.ask(question) else {
                return not_asked(&request);
            };
            let _withdrawing = Withdrawing {
                id,
                shared,
                withdrawal,
            };
            match reply.await {
                Ok(response) => response.map_err(Error::not_done),
                Err(_) => not_asked(&request),
            }
        })
    }
}

fn not_asked(request: &InputRequest) -> Result<InputResponse> {
    match request {
        InputRequest::Elicit(_) => {
            let declined = ElicitResult::decline().answered_by(AnswerSource::Client);
            Ok(InputResponse::Elicit(declined))
        }
        _ => Err(Error::not_done("nobody could be asked")),
    }
}

/// The answer to a question that no user answered in time.
fn expired(request: &InputRequest) -> Response {
    const WHY: &str = "no answer came in time";

    match request {
        InputRequest::Elicit(_) => {
            let mut declined = ElicitResult::decline().answered_by(AnswerSource::Client);
            declined.meta.get_or_insert_default().set_reason(WHY);
            Ok(InputResponse::Elicit(declined))
        }
        _ => Err(WHY.to_owned()),
    }
}

struct Withdrawing<'a> {
    id: u64,
    shared: &'a Shared,
    withdrawal: Withdrawal,
}

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        let why = match self.withdrawal.reason() {
            Some(WithdrawalReason::CallCancelled) => QuestionEnd::CallCancelled,
            Some(WithdrawalReason::CallExpired) => QuestionEnd::CallTimedOut,
            Some(WithdrawalReason::ClientGone) => QuestionEnd::ProgramEnded,
            None => QuestionEnd::Withdrawn,
        };
        self.shared
            .update(|state| state.questions.withdraw(self.id, why));
    }
}

impl Drop for OpenBoard {
    fn drop(&mut self) {
        self.listening.abort();
        for writer in self.shared.lock().writers.values() {
            // If this fails, the closed connection has the same effect.
            let _ = writer.send(&BoardLine::Bye {});
        }
        self.shared.lock().writers.clear();
        folder::remove(&self.socket);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Adds a question. Returns `None` if it cannot be asked.
    fn ask(&self, question: HostQuestion) -> Option<(u64, oneshot::Receiver<Response>)> {
        // Leaves room for content that is typed later, which is sent in the same line.
        let most = MAX_LINE_BYTES.saturating_sub(MAX_TYPED_BYTES.saturating_mul(2));
        let asked = AskedLine::new(u64::MAX, &question, TypedFields::new());
        let bytes = asked.and_then(|asked| line::write(&BoardLine::Asked(Box::new(asked))));
        if bytes.map_or(usize::MAX, |bytes| bytes.len()) > most {
            (self.notify)(Notice::TooLong);
            return None;
        }
        let (reply, replied) = oneshot::channel();
        let mut asked = None;
        let now = self.now();
        self.update(|state| {
            let (id, effects) = state.questions.ask(now);
            if let Some(id) = id {
                let waiting = WaitingQuestion {
                    question,
                    response: None,
                    reply,
                };
                state.waiting.insert(id, waiting);
                asked = Some(id);
            }
            effects
        });
        Some((asked?, replied))
    }

    fn update(&self, change: impl FnOnce(&mut State) -> Vec<Effect>) {
        let mut notices = Vec::new();
        let mut state = self.lock();
        let mut effects = change(&mut state);
        while !effects.is_empty() {
            let mut slow = Vec::new();
            for effect in effects {
                state.carry_out(effect, &mut slow, &mut notices);
            }
            effects = Vec::new();
            for front_end in slow {
                if state.writers.remove(&front_end).is_some() {
                    notices.push(Notice::Dropped("a front end is too slow".to_owned()));
                }
                effects.extend(state.questions.leave(front_end));
            }
        }
        drop(state);
        for notice in notices {
            (self.notify)(notice);
        }
        self.changed.notify_one();
    }
}

impl State {
    fn carry_out(&mut self, effect: Effect, slow: &mut Vec<u64>, notices: &mut Vec<Notice>) {
        let (front_end, line) = match effect {
            Effect::Offer(front_end, id) => {
                let typed = self.questions.typed(id).cloned().unwrap_or_default();
                let asked = self.waiting.get(&id);
                let asked = asked.and_then(|it| AskedLine::new(id, &it.question, typed).ok());
                let Some(asked) = asked else {
                    return;
                };
                (front_end, BoardLine::Asked(Box::new(asked)))
            }
            Effect::Taken(front_end, id) => (front_end, BoardLine::Taken { id }),
            Effect::Settled(front_end, id, by) => (front_end, BoardLine::Settled { id, by }),
            Effect::Withdrawn(front_end, id, why) => (front_end, BoardLine::Withdrawn { id, why }),
            Effect::Typed(front_end, id, names) => {
                // A slow front end misses this change, and shows older text until the field changes again.
                if self.writers.get(&front_end).is_some_and(Writer::is_behind) {
                    return;
                }
                let mut fields = self.questions.typed(id).cloned().unwrap_or_default();
                fields.retain(|name, _| names.contains(name));
                (front_end, BoardLine::Typed { id, fields })
            }
            Effect::End(id, end) => {
                if let Some(waiting) = self.waiting.remove(&id)
                    && let Some(response) = match end {
                        End::Replied => waiting.response,
                        End::Expired => Some(expired(&waiting.question.request)),
                        End::Withdrawn => None,
                    }
                {
                    // The caller may be gone at this point.
                    let _ = waiting.reply.send(response);
                }
                return;
            }
            Effect::Notify(notice) => return notices.push(notice),
        };
        let writer = self.writers.get(&front_end);
        if writer.is_some_and(|writer| !writer.send(&line)) {
            slow.push(front_end);
        }
    }

    fn hear(
        &mut self,
        now: Duration,
        front_end: u64,
        line: FrontEndLine,
    ) -> Result<Vec<Effect>, String> {
        match line {
            FrontEndLine::Hello { .. } => {}
            FrontEndLine::Seen { id } => self.questions.seen(front_end, id),
            FrontEndLine::Passed { id } => return Ok(self.questions.pass_by(now, front_end, id)),
            FrontEndLine::Typed { id, fields } => {
                return Ok(self.questions.keep_typed(front_end, id, fields));
            }
            FrontEndLine::Reply { id, response } => {
                if self.questions.takes_reply(front_end, id)
                    && let Some(waiting) = self.waiting.get_mut(&id)
                {
                    let read = waiting.question.request.read_response(&response);
                    let read = read.map_err(|_| "a reply does not fit its question".to_owned())?;
                    waiting.response = Some(Ok(read));
                }
                return Ok(self.questions.reply(front_end, id));
            }
            FrontEndLine::Refused { id, reason } => {
                if self.questions.takes_reply(front_end, id)
                    && let Some(waiting) = self.waiting.get_mut(&id)
                {
                    waiting.response = Some(match &waiting.question.request {
                        InputRequest::Elicit(_) => {
                            return Err("a form or link was refused without an action".to_owned());
                        }
                        _ => Err(reason),
                    });
                }
                return Ok(self.questions.reply(front_end, id));
            }
        }
        Ok(Vec::new())
    }
}

async fn listen(listener: UnixListener, shared: Arc<Shared>) {
    loop {
        let deadline = shared.lock().questions.next_deadline();
        let deadline = deadline.and_then(|after| shared.began.checked_add(after));
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    tokio::spawn(serve(stream, Arc::clone(&shared)));
                }
                // Probably too many open files. The next front end tries again.
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            },
            () = shared.changed.notified() => {}
            () = sleep_until(deadline.unwrap_or(shared.began)), if deadline.is_some() => {
                let now = shared.now();
                shared.update(|state| state.questions.pass(now));
            }
        }
    }
}

async fn serve(stream: UnixStream, shared: Arc<Shared>) {
    let Ok(Some((mut reader, writer))) = connection::split(stream) else {
        return;
    };
    if !writer.send(&BoardLine::Hello(shared.hello.clone())) {
        return;
    }
    let hello = timeout(HELLO, reader.read::<FrontEndLine>()).await;
    let Ok(Ok(Some(FrontEndLine::Hello { version, kind }))) = hello else {
        return;
    };
    if version > VERSION {
        let words = format!("a front end speaks version {version}, this askback only {VERSION}");
        return (shared.notify)(Notice::Dropped(words));
    }
    let mut joined = None;
    shared.update(|state| {
        let front_end = state.next_front_end;
        state.next_front_end = state.next_front_end.saturating_add(1);
        state.writers.insert(front_end, writer);
        match state.questions.join(front_end, kind) {
            Some(effects) => {
                joined = Some(front_end);
                effects
            }
            None => {
                state.writers.remove(&front_end);
                Vec::new()
            }
        }
    });
    let Some(front_end) = joined else {
        return (shared.notify)(Notice::Dropped("too many front ends".to_owned()));
    };
    let why = hear(&mut reader, front_end, &shared).await;
    if let Err(why) = why {
        (shared.notify)(Notice::Dropped(why));
    }
    shared.update(|state| {
        state.writers.remove(&front_end);
        state.questions.leave(front_end)
    });
}

/// Handles the lines of a front end. Fails if the front end must be disconnected.
async fn hear(reader: &mut Reader, front_end: u64, shared: &Shared) -> Result<(), String> {
    loop {
        let line = match reader.read::<FrontEndLine>().await {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(format!("a line of a front end cannot be read: {error}"));
            }
            // The front end is gone.
            Err(_) => return Ok(()),
        };
        let mut heard = Ok(());
        let now = shared.now();
        shared.update(|state| match state.hear(now, front_end, line) {
            Ok(effects) => effects,
            Err(error) => {
                heard = Err(error);
                Vec::new()
            }
        });
        heard?;
        if !shared.lock().writers.contains_key(&front_end) {
            return Ok(());
        }
    }
}
