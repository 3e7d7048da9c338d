//! Messages as a server reads them. The fast path for tool calls and the cache of known clients
//! give the same results as full parsing.

use std::sync::{Arc, LazyLock};

use askback_core::{
    ask::Principal,
    engine::server::{
        Call, ClientLocation, Connection, KnownClient, Origin, Output, Profile, ReceivedMessage,
        ReceivedRequest, admit,
    },
    jsonrpc::{self, ErrorObject, MalformedMessage, Payload},
    protocol::{Implementation, ServerCapabilities},
    revision::Revision,
};
use proptest::{collection::vec, prelude::*, sample::select};

use crate::proptest_config;

const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load \"é\"","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

static PROFILE: LazyLock<Arc<Profile>> = LazyLock::new(|| {
    Arc::new(Profile {
        info: Implementation::new("agency", "1"),
        capabilities: ServerCapabilities::default(),
        instructions: None,
        revisions: Revision::ALL.into_iter().rev().collect(),
        ttl_ms: 0,
        limits: Arc::default(),
        forwards: false,
    })
});

static KNOWN: LazyLock<Vec<Arc<KnownClient>>> =
    LazyLock::new(|| vec![Arc::new(learn(META).expect("a client"))]);

fn call(meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":[1]}},"_meta":{meta}}}}}"#
    )
}

fn read(text: &str, known: &[Arc<KnownClient>]) -> Result<ReceivedMessage, MalformedMessage> {
    ReceivedMessage::parse(text.as_bytes(), &PROFILE.limits, known)
}

fn learn(meta: &str) -> Option<KnownClient> {
    let text = call(meta);
    let received = read(&text, &[]).ok()?;
    KnownClient::learn(
        text.as_bytes(),
        received.unknown_client()?,
        &PROFILE,
        ClientLocation::Elsewhere,
    )
}

fn admitted(request: ReceivedRequest) -> Result<Call, ErrorObject> {
    admit(&PROFILE, None, ClientLocation::Elsewhere, request)
}

/// All that a server can see of a message.
fn seen(received: Result<ReceivedMessage, MalformedMessage>) -> String {
    match received {
        Ok(ReceivedMessage::Request(request)) if request.version().is_some() => {
            let (id, version) = (request.id.clone(), request.version().map(str::to_owned));
            format!("{id:?} {version:?} {:?}", admitted(request))
        }
        Ok(ReceivedMessage::Request(request)) => format!("{:?} {:?}", request.id, request.request),
        other => format!("{other:?}"),
    }
}

/// Parses a message on the fast path and in full.
fn check(text: &str) {
    let limits = &PROFILE.limits.wire;
    let slowly = jsonrpc::parse(text.as_bytes(), limits).map(|payload| match payload {
        Payload::Single(message) => message.into(),
        Payload::Batch(messages) => ReceivedMessage::Batch(messages),
    });
    let slowly = seen(slowly);
    assert_eq!(seen(read(text, &KNOWN)), slowly, "{text}");
    assert_eq!(seen(read(text, &[])), slowly, "{text}");
}

fn piece(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(pieces).prop_map(str::to_owned)
}

/// An object with some of these members, in any order, with or without white space.
fn object(
    members: impl Strategy<Value = String>,
    most: usize,
) -> impl Strategy<Value = (Vec<String>, String)> {
    (
        vec(members, 0..most),
        piece(&["", "", "", " ", "\n\t", "\r\n ", ","]),
    )
}

fn written((members, space): (Vec<String>, String)) -> String {
    let members = members.join(&format!("{space},{space}"));
    format!("{{{space}{members}{space}}}")
}

