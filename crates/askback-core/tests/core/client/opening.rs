//! The probe, the fallback, the handshake.

use askback_core::engine::client::Output;
use serde_json::{Value, json};

use super::{Player, capabilities, check, check_as, only};

// Shows ST-16, BA-11, DI-02.
#[test]
fn a_modern_server_answers_the_probe() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}
        = opened 2026-07-28
        "#,
    );
    // Servers of earlier drafts leave out the `resultType`.
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"result":{"supportedVersions":["1900-01-01","2026-07-28","x"],"capabilities":{}}}
        = opened 2026-07-28
        "#,
    );
}

// Shows LI25-08, VE-02.
#[test]
fn a_modern_server_that_only_has_a_handshake_in_common_is_greeted_with_it() {
    for answer in [
        r#""error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2999-01-01","2025-06-18","2025-03-26"],"requested":"2026-07-28"}}"#,
        r#""error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}}"#,
        r#""result":{"supportedVersions":["2025-06-18"],"capabilities":{}}"#,
    ] {
        check(&format!(
            r#"
            ! connected
            >> {{"id":1,"method":"server/discover"}}
            < {{"id":1,{answer}}}
            > {{"id":2,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}
            < {{"id":2,"result":{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}
            > {{"method":"notifications/initialized"}}
            = opened 2025-06-18
            "#
        ));
    }
}

// Shows ST-18, LI25-13, LI25-21, VE-02, VE-09.
#[test]
fn nothing_in_common_is_said_in_words() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! call 7 tools/list
        < {"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2999-01-01"],"requested":"2026-07-28"}}}
        = failed 7: no protocol revision in common: the server speaks 2999-01-01, this client 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
        = close: no protocol revision in common: the server speaks 2999-01-01, this client 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
        "#,
    );
    // A server that refuses a revision that it lists is not asked forever.
    check_as(
        &only("2026-07-28"),
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}
        >> {"id":2,"method":"server/discover"}
        < {"id":2,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}
        = close: no protocol revision in common: the server speaks 2026-07-28, this client 2026-07-28
        "#,
    );
    check_as(
        &only("2025-11-25"),
        r#"
        ! connected
        > {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
        = close: no protocol revision in common: the server speaks 2025-06-18, this client 2025-11-25
        "#,
    );
}

#[test]
fn a_server_that_refuses_what_it_speaks_is_asked_once_more() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28","2025-06-18"],"requested":"2026-07-28"}}}
        >> {"id":2,"method":"server/discover"}
        < {"id":2,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}
        = opened 2026-07-28
        "#,
    );
}

const FALLBACK: &str = r#"
        > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":2,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
        > {"method":"notifications/initialized"}
        = opened 2024-11-05
        "#;

// Shows ST-17, BA-69, DI-02, LI25-02, LI25-04, LI25-09, LI25-28.
#[test]
fn any_other_answer_means_a_handshake() {
    for answer in [
        r#"{"id":1,"error":{"code":-32601,"message":"Method not found"}}"#,
        r#"{"id":1,"error":{"code":-32602,"message":"Received request before initialization was complete"}}"#,
        r#"{"id":1,"error":{"code":0,"message":""}}"#,
        r#"{"id":1,"error":{"code":-32022,"message":"mine is another -32022"}}"#,
        // The error has no id, but only one request is possible.
        r#"{"id":null,"error":{"code":-32600,"message":"Invalid Request"}}"#,
        // Not the result of the method.
        r#"{"id":1,"result":{}}"#,
        r#"{"id":1,"result":{"resultType":"input_required","requestState":"x"}}"#,
        // Not a valid response.
        r#"{"id":1,"result":{},"error":{}}"#,
    ] {
        check(&format!(
            r#"
            ! connected
            >> {{"id":1,"method":"server/discover"}}
            < {answer}
            {FALLBACK}"#
        ));
    }
}

// Shows ST-17.
#[test]
fn silence_means_a_handshake() {
    check(&format!(
        r#"
        ! connected
        >> {{"id":1,"method":"server/discover"}}
        ! until 5000
        {FALLBACK}"#
    ));
}

#[test]
fn a_modern_server_that_was_slow_to_start_is_recognised_when_it_refuses_the_handshake() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! until 5000
        > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}
        < {"id":2,"error":{"code":-32601,"message":"Method not found"}}
        = opened 2026-07-28
        "#,
    );
    // A server that accepts the handshake gets it.
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! until 5000
        > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}
        < {"id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
        > {"method":"notifications/initialized"}
        = opened 2025-11-25
        "#,
    );
}

#[test]
fn a_server_that_lacks_a_capability_is_modern() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"error":{"code":-32021,"message":"needs sampling","data":{"requiredCapabilities":{"sampling":{}}}}}
        = close: the server answered: needs sampling (-32021)
        "#,
    );
}

