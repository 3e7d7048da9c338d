//! Client and server in one process.

use std::{
    collections::BTreeMap,
    future::pending,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use askback::{
    Change, Ctx, Form, Limits, Prompt, Resource, Result, Revision, Server, Tool,
    client::{CallTarget, Client, ClientError, Event, HostQuestion, PendingCall},
    keys::{Key, KeyRing, KeySource},
    protocol::{
        CallToolResult, ElicitParams, InputRequest, InputResponse, ListRootsResult, LoggingLevel,
        Reference, SubscriptionFilter, codes,
    },
    transport::{self, Channel, Receiver, Sender},
};
use askback_core::jsonrpc::ErrorObject;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, DuplexStream, ReadBuf, duplex},
    sync::{Barrier, oneshot},
    time::{sleep, timeout},
};

use super::{Hosted, Scripted, accept, builder, limits};
use crate::lifecycle::watching;

#[derive(Form, Debug)]
struct Seat {
    /// By the window?
    window: bool,
}

#[derive(Form, Debug)]
struct Meal {
    /// What to eat?
    #[form(default = "fish".to_owned())]
    dish: String,
}

async fn reserve(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    let meal: Meal = ctx.elicit("Which meal?").await?.accepted()?;
    Ok(format!("{} {}", seat.window, meal.dish))
}

async fn both(ctx: Ctx) -> Result<String> {
    let questions = (
        ctx.elicit::<Seat>("Which seat?"),
        ctx.elicit::<Meal>("Which meal?"),
    );
    let (seat, meal) = ctx.elicit_all(questions).await?;
    Ok(format!(
        "{} {}",
        seat.accepted()?.window,
        meal.accepted()?.dish
    ))
}

async fn roots(ctx: Ctx) -> Result<String> {
    let roots = ctx.roots().await?;
    Ok(roots.local()?.len().to_string())
}

async fn sign_in(ctx: Ctx) -> Result<String> {
    let answer = ctx.elicit_url("Sign in", "https://a.test/in").await?;
    answer.accepted()?;
    Ok("signed in".to_owned())
}

fn server() -> Server {
    Server::new("agency", "1")
        .instructions("Ask nicely.")
        .tool(Tool::new("reserve", reserve))
        .tool(Tool::new("both", both))
        .tool(Tool::new("roots", roots))
        .tool(Tool::new("sign_in", sign_in))
        .prompt(Prompt::new("plan", async |ctx: Ctx| {
            let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
            Ok(format!("Plan with window: {}", seat.window))
        }))
        .resource(Resource::new("a:list", "list", async || {
            Ok("one, two".to_owned())
        }))
        .page_size(2)
        .changing_tools()
        .changing_prompts()
        .changing_resources()
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
        .build()
        .unwrap()
}

/// An askback server at the other end of a connection that can be opened any number of times.
fn ours() -> impl FnMut() -> Channel + Send + 'static {
    let server = server();
    move || {
        let (near, far) = transport::memory();
        let server = server.clone();
        tokio::spawn(async move { server.serve(far).await });
        near
    }
}

fn filling(asked: &Arc<Mutex<Vec<String>>>) -> Scripted {
    let asked = Arc::clone(asked);
    Scripted::new(move |question| {
        let HostQuestion {
            target,
            key,
            request,
            retried,
            server,
            ..
        } = question;
        let target = match target {
            Some(CallTarget::Tool(name) | CallTarget::Prompt(name)) => name,
            other => panic!("of {other:?}?"),
        };
        assert_eq!(server.unwrap().name, "agency");
        asked
            .lock()
            .unwrap()
            .push(format!("{target} {} {retried}", key.unwrap()));
        match request {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                let content = form.requested_schema.with_defaults(serde_json::Map::new());
                let mut content = Value::Object(content);
                if form.requested_schema.field("window").is_some() {
                    content["window"] = json!(true);
                }
                accept(content)
            }
            InputRequest::Elicit(ElicitParams::Url(_)) => Ok(InputResponse::Elicit(
                askback::protocol::ElicitResult::agree(),
            )),
            InputRequest::Sample(_) => panic!("nobody samples here"),
            InputRequest::Roots(_) => Ok(InputResponse::Roots(ListRootsResult::default())),
        }
    })
}

