//! Results that ask for input, and the rounds that answer them.

use askback_core::{
    engine::client::{CallId, Output},
    protocol::{CallTarget, ClientRequest, name_member},
};

use super::{Player, capabilities, check, check_as, modern, profile};

/// A form with one required text field.
const FORM: &str =
    r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

// Shows EL-07, MR-02, PR-01, RO-02, SA-08, ST-04, PO-01, BA-42, BA-45, TA-02.
#[test]
fn a_call_that_asks_nothing_is_one_request() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"book","arguments":{"nights":3}}
        >> {"id":2,"method":"tools/call","params":{"name":"book","arguments":{"nights":3},"_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"complete","content":[]}}
        = done 7 {"resultType":"complete","content":[]}
        < {"id":2,"result":{"content":["again"]}}
        ! call 8 prompts/get {"name":"plan","_meta":{"traceparent":"00-1-2-00"}}
        >> {"id":3,"method":"prompts/get","params":{"name":"plan","_meta":{"progressToken":3,"traceparent":"00-1-2-00"}}}
        < {"id":3,"error":{"code":-32602,"message":"no such prompt","data":{"a":1}}}
        = failed 8: the server answered: no such prompt (-32602)
        "#,
    ));
}

// Shows EL-07, MR-03, MR-15, MR-16, MR-17, BA-05.
#[test]
fn a_round_is_answered_with_a_new_id_the_same_state_and_the_keys_that_were_asked() {
    check(&modern(&format!(
        r#"
        ! call 7 tools/call {{"name":"book","arguments":{{}}}}
        >> {{"id":2,"method":"tools/call","params":{{"name":"book","arguments":{{}},"_meta":{{"progressToken":2}}}}}}
        < {{"id":2,"result":{{"resultType":"input_required","requestState":" s1\u0000 ","inputRequests":{{"who":{{"method":"elicitation/create","params":{{"mode":"form","message":"Who?","requestedSchema":{FORM}}}}},"model":{{"method":"sampling/createMessage","params":{{"messages":[],"maxTokens":5}}}},"where":{{"method":"roots/list"}}}}}}}}
        = ask 1 tool=book key=who retried {{"mode":"form","message":"Who?","requestedSchema":{FORM}}}
        = ask 2 tool=book key=model retried {{"messages":[],"maxTokens":5}}
        = ask 3 tool=book key=where retried "roots"
        ! answer 3 roots {{"roots":[{{"uri":"file:///a"}}]}}
        ! answer 1 elicit {{"action":"accept","content":{{"name":"Ada"}}}}
        ! answer 1 elicit {{"action":"cancel"}}
        ! answer 2 sample {{"role":"assistant","content":{{"type":"text","text":"hm"}},"model":"m"}}
        >> {{"id":3,"method":"tools/call","params":{{"name":"book","arguments":{{}},"requestState":" s1\u0000 ","inputResponses":{{"who":{{"action":"accept","content":{{"name":"Ada"}}}},"model":{{"role":"assistant","content":{{"type":"text","text":"hm"}},"model":"m"}},"where":{{"roots":[{{"uri":"file:///a"}}]}}}},"_meta":{{"progressToken":3}}}}}}
        < {{"id":2,"result":{{"content":[]}}}}
        < {{"id":3,"result":{{"content":[]}}}}
        = done 7 {{"content":[]}}
        "#
    )));
}

