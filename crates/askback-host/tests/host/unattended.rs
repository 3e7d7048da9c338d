//! Questions without a user: what the server gets, and what the log says.

use std::{
    future::poll_fn,
    io::{self, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use askback::{
    client::{CallId, CallTarget, Event, HostQuestion, ServerEnd},
    limits::Limits,
    protocol::{
        CreateMessageParams, ElicitParams, ElicitUrlParams, Implementation, InputRequest,
        LoggingLevel, RawJson, RequestParams, Root,
    },
};
use askback_host::{
    host::Host,
    leaf::Leaf,
    model::{
        Action, Asker, Change, Conversation, Desk, Event as DeskEvent, Presence, Server, WorstEnd,
    },
    page::{Look, Page},
    relay::{Arrivals, Relay, ServerId},
    remarks::{Remarks, StderrMode},
    script::Script,
    unattended::UnattendedRun,
    words,
};
use serde_json::{Value, json};

use crate::{form, travel};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .map_err(|_| io::ErrorKind::Other)?
            .extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        let bytes = self.0.lock().expect("no test panicked with the lock");
        String::from_utf8(bytes.clone()).expect("the log is text")
    }
}

fn asked(request: InputRequest) -> HostQuestion {
    HostQuestion {
        server: None,
        call: None,
        target: Some(CallTarget::Tool("book_holiday".to_owned())),
        key: Some("wishes".to_owned()),
        request,
        retried: true,
    }
}

fn wishes() -> HostQuestion {
    let question = form("Book?", r#""confirm": {"type": "boolean"}"#, r#""confirm""#);
    let askback_host::model::Ask::Form { message, schema } = question.ask else {
        unreachable!("it is a form");
    };
    asked(InputRequest::Elicit(ElicitParams::form(message, schema)))
}

fn host(
    script: Option<Script>,
    asker: Asker,
    shared: Option<Vec<Root>>,
    arrivals: Arrivals,
    out: Box<Log>,
) -> Host {
    let limits = Limits::default();
    let leaf = UnattendedRun::new(script, limits.clone(), out);
    let desk = Desk::new(asker, None, shared, limits.clone());
    Host::new(desk, Box::new(leaf), arrivals, &limits)
}

fn run(script: Option<&str>, shared: Option<Vec<Root>>, question: HostQuestion) -> Ran {
    let script = script.map(|text| Script::parse(text).expect("the file is one of answers"));
    let (relay, arrivals) = Relay::new();
    let log = Log::default();
    let out = Box::new(log.clone());
    let asker = Asker {
        claims: None,
        ..travel()
    };
    let mut host = host(script, asker, shared, arrivals, out);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("the runtime starts");
    let answer = runtime.block_on(host.attend(answer(relay, question)));
    let answer = answer.expect("nobody interrupts");
    let answer = answer.unwrap_or_else(|error| json!(error.message()));
    let (ended, text) = (host.ended(), log.text());
    host.end();
    Ran {
        answer: answer.to_string(),
        ended,
        end: log.text()[text.len()..].to_owned(),
        log: text,
    }
}

struct Ran {
    answer: String,
    ended: WorstEnd,
    log: String,
    end: String,
}

async fn answer(relay: Relay, question: HostQuestion) -> askback::Result<Value> {
    let request = question.request.clone();
    Ok(match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => {
            json!(relay.fill(question.with(form)).await?)
        }
        InputRequest::Elicit(ElicitParams::Url(link)) => {
            json!(relay.open(question.with(link)).await?)
        }
        InputRequest::Sample(params) => json!(relay.sample(question.with(*params)).await?),
        InputRequest::Roots(params) => {
            json!({"roots": relay.roots(question.with(params)).await?})
        }
    })
}

