//! Requests as separate exchanges, and how each of them ends.

use askback_core::{engine::client::Profile, revision::Revision};

use super::{
    CAPABILITIES, capabilities, check, check_as, legacy, modern, only, profile,
    tasks::{check_working, stands},
};

/// A transcript in which a handshake server answers the probe with `answer` and the client falls
/// back to the handshake.
fn falls_back(answer: &str) -> String {
    format!(
        r#"
        ! exchanges
        ! connected
        >> {{"id":1,"method":"server/discover"}}
        {answer}
        > {{"id":2,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}
        < {{"id":2,"result":{{"protocolVersion":"2025-11-25","capabilities":{CAPABILITIES},"serverInfo":{{"name":"s","version":"1"}}}}}}
        > {{"method":"notifications/initialized"}}
        = opened 2025-11-25"#
    )
}

// Shows BA-69.
#[test]
fn only_an_answer_tells_the_era() {
    for answer in [
        "! lost 1 status 400",
        "! lost 1 status 404",
        "! lost 1 status 405",
        "! lost 1 status 406",
        "! lost 1 status 415",
        r#"< {"id":1,"error":{"code":-32601,"message":"no"}}"#,
        r#"< {"id":1,"error":{"code":-32000,"message":"not initialized"}}"#,
        r#"< {"id":1,"error":{"code":-32600,"message":"no"}}"#,
    ] {
        check(&falls_back(answer));
    }
    for (answer, error) in [
        (
            "! lost 1 status 401",
            "the server answered with HTTP status 401: no message",
        ),
        (
            "! lost 1 status 403",
            "the server answered with HTTP status 403: no message",
        ),
        (
            "! lost 1 status 429",
            "the server answered with HTTP status 429: no message",
        ),
        (
            "! lost 1 status 500",
            "the server answered with HTTP status 500: no message",
        ),
        (
            "! lost 1 status 503",
            "the server answered with HTTP status 503: no message",
        ),
        (
            "! lost 1 status 302",
            "the server answered with HTTP status 302: no message",
        ),
        (
            "! lost 1 unreachable refused",
            "the server cannot be reached: refused",
        ),
        ("! lost 1 broken reset", "the server went away: reset"),
        (
            "! lost 1 returned",
            "the server went away: its session is over",
        ),
        ("! gone all of it", "the server went away: all of it"),
        ("! until 300000", "the server did not answer within 300s"),
        (
            r#"< {"id":1,"error":{"code":-32020,"message":"headers"}}"#,
            "the server answered: headers (-32020)",
        ),
        (
            r#"< {"id":1,"error":{"code":-32021,"message":"capabilities"}}"#,
            "the server answered: capabilities (-32021)",
        ),
    ] {
        check(&format!(
            r#"
            ! exchanges
            ! connected
            >> {{"id":1,"method":"server/discover"}}
            {answer}
            = close: {error}"#
        ));
    }
}

#[test]
fn a_client_without_the_handshake_says_why_there_was_no_answer() {
    check_as(
        &only("2026-07-28"),
        r#"
        ! exchanges
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! lost 1 status 404
        = close: the server answered with HTTP status 404: no message
        "#,
    );
}

// Shows VE-07.
#[test]
fn a_server_known_to_want_the_handshake_is_not_probed() {
    let initialize = r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    check(&format!(
        r#"
        ! exchanges handshake
        ! connected
        > {initialize}
        < {{"id":1,"result":{{"protocolVersion":"2025-06-18","capabilities":{CAPABILITIES},"serverInfo":{{"name":"s","version":"1"}}}}}}
        > {{"method":"notifications/initialized"}}
        = opened 2025-06-18"#
    ));
    // The remembered era may be wrong.
    for refusal in [
        r#"< {"id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}"#,
        r#"< {"id":1,"error":{"code":-32601,"message":"no"}}"#,
        "! lost 1 status 400",
    ] {
        check(&format!(
            r#"
            ! exchanges handshake
            ! connected
            > {initialize}
            {refusal}
            >> {{"id":2,"method":"server/discover"}}
            < {{"id":2,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{CAPABILITIES}}}}}
            = opened 2026-07-28"#
        ));
    }
    // The server is probed only once.
    check(&format!(
        r#"
        ! exchanges handshake
        ! connected
        > {initialize}
        ! lost 1 status 404
        >> {{"id":2,"method":"server/discover"}}
        ! lost 2 status 404
        > {{"id":3,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}
        ! lost 3 status 404
        = close: the server answered with HTTP status 404: no message"#
    ));
    check(&format!(
        r#"
        ! exchanges handshake
        ! connected
        > {initialize}
        ! lost 1 status 502
        = close: the server answered with HTTP status 502: no message"#
    ));
    let mut modern_only = profile();
    modern_only.revisions = vec![Revision::LATEST];
    check_as(
        &modern_only,
        r#"
        ! exchanges handshake
        ! connected
        >> {"id":1,"method":"server/discover"}
        "#,
    );
}