fn params() -> impl Strategy<Value = String> {
    let known = Just(format!(r#""_meta":{META}"#));
    let others = piece(&[
        r#""_meta":{}"#,
        r#""_meta":{"progressToken":1}"#,
        r#""_meta":null"#,
        r#""_meta" : {"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
        r#""requestState":"abc""#,
        r#""requestState":"a\nc""#,
        r#""requestState":null"#,
        r#""inputResponses":{"a":{"action":"decline"},"b":1}"#,
        r#""inputResponses":{"a":1,"a":2}"#,
        r#""inputResponses":[]"#,
        r#""task":{}"#,
        r#""unknown":[{"a":"]"}]"#,
    ]);
    let needed = piece(&[
        r#""name":"echo""#,
        r#""name":"echo""#,
        r#""name":"\u0065cho""#,
        "\"name\":\"e\u{1}\"",
        "\"name\":\"\u{e9}\"",
        r#""n\u0061me":"echo""#,
        r#""name":1"#,
    ]);
    let arguments = piece(&[
        r#""arguments":{"message":"Hello, world!"}"#,
        r#""arguments": { "a" : [1, {"b": "}\"\\"}] } "#,
        r#""arguments":{}"#,
        r#""arguments":null"#,
        r#""arguments":[]"#,
        r#""arguments":{"a":01}"#,
        r#""arguments":{"a":1]"#,
        r#""arguments":{"a":tru}"#,
    ]);
    let usual = (needed, arguments).prop_map(|(name, arguments)| format!("{name},{arguments}"));
    let member = prop_oneof![4 => usual, 3 => known, 2 => others];
    object(member, 4).prop_map(written)
}

fn message() -> impl Strategy<Value = String> {
    let envelope = prop_oneof![
        6 => Just(r#""jsonrpc":"2.0","id":7,"method":"tools/call""#.to_owned()),
        2 => piece(&[
            r#""jsonrpc":"2.0","id":"a","method":"tools/call""#,
            r#""id":-7,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":0,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":07,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":7.0,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":7e1,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":999999999999999999,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":9999999999999999999,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":null,"jsonrpc":"2.0","method":"tools/call""#,
            r#""id":"","jsonrpc":"2.0","method":"tools\/call""#,
            r#""id":7,"jsonrpc":"1.0","method":"tools/call""#,
            r#""id":7,"jsonrpc":"2.0","method":"tools/list""#,
            r#""jsonrpc":"2.0","method":"tools/call""#,
        ]),
        1 => piece(&[r#""id":7"#, r#""result":{}"#, r#""other":[1,"]"]"#, r#""params":{}"#]),
    ];
    let params = params().prop_map(|params| format!(r#""params":{params}"#));
    (
        object(prop_oneof![envelope, params], 4),
        piece(&["", "", " ", "\n", "{}", ","]),
    )
        .prop_map(|(members, end)| written(members) + &end)
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn reading_a_call_at_once_and_step_by_step_gives_the_same_result(message in message()) {
        check(&message);
    }

    #[test]
    fn a_spoilt_call_is_read_at_once_as_step_by_step(at in 0..1000_usize, byte in any::<u8>()) {
        let mut text = call(META).into_bytes();
        let at = at % text.len();
        let harmed = [&text[..at], &[byte], &text[at..]].concat();
        text[at] = byte;
        for text in [text, harmed] {
            if let Ok(text) = std::str::from_utf8(&text) {
                check(text);
            }
        }
    }
}

#[test]
fn calls_as_they_are_nearly_always_written_are_read_at_once() {
    let sorted = format!(
        r#" {{"id":"a","jsonrpc":"2.0","method":"tools/call","params":{{"_meta":{META},"arguments":{{}},"name":"echo"}}}}"#
    );
    for text in [call(META), call(&format!(" {META} ")), sorted] {
        check(&text);
        let Ok(ReceivedMessage::Request(request)) = read(&text, &KNOWN) else {
            panic!("{text}");
        };
        // A known `_meta` is not parsed again.
        assert_eq!(request.request.target(), Some("echo"));
        let origins = [request.clone(), request].map(|request| admitted(request).unwrap().origin);
        assert!(Arc::ptr_eq(&origins[0], &origins[1]), "{text}");
    }
    // Two known texts in a row are not a known `_meta`.
    check(&call(&format!("{META}{META}")));
    check(&call(&META[..META.len() - 1]));
    check(&call(&format!("{META}}}")));
}

#[test]
fn only_what_a_client_says_with_every_request_is_kept() {
    let with = |more: &str| format!("{{{more},{}", &META[1..]);
    let long = with(&format!(r#""x/y":"{}""#, "x".repeat(2000)));
    let older = META.replace("2026-07-28", "2025-11-25");
    let cases = [
        (META, true),
        (&META.replace(':', " : "), true),
        (&with(r#""io.modelcontextprotocol/logLevel":"info""#), true),
        // A progress token belongs to one request, and so does a trace context.
        (&with(r#""progressToken":1"#), false),
        (&with(r#""traceparent":"00-1-1-00""#), false),
        (&with(r#""com.example/tenant":"north""#), false),
        (&long, false),
        (
            &META.replace("1\"", &format!("{}\"", "1".repeat(2000))),
            false,
        ),
        // The revision is not admitted.
        (&older, false),
        ("{}", false),
    ];
    for (meta, kept) in cases {
        assert_eq!(learn(meta).is_some(), kept, "{meta}");
    }
}

#[test]
fn the_client_is_taken_from_its_request_and_never_from_a_known_client() {
    let text = call(META);
    let admit_for = |principal: Option<Principal>| {
        let Ok(ReceivedMessage::Request(request)) = read(&text, &KNOWN) else {
            panic!("{text}");
        };
        let call = admit(
            &PROFILE,
            principal.map(Arc::new),
            ClientLocation::Elsewhere,
            request,
        );
        let origin = call.unwrap().origin;
        origin
            .principal
            .as_ref()
            .map(|known| known.subject.to_string())
    };
    assert_eq!(admit_for(None), None);
    assert_eq!(
        admit_for(Some(Principal::new("ada"))).as_deref(),
        Some("ada")
    );
    assert_eq!(
        admit_for(Some(Principal::new("eve"))).as_deref(),
        Some("eve")
    );
    assert_eq!(admit_for(None), None);
}

#[test]
fn a_connection_reads_again_what_its_client_says_once_it_says_something_else() {
    let mut engine = Connection::new(Arc::clone(&PROFILE));
    let before = engine.kept_bytes();
    let mut origin = |meta: &str| {
        engine.handle_message(call(meta).as_bytes());
        let Some(Output::Call(call)) = engine.poll() else {
            panic!("no call: {meta}");
        };
        engine.respond(&7.into(), Vec::new());
        while engine.poll().is_some() {}
        call.origin
    };
    let other = META.replace("load", "other");
    let (first, second, third) = (origin(META), origin(META), origin(META));
    assert!(!Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&second, &third));
    let named = |origin: &Origin| origin.client.as_ref().unwrap().name.clone();
    assert!(named(&origin(&other)).starts_with("other"));
    assert!(named(&origin(META)).starts_with("load"));
    // Another client is learned only rarely.
    for _ in 0..KnownClient::RARELY {
        origin(&other);
    }
    assert!(Arc::ptr_eq(&origin(&other), &origin(&other)));
    let kept = engine.kept_bytes() - before;
    assert!(
        (META.len()..2 * KnownClient::TEXT_BYTES).contains(&kept),
        "{kept}"
    );
}
