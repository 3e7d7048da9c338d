//! A board and its front ends, over a socket in a folder of the test.

#![expect(clippy::print_stderr, reason = "a test says what it leaves out")]

use std::{
    fs,
    io::ErrorKind,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    process::Command,
};

use askback::{
    bridge::Answers,
    client::{CallTarget, HostQuestion},
    limits::Limits,
    protocol::{InputRequest, InputResponse},
};
use askback_host::{
    attach::{Board, BoardOptions, FrontEndKind, JoinOptions, Notice, join},
    host::Host,
    model::{Asker, Desk, Origin},
    relay::Relay,
    script::Script,
    unattended::UnattendedRun,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
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

fn board(folder: &TempDir) -> (Board, mpsc::UnboundedReceiver<Notice>) {
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
        let line = self.next().await.expect("a question");
        line["asked"].clone()
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
async fn of_two_front_ends_the_first_reply_wins() {
    let folder = folder();
    let (board, mut notices) = board(&folder);
    let answer = ask(&board, "Who?");
    assert_eq!(notices.recv().await, Some(Notice::NoFrontEnd));
    let mut one = RawFrontEnd::join(&board, "terminal").await;
    let mut other = RawFrontEnd::join(&board, "page").await;
    let asked = one.asked().await;
    assert_eq!(asked["request"]["params"]["message"], "Who?");
    assert_eq!(asked["target"], json!({"tool": "book"}));
    let id = other.asked().await["id"].clone();
    other.accept(&id, "Ada").await;
    let settled = json!({"settled": {"id": id, "by": "page"}});
    assert_eq!(one.next().await, Some(settled));
    one.accept(&id, "Bob").await;
    assert_eq!(answer.await.expect("it ended"), accepted("Ada"));
}

#[tokio::test]
async fn a_front_end_that_dies_loses_nothing() {
    let folder = folder();
    let (board, mut notices) = board(&folder);
    let mut one = RawFrontEnd::join(&board, "terminal").await;
    let answer = ask(&board, "Who?");
    let id = one.asked().await["id"].clone();
    let draft = json!({"draft": {"id": id, "content": {"alpha": "Ad"}}});
    one.send(&draft.to_string()).await;
    drop(one);
    assert_eq!(notices.recv().await, Some(Notice::NoFrontEnd));
    let mut other = RawFrontEnd::join(&board, "terminal").await;
    let asked = other.asked().await;
    assert_eq!(asked["draft"], json!({"alpha": "Ad"}));
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
    assert_eq!(one.next().await, Some(json!({"withdrawn": {"id": id}})));
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
    assert_eq!(notices.recv().await, Some(Notice::NoFrontEnd));
    let oversized = "x".repeat(5 << 20);
    let other_kind = json!({"reply": {"id": 0, "response": {"roots": []}}}).to_string();
    for line in ["no JSON", r#"{"seen":{}}"#, &oversized, &other_kind] {
        let mut bad = RawFrontEnd::join(&board, "page").await;
        bad.asked().await;
        bad.send(line).await;
        let dropped = notices.recv().await;
        assert!(matches!(dropped, Some(Notice::Dropped(_))), "{dropped:?}");
        assert_eq!(notices.recv().await, Some(Notice::NoFrontEnd));
        assert_eq!(bad.next().await, None);
    }
    let later = json!({"hello": {"version": 2, "kind": "page"}});
    let mut later = RawFrontEnd::connect(&board, later).await;
    let words = "a front end speaks version 2, this askback only 1".to_owned();
    assert_eq!(notices.recv().await, Some(Notice::Dropped(words)));
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
        floods += usize::from(notices.recv().await == Some(Notice::Flood));
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
    let rules = "answers:\n- when: {message: \"Who?\"}\n  accept: {alpha: Ada}\n";
    let script = Script::parse(rules).expect("they are rules");
    let limits = Limits::default();
    let out = Box::new(std::io::sink());
    let leaf = UnattendedRun::new(Some(script), limits.clone(), out);
    let (relay, arrivals) = Relay::new();
    let desk = Desk::new(asker(), None, None, limits.clone());
    let mut host = Host::new(desk, Box::new(leaf), arrivals, &limits);
    let path = Some(folder.path().to_owned());
    let (one, mut notices) = board(&folder);
    let (other, _others) = board(&folder);
    let (first, second, unknown) = (ask(&one, "Who?"), ask(&other, "Who?"), ask(&one, "What?"));
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
        for answer in [answers.0, answers.1] {
            assert_eq!(answer.expect("it ended"), accepted("Ada"));
        }
        let by = FrontEndKind::Script;
        let settled =
            async { while notices.recv().await != (Some(Notice::Settled { question: 0, by })) {} };
        tokio::select! {
            () = settled => {}
            ended = &mut joined => panic!("nobody interrupted it: {ended:?}"),
        }
    }
    assert!(!unknown.is_finished(), "a question without a rule stays");
    assert!(!stale.exists(), "nobody listens on it");
}
