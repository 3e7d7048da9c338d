//! The limits on what a server can make a client store.

use askback_core::engine::client::Profile;

use super::{capabilities, check_as, legacy, modern, only, profile};

/// A client with this limit for questions in bytes, and ids of at most 8 bytes.
fn bounded(revision: &str, question_bytes: usize) -> Profile {
    let mut profile = only(revision);
    profile.limits.client.question_bytes = question_bytes;
    profile.limits.wire.id_bytes = 8;
    profile
}

const REFUSED: &str =
    "the server's questions are longer than the 300 bytes kept of them; its question was refused";

fn form(message: usize) -> String {
    let message = "x".repeat(message);
    format!(
        r#""method":"elicitation/create","params":{{"message":"{message}","requestedSchema":{{"type":"object","properties":{{}}}}}}"#
    )
}

fn shown(message: usize) -> String {
    let message = "x".repeat(message);
    format!(r#"{{"message":"{message}","requestedSchema":{{"type":"object","properties":{{}}}}}}"#)
}

#[test]
fn questions_of_a_session_are_kept_up_to_their_bytes() {
    let (small, shown) = (form(60), shown(60));
    let refused = |id: &str, method: &str| {
        format!(
            "= note: {REFUSED}\n= refused {method} -1\n> {{\"id\":\"{id}\",\"error\":{{\"code\":-1,\"message\":\"{REFUSED}\"}}}}"
        )
    };
    check_as(
        &bounded("2025-11-25", 300),
        &legacy(
            "2025-11-25",
            &format!(
                r#"
                < {{"id":"a","{small}}}
                = ask 1 {shown}
                < {{"id":"b","{small}}}
                = ask 2 {shown}
                < {{"id":"c","{small}}}
                {}
                ! answer 1 elicit {{"action":"decline"}}
                > {{"id":"a","result":{{"action":"decline"}}}}
                < {{"id":"d","{small}}}
                = ask 3 {shown}
                < {{"id":"{long}","method":"roots/list"}}
                {}
                "#,
                refused("c", "elicitation/create"),
                refused(&"y".repeat(100), "roots/list"),
                small = &small[1..],
                long = "y".repeat(100),
            ),
        ),
    );
}

#[test]
fn a_batch_that_waits_for_an_answer_is_counted_with_its_questions() {
    let long = "y".repeat(200);
    let ping = format!(r#"{{"id":"{long}","method":"ping"}}"#);
    check_as(
        &bounded("2025-03-26", 300),
        &legacy(
            "2025-03-26",
            &format!(
                r#"
                < [{{"id":"a","method":"roots/list"}},{ping}]
                = ask 1 "roots"
                < {{"id":"b","method":"roots/list"}}
                = ask 2 "roots"
                < [{{"id":"c","method":"roots/list"}},{{"id":"d","method":"ping"}}]
                = note: {REFUSED}
                = refused roots/list -1
                > [{{"id":"c","jsonrpc":"2.0","error":{{"code":-1,"message":"{REFUSED}"}}}},{{"id":"d","jsonrpc":"2.0","result":{{}}}}]
                ! answer 1 roots {{"roots":[]}}
                > [{{"id":"{long}","jsonrpc":"2.0","result":{{}}}},{{"id":"a","jsonrpc":"2.0","result":{{"roots":[]}}}}]
                < [{{"id":"c","method":"roots/list"}}]
                = ask 3 "roots"
                "#
            ),
        ),
    );
}

/// The outcome of a call with these questions, while another call asks a short question.
fn check_round(asks: &str, becomes: &str) {
    let question = form(10);
    check_as(
        &bounded("2026-07-28", 300),
        &modern(&format!(
            r#"
            ! call 1 tools/call {{"name":"t"}}
            >> {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
            < {{"id":2,"result":{{"resultType":"input_required","inputRequests":{{"q":{{{question}}}}}}}}}
            = ask 1 tool=t key=q retried {shown}
            ! call 2 tools/call {{"name":"t"}}
            >> {{"id":3,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":3}}}}}}
            < {{"id":3,"result":{{"resultType":"input_required",{asks}}}}}
            {becomes}"#,
            shown = shown(10),
        )),
    );
}

#[test]
fn questions_of_rounds_are_kept_up_to_their_bytes() {
    let refused = format!(
        "= note: {REFUSED}\n= failed 2: a question of the server was refused: {REFUSED} (-1)"
    );
    let one = |message: usize| format!(r#""inputRequests":{{"a":{{{}}}}}"#, form(message));
    check_round(
        &one(100),
        &format!("= ask 2 tool=t key=a retried {}", shown(100)),
    );
    check_round(&one(200), &refused);
    let two = format!(r#""inputRequests":{{"a":{{{0}}},"b":{{{0}}}}}"#, form(50));
    check_round(&two, &refused);
    let state = format!(r#""requestState":"{}",{}"#, "s".repeat(200), one(1));
    check_round(&state, &refused);
    let key = r#""inputRequests":{"123456789":{"method":"roots/list"}}"#;
    check_round(
        key,
        "= failed 2: the server broke the protocol: the key of a question is longer than the 8 bytes accepted here",
    );
}

#[test]
fn links_are_kept_up_to_their_bytes_and_their_ids() {
    let link = |id: &str, message: usize| {
        let message = "x".repeat(message);
        format!(
            r#"{{"mode":"url","message":"{message}","url":"https://a.test","elicitationId":"{id}"}}"#
        )
    };
    let call = |rest: &str| {
        format!(
            r#"
            ! call 1 tools/call {{"name":"t"}}
            > {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
            {rest}
            "#
        )
    };
    let wants = |first: &str, second: &str| {
        format!(
            r#"< {{"id":2,"error":{{"code":-32042,"message":"first","data":{{"elicitations":[{first},{second}]}}}}}}"#
        )
    };
    let check = |rest: &str| {
        let profile = bounded("2025-11-25", 300);
        check_as(&profile, &legacy("2025-11-25", &call(rest)));
    };
    check(&format!(
        "{}\n= note: {REFUSED}\n= failed 1: a question of the server was refused: {REFUSED} (-1)",
        wants(&link("a", 10), &link("b", 280)),
    ));
    // The completion of a link with a long id is not awaited.
    let told = |id: &str| {
        format!(
            r#"< {{"method":"notifications/elicitation/complete","params":{{"elicitationId":"{id}"}}}}"#
        )
    };
    let shown = |id: &str| link(id, 10);
    check(&format!(
        "{}\n= ask 1 tool=t retried {}\n{}\n! answer 1 elicit {{\"action\":\"accept\"}}\n= ask 2 tool=t retried {}\n{}\n= completed b",
        wants(&link("123456789", 10), &link("b", 10)),
        shown("123456789"),
        told("123456789"),
        shown("b"),
        told("b"),
    ));
}

#[test]
fn a_task_has_an_id_and_questions_up_to_a_bound() {
    let mut profile = bounded("2026-07-28", 300);
    profile.capabilities = capabilities(r#"{"elicitation":{},"roots":{}}"#);
    profile.capabilities.declare_tasks_extension();
    profile.limits.asking.rounds = 2;
    profile.limits.asking.questions_per_round = 1;
    let task = |id: u32, kind: &str, task: &str, more: &str| {
        format!(
            r#"< {{"id":{id},"result":{{"resultType":"{kind}","taskId":"{task}","createdAt":"","lastUpdatedAt":"","ttlMs":60000,"pollIntervalMs":1000{more}}}}}"#
        )
    };
    let working = r#","status":"working""#;
    let call = r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}"#;
    let broke = "= failed 7: the server broke the protocol: ";
    check_as(
        &profile,
        &modern(&format!(
            "{call}\n{}\n{broke}the id of its task is longer than the 8 bytes accepted here",
            task(2, "task", "123456789", working),
        )),
    );
    let asks = |key: &str, question: &str| {
        format!(r#","status":"input_required","inputRequests":{{"{key}":{{{question}}}}}"#)
    };
    let roots = r#""method":"roots/list""#;
    let get =
        |id: u32| format!(r#">> {{"id":{id},"method":"tasks/get","params":{{"taskId":"t1"}}}}"#);
    let cancel =
        |id: u32| format!(r#">> {{"id":{id},"method":"tasks/cancel","params":{{"taskId":"t1"}}}}"#);
    let begun = format!(
        "{call}\n{}\n= task tool=t t1 working\n! until 1000\n{}",
        task(2, "task", "t1", working),
        get(3),
    );
    // An endless series of new questions with new keys.
    check_as(
        &profile,
        &modern(&format!(
            "{begun}
            {}\n= task tool=t t1 input_required\n= ask 1 tool=t key=a \"roots\"\n! until 2000\n{}
            {}\n= withdraw 1\n= ask 2 tool=t key=b \"roots\"\n! until 3000\n{}
            {}\n= withdraw 2\n{}\n{broke}its task asks more than the 2 questions accepted here",
            task(3, "complete", "t1", &asks("a", roots)),
            get(4),
            task(4, "complete", "t1", &asks("b", roots)),
            get(5),
            task(5, "complete", "t1", &asks("c", roots)),
            cancel(6),
        )),
    );
    // A question that is too long.
    check_as(
        &profile,
        &modern(&format!(
            "{begun}
            {}\n= task tool=t t1 input_required\n= note: {REFUSED}\n{}
            = failed 7: a question of the server was refused: {REFUSED} (-1)",
            task(3, "complete", "t1", &asks("a", &form(300))),
            cancel(4),
        )),
    );
}

#[test]
fn only_the_requested_part_of_a_granted_subscription_is_stored() {
    check_as(
        &profile(),
        &modern(
            r#"
            ! call 7 subscriptions/listen {"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1","a:2"]}}
            >> {"id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1","a:2"]}}}
            < {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:2","a:3","a:2"],"taskIds":["t"]},"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}
            = granted 7 {"toolsListChanged":true,"resourceSubscriptions":["a:2"],"taskIds":[]}
            "#,
        ),
    );
}

#[test]
fn repeated_faults_of_a_server_are_reported_a_limited_number_of_times() {
    let mut bounded = bounded("2025-11-25", 0);
    bounded.limits.client.malformed_reports = 2;
    bounded.limits.client.asks = 0;
    let flood = "the server asked more than 0 times within 60s; its question was refused";
    let refused = |id: &str| {
        format!(
            "= refused roots/list -1\n> {{\"id\":\"{id}\",\"error\":{{\"code\":-1,\"message\":\"{flood}\"}}}}"
        )
    };
    let stray = r#"< {"error":{"code":-32700,"message":"what?"}}"#;
    check_as(
        &bounded,
        &legacy(
            "2025-11-25",
            &format!(
                r#"
                < {{"id":"a","method":"roots/list"}}
                = note: {flood}
                {}
                {stray}
                = note: about no request in particular, the server answered: what? (-32700)
                < {{"id":"b","method":"roots/list"}}
                = note: the server keeps doing this; it is no longer reported
                {}
                {stray}
                < nonsense
                < {{"id":"c","method":"roots/list"}}
                {}
                "#,
                refused("a"),
                refused("b"),
                refused("c"),
            ),
        ),
    );
}
