//! A server that disappears, and the requests that are sent again.

use askback_core::engine::client::Profile;

use super::{check, check_as, legacy, modern, only, profile};

/// A call in which an answer is in flight when the server goes away.
const ANSWERED: &str = r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list"}}}}
        = ask 1 tool=t key=a retried "roots"
        ! answer 1 roots {"roots":[]}
        >> {"id":3,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"a":{"roots":[]}},"_meta":{"progressToken":3}}}
"#;

#[test]
fn a_round_with_answers_is_not_sent_again_by_itself() {
    for lost in ["! gone killed", "! lost 3 broken killed"] {
        check(&modern(&format!(
            "{ANSWERED}
        {lost}
        = failed 7: the server went away after its questions were answered, so what the call has done is unknown (killed): check before you make it again
        "
        )));
    }
}

#[test]
fn a_round_with_answers_is_sent_again_once_if_that_is_wanted() {
    let profile = Profile {
        resends_answers: true,
        ..profile()
    };
    check_as(
        &profile,
        &modern(&format!(
            r#"{ANSWERED}
        ! gone killed
        = note: the server went away and is started again
        = connect
        ! connected
        >> {{"id":4,"method":"tools/call","params":{{"name":"t","requestState":"s","inputResponses":{{"a":{{"roots":[]}}}},"_meta":{{"progressToken":4}}}}}}
        ! gone killed again
        = failed 7: the server went away after its questions were answered, so what the call has done is unknown (killed again): check before you make it again
        "#
        )),
    );
}

#[test]
fn a_new_round_may_have_its_own_restart() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"input_required","requestState":"1"}}
        ! until 50
        >> {"id":3,"method":"tools/call","params":{"name":"t","requestState":"1","_meta":{"progressToken":3}}}
        ! gone killed
        = note: the server went away and is started again
        = connect
        ! connected
        >> {"id":4,"method":"tools/call","params":{"name":"t","requestState":"1","_meta":{"progressToken":4}}}
        < {"id":4,"result":{"resultType":"input_required","requestState":"2"}}
        ! until 150
        >> {"id":5,"method":"tools/call","params":{"name":"t","requestState":"2","_meta":{"progressToken":5}}}
        ! gone killed
        = note: the server went away and is started again
        = connect
        ! connected
        >> {"id":6,"method":"tools/call","params":{"name":"t","requestState":"2","_meta":{"progressToken":6}}}
        "#,
    ));
}

#[test]
fn a_server_may_be_gone_while_a_person_answers() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list"}}}}
        = ask 1 tool=t key=a retried "roots"
        ! gone killed
        ! answer 1 roots {"roots":[]}
        = note: the server went away and is started again
        = connect
        ! connected
        >> {"id":3,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"a":{"roots":[]}},"_meta":{"progressToken":3}}}
        < {"id":3,"result":{"content":[]}}
        = done 7 {"content":[]}
        "#,
    ));
}

#[test]
fn a_round_that_may_have_had_its_effect_is_not_sent_again() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        ! gone status 3
        = failed 7: the server went away: status 3
        "#,
    ));
    // Answers without state are useless, because only the lost server knew their call.
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}
        = ask 1 tool=t key=a retried "roots"
        ! answer 1 roots {"roots":[]}
        >> {"id":3,"method":"tools/call","params":{"name":"t","inputResponses":{"a":{"roots":[]}},"_meta":{"progressToken":3}}}
        ! gone status 3
        = failed 7: the server went away after its questions were answered, so what the call has done is unknown (status 3): check before you make it again
        "#,
    ));
}

// Shows ST-15, LI25-24.
#[test]
fn the_next_call_starts_the_server_again() {
    check(&modern(
        r#"
        ! gone status 3
        = disconnected: status 3
        ! call 7 tools/call {"name":"t"}
        = note: the server went away and is started again
        = connect
        ! call 8 tools/list
        ! connected
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        >> {"id":3,"method":"tools/list"}
        "#,
    ));
}

#[test]
fn a_server_that_cannot_be_started_again_ends_the_calls_that_wait_for_it() {
    check(&modern(
        r#"
        ! gone status 3
        = disconnected: status 3
        ! call 7 tools/call {"name":"t"}
        = note: the server went away and is started again
        = connect
        ! gone no such file
        = failed 7: the server cannot be reached: no such file
        = close: the server cannot be reached: no such file
        "#,
    ));
    check(&modern(
        r#"
        ! gone status 3
        = disconnected: status 3
        ! call 7 tools/call {"name":"t"}
        = note: the server went away and is started again
        = connect
        ! connected
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        ! gone status 4
        = failed 7: the server went away: status 4
        "#,
    ));
}