fn text(result: &CallToolResult) -> String {
    assert!(!result.failed(), "{result:?}");
    serde_json::to_value(&result.content[0]).unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

// Shows BA-01.
#[tokio::test(start_paused = true)]
async fn a_call_is_the_same_in_every_revision_that_can_ask() {
    for (protocol, revision, retried) in [
        (Some("2025-06-18"), "2025-06-18", false),
        (Some("2025-11-25"), "2025-11-25", false),
        (Some("2026-07-28"), "2026-07-28", true),
        (None, "2026-07-28", true),
    ] {
        let asked = Arc::default();
        let client = builder(protocol.map(|revision| revision.parse().unwrap()))
            .host(filling(&asked))
            .connect(ours())
            .await
            .unwrap();
        assert_eq!(client.revision().as_str(), revision);
        assert_eq!(client.server_info().unwrap().name, "agency");
        assert_eq!(client.instructions().unwrap(), "Ask nicely.");
        let result = client.call_tool("reserve", ()).await.unwrap();
        assert_eq!(text(&result), "true fish");
        let raw: Value = serde_json::from_str(result.raw.get()).unwrap();
        assert_eq!(raw["content"][0]["text"], "true fish");
        let result = client.get_prompt("plan", ()).await.unwrap();
        assert!(result.raw.get().contains("window: true"), "{}", result.raw);
        let result = client.read_resource("a:list").await.unwrap();
        assert_eq!(result.contents.len(), 1);
        assert_eq!(
            *asked.lock().unwrap(),
            [
                format!("reserve seat {retried}"),
                format!("reserve meal {retried}"),
                format!("plan seat {retried}"),
            ]
        );
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_beyond_the_clocks_range_is_no_limit() {
    for protocol in ["2025-11-25", "2026-07-28"] {
        let client = builder(protocol.parse().ok())
            .limits(limits(|limits| {
                limits.wire.request = Duration::MAX;
                limits.client.request_in_all = Duration::MAX;
            }))
            .host(filling(&Arc::default()))
            .connect(ours())
            .await
            .unwrap();
        let result = client.call_tool("reserve", ()).await.unwrap();
        assert_eq!(text(&result), "true fish");
        client.close().await;
    }
}

// Shows PR-04.
#[tokio::test(start_paused = true)]
async fn a_list_is_the_same_on_every_connection() {
    let mut connect = ours();
    let mut lists = Vec::new();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let asked = Arc::default();
        let client = builder(Some(revision))
            .host(filling(&asked))
            .connect(connect())
            .await
            .unwrap();
        let before = client.prompts().await.unwrap();
        client.get_prompt("plan", ()).await.unwrap();
        client.call_tool("reserve", ()).await.unwrap();
        let after = client.prompts().await.unwrap();
        lists.extend([before, after].map(|list| {
            let names = list.into_iter().map(|prompt| prompt.name);
            names.collect::<Vec<_>>()
        }));
    }
    assert!(lists.iter().all(|list| *list == ["plan"]), "{lists:?}");
}

// Shows LI24-03.
#[tokio::test(start_paused = true)]
async fn a_revision_that_cannot_ask_ends_in_a_tool_error() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        let client = builder(Some(revision))
            .host(Scripted::new(|_| panic!("nobody can be asked")))
            .connect(ours())
            .await
            .unwrap();
        let result = client.call_tool("reserve", ()).await.unwrap();
        assert!(result.failed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_is_opened_in_the_revisions_that_have_links() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let asked = Arc::default();
        let client = builder(Some(revision))
            .host(filling(&asked))
            .connect(ours())
            .await
            .unwrap();
        let result = client.call_tool("sign_in", ()).await.unwrap();
        assert_eq!(text(&result), "signed in");
    }
}

#[tokio::test(start_paused = true)]
async fn questions_of_one_round_are_asked_at_the_same_time() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let together = Arc::new(Barrier::new(2));
        let host = Scripted::waiting(move |question| {
            let together = Arc::clone(&together);
            Box::pin(async move {
                together.wait().await;
                match question.key.as_deref() {
                    Some("seat") => accept(json!({"window": false})),
                    _ => accept(json!({"dish": "soup"})),
                }
            })
        });
        let client = builder(Some(revision))
            .host(host)
            .connect(ours())
            .await
            .unwrap();
        let result = client.call_tool("both", ()).await.unwrap();
        assert_eq!(text(&result), "false soup");
    }
}

struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.take().unwrap().send(());
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_question_ends_the_other_questions_of_its_round() {
    let (dropped, was_dropped) = oneshot::channel();
    let dropped = Mutex::new(Some(Dropped(Some(dropped))));
    let host = Scripted::waiting(move |question| match question.key.as_deref() {
        Some("seat") => {
            let dropped = dropped.lock().unwrap().take();
            Box::pin(async move {
                let _dropped = dropped;
                pending().await
            })
        }
        _ => Box::pin(async { Err(ErrorObject::new(codes::USER_REJECTED, "no")) }),
    });
    let client = builder(None).host(host).connect(ours()).await.unwrap();
    let error = client.call_tool("both", ()).await.unwrap_err();
    assert!(
        matches!(error, ClientError::QuestionRefused(_)),
        "{error:?}"
    );
    was_dropped.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_host_that_panics_or_answers_wrongly_costs_only_the_call() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let times = AtomicU32::new(0);
        let host = Scripted::waiting(move |_| {
            let time = times.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                match time {
                    0 => panic!("the host panics"),
                    1 => accept(json!({"window": "maybe"})),
                    2 => accept(json!({"window": true})),
                    _ => accept(json!({"dish": "soup"})),
                }
            })
        });
        let client = builder(Some(revision))
            .host(host)
            .connect(ours())
            .await
            .unwrap();
        match client.call_tool("reserve", ()).await {
            Ok(result) => assert!(result.failed() && revision == Revision::V2025_11_25),
            Err(error) => assert!(matches!(error, ClientError::Host(_)), "{error:?}"),
        }
        let error = client.call_tool("reserve", ()).await.unwrap_err();
        assert!(matches!(error, ClientError::Host(_)), "{error:?}");
        assert_eq!(
            text(&client.call_tool("reserve", ()).await.unwrap()),
            "true soup"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn refused_roots_end_the_call() {
    let host = || Scripted::new(|_| Err(ErrorObject::new(codes::USER_REJECTED, "no")));
    let client = builder(Some(Revision::V2026_07_28))
        .host(host())
        .connect(ours())
        .await
        .unwrap();
    let error = client.call_tool("roots", ()).await.unwrap_err();
    assert!(
        matches!(error, ClientError::QuestionRefused(_)),
        "{error:?}"
    );
    // In a session the server decides: here with a tool error.
    let client = builder(Some(Revision::V2025_11_25))
        .host(host())
        .connect(ours())
        .await
        .unwrap();
    assert!(client.call_tool("roots", ()).await.unwrap().failed());
}

#[tokio::test(start_paused = true)]
async fn the_server_may_be_killed_between_any_two_rounds() {
    let running = Arc::new(Mutex::new(None));
    let kill = {
        let running = Arc::clone(&running);
        move || {
            let task: tokio::task::JoinHandle<_> = running.lock().unwrap().take().unwrap();
            task.abort();
        }
    };
    let host = Scripted::new(move |question| {
        kill();
        match question.key.as_deref() {
            Some("seat") => accept(json!({"window": true})),
            _ => accept(json!({"dish": "soup"})),
        }
    });
    let started = Arc::new(AtomicU32::new(0));
    let starting = Arc::clone(&started);
    let server = server();
    let client = builder(None)
        .host(host.clone())
        .resend_answers(true)
        .connect(move || {
            let (near, far) = transport::memory();
            let server = server.clone();
            let serving = tokio::spawn(async move { server.serve(far).await });
            *running.lock().unwrap() = Some(serving);
            starting.fetch_add(1, Ordering::Relaxed);
            near
        })
        .await
        .unwrap();
    let result = client.call_tool("reserve", ()).await.unwrap();
    assert_eq!(text(&result), "true soup");
    assert_eq!(started.load(Ordering::Relaxed), 3);
    let notes = host
        .heard()
        .into_iter()
        .filter(|event| matches!(event, Event::Note(_)));
    assert_eq!(notes.count(), 2);
}

// Shows PR-15, PG-01, PG-04, PG-05.
#[tokio::test(start_paused = true)]
async fn lists_have_all_their_pages() {
    for revision in Revision::ALL {
        let client = builder(Some(revision)).connect(ours()).await.unwrap();
        let names: Vec<String> = client
            .tools()
            .await
            .unwrap()
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        assert_eq!(names, ["reserve", "both", "roots", "sign_in"]);
        assert_eq!(client.tools_page(None).await.unwrap().tools.len(), 2);
        assert_eq!(client.prompts().await.unwrap().len(), 1);
        assert_eq!(client.resources().await.unwrap().len(), 1);
        assert_eq!(client.resource_templates().await.unwrap().len(), 0);
    }
}

// Shows BA-01, PR25-02, SU-03.
#[tokio::test(start_paused = true)]
async fn changes_are_heard_in_either_era() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let host = Scripted::new(|_| panic!("nothing is asked"));
        let server = server();
        let (near, far) = transport::memory();
        tokio::spawn({
            let server = server.clone();
            async move { server.serve(far).await }
        });
        let client = builder(Some(revision))
            .host(host.clone())
            .connect(near)
            .await
            .unwrap();
        let filter = SubscriptionFilter {
            tools_list_changed: Some(true),
            prompts_list_changed: Some(true),
            resources_list_changed: Some(true),
            resource_subscriptions: Some(vec!["a:list".into()]),
            ..SubscriptionFilter::default()
        };
        let subscription = client.listen(filter).await.unwrap();
        assert_eq!(subscription.granted().tools_list_changed, Some(true));
        client.subscribe("a:other").await.unwrap();
        server.changed(Change::Tools);
        server.changed(Change::Prompts);
        server.changed(Change::Resources);
        server.changed(Change::Resource("a:list".into()));
        server.changed(Change::Resource("a:other".into()));
        server.changed(Change::Resource("a:third".into()));
        // After this round trip, all of them have arrived.
        client.tools().await.unwrap();
        client.unsubscribe("a:other").await.unwrap();
        drop(subscription);
        client.read_resource("a:list").await.unwrap();
        server.changed(Change::Resource("a:list".into()));
        server.changed(Change::Resource("a:other".into()));
        client.tools().await.unwrap();
        let expected = [
            Event::ToolsChanged,
            Event::PromptsChanged,
            Event::ResourcesChanged,
            Event::ResourceUpdated("a:list".into()),
            Event::ResourceUpdated("a:other".into()),
        ];
        assert_eq!(host.heard(), expected, "{revision}");
    }
}