/// Sends a request with this id at this time and loses it each time in this way.
fn lost_each_time(
    id: u32,
    now: u32,
    sent: impl Fn(u32) -> String,
    lost: &str,
    note: &str,
) -> String {
    let mut transcript = String::new();
    for (number, pause) in (0..).zip([0, 1_000, 2_000, 4_000, 8_000]) {
        let id = id + number;
        let note = if number == 0 { note } else { "" };
        let until = match pause {
            0 => String::new(),
            _ => format!("! until {}", now + pause * 2 - 1_000),
        };
        transcript += &format!("{}\n! lost {id} {lost}\n{note}\n{until}\n", sent(id));
    }
    transcript + &sent(id + 5)
}

#[test]
fn a_round_that_carries_all_the_server_needs_is_sent_again_ever_more_slowly() {
    #[track_caller]
    fn check_lost(resends_answers: bool, asks: &str, answered: &str, lost: &str, error: &str) {
        let profile = Profile {
            resends_answers,
            capabilities: capabilities(r#"{"roots":{}}"#),
            ..profile()
        };
        let round = |id: u32| {
            format!(
                r#">> {{"id":{id},"method":"tools/call","params":{{"name":"t","requestState":"1"{answered},"_meta":{{"progressToken":{id}}}}}}}"#
            )
        };
        let note = match lost {
            "broken reset" => "= note: `tools/call` broke off and is sent again: reset",
            _ => "",
        };
        let begin = format!(
            r#"
            ! call 7 tools/call {{"name":"t"}}
            >> {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
            < {{"id":2,"result":{{"resultType":"input_required","requestState":"1"{asks}}}}}"#
        );
        let (waits, now) = match asks {
            "" => ("! until 50", 50),
            _ => (
                "= ask 1 tool=t key=a retried \"roots\"\n! answer 1 roots {\"roots\":[]}",
                0,
            ),
        };
        let tries = lost_each_time(3, now, round, lost, note);
        check_as(
            &profile,
            &modern(&format!(
                "{begin}\n{waits}\n{tries}\n! lost 8 {lost}\n= failed 7: {error}\n! lost 8 {lost}"
            )),
        );
        // Its response counts, but a late response does not.
        check_as(
            &profile,
            &modern(&format!(
                r#"{begin}
                {waits}
                {tries}
                ! lost 3 broken too late
                < {{"id":3,"result":{{"content":[]}}}}
                < {{"id":8,"result":{{"content":[]}}}}
                = done 7 {{"content":[]}}"#
            )),
        );
    }
    const ASKS: &str = r#","inputRequests":{"a":{"method":"roots/list"}}"#;
    const ANSWERS: &str = r#","inputResponses":{"a":{"roots":[]}}"#;
    check_lost(false, "", "", "broken reset", "the server went away: reset");
    let unknown = "the server went away after its questions were answered, so what the call has done is unknown (reset): check before you make it again";
    check_lost(true, ASKS, ANSWERS, "broken reset", unknown);
    let refused = "the server answered with HTTP status 503: no message";
    check_lost(false, "", "", "status 503", refused);
    check_lost(true, ASKS, ANSWERS, "status 503", refused);
    let refused = "the server cannot be reached: refused";
    check_lost(false, ASKS, ANSWERS, "unreachable refused", refused);
}

// A gateway may have forwarded the round before it responded with 503.
#[test]
fn a_round_with_answers_that_got_a_503_is_not_sent_again() {
    let profile = Profile {
        capabilities: capabilities(r#"{"roots":{}}"#),
        ..profile()
    };
    check_as(
        &profile,
        &modern(
            r#"
            ! call 7 tools/call {"name":"t"}
            >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
            < {"id":2,"result":{"resultType":"input_required","requestState":"1","inputRequests":{"a":{"method":"roots/list"}}}}
            = ask 1 tool=t key=a retried "roots"
            ! answer 1 roots {"roots":[]}
            >> {"id":3,"method":"tools/call","params":{"name":"t","requestState":"1","inputResponses":{"a":{"roots":[]}},"_meta":{"progressToken":3}}}
            ! lost 3 status 503
            = failed 7: the server answered with HTTP status 503: no message
            "#,
        ),
    );
}

#[test]
fn a_task_is_asked_after_again_ever_more_slowly() {
    let asks =
        |id: u32| format!(r#">> {{"id":{id},"method":"tasks/get","params":{{"taskId":"t1"}}}}"#);
    for (lost, note, error) in [
        (
            "broken reset",
            "= note: a request about its task broke off and is sent again: reset",
            "the server went away: reset",
        ),
        (
            "status 503",
            "",
            "the server answered with HTTP status 503: no message",
        ),
    ] {
        let tries = lost_each_time(4, 3_000, asks, lost, note);
        let still = stands(3, "working", r#","pollIntervalMs":2000"#);
        let tries = format!("{still}\n! until 3000\n{tries}");
        check_working(&format!("{tries}\n! lost 9 {lost}\n= failed 7: {error}"));
        let done = stands(9, "completed", r#","result":{"content":[]}"#);
        check_working(&format!(
            "{tries}\n{done}\n= task tool=t t1 completed\n= done 7 {{\"content\":[]}}"
        ));
    }
}

#[test]
fn other_requests_are_not_repeated() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        ! call 8 tools/call {"name":"t"}
        >> {"id":3,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":3}}}
        ! lost 2 broken reset
        = failed 7: the server went away: reset
        ! lost 3 status 502
        = failed 8: the server answered with HTTP status 502: no message
        "#,
    ));
    check_as(
        &only("2025-11-25"),
        &legacy(
            "2025-11-25",
            r#"
            ! call 7 tools/call {"name":"t"}
            > {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
            ! lost 2 broken reset
            = failed 7: the server went away: reset
            "#,
        ),
    );
}

#[test]
fn a_subscription_is_opened_again_ever_more_slowly() {
    const LISTEN: &str =
        r#""method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}"#;
    let begins = |id: u64| {
        format!(
            r#"
            >> {{"id":{id},{LISTEN}}}
            < {{"method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}
            = granted 7 {{"toolsListChanged":true}}"#
        )
    };
    let broken = |id: u64| {
        format!(
            "! lost {id} broken reset\n= note: `subscriptions/listen` broke off and is sent again: reset"
        )
    };
    let mut transcript = String::from(
        r#"! call 7 subscriptions/listen {"notifications":{"toolsListChanged":true}}"#,
    );
    for (id, until) in [
        (2, None),
        (3, Some(1_000)),
        (4, Some(3_000)),
        (5, Some(7_000)),
    ] {
        transcript += &begins(id);
        transcript += &format!("\n{}", broken(id));
        transcript += &until
            .map(|until| format!("\n! until {until}"))
            .unwrap_or_default();
    }
    // The subscription lasted.
    transcript += &begins(6);
    transcript += &format!("\n! at 37000\n{}", broken(6));
    transcript += &begins(7);
    check(&modern(&transcript));
    // While the server is away, the subscription is retried, and reported once.
    let mut transcript = String::from(
        r#"! call 7 subscriptions/listen {"notifications":{"toolsListChanged":true}}"#,
    );
    transcript += &begins(2);
    transcript += &format!("\n{}", broken(2));
    for (id, until) in [(3, 1_000), (4, 3_000), (5, 7_000)] {
        let lost = ["unreachable refused", "status 503"][id % 2];
        transcript +=
            &format!("\n>> {{\"id\":{id},{LISTEN}}}\n! lost {id} {lost}\n! until {until}");
    }
    check(&modern(&(transcript.clone() + &begins(6))));
    // Another refusal ends it, and so does a server that stays away.
    let ends = |text: &str, error: &str| {
        let end = format!("\n>> {{\"id\":6,{LISTEN}}}\n{text}\n= failed 7: {error}");
        check(&modern(&(transcript.clone() + &end)));
    };
    ends(
        "! lost 6 status 404",
        "the server answered with HTTP status 404: no message",
    );
    ends(
        "! at 301000\n! lost 6 unreachable refused",
        "the server cannot be reached: refused",
    );
    // A subscription that never began is retried once.
    check(&modern(&format!(
        r#"
        ! call 7 subscriptions/listen {{"notifications":{{"toolsListChanged":true}}}}
        >> {{"id":2,{LISTEN}}}
        {}
        >> {{"id":3,{LISTEN}}}
        ! lost 3 broken reset
        = failed 7: the server went away: reset"#,
        broken(2)
    )));
}

#[test]
fn requests_that_a_lost_session_did_not_accept_wait_for_the_next_session() {
    check_as(
        &only("2025-11-25"),
        &legacy(
            "2025-11-25",
            r#"
            ! call 7 tools/call {"name":"t"}
            > {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
            ! call 8 tools/call {"name":"t"}
            > {"id":3,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":3}}}
            ! lost 3 returned
            ! gone the session is over
            = failed 7: the server went away: the session is over
            = note: the server went away and is started again
            = connect
            ! connected
            > {"id":4,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
            < {"id":4,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
            > {"method":"notifications/initialized"}
            = opened 2025-11-25
            > {"id":5,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":5}}}
            ! lost 5 returned
            = failed 8: the server went away: its session is over
            "#,
        ),
    );
}

#[test]
fn a_session_that_ended_is_not_called_a_restart() {
    check(&modern(
        r#"
        ! exchanges
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"input_required","requestState":"1"}}
        ! until 50
        >> {"id":3,"method":"tools/call","params":{"name":"t","requestState":"1","_meta":{"progressToken":3}}}
        ! gone the server no longer knows the session
        = note: the session with the server ended, and a new one is begun
        = connect
        "#,
    ));
}

#[test]
fn a_request_of_the_server_over_http_in_the_stateless_era_is_told_of() {
    let told = "which this revision does not have; over HTTP it cannot be answered. If the server waits for an answer, try 2025-11-25";
    let rest = modern(&format!(
        r#"
        ! call 7 tools/call {{"name":"t"}}
        >> {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
        < {{"id":"q","method":"elicitation/create","params":{{"message":"m"}}}}
        = note: the server sent the request `elicitation/create`, {told}
        = refused elicitation/create -32601
        < {{"id":"p","method":"ping"}}
        = note: the server sent the request `ping`, {told}
        < {{"id":2,"result":{{"content":[]}}}}
        = done 7 {{"content":[]}}
        "#
    ));
    check(&format!("! exchanges\n{rest}"));
}