#[test]
fn a_single_round_ends_with_the_questions_and_the_next_one_is_the_callers() {
    let asks = format!(
        r#"{{"resultType":"input_required","requestState":"s1","inputRequests":{{"who":{{"method":"elicitation/create","params":{{"message":"Who?","requestedSchema":{FORM}}}}}}}}}"#
    );
    check(&modern(&format!(
        r#"
        ! round 7 tools/call {{"name":"book","arguments":{{}}}}
        >> {{"id":2,"method":"tools/call","params":{{"name":"book","arguments":{{}},"_meta":{{"progressToken":2}}}}}}
        < {{"id":2,"result":{asks}}}
        = done 7 {asks}
        ! round 8 tools/call {{"name":"book","arguments":{{}},"requestState":"s1","inputResponses":{{"who":{{"action":"decline"}}}}}}
        >> {{"id":3,"method":"tools/call","params":{{"name":"book","arguments":{{}},"requestState":"s1","inputResponses":{{"who":{{"action":"decline"}}}},"_meta":{{"progressToken":3}}}}}}
        < {{"id":3,"result":{{"resultType":"complete","content":[]}}}}
        = done 8 {{"resultType":"complete","content":[]}}
        ! round 9 tools/call {{"name":"book"}}
        >> {{"id":4,"method":"tools/call","params":{{"name":"book","_meta":{{"progressToken":4}}}}}}
        < {{"id":4,"result":{{"resultType":"input_required","requestState":"s1","inputRequests":{{"who":{{"method":"elicitation/create","params":{{"message":"Who?","requestedSchema":{{"type":"object","properties":{{"a":{{"type":"object"}}}}}}}}}}}}}}}}
        = failed 9: the server broke the protocol: it asks "who" of a client that cannot be asked so: field `a`: an object cannot be asked in a form (-32602)
        "#
    )));
}

#[test]
fn a_no_is_an_answer() {
    for action in ["decline", "cancel"] {
        check(&modern(&format!(
            r#"
            ! call 7 resources/read {{"uri":"a:b"}}
            >> {{"id":2,"method":"resources/read","params":{{"uri":"a:b","_meta":{{"progressToken":2}}}}}}
            < {{"id":2,"result":{{"resultType":"input_required","inputRequests":{{"who":{{"method":"elicitation/create","params":{{"message":"Who?","requestedSchema":{FORM}}}}}}}}}}}
            = ask 1 resource=a:b key=who retried {{"message":"Who?","requestedSchema":{FORM}}}
            ! answer 1 elicit {{"action":"{action}","content":{{"name":5}}}}
            >> {{"id":3,"method":"resources/read","params":{{"uri":"a:b","inputResponses":{{"who":{{"action":"{action}"}}}},"_meta":{{"progressToken":3}}}}}}
            "#
        )));
    }
}

