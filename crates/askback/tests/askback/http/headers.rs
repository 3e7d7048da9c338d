//! Headers that mirror a message, and which error is reported first (2026-07-28,
//! basic/transports/streamable-http, Server Validation).

use askback::{Revision, Server};
use serde_json::{Value, json};

use super::{
    Stage,
    client::{Client, hello_tool, mirrored, stateless},
};
use crate::log::Log;

const MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED: i64 = -32022;
const NO_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

#[tokio::test]
async fn a_refused_name_is_told_with_what_allows_it() {
    let log = Log::default();
    let _listening = log.listen();
    let client = Stage::default().client();
    for (headers, said, allow) in [
        (
            vec![("host", "evil.example\u{e9}")],
            "the Host header does not name this server: `evil.exampleé`",
            "Guard::allow_host",
        ),
        (
            vec![("host", "localhost"), ("origin", "https://evil.example")],
            "pages of this Origin may not use this server: `https://evil.example`",
            "Guard::allow_origin",
        ),
        (vec![], "the Host header is missing", "Guard::allow_host"),
    ] {
        let refused = client.send("POST", "/mcp", &headers, "").await;
        assert_eq!(refused.status, 403);
        let body = refused.text().await;
        assert!(body.contains(said) && body.contains(allow), "{body}");
    }
    let log = log.text();
    for (told, times) in [
        ("header=host value=\"evil.exampleé\"", 1),
        (
            "If it is one of yours, allow it with `Guard::allow_host`",
            1,
        ),
        (
            "monotonic_counter.askback.refusals=1 askback.reason=\"host\"",
            2,
        ),
        (
            "monotonic_counter.askback.refusals=1 askback.reason=\"origin\"",
            1,
        ),
    ] {
        assert_eq!(log.matches(told).count(), times, "{told}\n{log}");
    }
}

struct Case {
    name: &'static str,
    headers: &'static [(&'static str, &'static str)],
    change: fn(&mut Value),
    status: u16,
    code: i64,
}

