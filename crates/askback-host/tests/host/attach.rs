//! A board and its front ends, over a socket in a folder of the test.

#![expect(clippy::print_stderr, reason = "a test says what it leaves out")]

use std::{
    fs,
    io::{ErrorKind, Write},
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    process::Command,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use askback::{
    bridge::Answers,
    client::{CallTarget, HostQuestion},
    limits::Limits,
    protocol::{InputRequest, InputResponse},
    witness::Renderer,
};
use askback_host::{
    attach::{self, Board, BoardOptions, FrontEndKind, JoinOptions, join},
    host::Host,
    leaf::{Did, Leaf, LinkOpening},
    model::{Action, Asker, Conversation, Desk, Effect, EventOutcome, Notice, Origin, Step},
    page::{Look, Page},
    relay::Relay,
    remarks::Remark,
    script::Script,
    text::Words,
    unattended::UnattendedRun,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    time::timeout,
};

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let owner = fs::Permissions::from_mode(0o700);
    fs::set_permissions(folder.path(), owner).expect("it is ours");
    folder
}

fn asker() -> Asker {
    Asker {
        name: "travel".to_owned(),
        reached: Origin::Typed("travel-server".to_owned()),
        claims: None,
    }
}

fn board(folder: &TempDir) -> (Board, mpsc::UnboundedReceiver<attach::Notice>) {
    let mut options = BoardOptions::new(asker());
    options.folder = Some(folder.path().to_owned());
    let (sent, notices) = mpsc::unbounded_channel();
    let board = Board::open(options, move |notice| {
        // The test may be over.
        let _ = sent.send(notice);
    });
    (board.expect("the folder is ours"), notices)
}

fn form(message: &str) -> HostQuestion {
    let params = json!({
        "mode": "form", "message": message,
        "requestedSchema": {"type": "object", "properties": {"zeta": {"type": "string"}, "alpha": {"type": "string"}}},
    });
    let params = serde_json::value::to_raw_value(&params).expect("it is JSON");
    HostQuestion {
        server: None,
        call: None,
        target: Some(CallTarget::Tool("book".to_owned())),
        key: Some("name".to_owned()),
        request: InputRequest::parse("elicitation/create", Some(&params)).expect("it is a form"),
        retried: false,
    }
}

fn ask(board: &Board, message: &str) -> tokio::task::JoinHandle<Value> {
    let (board, question) = (board.clone(), form(message));
    tokio::spawn(async move {
        let response: InputResponse = board.answer(question).await.expect("forms have an answer");
        json!(response)
    })
}

struct RawFrontEnd {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

impl RawFrontEnd {
    async fn connect(board: &Board, hello: Value) -> Self {
        let stream = UnixStream::connect(board.socket()).await;
        let (read, write) = stream.expect("the board listens").into_split();
        let lines = BufReader::new(read).lines();
        let mut front_end = Self { lines, write };
        let first = front_end.next().await.expect("the board says hello");
        assert_eq!(first["hello"]["version"], 1);
        assert_eq!(first["hello"]["name"], json!({"ours": "travel"}));
        front_end.send(&hello.to_string()).await;
        front_end
    }

    async fn join(board: &Board, kind: &str) -> Self {
        Self::connect(board, json!({"hello": {"version": 1, "kind": kind}})).await
    }

    async fn next(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.ok()??;
        Some(serde_json::from_str(&line).expect("it is JSON"))
    }

    async fn asked(&mut self) -> Value {
        loop {
            let line = self.next().await.expect("a question");
            if let Some(asked) = line.get("asked") {
                return asked.clone();
            }
        }
    }

    async fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        // The board may have dropped the front end already.
        let _ = self.write.write_all(line.as_bytes()).await;
    }

    async fn accept(&mut self, id: &Value, name: &str) {
        let response = json!({"action": "accept", "content": {"alpha": name}});
        let line = json!({"reply": {"id": id, "response": response}});
        self.send(&line.to_string()).await;
    }
}

fn accepted(name: &str) -> Value {
    json!({"action": "accept", "content": {"alpha": name}})
}