// Shows MR-03, MR-16.
#[test]
fn of_the_round_before_nothing_is_kept() {
    check(&modern(&format!(
        r#"
        ! call 7 tools/call {{"name":"t"}}
        >> {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
        < {{"id":2,"result":{{"resultType":"input_required","requestState":"one","inputRequests":{{"a":{{"method":"elicitation/create","params":{{"message":"A?","requestedSchema":{FORM}}}}}}}}}}}
        = ask 1 tool=t key=a retried {{"message":"A?","requestedSchema":{FORM}}}
        ! answer 1 elicit {{"action":"decline"}}
        >> {{"id":3,"method":"tools/call","params":{{"name":"t","requestState":"one","inputResponses":{{"a":{{"action":"decline"}}}},"_meta":{{"progressToken":3}}}}}}
        < {{"id":3,"result":{{"resultType":"input_required","inputRequests":{{"b":{{"method":"elicitation/create","params":{{"message":"B?","requestedSchema":{FORM}}}}}}}}}}}
        = ask 2 tool=t key=b retried {{"message":"B?","requestedSchema":{FORM}}}
        ! answer 2 elicit {{"action":"decline"}}
        >> {{"id":4,"method":"tools/call","params":{{"name":"t","inputResponses":{{"b":{{"action":"decline"}}}},"_meta":{{"progressToken":4}}}}}}
        < {{"id":4,"result":{{"resultType":"input_required","requestState":""}}}}
        ! until 50
        >> {{"id":5,"method":"tools/call","params":{{"name":"t","requestState":"","_meta":{{"progressToken":5}}}}}}
        "#
    )));
}

// Shows MR-15.
#[test]
fn state_alone_is_sent_back_after_a_pause_that_grows() {
    let round = |id: u32, at: u32| {
        let next = id + 1;
        format!(
            r#"
            < {{"id":{id},"result":{{"resultType":"input_required","requestState":"s{id}"}}}}
            ! until {at}
            >> {{"id":{next},"method":"tools/call","params":{{"name":"t","requestState":"s{id}","_meta":{{"progressToken":{next}}}}}}}
            "#
        )
    };
    let mut transcript = String::from(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        "#,
    );
    let mut at = 0;
    for (id, pause) in (2..).zip([50, 100, 200, 250, 250, 250, 250, 250, 250, 250]) {
        at += pause;
        transcript += &round(id, at);
    }
    // The eleventh round exceeds the limit.
    transcript += r#"
        < {"id":12,"result":{"resultType":"input_required","requestState":"s"}}
        = failed 7: the server asked for more than 10 rounds; the call was given up
        "#;
    check(&modern(&transcript));
}

#[test]
fn a_request_that_may_ask_takes_the_next_round() {
    let methods = ClientRequest::METHODS.iter();
    for method in methods.filter(|method| CallTarget::may_ask(method)) {
        let Some(name) = name_member(method) else {
            continue;
        };
        let request = |id: u32, state: &str| {
            let meta = format!(r#""_meta":{{"progressToken":{id}}}"#);
            let params = format!(r#"{{"{name}":"file:///a"{state},{meta}}}"#);
            format!(r#">> {{"id":{id},"method":"{method}","params":{params}}}"#)
        };
        let (first, second) = (request(2, ""), request(3, r#","requestState":"a state""#));
        check(&modern(&format!(
            r#"
            ! call 7 {method} {{"{name}":"file:///a"}}
            {first}
            < {{"id":2,"result":{{"resultType":"input_required","requestState":"a state"}}}}
            ! until 50
            {second}
            "#
        )));
    }
}

#[test]
fn an_answer_is_sent_as_the_host_gave_it() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"A?","requestedSchema":{"type":"object","properties":{"nights":{"type":"integer","default":7},"price":{"type":"number"},"seat":{"type":"string","enum":["x","y"],"default":"y"}},"required":["nights","price"]}}}}}}
        = ask 1 tool=t key=a retried {"message":"A?","requestedSchema":{"type":"object","properties":{"nights":{"type":"integer","default":7},"price":{"type":"number"},"seat":{"type":"string","enum":["x","y"],"default":"y"}},"required":["nights","price"]}}
        ! answer 1 elicit {"action":"accept","content":{"nights":7,"price":3,"seat":null}}
        >> {"id":3,"method":"tools/call","params":{"name":"t","inputResponses":{"a":{"action":"accept","content":{"nights":7,"price":3}}},"_meta":{"progressToken":3}}}
        "#,
    ));
}

#[test]
fn a_default_that_breaks_its_own_field_is_not_offered() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"A?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":3,"default":7}}}}}}}}
        = ask 1 tool=t key=a retried {"message":"A?","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":3}}}}
        ! answer 1 elicit {"action":"accept"}
        >> {"id":3,"method":"tools/call","params":{"name":"t","inputResponses":{"a":{"action":"accept","content":{}}},"_meta":{"progressToken":3}}}
        "#,
    ));
}

/// One question, one answer of the host, and the beginning of the call's error.
#[track_caller]
fn check_answer(question: &str, answer: &str, end: &str) {
    let mut player = Player::new(profile());
    player.play_all(&modern(&format!(
        r#"
        ! call 7 tools/call {{"name":"t"}}
        < {{"id":2,"result":{{"resultType":"input_required","inputRequests":{{"a":{question},"b":{{"method":"roots/list"}}}}}}}}
        ! answer 1 {answer}"#
    )));
    let [.., withdrawn, last] = player.log.as_slice() else {
        panic!("nothing happened")
    };
    assert_eq!(withdrawn, "= withdraw 2", "{answer}");
    assert!(last.starts_with(end), "{answer}: {last}");
}