// Shows HT-20, HT-22, HT-23, HT-24, HT-44, HT-60, HT-61, HT-63, HT-64, MR-13, BA-06, BA-12, BA-16,
// BA-43, BA-44, BA-47, BA-48.
#[tokio::test]
async fn what_headers_and_body_do_not_agree_on_is_refused() {
    let client = Stage::default().client();
    let same: fn(&mut Value) = |_| {};
    let case = |name, headers, change, status, code| Case {
        name,
        headers,
        change,
        status,
        code,
    };
    const VERSION: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
    const METHOD: (&str, &str) = ("mcp-method", "tools/call");
    const NAME: (&str, &str) = ("Mcp-Name", "hello");
    let cases = [
        case("as it should be", &[VERSION, METHOD, NAME], same, 200, 0),
        case("no version", &[METHOD, NAME], same, 400, MISMATCH),
        case("no method", &[VERSION, NAME], same, 400, MISMATCH),
        case("no name", &[VERSION, METHOD], same, 400, MISMATCH),
        case("none at all", &[], same, 400, MISMATCH),
        case(
            "another version",
            &[("mcp-protocol-version", "2025-11-25"), METHOD, NAME],
            same,
            400,
            MISMATCH,
        ),
        case(
            "an unknown version in the header",
            &[("mcp-protocol-version", "2099-01-01"), METHOD, NAME],
            same,
            400,
            MISMATCH,
        ),
        case(
            "an unknown version in the body",
            &[VERSION, METHOD, NAME],
            |body| {
                body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099".into()
            },
            400,
            MISMATCH,
        ),
        case(
            "an unknown version in both",
            &[("mcp-protocol-version", "2099-01-01"), METHOD, NAME],
            |body| {
                body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] =
                    "2099-01-01".into();
            },
            400,
            UNSUPPORTED,
        ),
        case(
            "no version in the body",
            &[VERSION, METHOD, NAME],
            |body| {
                let meta = body["params"]["_meta"].as_object_mut().unwrap();
                meta.remove("io.modelcontextprotocol/protocolVersion");
            },
            400,
            INVALID_PARAMS,
        ),
        case(
            "no capabilities",
            &[VERSION, METHOD, NAME],
            |body| {
                let meta = body["params"]["_meta"].as_object_mut().unwrap();
                meta.remove("io.modelcontextprotocol/clientCapabilities");
            },
            400,
            INVALID_PARAMS,
        ),
        case(
            "no _meta",
            &[VERSION, METHOD, NAME],
            |body| {
                body["params"].as_object_mut().unwrap().remove("_meta");
            },
            400,
            INVALID_PARAMS,
        ),
        case(
            "another method",
            &[VERSION, ("mcp-method", "tools/list"), NAME],
            same,
            400,
            MISMATCH,
        ),
        case(
            "a method in other letters",
            &[VERSION, ("mcp-method", "Tools/Call"), NAME],
            same,
            400,
            MISMATCH,
        ),
        case(
            "another name",
            &[VERSION, METHOD, ("mcp-name", "panics")],
            same,
            400,
            MISMATCH,
        ),
        case(
            "a name in other letters",
            &[VERSION, METHOD, ("mcp-name", "Hello")],
            same,
            400,
            MISMATCH,
        ),
        case(
            "a name in base64",
            &[VERSION, METHOD, ("mcp-name", "=?base64?aGVsbG8=?=")],
            same,
            200,
            0,
        ),
        case(
            "another name in base64",
            &[VERSION, METHOD, ("mcp-name", "=?base64?cGFuaWNz?=")],
            same,
            400,
            MISMATCH,
        ),
        case(
            "a name in bad base64",
            &[VERSION, METHOD, ("mcp-name", "=?base64?aGVsbG8?=")],
            same,
            400,
            MISMATCH,
        ),
        case(
            "a name that looks like base64 in the body",
            &[VERSION, METHOD, ("mcp-name", "=?base64?aGVsbG8=?=")],
            |body| body["params"]["name"] = "=?base64?aGVsbG8=?=".into(),
            400,
            MISMATCH,
        ),
        case(
            "a name outside ASCII",
            &[VERSION, METHOD, ("mcp-name", "h\u{e9}llo")],
            |body| body["params"]["name"] = "h\u{e9}llo".into(),
            400,
            MISMATCH,
        ),
        case(
            "the version twice",
            &[VERSION, VERSION, METHOD, NAME],
            same,
            400,
            MISMATCH,
        ),
        case(
            "the method twice",
            &[VERSION, METHOD, METHOD, NAME],
            same,
            400,
            MISMATCH,
        ),
        case(
            "the name twice",
            &[VERSION, METHOD, NAME, ("mcp-name", "panics")],
            same,
            400,
            MISMATCH,
        ),
        case(
            "an unknown tool",
            &[VERSION, METHOD, ("mcp-name", "nothing")],
            |body| body["params"]["name"] = "nothing".into(),
            400,
            INVALID_PARAMS,
        ),
        case(
            "an unknown method",
            &[VERSION, ("mcp-method", "tools/burn")],
            |body| body["method"] = "tools/burn".into(),
            404,
            NO_METHOD,
        ),
        case(
            "an unknown method in an unknown version",
            &[
                ("mcp-protocol-version", "2099-01-01"),
                ("mcp-method", "tools/burn"),
            ],
            |body| {
                body["method"] = "tools/burn".into();
                body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] =
                    "2099-01-01".into();
            },
            400,
            UNSUPPORTED,
        ),
        case(
            "parameters of an unknown version",
            &[("mcp-protocol-version", "2099-01-01"), METHOD, NAME],
            |body| {
                body["params"]["name"] = json!({"of": "another kind"});
                body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] =
                    "2099-01-01".into();
            },
            400,
            UNSUPPORTED,
        ),
        case(
            "an unknown method that another header hides",
            &[VERSION, METHOD],
            |body| body["method"] = "tools/burn".into(),
            400,
            MISMATCH,
        ),
        case(
            "a method of the handshake",
            &[VERSION, ("mcp-method", "logging/setLevel")],
            |body| {
                body["method"] = "logging/setLevel".into();
            },
            404,
            NO_METHOD,
        ),
        case(
            "parameters that cannot be read",
            &[VERSION, METHOD, NAME],
            |body| body["params"]["arguments"] = "no object".into(),
            400,
            INVALID_PARAMS,
        ),
        case(
            "no parameters that can be read, and no headers",
            &[],
            |body| body["params"]["arguments"] = "no object".into(),
            400,
            MISMATCH,
        ),
        case(
            "an unknown method and no headers",
            &[],
            |body| body["method"] = "tools/burn".into(),
            400,
            MISMATCH,
        ),
        case(
            "what the client cannot be asked",
            &[VERSION, METHOD, ("mcp-name", "asks")],
            |body| {
                body["params"]["name"] = "asks".into();
                body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            },
            400,
            MISSING_CAPABILITY,
        ),
        case(
            "a session that is none of this era",
            &[VERSION, METHOD, NAME, ("mcp-session-id", "gone")],
            same,
            200,
            0,
        ),
        case(
            "an event that is none of this era",
            &[VERSION, METHOD, NAME, ("last-event-id", "1-0")],
            same,
            200,
            0,
        ),
    ];
    for Case {
        name,
        headers,
        change,
        status,
        code,
    } in cases
    {
        let mut body = hello_tool();
        change(&mut body);
        let response = client.post(headers, &body).await;
        let found = response.status;
        assert_eq!(response.header("mcp-session-id"), None, "{name}");
        let answer = response.json().await;
        assert_eq!(found, status, "{name}: {answer}");
        assert_eq!(
            answer["error"]["code"].as_i64().unwrap_or(0),
            code,
            "{name}: {answer}"
        );
        assert_eq!(answer["id"], 1, "{name}: {answer}");
    }
}

