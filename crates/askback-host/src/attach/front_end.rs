//! The front end's side: each board of the user becomes a server of the host.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use askback::{limits::Limits, protocol::InputResponse};
use tokio::{
    net::UnixStream,
    sync::{mpsc, watch},
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use super::{
    connection::{self, HELLO, MAX_LINE_BYTES, Reader, Writer},
    folder,
    line::{self, BoardHello, BoardLine, FrontEndLine, MAX_TYPED_BYTES, VERSION},
    printing,
};
use crate::{
    Interruption,
    ending::{FrontEndKind, QuestionEnd},
    host::Host,
    model::{Asker, Desk, Presence, Reply, Why},
    receipts::ReceiptBook,
    relay::{QuestionLink, Relay, ServerId},
    text::given,
    words,
};

const LOOK: Duration = Duration::from_secs(1);

/// The maximum number of connected boards that have not sent their first line yet.
const MAX_CONNECTING: usize = 64;

pub(super) struct FoundBoard {
    pub(super) socket: String,
    pub(super) hello: BoardHello,
    pub(super) reader: Reader,
    pub(super) writer: Writer,
}

pub(super) const UNREADABLE: &str =
    "This askback cannot read a question. It waits for another front end.";

enum Left {
    Board(ServerId),
    EndOfInput,
    /// Stdout cannot be written.
    Unwritten(io::Error),
}

enum Found {
    Board(Box<FoundBoard>),
    /// The board at this socket speaks a newer version.
    Later(PathBuf, u32),
}

#[derive(Debug, Clone)]
pub struct JoinOptions {
    pub kind: FrontEndKind,
    /// Replaces the user's folder of sockets.
    pub folder: Option<PathBuf>,
    /// Whether the user sees the questions. By default they do, unless the front end is a script.
    pub is_seen: Option<watch::Receiver<bool>>,
    /// The front end ends if there was no board for this long. By default it does not.
    pub idle: Option<Duration>,
    /// Prints the questions as lines of JSON on stdout, and leaves them to other front ends.
    pub prints: bool,
    /// Signs receipts for the questions that the user sees here. By default nothing is signed.
    pub receipts: Option<Arc<dyn ReceiptBook>>,
    pub limits: Limits,
}

impl JoinOptions {
    #[must_use]
    pub fn new(kind: FrontEndKind) -> Self {
        Self {
            kind,
            folder: None,
            is_seen: None,
            idle: None,
            prints: false,
            receipts: None,
            limits: Limits::default(),
        }
    }
}

/// Asks the user the questions of all their boards until they interrupt, or until there was no board
/// for [`JoinOptions::idle`]. Open questions then stay with their boards. `relay` must belong to the
/// host.
/// Fails if the folder does not belong to the user, or a question cannot be printed. A closed pipe is not an error.
pub async fn join(
    host: &mut Host,
    relay: &Relay,
    options: JoinOptions,
) -> io::Result<Interruption> {
    let kind = options.kind;
    let folder = folder::given(options.folder)?;
    host.leave_questions();
    // The host starts with a server of its own, but here every server is a board.
    host.note_presence(host.chosen(), Presence::Removed);
    let is_seen = options.is_seen;
    let is_seen = is_seen.unwrap_or_else(|| watch::channel(kind != FrontEndKind::Script).1);
    let mut boards_here = 0_usize;
    let (found, mut boards) = mpsc::channel(16);
    let (gone, mut ended) = mpsc::unbounded_channel();
    // On drop, the tasks end.
    let mut attached = JoinSet::new();
    attached.spawn(look(folder, kind, found));
    loop {
        let idle = options.idle.filter(|_| boards_here == 0);
        let next = async {
            tokio::select! {
                Some(found) = boards.recv() => Ok(found),
                Some(left) = ended.recv() => Err(left),
                () = until(idle) => Err(Left::EndOfInput),
            }
        };
        match host.attend_silently(next).await {
            Ok(Ok(Found::Board(board))) => {
                let asker = Asker {
                    name: board.hello.name.as_str().to_owned(),
                    reached: board.hello.reached.clone(),
                    claims: None,
                };
                let desk =
                    Desk::new(asker, None, None, options.limits.clone()).with_open_questions();
                let server = host.add(desk);
                host.note_presence(server, Presence::There);
                boards_here = boards_here.saturating_add(1);
                let mut relay = relay.of(server);
                if let (Some(book), Some(identity)) = (&options.receipts, &board.hello.identity) {
                    relay = relay.with_receipts(book.of(identity, board.hello.name.as_str()));
                }
                let (gone, is_seen) = (gone.clone(), is_seen.clone());
                attached.spawn(async move {
                    if options.prints {
                        if let Err(error) = printing::print(*board, &relay).await {
                            let _ = gone.send(Left::Unwritten(error));
                        }
                    } else {
                        attend(*board, relay, &is_seen, &gone).await;
                    }
                    // The front end may have ended at the same moment.
                    let _ = gone.send(Left::Board(server));
                });
            }
            Ok(Ok(Found::Later(path, version))) => {
                let pid = path.file_name().unwrap_or_default().to_string_lossy();
                relay.tell(words!(
                    "{} speaks version {} of the questions, this askback only {}: update it.",
                    given(pid),
                    version,
                    VERSION
                ));
            }
            Ok(Err(Left::Board(server))) => {
                boards_here = boards_here.saturating_sub(1);
                host.note_presence(server, Presence::Removed);
            }
            Ok(Err(Left::Unwritten(error))) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(error);
            }
            Ok(Err(Left::EndOfInput | Left::Unwritten(_))) => return Ok(Interruption),
            Err(interruption) => return Ok(interruption),
        }
    }
}