// Shows EL-46, RO-03.
#[test]
fn an_answer_that_must_not_be_sent_ends_the_call_and_its_other_questions() {
    let form = format!(
        r#"{{"method":"elicitation/create","params":{{"message":"Who?","requestedSchema":{FORM}}}}}"#
    );
    let bug = |why: &str| {
        format!(
            "= failed 7: the host failed to answer the server: its answer to \"a\" cannot be sent: {why}"
        )
    };
    check_answer(
        &form,
        r#"elicit {"action":"accept","content":{}}"#,
        &bug("`name`: "),
    );
    check_answer(&form, r#"elicit {"action":"accept"}"#, &bug("`name`: "));
    check_answer(
        &form,
        r#"elicit {"action":"accept","content":{"name":5}}"#,
        &bug("`name`: "),
    );
    check_answer(
        &form,
        r#"elicit {"action":"accept","content":{"name":"A","x":1}}"#,
        &bug("`x`: "),
    );
    check_answer(
        &form,
        r#"roots {"roots":[]}"#,
        &bug("it does not answer `elicitation/create`"),
    );
    check_answer(
        r#"{"method":"roots/list"}"#,
        r#"roots {"roots":[{"uri":"https://x"}]}"#,
        &bug("a root must be a file:// URI, not `https://x`"),
    );
}

#[test]
fn a_refusal_ends_the_call_and_its_other_questions() {
    let sample = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}"#;
    check_answer(
        sample,
        r#"error {"code":-1,"message":"User rejected"}"#,
        "= failed 7: a question of the server was refused: User rejected (-1)",
    );
    check_answer(
        sample,
        r#"error {"code":-32603,"message":"the model is down"}"#,
        "= failed 7: the host failed to answer the server: the model is down",
    );
}