// Shows PR-16, DI-01, VE-03.
#[tokio::test]
async fn names_are_those_of_what_is_asked_for() {
    let client = Stage::default().client();
    let cases = [
        ("resources/read", json!({"uri": "note://one"}), 200),
        ("tools/list", json!({}), 200),
        ("server/discover", json!({}), 200),
        ("resources/read", json!({"uri": "note://two"}), 400),
        ("prompts/list", json!({}), 404),
    ];
    for (method, params, status) in cases {
        let response = client.call(method, params.clone()).await;
        let found = response.status;
        let answer = response.json().await;
        assert_eq!(found, status, "{method} {params}: {answer}");
    }
    // A header that mirrors nothing only has to be well-formed.
    let message = stateless("tools/list", json!({}));
    for (name, status) in [("anything", 200), ("=?base64?!?=", 400)] {
        let mut headers = mirrored(&message);
        headers.push(("mcp-name", name));
        assert_eq!(
            client.post(&headers, &message).await.status,
            status,
            "{name}"
        );
    }
}

// Shows HT-25, HT-69, HT-70, HT-71.
#[tokio::test]
async fn a_server_of_the_newest_revision_alone_has_no_sessions() {
    let builder = Stage::default().builder();
    let server = builder.revisions([Revision::V2026_07_28]).build().unwrap();
    let client = Client::of(&server);
    let message = hello_tool();
    let own = mirrored(&message);
    for header in [("mcp-session-id", "gone"), ("last-event-id", "1-0")] {
        let response = client.post(&[&own[..], &[header]].concat(), &message).await;
        assert_eq!(response.status, 200, "{header:?}");
        assert_eq!(response.header("mcp-session-id"), None, "{header:?}");
        let answer = response.json().await;
        assert_eq!(
            answer["result"]["content"][0]["text"], "Hello!",
            "{header:?}"
        );

        let always = [("host", "localhost"), ("accept", "text/event-stream")];
        for method in ["GET", "DELETE"] {
            let headers = [&always[..], &[header]].concat();
            let response = client.send(method, "/mcp", &headers, "").await;
            assert_eq!(response.status, 405, "{method} {header:?}");
            assert_eq!(response.header("mcp-session-id"), None, "{method}");
        }
    }
    // If older clients are supported, a request without a version may come from one.
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (name, message) in [("of this era", &message), ("of an older one", &old)] {
        let own = mirrored(message);
        let own: Vec<_> = own
            .into_iter()
            .filter(|it| it.0 != "mcp-protocol-version")
            .collect();
        let response = client.post(&own, message).await;
        assert_eq!(response.status, 400, "{name}");
        let answer = response.json().await;
        assert_eq!(answer["error"]["code"], MISMATCH, "{name}: {answer}");
    }
}

// Shows HT-23, VE-01, VE-08.
#[tokio::test]
async fn a_server_of_one_era_says_which_versions_it_speaks() {
    let build = |revisions: &[Revision]| -> Server {
        let builder = Stage::default().builder();
        builder
            .revisions(revisions.iter().copied())
            .build()
            .unwrap()
    };
    let newest = Client::of(&build(&[Revision::V2026_07_28]));
    let hello = super::client::hello(Revision::V2025_11_25, json!({}));
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let new = stateless("server/discover", json!({}));
    let older = [("mcp-protocol-version", "2025-11-25")];
    for (name, headers, message) in [
        ("a handshake", &[][..], &hello),
        ("a handshake with a header", &older, &hello),
        ("an older header", &older, &old),
    ] {
        let response = newest.post(headers, message).await;
        assert_eq!(response.status, 400, "{name}");
        let answer = response.json().await;
        assert_eq!(answer["error"]["code"], UNSUPPORTED, "{name}: {answer}");
        assert_eq!(
            answer["error"]["data"]["supported"],
            json!(["2026-07-28"]),
            "{name}"
        );
    }
    let oldest = Client::of(&build(&[Revision::V2025_11_25]));
    for message in [&new, &stateless("tools/burn", json!({}))] {
        let response = oldest.post(&mirrored(message), message).await;
        assert_eq!(response.status, 400);
        let answer = response.json().await;
        // An error code of the other era would stop a client from trying the handshake.
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
}
