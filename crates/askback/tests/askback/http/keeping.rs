//! A server counts the bytes that it stores for clients, and divides its memory among principals.

mod ending;

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use askback::{
    Change, Ctx, Json, Limits, Principal, Result, Revision, Server, ServerBuilder, Tool,
    http::Service, protocol::TaskSupport, testing::TestClock,
};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body::Frame;
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};

use super::{
    Stage,
    client::{MESSAGE, Response, hello, mirrored, stateless},
};
use crate::asking::Seat;

/// The number of principals that take as much as they can.
const HOSTILE: usize = 50;

const MOST: usize = 32 << 20;

/// The length of the text that `says` returns, in bytes.
const SAID: usize = 32 << 10;

/// All runnable tasks run in this time.
const MOMENT: Duration = Duration::from_millis(1);

/// A client that acts for an authenticated principal.
#[derive(Clone)]
struct Guest {
    service: Service,
    principal: Option<Principal>,
}

/// Things that a client holds until it is dropped.
#[derive(Default)]
struct Held {
    responses: Vec<Response>,
    uploads: Vec<JoinHandle<Response>>,
    answers: Vec<Bytes>,
}

/// A body that never ends.
struct Unfinished(Option<String>);

impl http_body::Body for Unfinished {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
        match self.0.take() {
            Some(part) => Poll::Ready(Some(Ok(Frame::data(part.into())))),
            None => Poll::Pending,
        }
    }
}

impl Guest {
    fn new(server: &Service, subject: Option<String>) -> Self {
        Self {
            service: server.clone(),
            principal: subject.map(Principal::new),
        }
    }

    async fn send<B: http_body::Body>(&self, headers: &[(&str, &str)], body: B) -> Response {
        let mut request = Request::builder().method("POST").uri("/mcp");
        for (name, value) in MESSAGE.iter().chain(headers) {
            request = request.header(*name, value.as_bytes());
        }
        let mut request = request.body(body).unwrap();
        if let Some(principal) = &self.principal {
            request.extensions_mut().insert(principal.clone());
        }
        Response::new(self.service.respond(request).await)
    }

    async fn call(&self, method: &str, params: Value) -> Response {
        let mut message = stateless(method, params);
        let meta = &mut message["params"]["_meta"];
        meta["io.modelcontextprotocol/clientCapabilities"]["extensions"] =
            json!({"io.modelcontextprotocol/tasks": {}});
        let headers = mirrored(&message);
        self.send(&headers, message.to_string()).await
    }

    async fn open(&self) -> Result<String, Response> {
        let hello = hello(Revision::V2025_11_25, json!({"elicitation": {}}));
        let response = self.send(&[], hello.to_string()).await;
        let Some(id) = response.header("mcp-session-id").map(str::to_owned) else {
            return Err(response);
        };
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let session = ("mcp-session-id", id.as_str());
        self.send(&[session], initialized.to_string()).await;
        Ok(id)
    }