// Shows BA-10.
#[test]
fn a_server_that_asks_out_of_turn_breaks_the_protocol() {
    for (call, result, why) in [
        (
            "tools/list",
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#,
            "it asks for input in the result of `tools/list`",
        ),
        (
            "tools/list",
            r#"{"resultType":"input_required","requestState":"s"}"#,
            "it asks for input in the result of `tools/list`",
        ),
        (
            r#"tools/call {"name":"t"}"#,
            r#"{"resultType":"input_required"}"#,
            "its answer cannot be read: a result that asks has `inputRequests` or `requestState`",
        ),
        (
            r#"tools/call {"name":"t"}"#,
            r#"{"resultType":"input_required","inputRequests":{}}"#,
            "its result asks for input but names no question and no state",
        ),
        (
            r#"tools/call {"name":"t"}"#,
            r#"{"resultType":"later"}"#,
            r#"its answer cannot be read: the result is of the unknown type "later""#,
        ),
        (
            r#"tools/call {"name":"t"}"#,
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}}"#,
            r#"its answer cannot be read: unknown method `tools/call`"#,
        ),
        // The error names the field that cannot be drawn.
        (
            r#"tools/call {"name":"t"}"#,
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"A?","requestedSchema":{"type":"object","properties":{"home":{"type":"object","properties":{}}}}}}}}"#,
            r#"it asks "a" of a client that cannot be asked so: field `home`: an object cannot be asked in a form (-32602)"#,
        ),
        // A question in `url` mode without a URL is an error, not an empty form.
        (
            r#"tools/call {"name":"t"}"#,
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","message":"A?"}}}}"#,
            "its answer cannot be read: invalid params: `url` is missing",
        ),
    ] {
        let mut player = Player::new(profile());
        player.play_all(&modern(""));
        player.play(&format!("! call 7 {call}"));
        player.play(&format!(r#"< {{"id":2,"result":{result}}}"#));
        let failed = format!("= failed 7: the server broke the protocol: {why}");
        let last = player.log.last().unwrap();
        // Positions in the text depend on the JSON serializer and are not compared.
        let position = |text: &str| text.split(" at line ").next().unwrap().to_owned();
        assert_eq!(position(last), position(&failed));
    }
}

// Shows SA-06.
#[test]
fn what_was_not_declared_is_not_asked() {
    let form = r#"{"method":"elicitation/create","params":{"message":"A?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let url = r#"{"method":"elicitation/create","params":{"mode":"url","message":"A?","url":"https://a.test"}}"#;
    let sample = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}"#;
    let tools =
        r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5,"tools":[]}}"#;
    let roots = r#"{"method":"roots/list"}"#;
    let all = [form, url, sample, tools, roots];
    for (declared, asked) in [
        ("{}", &[][..]),
        // An empty declaration means forms only.
        (r#"{"elicitation":{}}"#, &[form][..]),
        (r#"{"elicitation":{"form":{}}}"#, &[form]),
        (r#"{"elicitation":{"url":{}}}"#, &[url]),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, &[form, url]),
        (r#"{"sampling":{}}"#, &[sample]),
        (r#"{"sampling":{"tools":{}}}"#, &[sample, tools]),
        (r#"{"roots":{}}"#, &[roots]),
    ] {
        for question in all {
            let mut profile = profile();
            profile.capabilities = capabilities(declared);
            let mut player = Player::new(profile);
            player.play_all(&modern(""));
            player.play(r#"! call 7 tools/call {"name":"t"}"#);
            player.play(&format!(
                r#"< {{"id":2,"result":{{"resultType":"input_required","inputRequests":{{"a":{question}}}}}}}"#
            ));
            let last = player.log.last().unwrap();
            if asked.contains(&question) {
                assert!(
                    last.starts_with("= ask 1 tool=t key=a"),
                    "{declared} {question}: {last}"
                );
            } else {
                let start = "= failed 7: the server broke the protocol: it asks \"a\" of a client";
                assert!(last.starts_with(start), "{declared} {question}: {last}");
            }
        }
    }
}

// Shows SA-20.
#[test]
fn a_server_that_asks_too_much_at_once_or_too_often_is_refused() {
    let mut bounded = profile();
    bounded.limits.asking.questions_per_round = 1;
    check_as(
        &bounded,
        &modern(
            r#"
            ! call 7 tools/call {"name":"t"}
            >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
            < {"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}}}
            = failed 7: the server broke the protocol: it asks 2 questions at once; the most is 1
            "#,
        ),
    );
    let mut bounded = profile();
    bounded.limits.client.asks = 2;
    check_as(
        &bounded,
        &modern(
            r#"
            ! call 7 tools/call {"name":"t"}
            >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
            < {"id":2,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"},"c":{"method":"roots/list"}}}}
            = note: the server asked more than 2 times within 60s; its question was refused
            = failed 7: a question of the server was refused: the server asked more than 2 times within 60s; its question was refused (-1)
            "#,
        ),
    );
}

#[test]
fn answers_go_back_in_the_order_of_the_questions() {
    let mut player = Player::new(profile());
    player.play_all(&modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        < {"id":2,"result":{"resultType":"input_required","inputRequests":{"z":{"method":"roots/list"},"a":{"method":"roots/list"}}}}"#,
    ));
    // The player sorts its output, so the bytes are examined here.
    let (first, second) = (player.questions[0], player.questions[1]);
    let roots = || super::answer(r#"roots {"roots":[]}"#);
    player.connection.answer(second, roots(), player.now);
    assert!(player.connection.poll().is_none());
    player.connection.answer(first, roots(), player.now);
    let Some(Output::Send(message)) = player.connection.poll() else {
        panic!("nothing is sent")
    };
    let sent = String::from_utf8(message.bytes).unwrap();
    assert!(
        sent.contains(r#""inputResponses":{"z":{"roots":[]},"a":{"roots":[]}}"#),
        "{sent}"
    );
}

// Shows MR-18, PO-02, BA-05.
#[test]
fn parallel_calls_keep_their_states_apart() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"a"}
        >> {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
        ! call 8 tools/call {"name":"b"}
        >> {"id":3,"method":"tools/call","params":{"name":"b","_meta":{"progressToken":3}}}
        < {"id":3,"result":{"resultType":"input_required","requestState":"of b","inputRequests":{"q":{"method":"roots/list"}}}}
        = ask 1 tool=b key=q retried "roots"
        < {"id":2,"result":{"resultType":"input_required","requestState":"of a","inputRequests":{"q":{"method":"roots/list"}}}}
        = ask 2 tool=a key=q retried "roots"
        ! call 9 tools/call {"name":"c"}
        >> {"id":4,"method":"tools/call","params":{"name":"c","_meta":{"progressToken":4}}}
        ! answer 2 roots {"roots":[]}
        >> {"id":5,"method":"tools/call","params":{"name":"a","requestState":"of a","inputResponses":{"q":{"roots":[]}},"_meta":{"progressToken":5}}}
        ! answer 1 roots {"roots":[]}
        >> {"id":6,"method":"tools/call","params":{"name":"b","requestState":"of b","inputResponses":{"q":{"roots":[]}},"_meta":{"progressToken":6}}}
        "#,
    ));
}

// Shows ST-09, CA-05, CA-11, CA-16, BA-11.
#[test]
fn a_call_that_is_cancelled_takes_its_questions_with_it() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"a"}
        >> {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
        ! cancel 7
        > {"method":"notifications/cancelled","params":{"requestId":2,"reason":"the caller no longer waits for the result"}}
        ! cancel 7
        < {"id":2,"result":{"content":[]}}
        ! call 8 tools/call {"name":"a"}
        >> {"id":3,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":3}}}
        < {"id":3,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}}}}
        = ask 1 tool=a key=q retried "roots"
        ! cancel 8
        = withdraw 1
        ! answer 1 roots {"roots":[]}
        "#,
    ));
}

#[test]
fn a_server_has_so_long_for_a_round_while_nobody_is_asked() {
    check(&modern(
        r#"
        ! call 7 tools/call {"name":"a"}
        >> {"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}
        ! at 200000
        < {"id":2,"result":{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}}}}
        = ask 1 tool=a key=q retried "roots"
        ! at 9000000
        ! answer 1 roots {"roots":[]}
        >> {"id":3,"method":"tools/call","params":{"name":"a","inputResponses":{"q":{"roots":[]}},"_meta":{"progressToken":3}}}
        ! until 9300000
        > {"method":"notifications/cancelled","params":{"requestId":3,"reason":"it took too long"}}
        = failed 7: the server did not answer within 300s
        < {"id":3,"result":{"content":[]}}
        "#,
    ));
}