// Shows EL-07, EL25-01, LI25-03, RO-02, RO25-01, SA-08, SA25-01.
#[tokio::test(start_paused = true)]
async fn what_the_host_can_be_asked_is_declared() {
    for revision in Revision::ALL {
        let (channel, heard) = Strange::start(|_, params| {
            json!({"result": {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {},
                "serverInfo": {"name": "s", "version": "1"},
            }})
        });
        let client = builder(Some(revision))
            .host(Scripted::new(|_| panic!("nothing is asked")))
            .connect(channel)
            .await
            .unwrap();
        let first = heard.lock().unwrap()[0]["params"].clone();
        let declared = match revision {
            Revision::LATEST => &first["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            _ => &first["capabilities"],
        };
        let asks = revision.facts().elicitation_form;
        for (name, expected) in [("sampling", true), ("roots", true), ("elicitation", asks)] {
            assert_eq!(declared[name].is_object(), expected, "{revision}: {name}");
        }
        client.close().await;
    }
}

// Shows RO25-02.
#[tokio::test(start_paused = true)]
async fn roots_that_changed_are_told_on_a_session() {
    for revision in Revision::ALL {
        let (server, mut changes) = watching();
        let server = server.build().unwrap();
        let (near, far) = transport::memory();
        tokio::spawn(async move { server.serve(far).await });
        let client = builder(Some(revision))
            .host(Scripted::new(|_| panic!("nothing is asked")))
            .connect(near)
            .await
            .unwrap();
        client.roots_changed();
        let changed = timeout(Duration::from_secs(60), changes.recv()).await;
        let told = changed.ok().flatten().map(|changed| changed.revision());
        let is_session = revision != Revision::LATEST;
        assert_eq!(told, is_session.then_some(revision));
    }
}

/// A server that computes its results from the method and the parameters. `null` means no response.
pub(super) struct Strange {
    receiver: Receiver,
    sender: Sender,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Strange {
    pub(super) fn start(
        mut answer: impl FnMut(&str, &Value) -> Value + Send + 'static,
    ) -> (Channel, Arc<Mutex<Vec<Value>>>) {
        let (near, far) = transport::memory();
        let (receiver, sender) = far.split();
        let heard = Arc::default();
        let mut server = Self {
            receiver,
            sender,
            heard: Arc::clone(&heard),
        };
        tokio::spawn(async move {
            while let Some(message) = server.hear().await {
                let method = message["method"].as_str().unwrap_or("").to_owned();
                let answered = match method.as_str() {
                    "server/discover" => json!({"result": {
                        "supportedVersions": ["2026-07-28"],
                        "capabilities": {"tools": {}, "resources": {}, "completions": {}},
                    }}),
                    method => answer(method, &message["params"]),
                };
                if !answered.is_null() && message.get("id").is_some() {
                    server.say(&message["id"], answered).await;
                }
            }
        });
        (near, heard)
    }

    async fn hear(&mut self) -> Option<Value> {
        let message: Value =
            serde_json::from_slice(&self.receiver.receive().await.unwrap()?).unwrap();
        self.heard.lock().unwrap().push(message.clone());
        Some(message)
    }

    async fn say(&mut self, id: &Value, mut answer: Value) {
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        self.sender
            .send(answer.to_string().into_bytes())
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_said_before_it_hung_up_is_heard() {
    let (to_server, from_client) = duplex(512);
    let (mut to_client, from_server) = duplex(4096);
    let mut requests = BufReader::new(from_client);
    async fn hear(requests: &mut BufReader<DuplexStream>) -> Value {
        let mut line = String::new();
        requests.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }
    async fn say(to_client: &mut DuplexStream, request: &Value, result: Value) {
        let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        let line = format!("{response}\n");
        to_client.write_all(line.as_bytes()).await.unwrap();
    }
    let greeting = async {
        let hello = hear(&mut requests).await;
        let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
        say(&mut to_client, &hello, result).await;
    };
    let connecting = builder(None).connect(transport::lines(from_server, to_server, 4096));
    let (client, ()) = tokio::join!(connecting, greeting);
    let client = client.unwrap();
    let hanging_up = async {
        let first = hear(&mut requests).await;
        // By now, as much of the second message is written as there is room for.
        sleep(Duration::from_millis(1)).await;
        let result = json!({"resultType": "complete", "content": []});
        say(&mut to_client, &first, result).await;
        drop(requests);
    };
    let long = json!({"long": "x".repeat(10_000)});
    let (first, second, ()) = tokio::join!(
        client.call_tool("first", ()),
        client.call_tool("second", long),
        hanging_up,
    );
    assert!(first.is_ok(), "{first:?}");
    let crashed = ClientError::Crashed("the connection ended".into());
    assert_eq!(second.unwrap_err(), crashed);
}

/// The maximum number of lines of a [`Flood`], so that the test ends if nothing else runs.
const FLOOD_LINES: usize = 300_000;

/// A server's output that is always ready, and is not a message. Counts its lines.
struct Flood(Arc<AtomicUsize>);

impl AsyncRead for Flood {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        const LINE: &[u8] = b"garbage\n";
        while buf.remaining() >= LINE.len() && self.0.load(Ordering::Relaxed) < FLOOD_LINES {
            buf.put_slice(LINE);
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn a_server_that_sends_without_a_pause_does_not_stop_other_tasks() {
    let lines = Arc::new(AtomicUsize::new(0));
    let flood = transport::lines(Flood(Arc::clone(&lines)), tokio::io::sink(), 4096);
    let connecting = timeout(Duration::from_millis(1), builder(None).connect(flood));
    assert!(connecting.await.is_err(), "it is not a server");
    let lines = lines.load(Ordering::Relaxed);
    assert!(lines < FLOOD_LINES, "the timer waited for all lines");
}

// Shows CA-01, CA-05, CA-10.
#[tokio::test(start_paused = true)]
async fn dropping_a_call_cancels_it() {
    let (called, is_called) = oneshot::channel();
    let mut called = Some(called);
    let (cancelled, is_cancelled) = oneshot::channel();
    let mut cancelled = Some(cancelled);
    let (channel, heard) = Strange::start(move |method, _| {
        match method {
            "tools/call" => called.take().unwrap().send(()).unwrap(),
            "notifications/cancelled" => cancelled.take().unwrap().send(()).unwrap(),
            _ => panic!("what is {method}?"),
        }
        Value::Null
    });
    let client = builder(None).connect(channel).await.unwrap();
    tokio::select! {
        result = client.call_tool("t", json!({"a": 1})) => panic!("{result:?}"),
        called = is_called => called.unwrap(),
    }
    is_cancelled.await.unwrap();
    let heard = heard.lock().unwrap();
    let [.., call, cancelled] = heard.as_slice() else {
        panic!("nothing was heard")
    };
    assert_eq!(call["params"]["arguments"], json!({"a": 1}));
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
}

// Shows TO-43, CA-06, CA-07, CA-08, LI24-06, LI25-23, LI25-25.
#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_given_up() {
    let (channel, heard) = Strange::start(|_, _| Value::Null);
    let seconds = Duration::from_secs;
    let limits = limits(|limits| limits.wire.request = seconds(20));
    let builder = builder(None).timeout(seconds(7)).limits(limits);
    let client = builder.connect(channel).await.unwrap();
    let hurried = client.with_timeout(seconds(2));
    let handles = [
        (&client, 7),
        (&hurried, 2),
        // Each handle has its own timeout.
        (&client, 7),
        (&client.with_timeout(seconds(9)), 9),
        (&hurried.with_timeout_in_all(seconds(1)), 1),
    ];
    for (client, wait) in handles {
        let before = tokio::time::Instant::now();
        let error = client.call_tool("t", ()).await.unwrap_err();
        assert_eq!(error, ClientError::TimedOut(seconds(wait)));
        assert_eq!(before.elapsed(), seconds(wait));
        // After a round trip, all earlier messages have arrived.
        let _ = client.with_timeout(seconds(1)).tools_page(None).await;
        let heard = heard.lock().unwrap();
        let [.., call, cancelled, _list, _] = heard.as_slice() else {
            panic!("nothing was heard")
        };
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], call["id"]);
        assert_eq!(cancelled["params"]["reason"], "it took too long");
    }
}

// Shows CO-12.
#[tokio::test(start_paused = true)]
async fn suggestions_are_taken_as_far_as_they_are_there() {
    for (completion, expected) in [
        (json!({"values": []}), (&[][..], None, None)),
        (json!({"values": ["x"]}), (&["x"], None, None)),
        (
            json!({"values": ["x"], "total": 1}),
            (&["x"], Some(1), None),
        ),
        (
            json!({"values": ["x", "y"], "hasMore": true}),
            (&["x", "y"], None, Some(true)),
        ),
        (
            json!({"values": ["x"], "total": 12, "hasMore": true}),
            (&["x"], Some(12), Some(true)),
        ),
    ] {
        let result = json!({"result": {"completion": completion}});
        let (channel, _) = Strange::start(move |_, _| result.clone());
        let client = builder(None).connect(channel).await.unwrap();
        let reference = Reference::prompt("p");
        let found = client.complete(reference, ("a", ""), BTreeMap::new()).await;
        let found = found.unwrap();
        let (values, total, has_more) = expected;
        assert_eq!(found.values, values, "{completion}");
        assert_eq!((found.total, found.has_more), (total, has_more));
    }
}

// Shows CO-12, LI25-16, LI25-22.
#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_have_is_empty_or_unsupported() {
    let (channel, _) = Strange::start(|method, params| match method {
        "completion/complete" => {
            assert_eq!(params["context"]["arguments"], json!({"a": "1"}));
            json!({"result": {"completion": {"values": ["x"], "total": 1}}})
        }
        "prompts/list" | "prompts/get" => json!({"error": {"code": -32601, "message": "no"}}),
        _ => panic!("what is {method}?"),
    });
    let client = builder(None).connect(channel).await.unwrap();
    assert!(client.prompts().await.unwrap().is_empty());
    let error = client.get_prompt("p", ()).await.unwrap_err();
    assert!(matches!(error, ClientError::Server(_)), "{error}");
    assert!(matches!(
        client.ping().await,
        Err(ClientError::Unsupported(_))
    ));
    client.set_log_level(LoggingLevel::Error).await.unwrap();
    let reference = Reference::prompt("p");
    let context = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
    let completion = client
        .complete(reference, ("b", "2"), context)
        .await
        .unwrap();
    assert_eq!(completion.values, ["x"]);
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_ends_what_is_in_progress() {
    let (called, is_called) = oneshot::channel();
    let mut called = Some(called);
    let (channel, _) = Strange::start(move |_, _| {
        called.take().unwrap().send(()).unwrap();
        Value::Null
    });
    let client = builder(None).connect(channel).await.unwrap();
    let other = client.clone();
    let calling = tokio::spawn(async move { other.call_tool("t", ()).await });
    is_called.await.unwrap();
    let other = client.clone();
    client.close().await;
    assert_eq!(calling.await.unwrap().unwrap_err(), ClientError::Closed);
    assert_eq!(
        other.call_tool("t", ()).await.unwrap_err(),
        ClientError::Closed
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_a_client_is_closed_is_sent() {
    let (near, far) = transport::memory();
    let (server, mut changes) = watching();
    let server = server.build().unwrap();
    tokio::spawn(async move { server.serve(far).await });
    let client = builder(Some(Revision::V2025_11_25))
        .host(Scripted::new(|_| panic!("nothing is asked")))
        .connect(near)
        .await
        .unwrap();
    // The driver sees both at once.
    client.roots_changed();
    client.close().await;
    let changed = timeout(Duration::from_secs(60), changes.recv()).await;
    assert!(changed.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_channel_is_a_way_to_a_server_once() {
    let gone = ClientError::Unreachable("the connection ended and cannot be opened again".into());
    let (near, far) = transport::memory();
    drop(far);
    let Err(error) = builder(None).connect(near).await else {
        panic!("connected to nobody")
    };
    assert_eq!(error, gone);
    let (channel, _) = Strange::start(|_, _| panic!("the server panics"));
    let client = builder(None).connect(channel).await.unwrap();
    let error = client.call_tool("t", ()).await.unwrap_err();
    assert_eq!(error, ClientError::Crashed("the connection ended".into()));
    assert_eq!(client.call_tool("t", ()).await.unwrap_err(), gone);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_given_up_is_closed() {
    let (near, far) = transport::memory();
    let (mut receiver, _sender) = far.split();
    tokio::select! {
        _ = builder(None).connect(near) => panic!("connected to a mute server"),
        probe = receiver.receive() => assert!(probe.unwrap().is_some()),
    }
    assert!(receiver.receive().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_and_does_not_read_is_not_listened_to() {
    let (near, far) = transport::memory();
    let (mut receiver, mut sender) = far.split();
    let connecting = tokio::spawn(
        builder(Some(Revision::V2025_11_25))
            .limits(limits(|limits| limits.wire.message_bytes = 1000))
            .connect(near),
    );
    receiver.receive().await.unwrap().unwrap();
    let initialized = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "serverInfo": {"name": "s", "version": "1"},
    }});
    sender
        .send(initialized.to_string().into_bytes())
        .await
        .unwrap();
    let _client = connecting.await.unwrap().unwrap();
    let mut sent = 0;
    let asking = async {
        while sent < 10_000 {
            sender
                .send(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_vec())
                .await
                .unwrap();
            sent += 1;
        }
    };
    let patience = Duration::from_secs(1);
    assert!(tokio::time::timeout(patience, asking).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_long_ends_its_call() {
    let most = 8 << 10;
    let (near, far) = duplex(1000);
    let (reader, writer) = tokio::io::split(near);
    let builder = builder(Some(Revision::V2025_11_25));
    let builder = builder.limits(limits(|limits| limits.wire.message_bytes = most));
    let serving = async {
        let (reader, mut writer) = tokio::io::split(far);
        let mut said = BufReader::new(reader).lines();
        let mut calls = 0;
        while let Some(line) = said.next_line().await.unwrap() {
            let asked: Value = serde_json::from_str(&line).unwrap();
            let (id, text) = (&asked["id"], "é".repeat(most));
            let content = json!({"content": [{"type": "text", "text": text, "id": 0}]});
            let answer = match asked["method"].as_str().unwrap() {
                "initialize" => format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
                ),
                "tools/call" => {
                    calls += 1;
                    match calls {
                        1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{content}}}"#),
                        2 => format!(r#"{{"result":{content},"jsonrpc":"2.0","id":{id}}}"#),
                        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#),
                    }
                }
                _ => continue,
            };
            writer
                .write_all(format!("{answer}\n").as_bytes())
                .await
                .unwrap();
        }
    };
    let calling = async {
        let client = builder
            .connect(transport::lines(reader, writer, most))
            .await
            .unwrap();
        let began = tokio::time::Instant::now();
        for _ in 0..2 {
            let error = client.call_tool("t", ()).await.unwrap_err();
            assert_eq!(error, ClientError::TooLarge(8192));
        }
        assert_eq!(client.call_tool("t", ()).await.unwrap().content, []);
        assert_eq!(began.elapsed(), Duration::ZERO);
        client.close().await;
    };
    tokio::join!(serving, calling);
}

#[tokio::test(start_paused = true)]
async fn a_mute_server_is_given_up_after_probe_and_handshake() {
    let (near, far) = transport::memory();
    let Err(error) = builder(None).connect(near).await else {
        panic!("connected to nobody")
    };
    assert_eq!(error, ClientError::TimedOut(Duration::from_secs(300)));
    drop(far);
}

#[test]
fn clients_can_be_shared() {
    fn assert_shareable<T: Send + Sync>() {}
    assert_shareable::<Client>();
    assert_shareable::<PendingCall<CallToolResult>>();
}

// Shows ST-05.
#[tokio::test]
async fn any_two_byte_streams_carry_a_message_a_line() {
    let hello = Tool::new("hello", async || Ok("Hello,\nand welcome!"));
    let server = Server::new("s", "1").tool(hello).build().unwrap();
    let (near, far) = tokio::io::duplex(16);
    let (reader, writer) = tokio::io::split(far);
    let served = tokio::spawn(async move {
        let most = Limits::default().wire.message_bytes;
        server.serve(transport::lines(reader, writer, most)).await
    });
    let (reader, mut writer) = tokio::io::split(near);
    let mut answers = BufReader::new(reader).lines();
    for (message, expected) in [
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "c", "version": "1"},
            }}),
            "2025-11-25",
        ),
        (
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "hello"}}),
            "Hello,\\nand welcome!",
        ),
    ] {
        let line = format!("{message}\n");
        writer.write_all(line.as_bytes()).await.unwrap();
        let answer = answers.next_line().await.unwrap().unwrap();
        assert!(answer.contains(expected), "{answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], message["id"], "{answer}");
    }
    drop((answers, writer));
    served.await.unwrap().unwrap();
}