/// Waits for a time, or forever if it is `None`.
async fn until(idle: Option<Duration>) {
    match idle {
        Some(idle) => sleep(idle).await,
        None => pending().await,
    }
}

async fn look(folder: PathBuf, kind: FrontEndKind, found: mpsc::Sender<Found>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = BTreeSet::new();
    // A stopped board must not delay the others.
    let mut connecting = JoinSet::new();
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let sockets = folder::sockets(&folder).unwrap_or_default();
                known.retain(|path| sockets.contains(path));
                for path in sockets {
                    if connecting.len() < MAX_CONNECTING && known.insert(path.clone()) {
                        connecting.spawn(async move {
                            let connected = connect(&path, kind).await;
                            (path, connected)
                        });
                    }
                }
            }
            Some(Ok((path, connected))) = connecting.join_next() => match connected {
                Ok(Some(it)) => {
                    if found.send(it).await.is_err() {
                        return;
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    if error.kind() == io::ErrorKind::ConnectionRefused {
                        folder::remove_stale(&path);
                    }
                    // Try again at the next scan.
                    known.remove(&path);
                }
            }
        }
    }
}

/// Connects to a board. Returns `None` if it belongs to another user.
async fn connect(path: &Path, kind: FrontEndKind) -> io::Result<Option<Found>> {
    let stream = UnixStream::connect(path).await?;
    let Some((mut reader, writer)) = connection::split(stream)? else {
        return Ok(None);
    };
    let line = timeout(HELLO, reader.read::<BoardLine>()).await;
    let line = line.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let Some(BoardLine::Hello(hello)) = line else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if hello.version > VERSION {
        return Ok(Some(Found::Later(path.to_owned(), hello.version)));
    }
    let version = VERSION;
    if !writer.send(&FrontEndLine::Hello { version, kind }) {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    Ok(Some(Found::Board(Box::new(FoundBoard {
        socket: path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        hello,
        reader,
        writer,
    }))))
}

/// A question of a board that this front end has.
struct AttachedQuestion {
    /// On drop, the question leaves the desk.
    _asking: JoinSet<()>,
    link: QuestionLink,
    /// Whether this front end has sent a reply.
    is_replied: Arc<AtomicBool>,
}

impl AttachedQuestion {
    /// Takes the question off the desk, and says why it ended.
    /// Returns whether its reply was not used.
    fn end(self, why: QuestionEnd) -> bool {
        // The first reason counts.
        let _ = self.link.end.set(why);
        self.is_replied()
    }

    fn is_replied(&self) -> bool {
        self.is_replied.load(Ordering::Relaxed)
    }
}

/// Sends the typed content of a question to the board: the first change at once, then at most one line per [`TYPED_PAUSE`].
async fn send_typed(id: u64, link: QuestionLink, writer: Writer, relay: Relay) {
    let mut changes = link.typed.subscribe();
    let mut is_told = false;
    loop {
        let mut is_too_long = false;
        link.typed.send_if_modified(|state| {
            let unsent = state.unsent();
            let bytes = line::typed_bytes(&state.here);
            is_too_long = !unsent.is_empty() && bytes > MAX_TYPED_BYTES;
            if !unsent.is_empty() && !is_too_long {
                let fields = unsent.clone();
                writer.send(&FrontEndLine::Typed { id, fields });
                state.there.extend(unsent);
            }
            false
        });
        if is_too_long && !std::mem::replace(&mut is_told, true) {
            relay.tell(
                "You have typed more than is kept: it is lost if this program ends before you send it.",
            );
        }
        sleep(TYPED_PAUSE).await;
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// The minimum time between two lines with typed content of a question.
const TYPED_PAUSE: Duration = Duration::from_millis(50);

/// Asks the user the questions of a board until the board is gone.
async fn attend(
    mut board: FoundBoard,
    relay: Relay,
    is_seen: &watch::Receiver<bool>,
    left: &mpsc::UnboundedSender<Left>,
) {
    let mut asking: BTreeMap<u64, AttachedQuestion> = BTreeMap::new();
    loop {
        match board.reader.read::<BoardLine>().await {
            Ok(Some(BoardLine::Asked(asked))) => {
                let id = asked.id;
                let link = QuestionLink::default();
                link.typed
                    .send_modify(|state| state.there.clone_from(&asked.typed));
                let Some(question) = asked.into_question() else {
                    relay.tell(UNREADABLE);
                    board.writer.send(&FrontEndLine::Passed { id });
                    continue;
                };
                let program = link.clone();
                let sending = send_typed(id, link.clone(), board.writer.clone(), relay.clone());
                let (relay, left) = (relay.clone(), left.clone());
                let writer = board.writer.clone();
                let is_replied = Arc::new(AtomicBool::new(false));
                let replies = Arc::clone(&is_replied);
                let mut is_seen = is_seen.clone();
                let mut asked = JoinSet::new();
                asked.spawn(async move {
                    let request = question.request.clone();
                    let seen_at = OnceLock::new();
                    let seen = async {
                        if is_seen.wait_for(|is_seen| *is_seen).await.is_ok() {
                            let _ = seen_at.set(SystemTime::now());
                            writer.send(&FrontEndLine::Seen { id });
                        }
                        pending::<()>().await;
                    };
                    let typed = async {
                        sending.await;
                        pending::<()>().await;
                    };
                    let mut shown = tokio::select! {
                        shown = relay.reply_to(question, Some(program)) => shown,
                        () = seen => return,
                        () = typed => return,
                    };
                    match shown.reply {
                        Reply::Cancelled(Why::EndOfInput) => {
                            // The front end may have ended at the same time.
                            let _ = left.send(Left::EndOfInput);
                        }
                        // Another front end can answer it.
                        Reply::Cancelled(Why::Nobody | Why::Unmatched | Why::Flood) => {
                            writer.send(&FrontEndLine::Passed { id });
                        }
                        _ => {
                            // A question is not drawn before the page is open.
                            if let (Some(showing), Some(at)) = (&mut shown.showing, seen_at.get()) {
                                showing.since = showing.since.max(*at);
                            }
                            let relay = match shown.showing {
                                Some(_) => relay,
                                None => relay.without_receipts(),
                            };
                            let response = relay.response(&request, shown);
                            replies.store(true, Ordering::Relaxed);
                            writer.send(&reply_line(id, response));
                        }
                    }
                });
                let question = AttachedQuestion {
                    _asking: asked,
                    link,
                    is_replied,
                };
                asking.insert(id, question);
            }
            Ok(Some(BoardLine::Typed { id, fields })) => {
                if let Some(question) = asking.get(&id) {
                    let typed = &question.link.typed;
                    let number = typed.borrow().question;
                    match number {
                        Some(number) => relay.retype(number, fields),
                        // The host takes them with the question.
                        None => typed.send_modify(|state| state.there.extend(fields)),
                    }
                }
            }
            Ok(Some(BoardLine::Taken { id })) => {
                asking.remove(&id);
            }
            Ok(Some(BoardLine::Settled { id, by })) => {
                let question = asking.remove(&id);
                if question.is_some_and(|it| it.end(QuestionEnd::AnsweredIn(by))) {
                    relay.tell("Another front end answered first. Your answer was not used.");
                }
            }
            Ok(Some(BoardLine::Withdrawn { id, why })) => {
                if asking.remove(&id).is_some_and(|question| question.end(why)) {
                    relay.tell(words!(
                        "Your answer came too late. {}",
                        why.words(given(board.hello.name.as_str()).short())
                    ));
                }
            }
            Ok(Some(BoardLine::Hello(_))) => {}
            Ok(Some(BoardLine::Bye {}) | None) => break,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                relay.tell(words!(
                    "A line of this server cannot be read: {}",
                    given(error)
                ));
                break;
            }
            Err(_) => break,
        }
    }
    if asking.values().any(AttachedQuestion::is_replied) {
        relay.tell("The program ended before your answer arrived.");
    }
    for question in asking.into_values() {
        question.end(QuestionEnd::ProgramEnded);
    }
}

/// A reply that is too long becomes a refusal.
fn reply_line(id: u64, response: askback::Result<InputResponse>) -> FrontEndLine {
    let line = FrontEndLine::reply(id, response);
    let bytes = line::write(&line).map_or(usize::MAX, |bytes| bytes.len());
    match bytes <= MAX_LINE_BYTES {
        true => line,
        false => FrontEndLine::Refused {
            id,
            reason: format!("the answer is larger than {MAX_LINE_BYTES} bytes"),
        },
    }
}