#[tokio::test]
async fn the_first_reply_of_two_front_ends_wins() {
    let folder = folder();
    let (board, mut notices) = board(&folder);
    let answer = ask(&board, "Who?");
    assert_eq!(notices.recv().await, Some(attach::Notice::NoFrontEnd));
    let mut one = RawFrontEnd::join(&board, "terminal").await;
    let mut other = RawFrontEnd::join(&board, "page").await;
    let asked = one.asked().await;
    assert_eq!(asked["request"]["params"]["message"], "Who?");
    assert_eq!(asked["target"], json!({"tool": "book"}));
    let id = other.asked().await["id"].clone();
    other.accept(&id, "Ada").await;
    let settled = json!({"settled": {"id": id, "by": "page"}});
    assert_eq!(one.next().await, Some(settled));
    let taken = json!({"taken": {"id": id}});
    assert_eq!(other.next().await, Some(taken));
    one.accept(&id, "Bob").await;
    assert_eq!(answer.await.expect("it ended"), accepted("Ada"));
}

#[tokio::test]
async fn a_question_without_a_timely_answer_says_so() {
    let folder = folder();
    let mut options = BoardOptions::new(asker());
    options.folder = Some(folder.path().to_owned());
    options.keep = Duration::ZERO;
    let board = Board::open(options, |_| {}).expect("the folder is ours");
    let answer = ask(&board, "Who?").await.expect("it ended");
    assert_eq!(answer["action"], "decline");
    let meta = &answer["_meta"];
    assert_eq!(meta["dev.askback/answered-by"], "client");
    assert_eq!(meta["dev.askback/reason"], "no answer came in time");
}

#[tokio::test]
async fn a_front_end_that_dies_loses_nothing() {
    let folder = folder();
    let (board, mut notices) = board(&folder);
    let mut one = RawFrontEnd::join(&board, "terminal").await;
    let answer = ask(&board, "Who?");
    let id = one.asked().await["id"].clone();
    let fields = json!({"alpha": {"text": "Ad"}});
    let mut beside = RawFrontEnd::join(&board, "page").await;
    beside.asked().await;
    let typed = json!({"typed": {"id": id, "fields": fields}});
    one.send(&typed.to_string()).await;
    assert_eq!(beside.next().await, Some(typed));
    drop((one, beside));
    assert_eq!(notices.recv().await, Some(attach::Notice::NoFrontEnd));
    let mut other = RawFrontEnd::join(&board, "terminal").await;
    let asked = other.asked().await;
    assert_eq!(asked["typed"], fields);
    other.accept(&asked["id"], "Ada").await;
    assert_eq!(answer.await.expect("it ended"), accepted("Ada"));
}

