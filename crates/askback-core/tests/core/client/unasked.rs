//! Unsolicited messages of a server: progress, changes, log messages and invalid messages.

use super::{Player, check, check_as, legacy, modern, only, profile};

// Shows PO-04, PO-05, PO-09.
#[test]
fn progress_counts_if_it_grows_and_belongs_to_a_call_in_flight() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"method":"notifications/progress","params":{"progressToken":3,"progress":1}}
        < {"method":"notifications/progress","params":{"progressToken":"2","progress":1}}
        < {"method":"notifications/progress","params":{"progressToken":2,"progress":1,"total":4,"message":"flights"}}
        = progress 1 of Some(4.0), Some("flights"), of call 7
        < {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
        < {"method":"notifications/progress","params":{"progressToken":2,"progress":0.5}}
        < {"method":"notifications/progress","params":{"progressToken":2,"progress":1.5}}
        = progress 1.5 of None, None, of call 7
        < {"id":2,"result":{"content":[]}}
        = done 7 {"content":[]}
        < {"method":"notifications/progress","params":{"progressToken":2,"progress":2}}
        "#,
    ));
}

// Shows CA-07, CA-09.
// Shows CA-08, LI25-26.
#[test]
fn a_call_may_have_time_outs_of_its_own() {
    let mut bounded = profile();
    bounded.limits.wire.request = std::time::Duration::from_secs(10);
    bounded.limits.client.request_in_all = std::time::Duration::from_secs(15);
    bounded.limits.tasks.in_all = std::time::Duration::from_secs(60);
    let cases = [
        // The timeouts (the limits if absent), and when the call ends without progress, and with
        // progress after nine tenths of the timeout.
        ("-/-", 10_000, 15_000, "15s"),
        ("2000/-", 2_000, 3_800, "2s"),
        ("20000/-", 20_000, 20_000, "20s"),
        ("-/5000", 5_000, 5_000, "5s"),
        ("2000/3000", 2_000, 3_000, "3s"),
        ("4000/3000", 3_000, 3_000, "3s"),
    ];
    for (timeouts, alone, with_progress, whole) in cases {
        let call = format!(
            r#"
            ! call-within 7 {timeouts} tools/call {{"name":"t"}}
            >> {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
            "#
        );
        let told = r#"> {"method":"notifications/cancelled","params":{"requestId":2,"reason":"it took too long"}}"#;
        check_as(
            &bounded,
            &modern(&format!(
                r#"{call}
                ! until {alone}
                {told}
                = failed 7: the server did not answer within {}s
                "#,
                alone / 1000
            )),
        );
        check_as(
            &bounded,
            &modern(&format!(
                r#"{call}
                ! at {}
                < {{"method":"notifications/progress","params":{{"progressToken":2,"progress":1}}}}
                = progress 1 of None, None, of call 7
                ! until {with_progress}
                {told}
                = failed 7: the server did not answer within {whole}
                "#,
                alone / 10 * 9
            )),
        );
    }
}

#[test]
fn a_person_who_is_asked_costs_a_call_no_time() {
    check(&modern(
        r#"
        ! call-within 7 2000/3000 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        ! at 1500
        < {"id":2,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}}}}
        = ask 1 tool=t key=q retried "roots"
        ! at 9000000
        ! answer 1 roots {"roots":[]}
        >> {"id":3,"method":"tools/call","params":{"name":"t","inputResponses":{"q":{"roots":[]}},"_meta":{"progressToken":3}}}
        ! until 9001500
        > {"method":"notifications/cancelled","params":{"requestId":3,"reason":"it took too long"}}
        = failed 7: the server did not answer within 3s
        "#,
    ));
}

