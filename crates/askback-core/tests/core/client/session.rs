//! The handshake era: the server asks on the session.

use std::time::Duration;

use askback_core::engine::client::Profile;

use super::{Player, capabilities, check_as, legacy, only, profile};

#[track_caller]
fn check(revision: &str, rest: &str) {
    check_as(&only(revision), &legacy(revision, rest));
}

// Shows PI25-01, BA25-02, LI25-28, TA25-03, TA25-04, TA25-05.
#[test]
fn a_call_is_one_request_without_the_meta_of_the_stateless_era() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        check(
            revision,
            r#"
            ! call 7 tools/call {"name":"book","arguments":{}}
            > {"id":2,"method":"tools/call","params":{"name":"book","arguments":{},"_meta":{"progressToken":2}}}
            < {"id":2,"result":{"content":[]}}
            = done 7 {"content":[]}
            ! call 8 tools/list
            > {"id":3,"method":"tools/list"}
            < {"id":3,"error":{"code":-32603,"message":"no"}}
            = failed 8: the server answered: no (-32603)
            < {"id":"x","method":"ping"}
            > {"id":"x","result":{}}
            "#,
        );
    }
}

// Shows EL-11, BA24-01, BA25-02.
#[test]
fn a_question_is_put_to_the_host_and_its_answer_sent() {
    for revision in ["2025-06-18", "2025-11-25"] {
        check(
            revision,
            r#"
            ! call 7 tools/call {"name":"book"}
            > {"id":2,"method":"tools/call","params":{"name":"book","_meta":{"progressToken":2}}}
            < {"id":0,"method":"elicitation/create","params":{"message":"Seat?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}}},"_meta":{"dev.askback/key":"seat"}}}
            = ask 1 tool=book key=seat {"message":"Seat?","requestedSchema":{"type":"object","properties":{"seat":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}}},"_meta":{"dev.askback/key":"seat"}}
            ! answer 1 elicit {"action":"accept","content":{"seat":"a"}}
            > {"id":0,"result":{"action":"accept","content":{"seat":"a"}}}
            < {"id":"s","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}}
            = ask 2 tool=book {"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5}
            < {"id":"r","method":"roots/list"}
            = ask 3 tool=book "roots"
            ! answer 3 roots {"roots":[{"uri":"file:///a","name":"a"}]}
            > {"id":"r","result":{"roots":[{"uri":"file:///a","name":"a"}]}}
            ! answer 2 sample {"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"}
            > {"id":"s","result":{"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"}}
            < {"id":2,"result":{"content":[]}}
            = done 7 {"content":[]}
            "#,
        );
    }
}

#[test]
fn a_question_belongs_to_the_only_call_in_flight() {
    check(
        "2025-11-25",
        r#"
        < {"id":0,"method":"roots/list"}
        = ask 1 "roots"
        ! call 7 tools/list
        > {"id":2,"method":"tools/list"}
        ! call 8 prompts/get {"name":"p"}
        > {"id":3,"method":"prompts/get","params":{"name":"p","_meta":{"progressToken":3}}}
        < {"id":1,"method":"roots/list"}
        = ask 2 prompt=p "roots"
        ! call 9 resources/read {"uri":"a:b"}
        > {"id":4,"method":"resources/read","params":{"uri":"a:b","_meta":{"progressToken":4}}}
        < {"id":2,"method":"roots/list"}
        = ask 3 "roots"
        "#,
    );
}

/// Checks the error of a client with these capabilities for a question that it rejects without
/// asking its host.
#[track_caller]
fn check_refused(revision: &str, declared: &str, question: &str, code: i64, words: &str) {
    let mut client = only(revision);
    client.capabilities = capabilities(declared);
    let mut player = Player::new(client);
    player.play_all(&legacy(revision, ""));
    player.play(&format!(r#"< {{"id":5,{question}}}"#));
    let asks = ["elicitation/create", "sampling/createMessage", "roots/list"];
    let asked = asks
        .into_iter()
        .find(|method| question.contains(&format!("{method:?}")));
    if let Some(method) = asked {
        let told = &player.log[player.log.len() - 2];
        assert_eq!(*told, format!("= refused {method} {code}"), "{question}");
    }
    let last = player.log.last().unwrap();
    assert!(
        last.starts_with(&format!(r#"> {{"error":{{"code":{code},"#)) && last.contains(words),
        "{revision} {declared} {question}: {last}"
    );
}

// Shows EL25-12, RO25-03, LI24-03, LI25-15, LI25-16, TA25-15.
#[test]
fn what_was_not_declared_is_refused() {
    let form = r#""method":"elicitation/create","params":{"message":"A?","requestedSchema":{"type":"object","properties":{}}}"#;
    let url = r#""method":"elicitation/create","params":{"mode":"url","message":"A?","url":"https://a.test","elicitationId":"1"}"#;
    let sample = r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}"#;
    let tools =
        r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":5,"tools":[]}"#;
    let choice = r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":5,"toolChoice":{"mode":"auto"}}"#;
    let roots = r#""method":"roots/list""#;
    let r25 = "2025-11-25";
    for (revision, declared, question, code, words) in [
        (r25, "{}", form, -32602, r#"mode \"form\""#),
        (
            r25,
            r#"{"elicitation":{"url":{}}}"#,
            form,
            -32602,
            r#"mode \"form\""#,
        ),
        (r25, "{}", url, -32602, r#"mode \"url\""#),
        (r25, r#"{"elicitation":{}}"#, url, -32602, r#"mode \"url\""#),
        (
            r25,
            r#"{"elicitation":{"form":{}}}"#,
            url,
            -32602,
            r#"mode \"url\""#,
        ),
        (r25, "{}", sample, -32601, "sampling/createMessage"),
        (r25, r#"{"sampling":{}}"#, tools, -32602, "with tools"),
        (r25, r#"{"sampling":{}}"#, choice, -32602, "with tools"),
        (r25, "{}", roots, -32601, "roots/list"),
        // The revision has no links, whatever the client supports in others.
        (
            "2025-06-18",
            r#"{"elicitation":{"form":{},"url":{}}}"#,
            url,
            -32602,
            r#"mode \"url\""#,
        ),
        (
            "2025-03-26",
            r#"{"elicitation":{}}"#,
            form,
            -32601,
            "elicitation/create",
        ),
        (
            "2024-11-05",
            r#"{"elicitation":{}}"#,
            form,
            -32601,
            "elicitation/create",
        ),
        // A method that no client supports.
        (r25, "{}", r#""method":"tasks/list""#, -32601, "tasks/list"),
        (
            r25,
            "{}",
            r#""method":"elicitation/other""#,
            -32601,
            "elicitation/other",
        ),
    ] {
        check_refused(revision, declared, question, code, words);
    }
}

// Shows EL-11, SA-18, SA25-03, SA25-04.
#[test]
fn a_question_that_makes_no_sense_is_refused_with_the_reason() {
    let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}"#;
    let elicit = |params: &str| format!(r#""method":"elicitation/create","params":{params}"#);
    let sample = |messages: &str| {
        format!(
            r#""method":"sampling/createMessage","params":{{"maxTokens":5,"messages":{messages}}}"#
        )
    };
    for (question, words) in [
        // The error names the field that cannot be drawn.
        (
            elicit(
                r#"{"message":"A?","requestedSchema":{"type":"object","properties":{"home":{"type":"object","properties":{}}}}}"#,
            ),
            "home",
        ),
        (elicit(r#"{"mode":"voice","message":"A?"}"#), "voice"),
        // A question to open a link is not an empty form, and a missing form is not assumed.
        (elicit(r#"{"mode":"url","message":"A?"}"#), "url"),
        (elicit(r#"{"message":"A?"}"#), "requestedSchema"),
        (elicit("{}"), "message"),
        (
            sample(
                r#"[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"t","input":{}}}]"#,
            ),
            "the use `1` of a tool is not followed by its result",
        ),
        (
            sample(
                r#"[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"t","input":{}}},{"role":"user","content":{"type":"tool_result","toolUseId":"2","content":[]}}]"#,
            ),
            "the use `1` of a tool is not followed by its result",
        ),
        (
            sample(
                r#"[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"t","input":{}}},{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]},{"type":"text","text":"and"}]}]"#,
            ),
            "nothing else",
        ),
        (
            sample(
                r#"[{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}]"#,
            ),
            "a result for `1`",
        ),
        (
            sample(
                r#"[{"role":"user","content":{"type":"tool_use","id":"1","name":"t","input":{}}}]"#,
            ),
            "only the assistant",
        ),
        (
            sample(r#"[],"toolChoice":{"mode":"required"}"#),
            "none is offered",
        ),
        (
            sample(r#"[],"tools":[],"toolChoice":{"mode":"required"}"#),
            "none is offered",
        ),
    ] {
        check_refused("2025-11-25", all, &question, -32602, words);
    }
}

#[test]
fn what_cannot_be_drawn_is_put_to_a_host_that_takes_json() {
    let client = Profile {
        any_form: true,
        ..only("2025-11-25")
    };
    check_as(
        &client,
        &legacy(
            "2025-11-25",
            r#"
            < {"id":0,"method":"elicitation/create","params":{"message":"Where?","requestedSchema":{"type":"object","properties":{"to":{"title":"To","type":"object","properties":{}}},"required":["to"]}}}
            = ask 1 {"message":"Where?","requestedSchema":{"type":"object","properties":{"to":{"title":"To","type":"object","properties":{}}},"required":["to"]}}
            ! answer 1 elicit {"action":"accept","content":{"to":{"city":"Rome"}}}
            > {"id":0,"result":{"action":"accept","content":{"to":{"city":"Rome"}}}}
            "#,
        ),
    );
}

#[test]
fn a_default_that_is_no_answer_is_put_to_a_host_that_takes_any_form() {
    let question = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{"age":{"type":"integer","maximum":9,"default":12}}}}"#;
    let without = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{"age":{"type":"integer","maximum":9}}}}"#;
    for (any_form, put) in [(true, question), (false, without)] {
        let client = Profile {
            any_form,
            ..only("2025-11-25")
        };
        let told = format!(
            r#"
            < {{"id":0,"method":"elicitation/create","params":{question}}}
            = ask 1 {put}
            ! answer 1 elicit {{"action":"accept","content":{{}}}}
            > {{"id":0,"result":{{"action":"accept","content":{{}}}}}}
            "#
        );
        check_as(&client, &legacy("2025-11-25", &told));
    }
}

#[test]
fn a_link_without_an_id_is_still_a_link() {
    check(
        "2025-11-25",
        r#"
        < {"id":0,"method":"elicitation/create","params":{"mode":"url","message":"Sign in","url":"https://a.test"}}
        = ask 1 {"mode":"url","message":"Sign in","url":"https://a.test"}
        ! answer 1 elicit {"action":"accept","content":{"x":1}}
        > {"id":0,"result":{"action":"accept"}}
        "#,
    );
}

// Shows EL25-04.
#[test]
fn the_end_of_a_link_is_told_once_and_only_of_known_links() {
    check(
        "2025-11-25",
        r#"
        < {"method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}
        < {"id":0,"method":"elicitation/create","params":{"mode":"url","message":"Sign in","url":"https://a.test","elicitationId":"x"}}
        = ask 1 {"mode":"url","message":"Sign in","url":"https://a.test","elicitationId":"x"}
        ! answer 1 elicit {"action":"accept"}
        > {"id":0,"result":{"action":"accept"}}
        < {"method":"notifications/elicitation/complete","params":{"elicitationId":"y"}}
        < {"method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}
        = completed x
        < {"method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}
        "#,
    );
}

// Shows CA-19, CA-20, CA25-04, CA25-05, CA25-06.
#[test]
fn a_question_the_server_withdraws_gets_no_answer() {
    check(
        "2025-11-25",
        r#"
        < {"id":"q","method":"roots/list"}
        = ask 1 "roots"
        < {"id":"q","method":"roots/list"}
        = refused roots/list -32600
        > {"id":"q","error":{"code":-32600,"message":"a request with the id q is in progress"}}
        < {"method":"notifications/cancelled","params":{"requestId":"p"}}
        < {"method":"notifications/cancelled","params":{"requestId":"q","reason":"never\u001b[2J mind"}}
        = withdraw 1
        = cancelled: never\u{1b}[2J mind
        ! answer 1 roots {"roots":[]}
        < {"method":"notifications/cancelled","params":{"requestId":"q"}}
        "#,
    );
}

// Shows CA25-01, BA-19.
#[test]
fn a_cancelled_call_takes_its_questions_with_it() {
    check(
        "2025-11-25",
        r#"
        ! call 7 tools/call {"name":"a"}
        > {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
        < {"id":"q","method":"elicitation/create","params":{"message":"A?","requestedSchema":{"type":"object","properties":{}}}}
        = ask 1 tool=a {"message":"A?","requestedSchema":{"type":"object","properties":{}}}
        < {"id":"r","method":"roots/list"}
        = ask 2 tool=a "roots"
        ! cancel 7
        > {"method":"notifications/cancelled","params":{"requestId":2,"reason":"the caller no longer waits for the result"}}
        = withdraw 1
        > {"id":"q","result":{"action":"cancel","_meta":{"dev.askback/answered-by":"client","dev.askback/reason":"the call ended before an answer came"}}}
        = withdraw 2
        > {"id":"r","error":{"code":-1,"message":"the call ended before an answer came"}}
        ! answer 1 elicit {"action":"accept"}
        "#,
    );
}

#[test]
fn a_refusal_ends_the_call_if_the_server_ends_it_with_an_error() {
    let refused = r#"
        ! call 7 tools/call {"name":"a"}
        > {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
        < {"id":"r","method":"roots/list"}
        = ask 1 tool=a "roots"
        ! answer 1 error {"code":-1,"message":"User rejected"}
        > {"id":"r","error":{"code":-1,"message":"User rejected"}}
        "#;
    check(
        "2025-11-25",
        &format!(
            r#"{refused}
            < {{"id":2,"error":{{"code":-32603,"message":"no roots"}}}}
            = failed 7: a question of the server was refused: User rejected (-1)
            "#
        ),
    );
    // If the server continues without the answer, its result counts.
    check(
        "2025-11-25",
        &format!(
            r#"{refused}
            < {{"id":2,"result":{{"content":[]}}}}
            = done 7 {{"content":[]}}
            "#
        ),
    );
}

// Shows RO-03, RO25-04.
#[test]
fn an_answer_that_must_not_be_sent_ends_the_call() {
    check(
        "2025-11-25",
        r#"
        ! call 7 tools/call {"name":"a"}
        > {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
        < {"id":"q","method":"elicitation/create","params":{"message":"A?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}}
        = ask 1 tool=a {"message":"A?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}
        ! answer 1 elicit {"action":"accept","content":{"n":"three"}}
        > {"id":"q","error":{"code":-32603,"message":"the client could not answer"}}
        > {"method":"notifications/cancelled","params":{"requestId":2,"reason":"the client could not answer a question of the call"}}
        = failed 7: the host failed to answer the server: its answer cannot be sent: `n`: must be a whole number
        < {"id":"q","method":"roots/list"}
        = ask 2 "roots"
        ! answer 2 roots {"roots":[{"uri":"http://a"}]}
        > {"id":"q","error":{"code":-32603,"message":"the client could not answer"}}
        = note: an answer of the host cannot be sent: a root must be a file:// URI, not `http://a`
        "#,
    );
}

// Shows RO-05.
#[test]
fn a_root_that_leads_elsewhere_than_it_reads_is_not_sent() {
    for uri in [
        "file:///trips/ada/../../etc",
        "file:///trips/ada/.",
        "file:///..",
        "file:///trips/%2e%2E/etc",
        "file:///trips/.%2e",
        "file:///trips/ada%2F..%2fetc",
        r"file:///trips\\..\\etc",
        "file:///trips/ada%5c..",
        "file:///trips/ada%00",
        "file://",
        "file://host",
        "file:///trips?ada",
        "file:///trips#ada",
    ] {
        let shown = uri.replace(r"\\", r"\");
        check(
            "2025-11-25",
            &format!(
                r#"
                ! call 7 tools/call {{"name":"a"}}
                > {{"id":2,"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":2}}}}}}
                < {{"id":"q","method":"roots/list"}}
                = ask 1 tool=a "roots"
                ! answer 1 roots {{"roots":[{{"uri":"file:///trips/ada"}},{{"uri":"{uri}"}}]}}
                > {{"id":"q","error":{{"code":-32603,"message":"the client could not answer"}}}}
                > {{"method":"notifications/cancelled","params":{{"requestId":2,"reason":"the client could not answer a question of the call"}}}}
                = failed 7: the host failed to answer the server: its answer cannot be sent: a root must be a plain path, without dots or encoded separators, not `{shown}`
                "#
            ),
        );
    }
}

// Shows LI25-20.
#[test]
fn the_servers_time_stands_while_a_person_is_asked_and_progress_renews_it() {
    check(
        "2025-11-25",
        r#"
        ! call 7 tools/call {"name":"a"}
        > {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
        ! at 100000
        < {"id":"q","method":"roots/list"}
        = ask 1 tool=a "roots"
        ! at 5000000
        < {"id":"r","method":"roots/list"}
        = ask 2 tool=a "roots"
        ! answer 1 roots {"roots":[]}
        > {"id":"q","result":{"roots":[]}}
        ! at 6000000
        ! answer 2 roots {"roots":[]}
        > {"id":"r","result":{"roots":[]}}
        ! at 6100000
        < {"method":"notifications/progress","params":{"progressToken":2,"progress":0.5}}
        = progress 0.5 of None, None, of call 7
        ! until 6400000
        > {"method":"notifications/cancelled","params":{"requestId":2,"reason":"it took too long"}}
        = failed 7: the server did not answer within 300s
        "#,
    );
}

// Shows EL25-13, SA-20, BA-19.
#[test]
fn a_server_that_asks_too_often_is_refused_in_its_own_era() {
    let mut bounded = only("2025-11-25");
    bounded.limits.client.asks = 1;
    check_as(
        &bounded,
        &legacy(
            "2025-11-25",
            r#"
            < {"id":1,"method":"roots/list"}
            = ask 1 "roots"
            < {"id":2,"method":"roots/list"}
            = note: the server asked more than 1 times within 60s; its question was refused
            = refused roots/list -1
            > {"id":2,"error":{"code":-1,"message":"the server asked more than 1 times within 60s; its question was refused"}}
            ! at 60000
            < {"id":3,"method":"roots/list"}
            = ask 2 "roots"
            "#,
        ),
    );
}

#[test]
fn the_window_of_questions_moves_on_with_time() {
    let mut bounded = only("2025-11-25");
    bounded.limits.client.asks = 2;
    bounded.limits.client.asks_window = Duration::from_secs(10);
    let mut player = Player::new(bounded);
    player.play_all(&legacy("2025-11-25", ""));
    let seconds = [0, 1, 2, 9, 10, 10, 11, 12, 21];
    let asked = (1..).zip(seconds).filter(|(id, second)| {
        let before = player.questions.len();
        player.now = Duration::from_secs(*second);
        player.play(&format!(r#"< {{"id":{id},"method":"roots/list"}}"#));
        player.questions.len() > before
    });
    let asked: Vec<u64> = asked.map(|(_, second)| second).collect();
    assert_eq!(asked, [0, 1, 10, 11, 21]);
}

const LINK: &str =
    r#"{"mode":"url","elicitationId":"e1","url":"https://a.test/1","message":"One"}"#;
const OTHER: &str =
    r#"{"mode":"url","elicitationId":"e2","url":"https://a.test/2","message":"Two"}"#;

#[test]
fn links_that_must_be_opened_first_are_asked_one_by_one_and_then_the_call_is_sent_again() {
    check(
        "2025-11-25",
        &format!(
            r#"
            ! call 7 tools/call {{"name":"a"}}
            > {{"id":2,"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":2}}}}}}
            < {{"id":2,"error":{{"code":-32042,"message":"first","data":{{"elicitations":[{LINK},{OTHER}]}}}}}}
            = ask 1 tool=a retried {LINK}
            < {{"method":"notifications/elicitation/complete","params":{{"elicitationId":"e1"}}}}
            = completed e1
            ! answer 1 elicit {{"action":"accept"}}
            = ask 2 tool=a retried {OTHER}
            ! answer 2 elicit {{"action":"accept"}}
            > {{"id":3,"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":3}}}}}}
            < {{"id":3,"result":{{"content":[]}}}}
            = done 7 {{"content":[]}}
            "#
        ),
    );
    for action in ["decline", "cancel"] {
        check(
            "2025-11-25",
            &format!(
                r#"
                ! call 7 tools/call {{"name":"a"}}
                > {{"id":2,"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":2}}}}}}
                < {{"id":2,"error":{{"code":-32042,"message":"first","data":{{"elicitations":[{LINK},{OTHER}]}}}}}}
                = ask 1 tool=a retried {LINK}
                ! answer 1 elicit {{"action":"{action}"}}
                = failed 7: a question of the server was refused: the person did not agree to open the link (-1)
                "#
            ),
        );
    }
}

#[test]
fn links_are_asked_for_ten_rounds_at_most() {
    let mut transcript = String::from(r#"! call 7 tools/call {"name":"a"}"#);
    for id in 2..13 {
        transcript += &format!(
            r#"
            > {{"id":{id},"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":{id}}}}}}}
            < {{"id":{id},"error":{{"code":-32042,"message":"first","data":{{"elicitations":[{LINK}]}}}}}}
            "#
        );
        if id < 12 {
            let question = id - 1;
            transcript += &format!(
                r#"
                = ask {question} tool=a retried {LINK}
                ! answer {question} elicit {{"action":"accept"}}
                "#
            );
        }
    }
    transcript += "= failed 7: the server asked for more than 10 rounds; the call was given up";
    check("2025-11-25", &transcript);
}

#[test]
fn an_error_that_names_no_links_is_an_error() {
    for data in [
        "",
        r#","data":{"elicitations":[]}"#,
        r#","data":{"elicitations":[{"mode":"form","message":"a"}]}"#,
    ] {
        check(
            "2025-11-25",
            &format!(
                r#"
                ! call 7 tools/call {{"name":"a"}}
                > {{"id":2,"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":2}}}}}}
                < {{"id":2,"error":{{"code":-32042,"message":"first"{data}}}}}
                = failed 7: the server answered: first (-32042)
                "#
            ),
        );
    }
    // The notification is ignored in a revision without it, and by a client without links.
    let mut plain = profile();
    plain.revisions = vec!["2025-11-25".parse().unwrap()];
    plain.capabilities = capabilities(r#"{"elicitation":{}}"#);
    for (client, revision) in [(only("2025-06-18"), "2025-06-18"), (plain, "2025-11-25")] {
        check_as(
            &client,
            &legacy(
                revision,
                &format!(
                    r#"
                    ! call 7 tools/call {{"name":"a"}}
                    > {{"id":2,"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":2}}}}}}
                    < {{"id":2,"error":{{"code":-32042,"message":"first","data":{{"elicitations":[{LINK}]}}}}}}
                    = failed 7: the server answered: first (-32042)
                    "#
                ),
            ),
        );
    }
}

// Shows BA24-05.
#[test]
fn batches_are_read_where_the_revision_has_them_and_answered_as_one() {
    check(
        "2025-03-26",
        r#"
        ! call 7 tools/list
        > {"id":2,"method":"tools/list"}
        < [{"id":2,"result":{"tools":[]}},{"id":"a","method":"ping"},{"id":"b","method":"roots/list"},{"id":"c","method":"nope"},{"method":"notifications/tools/list_changed"}]
        = done 7 {"tools":[]}
        = ask 1 "roots"
        = tools changed
        ! answer 1 roots {"roots":[]}
        > [{"id":"a","jsonrpc":"2.0","result":{}},{"error":{"code":-32601,"message":"unknown method `nope`"},"id":"c","jsonrpc":"2.0"},{"id":"b","jsonrpc":"2.0","result":{"roots":[]}}]
        < [{"method":"notifications/tools/list_changed"}]
        = tools changed
        < [{"id":"d","method":"roots/list"}]
        = ask 2 "roots"
        < {"method":"notifications/cancelled","params":{"requestId":"d"}}
        = withdraw 2
        "#,
    );
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        check(
            revision,
            r#"
            < [{"id":"a","method":"ping"},{"id":"b","method":"ping"}]
            > {"id":"a","result":{}}
            > {"id":"b","result":{}}
            "#,
        );
    }
}

#[test]
fn a_malformed_request_does_not_end_its_batch() {
    check(
        "2025-03-26",
        r#"
        < [{"id":"a","method":7},{"id":"b","method":"ping"}]
        = note: the server sent a message that cannot be read: "method" must be a string
        > [{"error":{"code":-32600,"message":"\"method\" must be a string"},"id":"a","jsonrpc":"2.0"},{"id":"b","jsonrpc":"2.0","result":{}}]
        < [{"id":"c","method":"roots/list"},{"id":"d","method":7}]
        = ask 1 "roots"
        = note: the server sent a message that cannot be read: "method" must be a string
        ! answer 1 roots {"roots":[]}
        > [{"error":{"code":-32600,"message":"\"method\" must be a string"},"id":"d","jsonrpc":"2.0"},{"id":"c","jsonrpc":"2.0","result":{"roots":[]}}]
        "#,
    );
}

#[test]
fn a_result_is_never_a_question_here() {
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        check(
            revision,
            r#"
            ! call 7 tools/call {"name":"a"}
            > {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
            < {"id":2,"result":{"resultType":"other","content":[]}}
            = done 7 {"resultType":"other","content":[]}
            "#,
        );
    }
}

// Shows RO25-02.
#[test]
fn roots_that_changed_are_told_where_there_is_a_way_and_a_promise() {
    check(
        "2025-11-25",
        r#"
        ! roots
        > {"method":"notifications/roots/list_changed"}
        "#,
    );
    let mut silent = only("2025-11-25");
    silent.capabilities = capabilities(r#"{"roots":{}}"#);
    check_as(&silent, &legacy("2025-11-25", "! roots"));
    super::check(&super::modern("! roots"));
}

#[test]
fn completions_need_no_promise_before_there_was_one() {
    let complete = r#"! call 3 completion/complete {"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}"#;
    for (revision, end) in [
        (
            "2024-11-05",
            r#"> {"id":2,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}"#,
        ),
        (
            "2025-03-26",
            "= failed 3: the server does not declare that it has completions",
        ),
    ] {
        check_as(
            &only(revision),
            &format!(
                r#"
                ! connected
                > {{"id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}
                < {{"id":1,"result":{{"protocolVersion":"{revision}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}
                > {{"method":"notifications/initialized"}}
                = opened {revision}
                {complete}
                {end}
                "#
            ),
        );
    }
}