    async fn in_session(&self, session: &str, id: usize, method: &str, params: Value) -> Response {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let session = ("mcp-session-id", session);
        self.send(&[session], message.to_string()).await
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    IdleSessions,
    SessionsThatAsk,
    Watched,
    Events,
    Arguments,
    Tasks,
    Results,
    Bodies,
    Subscriptions,
    Responses,
    ResponsesOfSessions,
}

const KINDS: [Kind; 11] = [
    Kind::IdleSessions,
    Kind::SessionsThatAsk,
    Kind::Watched,
    Kind::Events,
    Kind::Arguments,
    Kind::Tasks,
    Kind::Results,
    Kind::Bodies,
    Kind::Subscriptions,
    Kind::Responses,
    Kind::ResponsesOfSessions,
];

/// More than the limit of any principal. If this number is reached, there is no limit.
const TOO_OFTEN: usize = 10_000;

impl Kind {
    /// Makes the server store one more item of this kind. Returns whether it did.
    async fn one_more(self, guest: &Guest, at: usize, held: &mut Held) -> bool {
        let text = || "x".repeat(32 << 10);
        match self {
            Self::IdleSessions | Self::SessionsThatAsk | Self::Watched | Self::Events => {
                let Ok(session) = guest.open().await else {
                    return false;
                };
                self.fill_session(guest, &session, held).await
            }
            Self::Arguments => {
                let params = json!({"name": "asks_about", "arguments": {"text": text()}});
                let Ok(session) = guest.open().await else {
                    return false;
                };
                let response = guest.in_session(&session, at, "tools/call", params).await;
                asked(response, held).await
            }
            Self::Tasks => {
                let params = json!({"name": "works", "arguments": {"text": text()}});
                let response = guest.call("tools/call", params).await;
                response.json().await["error"].is_null()
            }
            Self::Results => {
                let params = json!({"name": "makes"});
                let task = guest.call("tools/call", params).await.json().await;
                sleep(10 * MOMENT).await;
                let id = &task["result"]["taskId"];
                if id.is_null() {
                    return false;
                }
                let params = json!({"taskId": id});
                let mut message = stateless("tasks/get", params);
                let meta = &mut message["params"]["_meta"];
                meta["io.modelcontextprotocol/clientCapabilities"]["extensions"] =
                    json!({"io.modelcontextprotocol/tasks": {}});
                let mut headers = mirrored(&message);
                headers.push(("mcp-name", id.as_str().unwrap()));
                let told = guest.send(&headers, message.to_string()).await.json().await;
                told["result"]["status"] == "completed"
            }
            Self::Responses => {
                let params = json!({"name": "says"});
                unread(guest.call("tools/call", params).await, held).await
            }
            Self::ResponsesOfSessions => {
                let Ok(session) = guest.open().await else {
                    return false;
                };
                let params = json!({"name": "says"});
                unread(
                    guest.in_session(&session, at, "tools/call", params).await,
                    held,
                )
                .await
            }
            Self::Bodies => {
                let (guest, body) = (guest.clone(), Unfinished(Some(text())));
                let upload = tokio::spawn(async move { guest.send(&[], body).await });
                sleep(MOMENT).await;
                if upload.is_finished() {
                    return refused(upload.await.unwrap()).await;
                }
                held.uploads.push(upload);
                true
            }
            Self::Subscriptions => {
                let uris: Vec<_> = (0..16)
                    .map(|at| format!("{at}{}", "x".repeat(2000)))
                    .collect();
                let params = json!({"notifications": {"resourceSubscriptions": uris}});
                let response = guest.call("subscriptions/listen", params).await;
                if response.is_stream() {
                    held.responses.push(response);
                    return true;
                }
                refused(response).await
            }
        }
    }

    /// The smallest size of one item of this kind, in bytes.
    fn least(self) -> usize {
        match self {
            Self::IdleSessions | Self::SessionsThatAsk => 1 << 10,
            _ => 30 << 10,
        }
    }

