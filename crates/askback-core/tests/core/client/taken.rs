//! Tasks that are resumed from an earlier connection, and left for a later one.

use super::{
    check_as, legacy, only, profile,
    tasks::{ASKS, core, stands, taking_tasks},
};

/// The capabilities of a server with tasks.
const TASKS: &str = r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// The capabilities of a server with tasks on a session (2025-11-25).
const CORE_TASKS: &str = r#"{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}"#;

/// A transcript that opens a stateless connection to a server with these capabilities.
fn modern_with(capabilities: &str, rest: &str) -> String {
    format!(
        r#"
        ! connected
        >> {{"id":1,"method":"server/discover"}}
        < {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities}}}}}
        = opened 2026-07-28
        {rest}"#
    )
}

#[track_caller]
fn check_modern(rest: &str) {
    check_as(&taking_tasks(), &modern_with(TASKS, rest));
}

fn legacy_with(capabilities: &str, revision: &str, rest: &str) -> String {
    let opened = legacy(revision, rest);
    opened.replace(super::CAPABILITIES, capabilities)
}

#[track_caller]
fn check_core(rest: &str) {
    let transcript = legacy_with(CORE_TASKS, "2025-11-25", rest);
    check_as(&only("2025-11-25"), &transcript);
}

/// A transcript that resumes a core task whose server asks.
#[track_caller]
fn check_core_asked(rest: &str) {
    let stands = core("input_required");
    check_core(&format!(
        r#"
        ! take 7 t1 dig
        > {{"id":2,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        < {{"id":2,"result":{stands}}}
        = task tool=dig t1 input_required
        > {{"id":3,"method":"tasks/result","params":{{"taskId":"t1"}}}}
        < {{"id":0,"method":"roots/list","params":{{"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"t1"}}}}}}}}
        = ask 1 tool=dig "roots"
        {rest}"#
    ));
}

// Shows TA-16.
#[test]
fn a_task_is_asked_after_without_a_call() {
    let asks = stands(2, "input_required", ASKS);
    let done = stands(4, "completed", r#","result":{"content":[]}"#);
    check_modern(&format!(
        r#"
        ! take 7 t1 dig
        >> {{"id":2,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {asks}
        = task tool=dig t1 input_required
        = ask 1 tool=dig key=a "roots"
        ! answer 1 roots {{"roots":[]}}
        >> {{"id":3,"method":"tasks/update","params":{{"taskId":"t1","inputResponses":{{"a":{{"roots":[]}}}}}}}}
        < {{"id":3,"result":{{"resultType":"complete"}}}}
        ! until 100
        >> {{"id":4,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {done}
        = task tool=dig t1 completed
        = done 7 {{"content":[]}}
        "#
    ));
    check_core_asked(
        r#"
        ! answer 1 roots {"roots":[]}
        > {"id":0,"result":{"roots":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}}
        < {"id":3,"result":{"content":[]}}
        = done 7 {"content":[]}
        "#,
    );
}

// Shows TA-16.
#[test]
fn a_task_waits_for_its_connection() {
    let works = stands(2, "working", "");
    let taken = r#"
        ! connected
        >> {"id":1,"method":"server/discover"}
        ! take 7 t1 dig
        "#;
    let opened = format!(
        r#"
        < {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{TASKS}}}}}
        = opened 2026-07-28
        >> {{"id":2,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {works}
        = task tool=dig t1 working
        "#
    );
    check_as(&taking_tasks(), &format!("{taken}{opened}"));
    // The server went away before, so it is connected again for the task.
    check_modern(&format!(
        r#"
        ! gone killed
        = disconnected: killed
        ! take 7 t1 dig
        = note: the server went away and is started again
        = connect
        ! connected
        >> {{"id":2,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {works}
        = task tool=dig t1 working
        "#
    ));
}

// Shows TA-25.
#[test]
fn a_task_that_ended_meanwhile_ends_at_once() {
    let cases = [
        (
            stands(2, "completed", r#","result":{"content":[]}"#),
            "= task tool=dig t1 completed\n= done 7 {\"content\":[]}",
        ),
        (
            stands(2, "cancelled", ""),
            "= task tool=dig t1 cancelled\n= failed 7: the task was cancelled",
        ),
        (
            r#"< {"id":2,"error":{"code":-32602,"message":"no such task"}}"#.to_owned(),
            "= failed 7: the server has lost the task of this call: no such task",
        ),
    ];
    for (response, ended) in cases {
        check_modern(&format!(
            r#"
            ! take 7 t1 dig
            >> {{"id":2,"method":"tasks/get","params":{{"taskId":"t1"}}}}
            {response}
            {ended}
            "#
        ));
    }
    check_core(
        r#"
        ! take 7 t1 dig
        > {"id":2,"method":"tasks/get","params":{"taskId":"t1"}}
        < {"id":2,"error":{"code":-32602,"message":"unknown task"}}
        = failed 7: the server has lost the task of this call: unknown task
        "#,
    );
}

#[test]
fn a_task_is_resumed_only_if_both_sides_support_tasks() {
    let take = |why: &str| format!("! take 7 t1 dig\n= failed 7: {why}\n");
    let without = r#"{"tools":{}}"#;
    check_as(
        &profile(),
        &modern_with(TASKS, &take("this client takes no tasks")),
    );
    check_as(
        &taking_tasks(),
        &modern_with(without, &take("the server has no tasks")),
    );
    check_as(
        &only("2025-11-25"),
        &legacy_with(without, "2025-11-25", &take("the server has no tasks")),
    );
    for revision in ["2025-06-18", "2025-03-26", "2024-11-05"] {
        let why = format!("there are no tasks in revision {revision}");
        let transcript = legacy_with(CORE_TASKS, revision, &take(&why));
        check_as(&only(revision), &transcript);
    }
    let mut profile = taking_tasks();
    profile.limits.wire.id_bytes = 2;
    let transcript = format!(
        r#"
        ! take 7 t12 dig
        = failed 7: the id of the task is longer than the 2 bytes accepted here
        {}"#,
        r#"! take 8 t1 dig
        >> {"id":2,"method":"tasks/get","params":{"taskId":"t1"}}"#
    );
    check_as(&profile, &modern_with(TASKS, &transcript));
    let mut profile = taking_tasks();
    profile.limits.wire.requests_in_flight = 1;
    let transcript = r#"
        ! take 7 t1 dig
        >> {"id":2,"method":"tasks/get","params":{"taskId":"t1"}}
        ! take 8 t2 dig
        = failed 8: 1 calls are in progress, which is the limit; wait for one to end
        "#;
    check_as(&profile, &modern_with(TASKS, transcript));
}

// Shows TA-16.
#[test]
fn a_task_that_is_left_goes_on() {
    let asks = stands(2, "input_required", ASKS);
    let asks_again = stands(3, "input_required", ASKS);
    check_modern(&format!(
        r#"
        ! take 7 t1 dig
        >> {{"id":2,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {asks}
        = task tool=dig t1 input_required
        = ask 1 tool=dig key=a "roots"
        ! leave 7
        = withdraw 1
        ! answer 1 roots {{"roots":[]}}
        ! take 8 t1 dig
        >> {{"id":3,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {asks_again}
        = task tool=dig t1 input_required
        = ask 2 tool=dig key=a "roots"
        "#
    ));
    // A response in flight is ignored.
    check_modern(&format!(
        r#"
        ! take 7 t1 dig
        >> {{"id":2,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        ! leave 7
        {asks}
        ! leave 7
        "#
    ));
    // The questions of a session wait for the next client.
    check_core_asked(
        r#"
        ! leave 7
        = withdraw 1
        ! answer 1 roots {"roots":[]}
        "#,
    );
}

#[test]
fn a_call_that_is_no_task_is_cancelled_where_it_is_left() {
    check_modern(
        r#"
        ! call 7 tools/call {"name":"t"}
        >> {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
        ! leave 7
        > {"method":"notifications/cancelled","params":{"requestId":2,"reason":"the caller no longer waits for the result"}}
        "#,
    );
}