// Shows CA25-02, LI24-04, LI24-06, LI25-02, LI25-13, LI25-25.
#[test]
fn a_handshake_that_fails_says_why() {
    const OPEN: &str = r#"
        ! connected
        > {"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        "#;
    for (rest, why) in [
        (
            r#"< {"id":1,"error":{"code":-32600,"message":"go away"}}"#,
            "the server answered: go away (-32600)",
        ),
        (
            r#"< {"id":1,"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#,
            "no protocol revision in common: the server speaks 1999-01-01, this client 2025-11-25",
        ),
        (
            r#"< {"id":1,"result":{"capabilities":{}}}"#,
            "the server broke the protocol: its answer cannot be read: `protocolVersion` is missing",
        ),
        (
            r#"< {"id":1,"result":5,"error":6}"#,
            "the server broke the protocol: its answer cannot be read: a message has only one of \"method\", \"result\" and \"error\"",
        ),
        ("! until 300000", "the server did not answer within 300s"),
        ("! gone status 1", "the server went away: status 1"),
    ] {
        check_as(
            &only("2025-11-25"),
            &format!("{OPEN}{rest}\n= close: {why}"),
        );
    }
}

#[test]
fn a_refused_wish_is_corrected_from_what_the_error_offers() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"error":{"code":-32601,"message":"no"}}
        > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":2,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2025-11-25","2024-11-05"],"requested":"2025-11-25"}}}
        > {"id":3,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":3,"error":{"code":-32602,"message":"still no","data":{"supported":["2025-11-25","2024-11-05"],"requested":"2024-11-05"}}}
        = close: the server answered: still no (-32602)
        "#,
    );
}

// Shows LI24-01, LI25-08, VE-09.
#[test]
fn a_chosen_revision_alone_is_tried() {
    // There is no fallback, so the answer to the probe is final.
    check_as(
        &only("2026-07-28"),
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"error":{"code":-32601,"message":"Method not found"}}
        = close: the server answered: Method not found (-32601)
        "#,
    );
    // Without a fallback the probe has the timeout of any other request.
    check_as(
        &only("2026-07-28"),
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! until 300000
        = close: the server did not answer within 300s
        "#,
    );
    check_as(
        &only("2025-03-26"),
        r#"
        ! connected
        > {"id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
        > {"method":"notifications/initialized"}
        = opened 2025-03-26
        "#,
    );
}

#[test]
fn a_server_that_ends_itself_over_the_probe_is_started_again_for_the_handshake() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! gone status 101
        = started over: status 101
        = connect
        ! connected
        > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        < {"id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
        > {"method":"notifications/initialized"}
        = opened 2025-11-25
        "#,
    );
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! gone status 101
        = started over: status 101
        = connect
        ! connected
        > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
        ! gone status 102
        = close: the server went away: status 102
        "#,
    );
    check_as(
        &only("2026-07-28"),
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! gone status 101
        = close: the server went away: status 101
        "#,
    );
}

#[test]
fn a_transport_that_cannot_be_opened_is_the_environments_fault() {
    check(
        r#"
        ! gone no such file
        = close: the server cannot be reached: no such file
        "#,
    );
}

// Shows PI25-01.
#[test]
fn before_the_session_is_open_only_ping_is_answered() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":"a","method":"ping"}
        > {"id":"a","result":{}}
        < {"method":"notifications/message","params":{"level":"info","data":"starting"}}
        = log Info None "starting"
        < {"id":"b","method":"roots/list"}
        = refused roots/list -32600
        > {"id":"b","error":{"code":-32600,"message":"nothing but `ping` is answered before the session is open"}}
        "#,
    );
}

// Shows EL25-01, SA25-01, RO25-01, LI25-01, LI25-03, TA25-01.
#[test]
fn a_handshake_says_what_the_client_can_do() {
    let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#;
    let roots = json!({"listChanged": true});
    for (revision, declared, expected) in [
        ("2025-11-25", "{}", json!({})),
        ("2025-11-25", all, serde_json::from_str(all).unwrap()),
        (
            "2025-06-18",
            all,
            json!({"elicitation": {}, "sampling": {}, "roots": roots}),
        ),
        ("2025-03-26", all, json!({"sampling": {}, "roots": roots})),
    ] {
        let mut client = only(revision);
        client.capabilities = capabilities(declared);
        let mut player = Player::new(client);
        player.connection.handle_connected(player.now);
        let Some(Output::Send(message)) = player.connection.poll() else {
            panic!("{revision}: nothing is sent")
        };
        let sent: Value = serde_json::from_slice(&message.bytes).unwrap();
        assert_eq!(sent["method"], "initialize");
        assert_eq!(sent["params"]["capabilities"], expected, "{revision}");
    }
}
