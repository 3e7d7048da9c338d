//! The board's side: a socket and its connections.

use std::{
    collections::hash_map::RandomState,
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
    protocol::{ClientCapabilities, InputResponse},
};
use tokio::{
    net::{UnixListener, UnixStream},
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::{Instant, sleep_until, timeout},
};

use super::{
    board::{Notice, Questions, Response, unanswered},
    connection::{self, HELLO, MAX_LINE_BYTES, Reader},
    folder,
    line::{self, AskedLine, BoardHello, BoardLine, FrontEndLine, MAX_TYPED_BYTES, VERSION},
};
use crate::{
    ending::QuestionEnd,
    model::{Asker, Typed},
    text::given,
    words,
};

#[derive(Debug, Clone)]
pub struct BoardOptions {
    /// The server that asks, as the user knows it. Its own claims are sent with each question.
    pub server: Asker,
    /// Identifies the server for [receipts](crate::receipts), which the front end that draws a question signs. Without
    /// it, nothing is signed.
    pub identity: Option<String>,
    /// How long a question waits for a reply.
    pub keep: Duration,
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
    questions: Mutex<Questions>,
    hello: BoardHello,
    began: Instant,
    /// Notified when the next deadline may have changed.
    changed: Notify,
    notify: Box<dyn Fn(Notice) + Send + Sync>,
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

impl Board {
    /// Listens for front ends; must be called within the runtime. `notify` receives the events for
    /// the owner and must not block.
    /// Fails if the folder does not belong to the user, or the socket cannot be created.
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
            questions: Mutex::new(Questions::new(options.keep)),
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
            let not_asked = || unanswered(&request, "nobody was asked").map_err(Error::not_done);
            let Some((id, reply)) = shared.ask(question) else {
                return not_asked();
            };
            let _withdrawing = Withdrawing {
                id,
                shared,
                withdrawal,
            };
            match reply.await {
                Ok(response) => response.map_err(Error::not_done),
                Err(_) => not_asked(),
            }
        })
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
            .update(|questions| questions.withdraw(self.id, why));
    }
}

impl Drop for OpenBoard {
    fn drop(&mut self) {
        self.listening.abort();
        self.shared.lock().say_goodbye();
        folder::remove(&self.socket);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Questions> {
        let questions = self.questions.lock();
        questions.unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns `None` if the question cannot be asked.
    fn ask(&self, question: HostQuestion) -> Option<(u64, oneshot::Receiver<Response>)> {
        // Leaves room for content that is typed later, which is sent in the same line.
        let most = MAX_LINE_BYTES.saturating_sub(MAX_TYPED_BYTES.saturating_mul(2));
        let asked = AskedLine::new(u64::MAX, &question, Typed::new());
        let bytes = asked.and_then(|asked| line::write(&BoardLine::Asked(Box::new(asked))));
        if bytes.map_or(usize::MAX, |bytes| bytes.len()) > most {
            (self.notify)(Notice::TooLong);
            return None;
        }
        let now = self.now();
        self.update(|questions| questions.ask(now, question))
    }

    fn update<T>(&self, change: impl FnOnce(&mut Questions) -> T) -> T {
        let mut questions = self.lock();
        let changed = change(&mut questions);
        let notices = questions.settle();
        drop(questions);
        for notice in notices {
            (self.notify)(notice);
        }
        self.changed.notify_one();
        changed
    }
}

async fn listen(listener: UnixListener, shared: Arc<Shared>) {
    loop {
        let deadline = shared.lock().next_deadline();
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
                shared.update(|questions| questions.pass(now));
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
    let joined = shared.update(|questions| questions.join(kind, writer));
    let Some(front_end) = joined else {
        return;
    };
    let why = hear(&mut reader, front_end, &shared).await;
    if let Err(why) = why {
        (shared.notify)(Notice::Dropped(why));
    }
    shared.update(|questions| questions.leave(front_end));
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
        let now = shared.now();
        shared.update(|questions| questions.hear(now, front_end, line))?;
        if !shared.lock().has_front_end(front_end) {
            return Ok(());
        }
    }
}