    async fn fill_session(self, guest: &Guest, session: &str, held: &mut Held) -> bool {
        match self {
            Self::SessionsThatAsk => {
                let params = json!({"name": "asks"});
                let response = guest.in_session(session, 1, "tools/call", params).await;
                asked(response, held).await
            }
            Self::Watched => {
                for at in 0..16 {
                    let uri = format!("{at}{}", "x".repeat(2000));
                    let params = json!({"uri": uri});
                    let method = "resources/subscribe";
                    let response = guest.in_session(session, at, method, params).await;
                    if response.status != 200 {
                        return refused(response).await;
                    }
                }
                true
            }
            Self::Events => {
                let params = json!({"name": "makes"});
                // The response of a call that had to wait is stored with its stream.
                let response = guest.in_session(session, 1, "tools/call", params).await;
                if !response.is_stream() {
                    return refused(response).await;
                }
                drop(response);
                sleep(Duration::from_secs(10)).await;
                true
            }
            _ => true,
        }
    }
}

/// Whether a call got its result, which its client leaves unread.
async fn unread(mut response: Response, held: &mut Held) -> bool {
    if response.status != 200 {
        return refused(response).await;
    }
    let answer = response.bytes().await.unwrap();
    if answer.len() < SAID {
        let why = String::from_utf8_lossy(&answer);
        assert!(why.contains("try again later"), "{why}");
        return false;
    }
    // The server has sent the result, and the client has not read it.
    drop(response);
    held.answers.push(answer);
    true
}

async fn asked(mut response: Response, held: &mut Held) -> bool {
    if !response.is_stream() {
        return refused(response).await;
    }
    let message = response.message().await;
    held.responses.push(response);
    match message["method"].as_str() {
        Some("elicitation/create") => true,
        _ => {
            let why = message.to_string();
            assert!(why.contains("try again later"), "{why}");
            false
        }
    }
}

/// Checks that a refusal says what to do.
async fn refused(response: Response) -> bool {
    let status = response.status;
    if status != 200 {
        let codes = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        assert!(codes.contains(&status), "{status}");
        assert_eq!(response.header("retry-after"), Some("1"));
    }
    let why = response.text().await;
    assert!(why.contains("try again later"), "{why}");
    false
}

/// Waits for as long as its client does.
async fn asks_about(ctx: Ctx, _: Json<Value>) -> Result<String> {
    let seat: Seat = ctx.elicit("A seat?").await?.accepted()?;
    Ok(seat.window.to_string())
}

async fn works(_: Json<Value>) -> Result<String> {
    std::future::pending().await
}

async fn makes() -> Result<String> {
    sleep(Duration::from_micros(1)).await;
    Ok("x".repeat(32 << 10))
}

async fn says() -> Result<String> {
    Ok("x".repeat(SAID))
}

async fn makes_later() -> Result<String> {
    sleep(Duration::from_secs(5)).await;
    makes().await
}

fn builder(kind: Kind) -> ServerBuilder {
    let mut limits = Limits::default();
    limits.server.kept_bytes = MOST;
    limits.http.sessions = 16 << 10;
    // Nothing expires before the server is full.
    for limit in [
        &mut limits.http.body_read,
        &mut limits.http.resume,
        &mut limits.asking.answer,
    ] {
        *limit = Duration::from_secs(24 * 60 * 60);
    }
    let optional = TaskSupport::Optional;
    let makes = match kind {
        Kind::Events => Tool::new("makes", makes_later),
        _ => Tool::new("makes", makes).task(optional),
    };
    Stage::default()
        .builder()
        .tool(Tool::new("asks_about", asks_about))
        .tool(Tool::new("works", works).task(optional))
        .tool(makes)
        .tool(Tool::new("says", says))
        .clock(TestClock::new())
        .limits(limits)
}

/// A server that many principals have filled with one kind of item, and what they hold.
async fn filled(
    kind: Kind,
    owners: impl Iterator<Item = Option<String>>,
) -> (Server, Service, Held) {
    let server = builder(kind).build().unwrap();
    let service = server.http().service();
    let mut held = Held::default();
    let mut empty = true;
    for owner in owners {
        let guest = Guest::new(&service, owner);
        let mut at = 0;
        loop {
            let before = server.kept_bytes();
            let kept = kind.one_more(&guest, at, &mut held).await;
            let after = server.kept_bytes();
            assert!(after <= MOST, "{kind:?}");
            let counted = after.saturating_sub(before);
            assert!(counted >= kind.least() || !empty, "{kind:?}: {counted}");
            empty = false;
            // An idle session is ended to make room for the principal's next one.
            if !kept || after <= before {
                break;
            }
            at += 1;
            assert!(at < TOO_OFTEN, "{kind:?}");
        }
        // The rest is filled as well, with small items.
        let nothing = json!({"notifications": {}});
        loop {
            let crumb = guest.call("subscriptions/listen", nothing.clone()).await;
            if !crumb.is_stream() {
                break;
            }
            held.responses.push(crumb);
        }
        assert!(server.kept_bytes() <= MOST, "{kind:?}");
    }
    (server, service, held)
}

/// Checks that a client with normal demands is served.
async fn assert_serves(service: &Service, kind: Kind) {
    let honest = Guest::new(service, Some("honest".to_owned()));
    let answer = honest.call("tools/call", json!({"name": "hello"})).await;
    assert_eq!(
        answer.json().await["result"]["content"][0]["text"],
        "Hello!"
    );
    let session = honest.open().await;
    let session = session.unwrap_or_else(|refused| panic!("{kind:?}: {}", refused.status));
    let mut asking = honest
        .in_session(&session, 1, "tools/call", json!({"name": "asks"}))
        .await;
    let question = asking.message().await;
    assert_eq!(
        question["method"], "elicitation/create",
        "{kind:?}: {question}"
    );
    let watch = json!({"uri": "note://one"});
    let watching = honest
        .in_session(&session, 2, "resources/subscribe", watch)
        .await;
    assert_eq!(watching.status, 200, "{kind:?}");
    let result = json!({"action": "accept", "content": {"window": true}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    let id = [("mcp-session-id", &*session)];
    let taken = honest.send(&id, answer.to_string()).await;
    assert_eq!(taken.status, 202, "{kind:?}");
    let told = asking.message().await;
    assert_eq!(
        told["result"]["content"][0]["text"], "by the window: true",
        "{kind:?}"
    );
}

/// Checks that the memory of stored items is counted, and freed.
async fn assert_bounded(kind: Kind) {
    let owners = (0..HOSTILE).map(|at| Some(format!("hostile {at}")));
    let (server, service, held) = filled(kind, owners).await;
    assert!(
        server.kept_bytes() > MOST / 2,
        "{kind:?}: {}",
        server.kept_bytes()
    );
    assert_serves(&service, kind).await;
    assert!(server.kept_bytes() <= MOST);
    let uploads = held.uploads;
    uploads.iter().for_each(JoinHandle::abort);
    drop((held.responses, held.answers));
    drop(service);
    // Sessions end with their endpoint, and tasks when they expire.
    sleep(Duration::from_secs(25 * 60 * 60)).await;
    assert_eq!(server.kept_bytes(), 0, "{kind:?}");
}

macro_rules! bounded {
    ($($test:ident: $kind:ident,)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $test() {
                assert_bounded(Kind::$kind).await;
            }
        )*

        #[test]
        fn every_kind_is_tried() {
            let tried = [$(Kind::$kind),*];
            assert_eq!(tried, KINDS);
        }
    };
}

bounded! {
    fifty_principals_with_idle_sessions_lock_nobody_out: IdleSessions,
    fifty_principals_with_open_questions_lock_nobody_out: SessionsThatAsk,
    fifty_principals_who_watch_resources_lock_nobody_out: Watched,
    fifty_principals_with_unread_streams_lock_nobody_out: Events,
    fifty_principals_with_large_arguments_lock_nobody_out: Arguments,
    fifty_principals_with_tasks_lock_nobody_out: Tasks,
    fifty_principals_with_large_results_lock_nobody_out: Results,
    fifty_principals_with_unfinished_bodies_lock_nobody_out: Bodies,
    fifty_principals_with_subscriptions_lock_nobody_out: Subscriptions,
    fifty_principals_who_do_not_read_lock_nobody_out: Responses,
    fifty_principals_who_do_not_read_in_sessions_lock_nobody_out: ResponsesOfSessions,
}

/// All callers without a principal count as one owner, which may use nearly all the memory.
#[tokio::test(start_paused = true)]
async fn unknown_callers_have_all_but_one_share() {
    for kind in [Kind::IdleSessions, Kind::Bodies, Kind::Subscriptions] {
        let (server, service, _held) = filled(kind, [None].into_iter()).await;
        let taken = server.kept_bytes();
        let all_but_one_share = MOST - MOST / 8;
        let idle = kind == Kind::IdleSessions;
        assert!(taken <= all_but_one_share, "{kind:?}: {taken}");
        assert!(
            idle || taken > all_but_one_share - (128 << 10),
            "{kind:?}: {taken}"
        );
        // A known principal still gets its share.
        assert_serves(&service, kind).await;
    }
}

/// All sessions of one principal are in use, and the server is full. Another principal can still
/// open a session.
#[tokio::test(start_paused = true)]
async fn active_sessions_of_the_largest_owner_are_ended_for_others() {
    let mut limits = Limits::default();
    limits.http.sessions = 6;
    limits.server.owner_share = 1;
    let server = Stage::default().builder().limits(limits).build().unwrap();
    let service = server.http().service();
    let [many, few, new] =
        ["many", "few", "new"].map(|name| Guest::new(&service, Some(name.into())));
    let mut held = Held::default();
    let mut sessions = Vec::new();
    for (guest, count) in [(&few, 2), (&many, 4)] {
        for _ in 0..count {
            let session = guest.open().await.ok().unwrap();
            let params = json!({"name": "asks"});
            let response = guest.in_session(&session, 1, "tools/call", params).await;
            assert!(asked(response, &mut held).await);
            sessions.push((guest, session));
            sleep(MOMENT).await;
        }
    }
    // The principal with the most sessions gets no more, and loses none.
    let status = many.open().await.err().unwrap().status;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let one = new.open().await.ok().unwrap();
    sessions.push((&new, one));
    let mut found = Vec::new();
    for (guest, session) in &sessions {
        let response = guest.in_session(session, 9, "ping", json!({})).await;
        found.push(response.status.as_u16());
    }
    assert_eq!(found, [200, 200, 404, 200, 200, 200, 200]);
}

#[tokio::test(start_paused = true)]
async fn a_change_for_one_principal_reaches_no_other_principal() {
    let server = Stage::default()
        .builder()
        .tool(Tool::new(
            "moves",
            async |ctx: Ctx| -> Result<&'static str> {
                ctx.changed_for_caller(Change::Resources);
                Ok("Moved.")
            },
        ))
        .build()
        .unwrap();
    let service = server.http().service();
    let wish = json!({"resourcesListChanged": true, "resourceSubscriptions": ["note://one"]});
    let mut streams = Vec::new();
    for name in [Some("ada"), Some("eve"), None] {
        let guest = Guest::new(&service, name.map(str::to_owned));
        let params = json!({"notifications": wish});
        let mut modern = guest.call("subscriptions/listen", params).await;
        modern.message().await;
        let session = guest.open().await.ok().unwrap();
        let watch = json!({"uri": "note://one"});
        guest
            .in_session(&session, 1, "resources/subscribe", watch)
            .await;
        streams.push((guest, session, modern));
    }
    let mut ada = Principal::new("ada");
    ada.client_id = Some("another client".to_owned());
    let watched = Change::Resource("note://one".to_owned());
    for (act, heard) in [
        (0, [true, false, false]),
        (1, [false, false, true]),
        (2, [true; 3]),
    ] {
        match act {
            0 => server.changed_for(&ada, watched.clone()),
            1 => {
                let moved = streams[2]
                    .0
                    .call("tools/call", json!({"name": "moves"}))
                    .await;
                assert_eq!(moved.status, 200);
            }
            _ => server.changed(watched.clone()),
        }
        for ((guest, session, modern), hears) in streams.iter_mut().zip(heard) {
            let mut request = Request::get("/mcp")
                .header("host", "localhost")
                .header("accept", "text/event-stream")
                .header("mcp-session-id", &**session)
                .body(String::new())
                .unwrap();
            if let Some(principal) = &guest.principal {
                request.extensions_mut().insert(principal.clone());
            }
            let mut own = Response::new(service.respond(request).await);
            // A stream's first event has no message.
            own.event().await;
            for stream in [modern, &mut own] {
                if hears {
                    let method = stream.message().await["method"].take();
                    let list = act == 1;
                    let updated = "notifications/resources/updated";
                    let changed = "notifications/resources/list_changed";
                    assert_eq!(method, if list { changed } else { updated });
                }
                stream.assert_quiet().await;
            }
        }
    }
}