// Shows LI25-27.
#[test]
fn progress_extends_a_timeout_up_to_a_limit() {
    let call = |sent: &str| {
        format!(
            r#"
            ! call 7 tools/call {{"name":"t"}}
            {sent} {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
            ! at 9000
            < {{"method":"notifications/progress","params":{{"progressToken":2,"progress":1}}}}
            = progress 1 of None, None, of call 7
            ! until 15000
            > {{"method":"notifications/cancelled","params":{{"requestId":2,"reason":"it took too long"}}}}
            = failed 7: the server did not answer within 15s
            "#
        )
    };
    for (revision, transcript) in [
        ("2026-07-28", modern(&call(">>"))),
        ("2025-03-26", legacy("2025-03-26", &call(">"))),
        ("2025-11-25", legacy("2025-11-25", &call(">"))),
    ] {
        let mut bounded = only(revision);
        bounded.limits.wire.request = std::time::Duration::from_secs(10);
        bounded.limits.client.request_in_all = std::time::Duration::from_secs(15);
        check_as(&bounded, &transcript);
    }
}

// Shows CA-21, LO-15, BA-20.
#[test]
fn log_lines_and_changes_are_told_on_a_session() {
    check_as(
        &only("2025-11-25"),
        &legacy(
            "2025-11-25",
            r#"
            < {"method":"notifications/message","params":{"level":"warning","logger":"db","data":{"slow":true}}}
            = log Warning Some("db") {"slow":true}
            < {"method":"notifications/tools/list_changed"}
            = tools changed
            < {"method":"notifications/prompts/list_changed"}
            = prompts changed
            < {"method":"notifications/resources/list_changed","params":{}}
            = resources changed
            < {"method":"notifications/resources/updated","params":{"uri":"a:b"}}
            = updated a:b
            < {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}
            < {"method":"notifications/nothing/known"}
            < {"method":"notifications/resources/updated"}
            "#,
        ),
    );
}

// Shows ST-07, SU-03, SU-04.
#[test]
fn a_subscription_is_a_call_that_lasts() {
    check(&modern(
        r#"
        ! call 7 subscriptions/listen {"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}
        >> {"id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}}
        < {"method":"notifications/tools/list_changed"}
        < {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}
        < {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        = granted 7 {"toolsListChanged":true}
        < {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        ! at 99000000
        < {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        = tools changed
        < {"method":"notifications/resources/updated","params":{"uri":"a:b","_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        = updated a:b
        < {"id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        = done 7 {"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":2}}
        < {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        "#,
    ));
}

// Shows CA-06, CA-10, CA-16.
#[test]
fn either_side_ends_a_subscription() {
    let open = r#"
        ! call 7 subscriptions/listen {"notifications":{}}
        >> {"id":2,"method":"subscriptions/listen","params":{"notifications":{}}}
        < {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        = granted 7 {}
        "#;
    check(&modern(&format!(
        r#"{open}
        ! cancel 7
        > {{"method":"notifications/cancelled","params":{{"requestId":2,"reason":"the caller no longer waits for the result"}}}}
        < {{"id":2,"result":{{}}}}
        "#
    )));
    check(&modern(&format!(
        r#"{open}
        ! call 8 tools/list
        >> {{"id":3,"method":"tools/list"}}
        < {{"method":"notifications/cancelled","params":{{"requestId":3}}}}
        < {{"method":"notifications/cancelled","params":{{"requestId":2}}}}
        = done 7 null
        < {{"id":2,"result":{{}}}}
        "#
    )));
    // A subscription that is not acknowledged in time fails.
    check(&modern(
        r#"
        ! call 7 subscriptions/listen {"notifications":{}}
        >> {"id":2,"method":"subscriptions/listen","params":{"notifications":{}}}
        ! until 300000
        > {"method":"notifications/cancelled","params":{"requestId":2,"reason":"it took too long"}}
        = failed 7: the server did not answer within 300s
        "#,
    ));
}

// Shows ST-06, ST-08, PA-01.
#[test]
fn a_request_of_the_server_in_the_stateless_era_is_refused_at_once() {
    check(&modern(
        r#"
        < {"id":1,"method":"roots/list"}
        = note: the server sent the request `roots/list`, which this revision does not have; it was refused
        = refused roots/list -32601
        > {"id":1,"error":{"code":-32601,"message":"unknown method `roots/list`"}}
        < [{"id":1,"method":"ping"}]
        = note: the server sent the request `ping`, which this revision does not have; it was refused
        > {"id":1,"error":{"code":-32601,"message":"unknown method `ping`"}}
        "#,
    ));
}

#[test]
fn what_cannot_be_read_is_reported_a_bounded_number_of_times_and_never_fatal() {
    let mut bounded = profile();
    bounded.limits.client.malformed_reports = 2;
    check_as(
        &bounded,
        &modern(
            r#"
            ! call 7 tools/list
            >> {"id":2,"method":"tools/list"}
            < Server started
            = note: the server sent a line that is not a message: `Server started` (the message is not JSON). A program that speaks MCP over stdio must not print to its standard output
            < {"no":"message"}
            = note: the server sent a line that is not a message: `{"jsonrpc":"2.0","no":"message"}` (a message has one of "method", "result" and "error"). A program that speaks MCP over stdio must not print to its standard output
            < {"id":99,"result":1,"error":2}
            < again
            = note: the server keeps doing this; it is no longer reported
            < and again
            < {"id":2,"result":{"tools":[]}}
            = done 7 {"tools":[]}
            "#,
        ),
    );
}

#[test]
fn a_malformed_response_fails_its_own_request() {
    check(&modern(
        r#"
        ! call 7 tools/list
        >> {"id":2,"method":"tools/list"}
        < {"id":2,"result":{},"error":{"code":1,"message":""}}
        = failed 7: the server broke the protocol: its answer cannot be read: a message has only one of "method", "result" and "error"
        < {"error":{"code":-32700,"message":"Parse error"}}
        = note: about no request in particular, the server answered: Parse error (-32700)
        "#,
    ));
}

#[test]
fn a_response_with_its_id_as_a_text_fails_its_request() {
    check(&modern(
        r#"
        ! call 7 tools/list
        >> {"id":2,"method":"tools/list"}
        < {"id":"3","result":{}}
        < {"id":"two","result":{}}
        < {"id":"2","result":{"tools":[]}}
        = failed 7: the server broke the protocol: its response has the id 2 as a text
        "#,
    ));
}

#[test]
fn a_malformed_request_is_answered_on_a_session_if_its_id_can_be_read() {
    check_as(
        &only("2025-11-25"),
        &legacy(
            "2025-11-25",
            r#"
            < {"id":4,"method":7}
            > {"id":4,"error":{"code":-32600,"message":"\"method\" must be a string"}}
            = note: the server sent a message that cannot be read: "method" must be a string
            "#,
        ),
    );
}

/// The result of this line for the only call, and for a call while another is waiting.
#[track_caller]
fn check_line(line: &str, alone: &str, beside: &str) {
    check_line_of(line.as_bytes(), alone, beside);
}

#[track_caller]
fn check_line_of(line: &[u8], alone: &str, beside: &str) {
    for (other, expected) in [("", alone), ("! call 8 prompts/list\n", beside)] {
        let mut player = Player::new(profile());
        player.play_all(&modern("! call 7 tools/list"));
        player.play_all(other);
        let before = player.log.len();
        player.play_bytes(line);
        let came = player.log[before..].join("\n");
        let is_expected = match expected {
            "" => !came.contains("= failed"),
            expected => came.starts_with("= failed 7") && came.contains(expected),
        };
        assert!(
            is_expected,
            "{}\nbeside {other:?}: {came}",
            String::from_utf8_lossy(line)
        );
    }
}

#[test]
fn an_answer_that_cannot_be_read_ends_its_call_at_once() {
    let head = r#"{"jsonrpc":"2.0","id":2,"result":"#;
    for (rest, why) in [
        (r#"{"tools":[NaN]}}"#, "the message is not JSON"),
        ("{\"tools\":[\"a\tb\"]}}", "the message is not JSON"),
        (r#"{"tools":["#, "not JSON"),
        (r#"{"tools":[]},}"#, "the message is not JSON"),
    ] {
        check_line(&format!("{head}{rest}"), why, why);
    }
    let last = r#"{"jsonrpc":"2.0","result":{"tools":[NaN]},"id":2}"#;
    check_line(last, "not JSON", "not JSON");
    let reversed = r#"{"result":{"tools":[Infinity]},"jsonrpc":"2.0","id":2}"#;
    check_line(reversed, "not JSON", "not JSON");
    // The id cannot be read, so the only call ends.
    check_line_of(
        b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"t\":\"caf\xe9\"}}",
        "not UTF-8",
        "not UTF-8",
    );
    for line in [
        r#"{"jsonrpc":"2.0","result":{"tools":[NaN]}}"#,
        r#"{"jsonrpc":"2.0","result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{"tools":[]}}"#,
        "Content-Length: 52",
    ] {
        check_line(line, "its answer cannot be read", "");
    }
    // A log line is not a response.
    for line in [
        r#"{"level":"error","error":"no disk","id":"x"}"#,
        r#"{"level":"error","error":"no disk"}"#,
        r#"{"error": NaN}"#,
        r#"{"level":"warn","id":null,"error":"cache miss"}"#,
        r#"{"id":{"$oid":"1"},"error":"no row"}"#,
        r#"{"id":2,"result":"row"}"#,
        r#"{"id":2,"error": Error: boom"#,
        "content-length: 5 bytes read",
        "result: 7",
        "Content",
        r#"[{"id":2}]"#,
    ] {
        check_line(line, "", "");
    }
}

#[test]
fn messages_on_one_line_and_in_a_batch_are_read_one_by_one() {
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}} trailing words"#,
        r#"{"level":"info","msg":"ready"}{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#,
        r#"[{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}]"#,
        r#"[7,{"jsonrpc":"2.0","id":2.0,"result":{"tools":[]}}]"#,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[]}}",
    ] {
        let mut player = Player::new(profile());
        player.play_all(&modern("! call 7 tools/list"));
        player.play_bytes(line.as_bytes());
        let done = r#"= done 7 {"tools":[]}"#;
        assert!(
            player.log.iter().any(|line| line == done),
            "{line}: {:?}",
            player.log
        );
    }
}

#[test]
fn messages_on_one_line_that_are_too_many_are_told_of() {
    let one = r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#;
    let most = profile().limits.wire.batch_messages;
    let told = format!(
        "= note: the server sent a message that cannot be read: the line has more than {most} messages; the rest is not read"
    );
    for (count, is_told) in [(most, false), (most + 1, true)] {
        let mut player = Player::new(profile());
        player.play_all(&modern(""));
        player.play_bytes(one.repeat(count).as_bytes());
        assert_eq!(
            player.log.contains(&told),
            is_told,
            "{count}: {:?}",
            player.log
        );
    }
}