#[test]
fn a_rule_answers() {
    let file = "answers: [{when: {tool: book_holiday}, accept: {confirm: true}}]";
    let Ran {
        answer, ended, log, ..
    } = run(Some(file), None, wishes());
    assert_eq!(answer, r#"{"action":"accept","content":{"confirm":true}}"#);
    assert_eq!(ended, WorstEnd::Answered);
    assert_eq!(log, "  a form: answered by rule 1\n    key | wishes\n");
}

#[test]
fn a_rule_fits_no_name_that_a_server_gives_itself() {
    #[track_caller]
    fn check(rule: &str, ended: WorstEnd) {
        let file = format!("answers: [{{when: {{server: {rule}}}, accept: {{confirm: true}}}}]");
        let server = Implementation {
            name: "bank".to_owned(),
            title: Some("Your bank".to_owned()),
            ..Implementation::default()
        };
        let question = HostQuestion {
            server: Some(server),
            ..wishes()
        };
        let ran = run(Some(&file), None, question);
        assert_eq!(ran.ended, ended, "{}", ran.log);
    }
    // The user's name for the server.
    check("travel", WorstEnd::Answered);
    check("bank", WorstEnd::Unanswered);
    check("Your bank", WorstEnd::Unanswered);
}

#[test]
fn a_link_is_asked_for_again_in_the_same_call_while_its_page_is_not_finished() {
    #[track_caller]
    fn check(answers: &str, second: HostQuestion, is_again: bool) {
        let (relay, arrivals) = Relay::new();
        let log = Log::default();
        let script = Script::parse(answers).expect("the file is one of answers");
        let mut host = host(
            Some(script),
            travel(),
            None,
            arrivals,
            Box::new(log.clone()),
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("the runtime starts");
        for question in [visit(1, "connect", "https://example.com/c"), second] {
            let answered = runtime.block_on(host.attend(answer(relay.clone(), question)));
            answered
                .expect("nobody interrupts")
                .expect("it is answered");
        }
        let told = "a link again: the page behind it is not finished";
        assert_eq!(log.text().contains(told), is_again, "{}", log.text());
    }
    fn visit(call: u64, key: &str, url: &str) -> HostQuestion {
        let link = ElicitUrlParams {
            message: "Connect your account.".to_owned(),
            url: url.to_owned(),
            ..ElicitUrlParams::default()
        };
        HostQuestion {
            call: Some(CallId(call)),
            key: Some(key.to_owned()),
            ..asked(InputRequest::Elicit(ElicitParams::Url(link)))
        }
    }
    let (yes, url) = (
        "answers: [{when: {host: example.com}, accept: true}]",
        "https://example.com/c",
    );
    check(yes, visit(1, "connect", url), true);
    check(yes, visit(2, "connect", url), false);
    check(yes, visit(1, "pay", url), false);
    check(yes, visit(1, "connect", "https://example.com/d"), false);
    let at_once = HostQuestion {
        retried: false,
        ..visit(1, "connect", url)
    };
    check(yes, at_once, false);
    // A declined link was not opened.
    let no = "answers: [{decline: true}]";
    check(no, visit(1, "connect", url), false);
}

#[test]
fn a_rule_declines() {
    let file = "answers: [{decline: true, reason: not now}]";
    let Ran {
        answer, ended, log, ..
    } = run(Some(file), None, wishes());
    assert_eq!(
        answer,
        r#"{"_meta":{"dev.askback/reason":"not now"},"action":"decline"}"#
    );
    assert_eq!(ended, WorstEnd::Refused);
    assert_eq!(log, "  a form: declined by rule 1\n    key | wishes\n");
}

#[test]
fn a_no_may_be_what_is_expected() {
    #[track_caller]
    fn check(rule: &str, logged: &str) {
        let file = format!("answers: [{{{rule}, expected: true}}]");
        let Ran {
            answer, ended, log, ..
        } = run(Some(&file), None, wishes());
        assert!(!answer.contains("accept"), "{answer}");
        assert_eq!(ended, WorstEnd::Expected);
        assert_eq!(
            log,
            format!("  a form: {logged} by rule 1, as expected\n    key | wishes\n")
        );
    }
    check("decline: true", "declined");
    check("cancel: true", "cancelled");

    let request = CreateMessageParams::new("Which flight?", 100);
    let sampling = asked(InputRequest::Sample(Box::new(request)));
    let file = "sampling: [{decline: true, expected: true}]";
    let Ran { answer, ended, .. } = run(Some(file), None, sampling);
    assert_eq!(answer, r#""User rejected the request""#);
    assert_eq!(ended, WorstEnd::Expected);
}

#[test]
fn what_the_file_expects_is_told_at_the_end() {
    #[track_caller]
    fn check(rule: &str, ended: WorstEnd, end: &str) {
        let file = format!("answers: [{{{rule}}}, {{accept: {{confirm: true}}}}]");
        let ran = run(Some(&file), None, wishes());
        assert_eq!((ran.ended, ran.end.as_str()), (ended, end), "{}", ran.log);
    }
    let other = "when: {key: other}, accept: {}";
    check(
        other,
        WorstEnd::Answered,
        "! answers file: rule 1 answered no question\n",
    );
    check("when: {key: other}, cancel: true", WorstEnd::Answered, "");
}

#[test]
fn a_link_of_an_error_waits_for_its_page() {
    #[track_caller]
    fn check(url: &str, done: Option<&str>, minutes: u64, told: &str) {
        let file = "answers: [{when: {mode: url, host: travel.example}, accept: true}, \
            {when: {mode: url, host: http://travel.example}, accept: true}]";
        let (relay, arrivals) = Relay::new();
        let log = Log::default();
        let script = Script::parse(file).expect("the file is one of answers");
        let out = Box::new(log.clone());
        let mut host = host(Some(script), travel(), None, arrivals, out);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        let link = ElicitUrlParams {
            message: "Connect the airline.".to_owned(),
            url: url.to_owned(),
            elicitation_id: Some("one".to_owned()),
            ..ElicitUrlParams::default()
        };
        let question = HostQuestion {
            key: None,
            ..asked(InputRequest::Elicit(ElicitParams::Url(link)))
        };
        let said = relay.clone();
        let work = async {
            let from = tokio::time::Instant::now();
            let tell = async {
                let Some(id) = done else { return };
                tokio::time::sleep(Duration::from_mins(3)).await;
                let elicitation_id = id.to_owned();
                said.event(Event::UrlCompleted { elicitation_id });
            };
            let (answer, ()) = tokio::join!(answer(relay, question), tell);
            (from.elapsed().as_secs() / 60, answer)
        };
        let asking = runtime.expect("the runtime starts");
        let (took, answer) = asking
            .block_on(host.attend(work))
            .expect("nobody interrupts");
        let answer = answer.expect("the link is agreed to");
        assert_eq!(answer["action"], "accept", "{answer}");
        assert_eq!(took, minutes, "{}", log.text());
        assert!(log.text().contains(told), "{}", log.text());
        assert!(
            log.text()
                .contains("    until the server says that the page is done\n")
        );
    }
    let url = "https://travel.example/c/1";
    let said = "travel says that the link is done.";
    check(url, Some("one"), 3, said);
    // This link has a warning.
    check("http://travel.example/c/1", Some("one"), 3, said);
    let overdue = "the server did not say within 10 min that the page is done; it is called again";
    check(url, Some("another"), 10, overdue);
    check(url, None, 10, overdue);
}

#[test]
fn an_answer_may_take_its_time() {
    let file = "answers: [{accept: {confirm: true}, after: 90s, then: [{decline: true, after: 500ms}, {cancel: true}]}]";
    let (relay, arrivals) = Relay::new();
    let log = Log::default();
    let script = Script::parse(file).expect("the file is one of answers");
    let mut host = host(
        Some(script),
        travel(),
        None,
        arrivals,
        Box::new(log.clone()),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("the runtime starts");
    let mut ask = || {
        let began = || async {
            (
                tokio::time::Instant::now(),
                answer(relay.clone(), wishes()).await,
            )
        };
        let asking = async {
            host.attend(began())
                .await
                .map(|(at, answer)| (at.elapsed(), answer))
        };
        let (took, answer) = runtime.block_on(asking).expect("nobody interrupts");
        let answer = answer.unwrap_or_else(|error| json!(error.message()));
        (took, answer["action"].to_string())
    };
    // The runtime's clock has a resolution of 1 ms and rounds up.
    let at_least = |took: Duration, after: u64| {
        let after = Duration::from_millis(after);
        assert!(
            (after..after + Duration::from_millis(2)).contains(&took),
            "{took:?}"
        );
    };
    for (after, action) in [
        (90_000, r#""accept""#),
        (500, r#""decline""#),
        (0, r#""cancel""#),
    ] {
        let (took, answered) = ask();
        assert_eq!(answered, action);
        at_least(took, after);
    }
    let told = log.text();
    let told: Vec<_> = told
        .lines()
        .filter(|line| line.contains("answers in"))
        .collect();
    assert_eq!(
        told,
        [
            "  a form: rule 1 answers in 90 s",
            "  a form: rule 1 answers in 0.5 s"
        ]
    );

    // A question that is withdrawn during the delay is not answered. The next one is.
    let file = "answers: [{accept: {confirm: true}, after: 90s}]";
    let (relay, arrivals) = Relay::new();
    let log = Log::default();
    let script = Script::parse(file).expect("the file is one of answers");
    let mut host = self::host(
        Some(script),
        travel(),
        None,
        arrivals,
        Box::new(log.clone()),
    );
    let work = async {
        let given_up =
            tokio::time::timeout(Duration::from_secs(60), answer(relay.clone(), wishes())).await;
        assert!(given_up.is_err());
        tokio::time::timeout(Duration::from_secs(91), answer(relay, wishes())).await
    };
    let answered = runtime
        .block_on(host.attend(work))
        .expect("nobody interrupts");
    assert!(answered.is_ok_and(|answer| answer.is_ok()));
    assert_eq!(
        log.text().matches("answered by rule 1").count(),
        1,
        "{}",
        log.text()
    );
}

#[test]
fn a_question_that_waits_can_be_cancelled() {
    let file = "answers: [{accept: {confirm: true}, after: 90s}]";
    let log = Log::default();
    let limits = Limits::default();
    let script = Script::parse(file).expect("the file is one of answers");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("the runtime starts");
    runtime.block_on(async {
        let mut leaf = UnattendedRun::new(Some(script), limits.clone(), Box::new(log.clone()));
        let desk = Desk::new(travel(), None, None, limits);
        let mut talk = Conversation::new(Server::new(desk));
        let question = form("Book?", r#""confirm": {"type": "boolean"}"#, "");
        talk.update(Change::Desk(ServerId::FIRST, DeskEvent::Asked(1, question)));
        let waits = poll_fn(|context| Poll::Ready(leaf.poll_did(&talk, context).is_pending()));
        assert!(waits.await);
        let happened = talk.update(Change::Desk(
            ServerId::FIRST,
            DeskEvent::Action(Action::Cancel),
        ));
        let happened = happened.expect("it is of a desk");
        leaf.happened(talk.seen(), &happened);
        leaf.show(&talk, None);
        assert_eq!(talk.seen().ended(), WorstEnd::Refused);
    });
    let told = "  a form: rule 1 answers in 90 s\n  cancelled by Ctrl-C\n";
    assert_eq!(log.text(), told);
}

#[test]
fn what_is_not_answered_is_shown_in_full() {
    for (name, file) in [
        (
            "unmatched",
            Some("answers: [{when: {key: other}, accept: {}}]"),
        ),
        (
            "unfit",
            Some("answers: [{accept: {confirm: 1, colour: red}}]"),
        ),
        ("nobody", None),
    ] {
        let Ran {
            answer, ended, log, ..
        } = run(file, None, wishes());
        assert_eq!(answer, r#"{"action":"cancel"}"#);
        assert_eq!(ended, WorstEnd::Unanswered);
        insta::assert_snapshot!(name, log);
    }
}

#[test]
fn a_question_is_logged_as_far_as_a_person_reads() {
    let most = Limits::default().host.message_shown;
    let long = "bla ".repeat(1 << 20);
    let named = |name: &str| format!(r#""{name}": {{"type": "boolean"}}"#);
    let fields: Vec<_> = (0..60)
        .map(|at| named(&format!("{at}{}", "f".repeat(200))))
        .collect();
    let ask = |message: &str, fields: &str| {
        let askback_host::model::Ask::Form { message, schema } = form(message, fields, "").ask
        else {
            unreachable!("it is a form");
        };
        asked(InputRequest::Elicit(ElicitParams::form(message, schema)))
    };
    let keyed = |key: &str| HostQuestion {
        key: Some(key.to_owned()),
        ..ask("Book?", &named("confirm"))
    };
    let link = |url: &str| asked(InputRequest::Elicit(ElicitParams::url("Sign in.", url)));
    let address = format!("https://example.com/{long}").replace(' ', "/");
    let agrees = "answers: [{when: {mode: url, host: example.com}, accept: true}]";
    let unfit = "answers: [{accept: {confirm: 1}}]";
    for (file, question, holds) in [
        (None, ask(&long, &named("confirm")), "accept: {"),
        (None, ask(&long, &named("confirm")), "| confirm: yes or no"),
        (
            Some(unfit),
            ask(&long, &named("confirm")),
            "must be yes or no",
        ),
        (None, ask("Book?", &fields.join(",")), "| Book?"),
        (None, ask(&long, &fields.join(",")), "| bla"),
        (None, keyed(&long), "| Book?"),
        (None, link(&address), "× it is longer than"),
        (Some(agrees), link(&address), "| https://example.com/bla/"),
    ] {
        let Ran { log, .. } = run(file, None, question);
        // The rest is marks, gutters and our own words.
        assert!(log.len() < 3 * most, "{holds}: {} bytes", log.len());
        assert!(log.contains(holds), "{holds}: {log}");
        assert!(
            log.contains(" more characters are left out\n"),
            "{holds}: {log}"
        );
    }
}

#[test]
fn a_link_is_agreed_to_and_not_opened() {
    let file = "answers: [{when: {mode: url, host: example.com}, accept: true}]";
    let link = |url: &str| asked(InputRequest::Elicit(ElicitParams::url("Sign in.", url)));
    let Ran {
        answer, ended, log, ..
    } = run(Some(file), None, link("https://example.com/a"));
    assert_eq!(answer, r#"{"action":"accept"}"#);
    assert_eq!(ended, WorstEnd::Answered);
    assert_eq!(
        log,
        "  a link: agreed to, not opened by rule 1\n    key | wishes\n    | https://example.com/a\n"
    );

    let Ran {
        answer, ended, log, ..
    } = run(Some(file), None, link("https://good.com@evil.com/"));
    assert!(answer.contains("decline"), "{answer}");
    assert_eq!(ended, WorstEnd::Refused);
    assert!(
        log.contains("declined by policy") && log.contains("names a user"),
        "{log}"
    );
}

// Shows RO-07, RO-13.
#[test]
fn folders_of_the_command_line_come_first() {
    let roots = asked(InputRequest::Roots(Default::default()));
    let here = askback_host::folder::root(".".as_ref()).expect("there is a working directory");
    let gone = Root::new("file:///not/there/any/more");
    let shared = Some(vec![here.clone(), gone]);
    let Ran { answer, ended, .. } = run(None, shared, roots.clone());
    assert_eq!(answer, json!({"roots": [here]}).to_string());
    assert_eq!(ended, WorstEnd::Answered);

    let Ran {
        answer, ended, log, ..
    } = run(Some("answers: []"), None, roots);
    assert_eq!(answer, r#""The request was cancelled""#);
    assert_eq!(ended, WorstEnd::Unanswered);
    assert!(log.contains("roots: [.]"), "{log}");
}

// Shows LO-15.
#[test]
fn what_a_server_says_is_told() {
    let (relay, arrivals) = Relay::new();
    let log = Log::default();
    let out = Box::new(log.clone());
    let mut host = host(None, travel(), None, arrivals, out);
    host.show_stderr(StderrMode::Always);
    let progress = |progress: f64, message: Option<&str>| Event::Progress {
        call: CallId(1),
        target: None,
        progress,
        total: Some(4.0),
        message: message.map(str::to_owned),
    };
    relay.event(progress(1.0, None));
    relay.event(progress(2.0, Some("Pricing")));
    relay.event(progress(3.0, Some("Pricing")));
    relay.event(Event::Log {
        level: LoggingLevel::Warning,
        logger: None,
        data: RawJson::new("sold \x1b[1mout").expect("it is JSON"),
    });
    relay.event(Event::ServerStderr("listening\x1b[2J".to_owned()));
    relay.event(Event::ToolsChanged);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("the runtime starts");
    let done = runtime.block_on(host.attend(async {}));
    assert_eq!(done, Ok(()));
    insta::assert_snapshot!(log.text());
}

#[test]
fn what_a_server_says_too_often_is_counted() {
    let (relay, arrivals) = Relay::new();
    let log = Log::default();
    let out = Box::new(log.clone());
    let limits = Limits::default();
    let mut host = host(None, travel(), None, arrivals, out);
    host.show_stderr(StderrMode::Always);
    let most = limits.host.remarks as usize;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("the runtime starts");
    let mut hear = |events: Vec<Event>, after: Duration| {
        let before = log.text().len();
        for event in events {
            relay.event(event);
        }
        let done = runtime.block_on(async {
            tokio::time::advance(after).await;
            host.attend(async {}).await
        });
        assert_eq!(done, Ok(()));
        log.text()[before..].to_owned()
    };
    static NOTES: AtomicUsize = AtomicUsize::new(0);
    let kinds: [fn() -> Event; 4] = [
        || Event::ServerStderr("a".to_owned()),
        || Event::Note(format!("note {}", NOTES.fetch_add(1, Ordering::Relaxed))),
        || Event::ResourceUpdated("a".to_owned()),
        || Event::Log {
            level: LoggingLevel::Info,
            logger: None,
            data: RawJson::new("a").expect("it is JSON"),
        },
    ];
    let many = |count: usize| {
        kinds
            .iter()
            .cycle()
            .take(count)
            .map(|kind| kind())
            .collect()
    };
    let left_out = |count: usize| {
        format!("  travel said more at once than is shown; lines left out: {count}\n")
    };
    let told = hear(many(most + 7), Duration::ZERO);
    assert_eq!(told.lines().count(), most + 1, "{told}");
    assert!(told.ends_with(&left_out(7)), "{told}");
    // Nothing is shown until the window is over.
    assert_eq!(hear(many(3), Duration::ZERO), "");
    assert_eq!(hear(many(0), limits.host.remarks_window), "");
    let told = hear(many(1), Duration::ZERO);
    // The line itself is standard error.
    assert_eq!(told, format!("{}stderr | a\n", left_out(3)));
    // A repeated note is not shown again within the window either.
    let note = || Event::Note("too many".to_owned());
    let told = hear(vec![note(), note(), note()], Duration::ZERO);
    assert_eq!(told, format!("note | too many\n{}", left_out(2)));
    let told = hear(vec![note()], limits.host.remarks_window);
    assert_eq!(told, "note | too many\n");
}

#[test]
fn of_a_flood_a_few_questions_are_shown_and_the_others_counted() {
    fn flood(questions: usize) -> Vec<String> {
        let (relay, arrivals) = Relay::new();
        let log = Log::default();
        let mut host = host(None, travel(), None, arrivals, Box::new(log.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("the runtime starts");
        for _ in 0..questions {
            let answered = runtime.block_on(host.attend(answer(relay.clone(), wishes())));
            let answered = answered.expect("nobody interrupts");
            assert_eq!(answered.ok(), Some(json!({"action": "cancel"})));
        }
        host.end();
        log.text().lines().map(str::to_owned).collect()
    }
    #[track_caller]
    fn check(questions: usize, whole: usize, counted: &str) {
        let rows = flood(questions);
        let count = |begin: &str| rows.iter().filter(|row| row.starts_with(begin)).count();
        let screen = rows.join("\n");
        assert_eq!(count("travel asks"), whole, "{screen}");
        let last = rows.last().map_or("", String::as_str);
        let end = "× more questions that were not answered: ";
        assert_eq!(
            last.strip_prefix(end).unwrap_or_default(),
            counted,
            "{screen}"
        );
    }
    check(1, 1, "");
    check(8, 8, "");
    check(1000, 8, "992");
}

#[test]
fn what_is_waited_for_is_said_and_how_long_it_may_take() {
    #[track_caller]
    fn check(takes: Duration, told: &str) {
        let (_relay, arrivals) = Relay::new();
        let log = Log::default();
        let mut host = host(None, travel(), None, arrivals, Box::new(log.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        let runtime = runtime.expect("the runtime starts");
        let waiting = words!("Waiting for {} to answer…", "travel");
        let work = async { host.attend_aloud(tokio::time::sleep(takes), waiting).await };
        assert_eq!(runtime.block_on(work), Ok(()));
        assert_eq!(log.text(), told);
    }
    check(Duration::from_millis(900), "");
    let first = "  Waiting for travel to answer…\n";
    check(Duration::from_secs(30), first);
    let later = |seconds: u64| {
        format!(
            "  Waiting for travel: {seconds} s of at most 300 s without a sign. Ctrl-C stops it.\n"
        )
    };
    check(Duration::from_secs(40), &format!("{first}{}", later(31)));
    check(
        Duration::from_secs(62),
        &format!("{first}{}{}", later(31), later(61)),
    );
}

#[test]
fn a_remark_is_as_long_as_a_person_reads() {
    #[track_caller]
    fn check(text: String, lines: usize, ends: &str) {
        let mut remarks = Remarks::new(&Limits::default());
        remarks.stderr = StderrMode::Always;
        let remark = remarks
            .hear(Event::ServerStderr(text), Duration::ZERO)
            .pop();
        let mut page = Page::new(Look {
            columns: 80,
            styled: false,
        });
        let remark = remark.expect("it is shown");
        Remarks::put(&mut page, &askback_host::text::given("travel"), remark);
        let shown = page.take().to_string();
        assert_eq!(shown.lines().count(), lines, "{shown}");
        assert!(shown.ends_with(ends), "{shown}");
    }
    check("a".to_owned(), 1, "stderr | a\n");
    check(
        "a\n".repeat(1000),
        17,
        "  1969 more characters are left out\n",
    );
    check(
        "a".repeat(5000),
        16,
        "  3976 more characters are left out\n",
    );
}

#[test]
fn progress_is_shown_whatever_its_number() {
    for columns in [1, 5, 10, 24, 80, 200] {
        for progress in [1e99, -1e308, f64::MAX, f64::MIN_POSITIVE, 1.0 / 3.0] {
            let mut remarks = Remarks::new(&Limits::default());
            let event = Event::Progress {
                call: CallId(1),
                target: None,
                progress,
                total: Some(progress),
                message: Some("Pricing ".repeat(20)),
            };
            let remark = remarks.hear(event, Duration::ZERO).pop();
            let remark = remark.expect("it is shown");
            let mut page = Page::new(Look {
                columns,
                styled: false,
            });
            Remarks::put(&mut page, &askback_host::text::given("travel"), remark);
            let shown = page.take().to_string();
            for line in shown.lines().filter(|line| line.contains("icing")) {
                assert!(line.contains("| "), "{line:?} in\n{shown}");
            }
        }
    }
}

#[test]
fn a_changed_list_is_told_once_in_a_while() {
    let mut remarks = Remarks::new(&Limits::default());
    remarks.lists = true;
    let heard: Vec<_> = [
        (0, Event::ToolsChanged),
        (1, Event::ToolsChanged),
        (1, Event::PromptsChanged),
        (9, Event::ToolsChanged),
        (10, Event::ToolsChanged),
        (11, Event::ToolsChanged),
    ]
    .into_iter()
    .map(|(seconds, event)| remarks.hear(event, Duration::from_secs(seconds)).len())
    .collect();
    assert_eq!(heard, [1, 0, 1, 0, 1, 0]);
}

#[test]
fn what_a_server_says_at_its_start_is_shown_if_it_fails() {
    /// Checks what is shown of these events, and of the rest once the start is over.
    #[track_caller]
    fn check(mode: StderrMode, events: Vec<Event>, ends: Option<Presence>, shown: &str) {
        let (relay, arrivals) = Relay::new();
        let log = Log::default();
        let mut host = host(None, travel(), None, arrivals, Box::new(log.clone()));
        host.show_stderr(mode);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        let runtime = runtime.expect("the runtime starts");
        runtime.block_on(async {
            for event in events {
                relay.event(event);
            }
            assert_eq!(host.attend(async {}).await, Ok(()));
            match ends {
                Some(presence) => host.note_presence(ServerId::default(), presence),
                // The start takes long.
                None => assert_eq!(
                    host.attend(tokio::time::sleep(Duration::from_secs(3)))
                        .await,
                    Ok(())
                ),
            }
            assert_eq!(host.attend(async {}).await, Ok(()));
        });
        assert_eq!(log.text(), shown);
    }
    let line = |text: &str| Event::ServerStderr(text.to_owned());
    let over = || Event::StartedOver(ServerEnd::exited(3));
    let both = || vec![line("a"), line("b")];
    let (there, absent) = (Some(Presence::There), Some(Presence::Absent));
    let after = StderrMode::AfterStart;
    check(
        after,
        both(),
        there,
        "  stderr: 2 lines, --stderr show shows them\n",
    );
    check(after, both(), absent, "stderr | a\nstderr | b\n");
    check(after, both(), None, "stderr | a\nstderr | b\n");
    check(after, Vec::new(), there, "");
    check(StderrMode::Never, both(), absent, "");
    check(
        StderrMode::Always,
        both(),
        there,
        "stderr | a\nstderr | b\n",
    );
    // The first line is from the probe.
    let again = || vec![line("a"), over(), line("b")];
    check(
        after,
        again(),
        there,
        "  stderr: 1 line, --stderr show shows them\n",
    );
    check(after, again(), absent, "stderr | b\n");
    let many: Vec<_> = (0..30).map(|number| line(&number.to_string())).collect();
    let last: String = (6..30)
        .map(|number| format!("stderr | {number}\n"))
        .collect();
    let more = "  stderr: 6 lines, --stderr show shows them\n";
    check(after, many, absent, &format!("{more}{last}"));
}

#[tokio::test(start_paused = true)]
async fn what_a_server_says_about_its_first_requests_is_part_of_its_start() {
    let (relay, arrivals) = Relay::new();
    let log = Log::default();
    let mut host = host(None, travel(), None, arrivals, Box::new(log.clone()));
    let server = ServerId::default();
    let say = |line: &str| relay.event(Event::ServerStderr(line.to_owned()));
    say("starting");
    host.note_presence(server, Presence::There);
    host.hold_stderr(server, true);
    say("listing");
    assert_eq!(host.attend(async {}).await, Ok(()));
    host.hold_stderr(server, false);
    say("calling");
    assert_eq!(host.attend(async {}).await, Ok(()));
    let told = "  stderr: 2 lines, --stderr show shows them\nstderr | calling\n";
    assert_eq!(log.text(), told);
}

#[test]
fn a_long_question_leaves_room_for_its_rule() {
    let long = "A very long text. ".repeat(500);
    let request = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": long}}],
        "systemPrompt": long,
        "maxTokens": 100,
    });
    let request = serde_json::from_value(request).expect("it is a request");
    let ran = run(None, None, asked(InputRequest::Sample(Box::new(request))));
    assert!(
        ran.log
            .contains("would answer it:\n  | sampling:\n  |   - reply: …\n"),
        "{}",
        ran.log
    );
    assert_eq!(ran.ended, WorstEnd::Unanswered);
}

#[test]
fn folders_that_no_call_waits_for_are_no_failure() {
    #[track_caller]
    fn check(key: Option<&str>, target: Option<CallTarget>, ended: WorstEnd) {
        let question = HostQuestion {
            key: key.map(str::to_owned),
            target,
            ..asked(InputRequest::Roots(RequestParams::default()))
        };
        let ran = run(None, None, question);
        assert_eq!(ran.ended, ended);
        assert!(ran.log.contains("--roots DIR shares"), "{}", ran.log);
    }
    let call = || Some(CallTarget::Tool("t".to_owned()));
    check(None, None, WorstEnd::Answered);
    check(None, call(), WorstEnd::Answered);
    check(Some("folders"), call(), WorstEnd::Unanswered);
}