#[test]
fn a_server_is_started_again_only_so_often() {
    let mut bounded = profile();
    bounded.limits.client.restarts = 1;
    check_as(
        &bounded,
        &modern(
            r#"
            ! gone status 3
            = disconnected: status 3
            ! call 7 tools/list
            = note: the server went away and is started again
            = connect
            ! connected
            >> {"id":2,"method":"tools/list"}
            ! gone status 3
            = failed 7: the server went away: status 3
            ! call 8 tools/list
            = failed 8: the server went away: it was started again 1 times within 60s
            ! at 60000
            ! call 9 tools/list
            = note: the server went away and is started again
            = connect
            "#,
        ),
    );
}

// Shows LI25-06.
#[test]
fn a_session_is_opened_again_and_told_again_but_a_call_on_it_is_lost() {
    check_as(
        &only("2025-06-18"),
        &legacy(
            "2025-06-18",
            r#"
            ! call 1 logging/setLevel {"level":"error"}
            > {"id":2,"method":"logging/setLevel","params":{"level":"error"}}
            < {"id":2,"result":{}}
            = done 1 {}
            ! call 2 resources/subscribe {"uri":"a:b"}
            > {"id":3,"method":"resources/subscribe","params":{"uri":"a:b"}}
            < {"id":3,"result":{}}
            = done 2 {}
            ! call 3 resources/subscribe {"uri":"a:c"}
            > {"id":4,"method":"resources/subscribe","params":{"uri":"a:c"}}
            < {"id":4,"error":{"code":-32602,"message":"no"}}
            = failed 3: the server answered: no (-32602)
            ! call 7 tools/call {"name":"t"}
            > {"id":5,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":5}}}
            < {"id":"q","method":"roots/list"}
            = ask 1 tool=t "roots"
            ! gone killed
            = questions lost
            = withdraw 1
            = failed 7: the server went away: killed
            ! answer 1 roots {"roots":[]}
            ! call 8 tools/call {"name":"t"}
            = note: the server went away and is started again
            = connect
            ! connected
            > {"id":6,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
            < {"id":6,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"}}}
            > {"method":"notifications/initialized"}
            = opened 2025-06-18
            > {"id":7,"method":"logging/setLevel","params":{"level":"error"}}
            > {"id":8,"method":"resources/subscribe","params":{"uri":"a:b"}}
            > {"id":9,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":9}}}
            < {"id":8,"result":{}}
            < {"id":7,"result":{}}
            < {"id":9,"result":{"content":[]}}
            = done 8 {"content":[]}
            "#,
        ),
    );
}

#[test]
fn a_session_that_cannot_be_opened_again_ends_the_calls_that_wait_for_it() {
    check_as(
        &only("2025-06-18"),
        &legacy(
            "2025-06-18",
            r#"
            ! gone killed
            = disconnected: killed
            ! call 8 tools/call {"name":"t"}
            = note: the server went away and is started again
            = connect
            ! connected
            > {"id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
            ! gone killed
            = failed 8: the server went away: killed
            = close: the server went away: killed
            "#,
        ),
    );
}

// Shows SU-07.
#[test]
fn subscriptions_are_opened_again() {
    check(&modern(
        r#"
        ! call 7 subscriptions/listen {"notifications":{"toolsListChanged":true}}
        >> {"id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}
        < {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
        = granted 7 {"toolsListChanged":true}
        ! gone killed
        = note: the server went away and is started again
        = connect
        ! connected
        >> {"id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}
        < {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}
        = granted 7 {"toolsListChanged":true}
        ! gone killed
        = note: the server went away and is started again
        = connect
        ! connected
        >> {"id":4,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}
        ! gone killed
        = failed 7: the server went away: killed
        "#,
    ));
}

#[test]
fn a_server_that_goes_away_while_nothing_is_asked_of_it_is_told() {
    check(&modern(
        r#"
        ! gone killed
        = disconnected: killed
        "#,
    ));
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        ! gone killed
        = failed 7: the server went away: killed
        "#,
    ));
}