#[tokio::test]
async fn a_question_that_is_dropped_is_withdrawn_and_the_board_says_goodbye() {
    let folder = folder();
    let (board, _notices) = board(&folder);
    let mut one = RawFrontEnd::join(&board, "terminal").await;
    let answer = ask(&board, "Who?");
    let id = one.asked().await["id"].clone();
    answer.abort();
    let withdrawn = json!({"withdrawn": {"id": id, "why": "withdrawn"}});
    assert_eq!(one.next().await, Some(withdrawn));
    let socket = board.socket().to_owned();
    drop(board);
    assert_eq!(one.next().await, Some(json!({"bye": {}})));
    assert_eq!(one.next().await, None);
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_bad_line_costs_its_front_end_and_no_question() {
    let folder = folder();
    let (board, mut notices) = board(&folder);
    let answer = ask(&board, "Who?");
    assert_eq!(notices.recv().await, Some(attach::Notice::NoFrontEnd));
    let oversized = "x".repeat(5 << 20);
    let other_kind = json!({"reply": {"id": 0, "response": {"roots": []}}}).to_string();
    for line in ["no JSON", r#"{"seen":{}}"#, &oversized, &other_kind] {
        let mut bad = RawFrontEnd::join(&board, "page").await;
        bad.asked().await;
        bad.send(line).await;
        let dropped = notices.recv().await;
        assert!(
            matches!(dropped, Some(attach::Notice::Dropped(_))),
            "{dropped:?}"
        );
        assert_eq!(notices.recv().await, Some(attach::Notice::NoFrontEnd));
        assert_eq!(bad.next().await, None);
    }
    let later = json!({"hello": {"version": 2, "kind": "page"}});
    let mut later = RawFrontEnd::connect(&board, later).await;
    let words = "a front end speaks version 2, this askback only 1".to_owned();
    assert_eq!(notices.recv().await, Some(attach::Notice::Dropped(words)));
    assert_eq!(later.next().await, None);
    let mut good = RawFrontEnd::join(&board, "page").await;
    let id = good.asked().await["id"].clone();
    good.send(r#"{"wave":{"of":"a later version"}}"#).await;
    good.accept(&id, "Ada").await;
    assert_eq!(answer.await.expect("it ended"), accepted("Ada"));
}

#[tokio::test]
async fn a_flood_is_answered_in_order_and_its_surplus_is_declined() {
    let folder = folder();
    let (board, mut notices) = board(&folder);
    let answers: Vec<_> = (0..1000).map(|_| ask(&board, "Who?")).collect();
    let mut floods = 0;
    while floods < 1000 - 256 {
        floods += usize::from(notices.recv().await == Some(attach::Notice::Flood));
    }
    let mut one = RawFrontEnd::join(&board, "page").await;
    for _ in 0..256 {
        let id = one.asked().await["id"].clone();
        one.accept(&id, "Ada").await;
    }
    let mut accepts = 0;
    for answer in answers {
        accepts += usize::from(answer.await.expect("it ended") == accepted("Ada"));
    }
    assert_eq!(accepts, 256);
}

#[test]
fn folders_of_others_and_symlinks_are_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let _entered = runtime.enter();
    #[track_caller]
    fn check(path: &std::path::Path, expected: &str) {
        let mut options = BoardOptions::new(asker());
        options.folder = Some(path.to_owned());
        let error = Board::open(options, |_| {}).err().expect("it is refused");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(fs::read_dir(path).expect("a folder").count(), 0);
    }
    let folder = folder();
    let target = folder.path().join("target");
    fs::create_dir(&target).expect("it is ours");
    let set = |mode| {
        fs::set_permissions(&target, fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    set(0o755);
    check(&target, "other users have access");
    set(0o700);
    let link = folder.path().join("link");
    symlink(&target, &link).expect("it is ours");
    check(&link, "link: ");
    if std::os::unix::fs::chown(&target, Some(65534), None).is_ok() {
        check(&target, "belongs to another user");
    } else {
        eprintln!("left out, as only root can do it: a folder of another user");
    }
}

/// Another user can reach the socket, because this test opens its folder.
#[tokio::test]
async fn another_user_is_told_nothing() {
    let folder = folder();
    let (board, _notices) = board(&folder);
    if fs::metadata(folder.path())
        .map(|it| std::os::unix::fs::MetadataExt::uid(&it))
        .ok()
        != Some(0)
    {
        eprintln!("left out, as only root can do it: a connection of another user");
        return;
    }
    for (path, mode) in [(folder.path(), 0o755), (board.socket(), 0o666)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    let read = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); \
                s.settimeout(60); print(len(s.recv(99)))";
    let mut command = Command::new("python3");
    command.arg("-c").arg(read).arg(board.socket()).uid(65534);
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.expect("it ended");
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => eprintln!("left out: no python3"),
        output => assert_eq!(output.expect("it runs").stdout, b"0\n"),
    }
}

#[tokio::test]
async fn a_host_joins_the_boards_of_a_folder() {
    let folder = folder();
    // A board that was killed leaves a socket without a listener.
    let stale = folder.path().join("1-0.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).expect("the folder is ours"));
    // A board that was stopped accepts a connection and sends nothing.
    let stopped = folder.path().join("0-0.sock");
    let stopped = UnixListener::bind(&stopped).expect("the folder is ours");
    let rules = "answers:\n- when: {message: \"Who?\"}\n  accept: {alpha: Ada}\n";
    let script = Script::parse(rules).expect("they are rules");
    let limits = Limits::default();
    let out = Box::new(std::io::sink());
    let leaf = UnattendedRun::new(Some(script), limits.clone(), out);
    let (relay, arrivals) = Relay::new();
    let desk = Desk::new(asker(), None, None, limits.clone());
    let mut host = Host::new(desk, Box::new(leaf), arrivals, &limits);
    let path = Some(folder.path().to_owned());
    let (one, _ones) = board(&folder);
    let (other, _others) = board(&folder);
    // More than a front end has at once.
    let unknown: Vec<_> = (0..20).map(|_| ask(&one, "What?")).collect();
    let (first, second) = (ask(&one, "Who?"), ask(&other, "Who?"));
    {
        let options = JoinOptions {
            folder: path,
            limits: limits.clone(),
            ..JoinOptions::new(FrontEndKind::Script)
        };
        let joined = join(&mut host, &relay, options);
        let mut joined = std::pin::pin!(joined);
        let answers = async { (first.await, second.await) };
        let answers = tokio::select! {
            answers = answers => answers,
            ended = &mut joined => panic!("nobody interrupted it: {ended:?}"),
        };
        let (connection, _) = stopped.accept().await.expect("the host connected");
        let read = connection.try_read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(
            read,
            Err(ErrorKind::WouldBlock),
            "the host still waits for its hello"
        );
        for answer in [answers.0, answers.1] {
            assert_eq!(answer.expect("it ended"), accepted("Ada"));
        }
    }
    let are_open = unknown.iter().all(|unknown| !unknown.is_finished());
    assert!(are_open, "a question without a rule stays");
    assert!(!stale.exists(), "nobody listens on it");
}

/// Keeps what a front end wrote.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut written = self.0.lock().expect("no writer panicked");
        written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The board asks. It ends after it has read `lines` lines of the front end, and confirms none.
#[tokio::test]
async fn the_user_is_told_that_a_program_ended() {
    for (message, lines, expected) in [
        ("Who?", 2, "The program ended before your answer arrived."),
        (
            "Later?",
            1,
            "The program ended before its question was answered.",
        ),
    ] {
        let folder = folder();
        let socket = UnixListener::bind(folder.path().join("1-1.sock"));
        let socket = socket.expect("the folder is ours");
        let rules = "answers:\n- when: {message: \"Who?\"}\n  accept: {alpha: Ada}\n\
                     - when: {message: \"Later?\"}\n  after: 90s\n  accept: {alpha: Ada}\n";
        let script = Script::parse(rules).expect("they are rules");
        let limits = Limits::default();
        let written = Written::default();
        let leaf = UnattendedRun::new(Some(script), limits.clone(), Box::new(written.clone()));
        let (relay, arrivals) = Relay::new();
        let desk = Desk::new(asker(), None, None, limits.clone());
        let mut host = Host::new(desk, Box::new(leaf), arrivals, &limits);
        let ends = async {
            let (connection, _) = socket.accept().await.expect("the host connects");
            let (read, mut write) = connection.into_split();
            let params = json!({
                "mode": "form", "message": message,
                "requestedSchema": {"type": "object", "properties": {"alpha": {"type": "string"}}},
            });
            let hello = json!({"hello": {
                "version": 1, "name": {"ours": "travel"}, "reached": {"typed": "travel"},
                "client": null,
            }});
            let asked = json!({"asked": {
                "id": 0, "request": {"method": "elicitation/create", "params": params},
            }});
            let text = format!("{hello}\n{asked}\n");
            write.write_all(text.as_bytes()).await.expect("it is read");
            let mut read = BufReader::new(read).lines();
            for _ in 0..lines {
                read.next_line().await.expect("it is read");
            }
        };
        let options = JoinOptions {
            folder: Some(folder.path().to_owned()),
            limits: limits.clone(),
            ..JoinOptions::new(FrontEndKind::Script)
        };
        let mut joined = std::pin::pin!(join(&mut host, &relay, options));
        let told = async {
            ends.await;
            let text =
                || String::from_utf8_lossy(&written.0.lock().expect("no panic")).into_owned();
            while !text().contains(expected) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = told => {}
            ended = &mut joined => panic!("nobody interrupted it: {ended:?}"),
        }
    }
}

/// The text that the user of a [`Typist`] sees.
#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    /// The text of each field of the form in front.
    fields: Vec<String>,
    /// The messages outside of questions.
    said: String,
}

/// A front end whose user types what the test says.
struct Typist {
    actions: mpsc::UnboundedReceiver<Vec<Action>>,
    seen: watch::Sender<Seen>,
    page: Page,
}

impl Leaf for Typist {
    fn poll_did(&mut self, _: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        match self.actions.poll_recv(context) {
            Poll::Ready(Some(actions)) => Poll::Ready(Did::Action(actions)),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        for effect in &happened.effects {
            let said = match effect {
                Effect::Tell(Notice::Restored) => "restored ".to_owned(),
                Effect::Tell(Notice::TypedElsewhere) => "typed elsewhere ".to_owned(),
                Effect::Tell(Notice::Ended(end)) => format!("{end:?} "),
                Effect::Tell(other) => format!("{other:?} "),
                _ => continue,
            };
            assert_eq!(desk.asker().name, "travel");
            self.seen.send_modify(|seen| seen.said.push_str(&said));
        }
    }

    fn remark(&mut self, _: &Desk, _: Remark) -> Option<Remark> {
        None
    }

    fn tell(&mut self, words: Words) {
        self.seen
            .send_modify(|seen| seen.said.push_str(words.as_str()));
    }

    fn open(&mut self, _: &str) -> LinkOpening {
        LinkOpening::Failed
    }

    fn show(&mut self, talk: &Conversation, _: Option<&Words>) {
        let mut fields = Vec::new();
        if let Some(Step::Secret(draft) | Step::Filling(draft) | Step::Review(draft)) =
            talk.seen().front().map(|front| front.step)
        {
            for (index, field) in draft.fields().iter().enumerate() {
                let value = draft.value(index).map(|value| field.show(value));
                let text = draft.written(index).map(str::to_owned).or(value);
                fields.push(text.unwrap_or_default());
            }
        }
        self.seen.send_if_modified(|seen| {
            let is_other = seen.fields != fields;
            seen.fields = fields;
            is_other
        });
    }

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn renderer(&self) -> Renderer {
        Renderer::Lines
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// A front end in a task. It is killed on drop, without a last word.
struct TypingHost {
    types: mpsc::UnboundedSender<Vec<Action>>,
    seen: watch::Receiver<Seen>,
    running: tokio::task::JoinHandle<()>,
}

impl Drop for TypingHost {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl TypingHost {
    /// Must be called within a [`LocalSet`](tokio::task::LocalSet).
    fn join(folder: &TempDir, kind: FrontEndKind) -> Self {
        let (types, actions) = mpsc::unbounded_channel();
        let (sees, seen) = watch::channel(Seen::default());
        let look = Look {
            columns: 80,
            styled: false,
        };
        let leaf = Typist {
            actions,
            seen: sees,
            page: Page::new(look),
        };
        let limits = Limits::default();
        let folder = Some(folder.path().to_owned());
        let running = tokio::task::spawn_local(async move {
            let (relay, arrivals) = Relay::new();
            let desk = Desk::new(asker(), None, None, limits.clone());
            let mut host = Host::new(desk, Box::new(leaf), arrivals, &limits);
            let options = JoinOptions {
                folder,
                ..JoinOptions::new(kind)
            };
            join(&mut host, &relay, options).await.expect("it is ours");
        });
        Self {
            types,
            seen,
            running,
        }
    }

    fn write(&self, field: usize, text: &str) {
        let text = text.to_owned();
        let written = self.types.send(vec![Action::Write { field, text }]);
        written.expect("it runs");
    }

    async fn sees(&mut self, fields: &[&str]) -> Seen {
        let is_it = |seen: &Seen| seen.fields == fields;
        let seen = timeout(PATIENCE, self.seen.wait_for(is_it)).await.is_ok();
        let last = self.seen.borrow().clone();
        assert!(seen, "expected {fields:?}, the user sees {last:?}");
        last
    }

    async fn hears(&mut self, said: &str) {
        let is_it = |seen: &Seen| seen.said.contains(said);
        let heard = timeout(PATIENCE, self.seen.wait_for(is_it)).await.is_ok();
        assert!(heard, "expected {said}: {:?}", self.seen.borrow());
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Asks with these fields.
fn ask_form(board: &Board, fields: Value) -> tokio::task::JoinHandle<Value> {
    let params = json!({
        "mode": "form", "message": "Who?",
        "requestedSchema": {"type": "object", "properties": fields},
    });
    let params = serde_json::value::to_raw_value(&params).expect("it is JSON");
    let request = InputRequest::parse("elicitation/create", Some(&params));
    let question = HostQuestion {
        request: request.expect("it is a form"),
        ..form("")
    };
    let board = board.clone();
    tokio::spawn(async move {
        let response: InputResponse = board.answer(question).await.expect("forms have an answer");
        json!(response)
    })
}

#[tokio::test]
async fn what_is_typed_survives_its_front_end_and_appears_in_the_others() {
    let local = tokio::task::LocalSet::new();
    let test = async {
        let folder = folder();
        let (board, _notices) = board(&folder);
        let text = json!({"type": "string", "minLength": 2});
        let fields = json!({"name": text, "age": {"type": "integer", "default": 30}, "note": text});
        let _answer = ask_form(&board, fields);
        let mut raw = RawFrontEnd::join(&board, "page").await;
        raw.asked().await;
        let mut one = TypingHost::join(&folder, FrontEndKind::Terminal);
        one.sees(&["30", "", ""]).await;
        one.write(0, "");
        one.write(1, "Ada");
        one.write(2, "A");
        // The board has it before the front end is killed.
        let mut known = serde_json::Map::new();
        while known.len() < 3 {
            let line = raw.next().await.expect("the board goes on");
            let typed = line["typed"]["fields"].as_object().expect("fields");
            known.extend(typed.clone());
        }
        let expected = json!({"age": "empty", "name": {"value": "Ada"}, "note": {"text": "A"}});
        assert_eq!(Value::Object(known), expected);
        drop(one);
        let mut other = TypingHost::join(&folder, FrontEndKind::Page);
        let seen = other.sees(&["", "Ada", "A"]).await;
        assert_eq!(seen.said, "restored ");
        // Two front ends at once: each field has the last change.
        let mut third = TypingHost::join(&folder, FrontEndKind::Terminal);
        third.sees(&["", "Ada", "A"]).await;
        other.write(0, "36");
        other.write(1, "Bob");
        third.write(2, "hello");
        for front_end in [&mut other, &mut third] {
            front_end.sees(&["36", "Bob", "hello"]).await;
            front_end.hears("typed elsewhere").await;
        }
    };
    local.run_until(test).await;
}

#[tokio::test]
async fn a_secret_that_is_typed_stays_in_its_front_end() {
    let local = tokio::task::LocalSet::new();
    let test = async {
        let folder = folder();
        let (board, _notices) = board(&folder);
        let account = json!({"type": "object", "properties": {
            "user": {"type": "string"}, "password": {"type": "string"},
        }});
        let fields = json!({
            "account": account, "api_key": {"type": "string"}, "name": {"type": "string"},
        });
        let _answer = ask_form(&board, fields);
        let mut raw = RawFrontEnd::join(&board, "page").await;
        raw.asked().await;
        let mut one = TypingHost::join(&folder, FrontEndKind::Terminal);
        one.sees(&["", "", ""]).await;
        one.types.send(vec![Action::Yes]).expect("it runs");
        let account = r#"{"password":"hunter2"}"#;
        for (field, text) in [(0, account), (1, "hunter3"), (2, "Ada")] {
            one.write(field, text);
        }
        one.sees(&[account, "hunter3", "Ada"]).await;
        let line = raw.next().await.expect("the board goes on");
        assert_eq!(line["typed"]["fields"], json!({"name": {"value": "Ada"}}));
    };
    local.run_until(test).await;
}

#[tokio::test]
async fn the_user_is_told_why_a_question_went_away() {
    let local = tokio::task::LocalSet::new();
    let test = async {
        let folder = folder();
        let (board, _notices) = board(&folder);
        let mut one = TypingHost::join(&folder, FrontEndKind::Terminal);
        let text = json!({"alpha": {"type": "string"}});
        let answer = ask_form(&board, text.clone());
        let mut raw = RawFrontEnd::join(&board, "page").await;
        let id = raw.asked().await["id"].clone();
        one.sees(&[""]).await;
        raw.accept(&id, "Ada").await;
        assert_eq!(answer.await.expect("it ended"), accepted("Ada"));
        one.hears("AnsweredIn(Page)").await;
        let answer = ask_form(&board, text.clone());
        one.sees(&[""]).await;
        answer.abort();
        one.hears("Withdrawn").await;
    };
    local.run_until(test).await;
}

#[tokio::test]
async fn a_question_that_is_too_long_is_not_asked() {
    let folder = folder();
    let (board, mut notices) = board(&folder);
    let answer = ask(&board, &"x".repeat(4 << 20));
    assert_eq!(notices.recv().await, Some(attach::Notice::TooLong));
    let answer = answer.await.expect("it ended");
    assert_eq!(answer["action"], "decline");
}