// Shows PR-16, SK-30.
#[test]
fn what_the_server_does_not_declare_is_asked_for_only_if_it_is_a_list_or_an_entry_of_one() {
    check(
        r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        < {"id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}}
        = opened 2026-07-28
        ! call 1 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        < {"id":2,"error":{"code":-32601,"message":"no"}}
        = failed 1: the server answered: no (-32601)
        ! call 2 prompts/list
        >> {"id":3,"method":"prompts/list"}
        < {"id":3,"result":{"prompts":[]}}
        = done 2 {"prompts":[]}
        ! call 3 completion/complete {"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}
        = failed 3: the server does not declare that it has completions
        ! call 4 ping
        = failed 4: there is no `ping` in revision 2026-07-28
        ! call 5 resources/subscribe {"uri":"a:b"}
        = failed 5: there is no `resources/subscribe` in revision 2026-07-28
        ! call 6 resources/directory/read {"uri":"skill://a"}
        = failed 6: the server does not declare that it has folders of skills
        "#,
    );
}

#[test]
fn the_log_level_is_said_with_each_request() {
    check(&modern(
        r#"
        ! call 1 logging/setLevel {"level":"warning"}
        = done 1 {}
        ! call 2 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/logLevel":"warning","progressToken":2}}}
        "#,
    ));
}

#[test]
fn only_so_many_calls_are_in_progress() {
    let mut bounded = profile();
    bounded.limits.wire.requests_in_flight = 1;
    check_as(
        &bounded,
        &modern(
            r#"
            ! call 1 tools/call {"name":"t"}
            >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
            ! call 2 tools/call {"name":"t"}
            = failed 2: 1 calls are in progress, which is the limit; wait for one to end
            "#,
        ),
    );
}

#[test]
fn the_result_comes_as_it_was_received() {
    let mut player = Player::new(profile());
    player.play_all(&modern(""));
    player.play(r#"! call 7 tools/call {"name":"t"}"#);
    let result = r#"{ "content": [], "structuredContent": {"n": 3.0, "m": 1e2} }"#;
    let message = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
    player
        .connection
        .handle_message(message.as_bytes(), player.now);
    let Some(Output::Done(CallId(7), Ok(raw))) = player.connection.poll() else {
        panic!()
    };
    assert_eq!(raw.get(), result);
}
