//! Calls that become tasks.

use std::time::Duration;

use askback_core::engine::client::Profile;

use super::{capabilities, check, check_as, legacy, modern, only, profile};

pub(super) fn taking_tasks() -> Profile {
    let mut profile = Profile {
        capabilities: capabilities(r#"{"elicitation":{},"roots":{}}"#),
        ..profile()
    };
    profile.capabilities.declare_tasks_extension();
    profile
}

/// The response to a request about a task: its status and other members.
pub(super) fn stands(id: u32, status: &str, more: &str) -> String {
    task(id, "complete", status, more)
}

fn task(id: u32, result_type: &str, status: &str, more: &str) -> String {
    format!(
        r#"< {{"id":{id},"result":{{"resultType":"{result_type}","taskId":"t1","status":"{status}","createdAt":"","lastUpdatedAt":"","ttlMs":60000{more}}}}}"#
    )
}

/// A transcript in which a call became a task with a poll interval of one second.
fn working(rest: &str) -> String {
    let created = task(2, "task", "working", r#","pollIntervalMs":1000"#);
    modern(&format!(
        r#"
        ! call 7 tools/call {{"name":"t"}}
        >> {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
        {created}
        = task tool=t t1 working
        ! until 1000
        >> {{"id":3,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {rest}"#
    ))
}

#[track_caller]
pub(super) fn check_working(rest: &str) {
    check_as(&taking_tasks(), &working(rest));
}

pub(super) const ASKS: &str = r#","inputRequests":{"a":{"method":"roots/list"}}"#;

// Shows TA-02, TA-13, TA-14, TA-15, TA-26.
#[test]
fn a_task_is_asked_after_until_it_has_a_result() {
    let half = stands(
        3,
        "working",
        r#","pollIntervalMs":5000,"statusMessage":"half""#,
    );
    let still = stands(
        4,
        "working",
        r#","pollIntervalMs":1,"statusMessage":"half""#,
    );
    let slow = stands(5, "working", r#","pollIntervalMs":9000000"#);
    let done = stands(6, "completed", r#","result":{"content":[],"isError":true}"#);
    check_working(&format!(
        r#"
        {half}
        = task tool=t t1 working: half
        ! until 6000
        >> {{"id":4,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {still}
        ! until 6100
        >> {{"id":5,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {slow}
        = task tool=t t1 working
        ! until 66100
        >> {{"id":6,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {done}
        = task tool=t t1 completed
        = done 7 {{"content":[],"isError":true}}
        "#
    ));
}

// Shows TA-15.
#[test]
fn a_task_ends_otherwise() {
    let cases = [
        (
            stands(3, "failed", r#","error":{"code":-32000,"message":"no"}"#),
            "failed",
            "the server answered: no (-32000)",
        ),
        (
            stands(3, "cancelled", ""),
            "cancelled",
            "the task was cancelled",
        ),
        (
            stands(3, "failed", ""),
            "failed",
            "the server broke the protocol: a task failed without its error",
        ),
        (
            stands(3, "completed", ""),
            "completed",
            "the server broke the protocol: a task is completed without its result",
        ),
        (
            stands(
                3,
                "completed",
                r#","result":{"resultType":"input_required","requestState":"s"}"#,
            ),
            "completed",
            "the server broke the protocol: the result of a task is not complete",
        ),
    ];
    for (response, status, why) in cases {
        check_working(&format!(
            r#"
            {response}
            = task tool=t t1 {status}
            = failed 7: {why}
            "#
        ));
    }
    check_working(
        r#"
        < {"id":3,"error":{"code":-32602,"message":"no such task"}}
        = failed 7: the server has lost the task of this call: no such task
        "#,
    );
    check_working(
        r#"
        < {"id":3,"error":{"code":-32603,"message":"oh"}}
        = failed 7: the server answered: oh (-32603)
        "#,
    );
}

// Shows TA-08, TA-27, TA-28, TA-29, TA-30, TA-34, TA-36, TA-38.
#[test]
fn its_questions_are_put_to_the_host_once() {
    let asks = stands(3, "input_required", ASKS);
    let asks_more = stands(
        4,
        "input_required",
        r#","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#,
    );
    let asks_still = stands(6, "input_required", ASKS);
    let works = stands(7, "working", "");
    check_working(&format!(
        r#"
        {asks}
        = task tool=t t1 input_required
        = ask 1 tool=t key=a "roots"
        ! until 2000
        >> {{"id":4,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {asks_more}
        = ask 2 tool=t key=b "roots"
        ! answer 1 roots {{"roots":[]}}
        >> {{"id":5,"method":"tasks/update","params":{{"taskId":"t1","inputResponses":{{"a":{{"roots":[]}}}}}}}}
        < {{"id":5,"result":{{"resultType":"complete"}}}}
        ! until 2100
        >> {{"id":6,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {asks_still}
        = withdraw 2
        ! answer 2 roots {{"roots":[]}}
        ! until 3100
        >> {{"id":7,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {works}
        = task tool=t t1 working
        "#
    ));
}

// Shows TA-36.
#[test]
fn answers_wait_for_what_is_on_its_way() {
    let asks = stands(
        3,
        "input_required",
        r#","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#,
    );
    let still = stands(4, "input_required", ASKS);
    check_working(&format!(
        r#"
        {asks}
        = task tool=t t1 input_required
        = ask 1 tool=t key=a "roots"
        = ask 2 tool=t key=b "roots"
        ! until 2000
        >> {{"id":4,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        ! answer 1 roots {{"roots":[]}}
        {still}
        = withdraw 2
        >> {{"id":5,"method":"tasks/update","params":{{"taskId":"t1","inputResponses":{{"a":{{"roots":[]}}}}}}}}
        "#
    ));
}

// Shows TA-15, TA-40, TA-42, TA-43.
#[test]
fn a_task_nobody_waits_for_is_cancelled() {
    let asks = stands(3, "input_required", ASKS);
    check_working(
        r#"
        ! cancel 7
        >> {"id":4,"method":"tasks/cancel","params":{"taskId":"t1"}}
        < {"id":3,"result":{"resultType":"complete"}}
        < {"id":4,"result":{"resultType":"complete"}}
        "#,
    );
    check_working(&format!(
        r#"
        {asks}
        = task tool=t t1 input_required
        = ask 1 tool=t key=a "roots"
        ! answer 1 error {{"code":-1,"message":"no"}}
        >> {{"id":4,"method":"tasks/cancel","params":{{"taskId":"t1"}}}}
        = failed 7: a question of the server was refused: no (-1)
        "#
    ));
    check_working(&format!(
        r#"
        {asks}
        = task tool=t t1 input_required
        = ask 1 tool=t key=a "roots"
        ! cancel 7
        >> {{"id":4,"method":"tasks/cancel","params":{{"taskId":"t1"}}}}
        = withdraw 1
        "#
    ));
}

// Shows TA-29.
#[test]
fn a_question_that_may_not_be_asked_ends_the_call() {
    let samples = stands(
        3,
        "input_required",
        r#","inputRequests":{"m":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}"#,
    );
    check_working(&format!(
        r#"
        {samples}
        = task tool=t t1 input_required
        >> {{"id":4,"method":"tasks/cancel","params":{{"taskId":"t1"}}}}
        = failed 7: the server broke the protocol: it asks "m" of a client that cannot be asked so: unknown method `sampling/createMessage` (-32601)
        "#
    ));
}

// Shows CA-06, TA-40.
#[test]
fn patience_has_an_end() {
    check_working(
        r#"
        ! until 301000
        >> {"id":4,"method":"tasks/cancel","params":{"taskId":"t1"}}
        = failed 7: the server did not answer within 300s
        "#,
    );
    let mut profile = taking_tasks();
    profile.limits.tasks.in_all = Duration::from_millis(1500);
    let still = stands(3, "working", "");
    check_as(
        &profile,
        &working(&format!(
            r#"
            {still}
            ! until 1500
            >> {{"id":4,"method":"tasks/cancel","params":{{"taskId":"t1"}}}}
            = failed 7: the server did not answer within 1.5s
            "#
        )),
    );
}

#[test]
fn a_server_that_went_away_is_asked_again() {
    let asks = stands(3, "input_required", ASKS);
    check_working(&format!(
        r#"
        {asks}
        = task tool=t t1 input_required
        = ask 1 tool=t key=a "roots"
        ! answer 1 roots {{"roots":[]}}
        >> {{"id":4,"method":"tasks/update","params":{{"taskId":"t1","inputResponses":{{"a":{{"roots":[]}}}}}}}}
        ! gone killed
        = note: the server went away and is started again
        = connect
        ! connected
        >> {{"id":5,"method":"tasks/update","params":{{"taskId":"t1","inputResponses":{{"a":{{"roots":[]}}}}}}}}
        ! gone killed again
        = failed 7: the server went away: killed again
        "#
    ));
    let still = stands(3, "working", "");
    check_working(&format!(
        r#"
        {still}
        ! gone killed
        ! until 2000
        = note: the server went away and is started again
        = connect
        ! connected
        >> {{"id":4,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        < {{"id":4,"error":{{"code":-32602,"message":"no such task"}}}}
        = failed 7: the server has lost the task of this call: no such task
        "#
    ));
}

#[test]
fn a_task_may_follow_rounds_and_have_ended_when_it_begins() {
    let created = task(3, "task", "completed", "");
    let done = stands(4, "completed", r#","result":{"content":[]}"#);
    check_as(
        &taking_tasks(),
        &modern(&format!(
            r#"
            ! call 7 tools/call {{"name":"t"}}
            >> {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
            < {{"id":2,"result":{{"resultType":"input_required","requestState":"s","inputRequests":{{"a":{{"method":"roots/list"}}}}}}}}
            = ask 1 tool=t key=a retried "roots"
            ! answer 1 roots {{"roots":[]}}
            >> {{"id":3,"method":"tools/call","params":{{"name":"t","requestState":"s","inputResponses":{{"a":{{"roots":[]}}}},"_meta":{{"progressToken":3}}}}}}
            {created}
            = task tool=t t1 completed
            ! until 0
            >> {{"id":4,"method":"tasks/get","params":{{"taskId":"t1"}}}}
            {done}
            = done 7 {{"content":[]}}
            "#
        )),
    );
}

// Shows BA-09, TA-03, TA-05.
#[test]
fn a_task_that_must_not_be_is_refused() {
    let created = task(2, "task", "working", "");
    let call = |method: &str, params: &str| {
        modern(&format!(
            r#"
            ! call 7 {method} {{{params}}}
            >> {{"id":2,"method":"{method}","params":{{{params},"_meta":{{"progressToken":2}}}}}}
            {created}
            = failed 7: the server broke the protocol: the result of `{method}` is a task, which it must not be
            "#
        ))
    };
    check(&call("tools/call", r#""name":"t""#));
    check_as(&taking_tasks(), &call("prompts/get", r#""name":"t""#));
    check_as(
        &Profile {
            capabilities: taking_tasks().capabilities,
            ..only("2025-11-25")
        },
        &super::legacy(
            "2025-11-25",
            r#"
            ! call 7 tools/call {"name":"t"}
            > {"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":2}}}
            < {"id":2,"result":{"resultType":"task","taskId":"t1","content":[]}}
            = done 7 {"resultType":"task","taskId":"t1","content":[]}
            "#,
        ),
    );
}

/// A session on which a call that must be a task became one.
#[track_caller]
fn check_core(rest: &str) {
    let begun = format!(
        r#"
        ! call 7 tools/call {{"name":"t","task":{{}}}}
        > {{"id":2,"method":"tools/call","params":{{"name":"t","task":{{}},"_meta":{{"progressToken":2}}}}}}
        < {{"id":2,"result":{{"task":{}}}}}
        = task tool=t t1 working
        ! until 1000
        > {{"id":3,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        {rest}"#,
        core("working")
    );
    check_as(&only("2025-11-25"), &legacy("2025-11-25", &begun));
}

pub(super) fn core(status: &str) -> String {
    format!(
        r#"{{"taskId":"t1","status":"{status}","createdAt":"","lastUpdatedAt":"","ttl":60000,"pollInterval":1000}}"#
    )
}

// Shows TA25-10, TA25-11, TA25-12, TA25-13, TA25-14, TA25-40, TA25-75, TA25-76.
#[test]
fn a_task_of_the_core_protocol_is_followed_to_its_result() {
    check_core(&format!(
        r#"
        < {{"id":3,"result":{}}}
        ! until 2000
        > {{"id":4,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        < {{"id":4,"result":{}}}
        = task tool=t t1 completed
        > {{"id":5,"method":"tasks/result","params":{{"taskId":"t1"}}}}
        < {{"id":5,"result":{{"content":[]}}}}
        = done 7 {{"content":[]}}
        "#,
        core("working"),
        core("completed"),
    ));
    check_core(&format!(
        r#"
        < {{"id":3,"result":{}}}
        = task tool=t t1 failed
        > {{"id":4,"method":"tasks/result","params":{{"taskId":"t1"}}}}
        < {{"id":4,"error":{{"code":-32602,"message":"no paper"}}}}
        = failed 7: the server answered: no paper (-32602)
        "#,
        core("failed"),
    ));
    check_core(&format!(
        r#"
        < {{"id":3,"result":{}}}
        = task tool=t t1 cancelled
        = failed 7: the task was cancelled
        "#,
        core("cancelled"),
    ));
    check_core(
        r#"
        < {"id":3,"error":{"code":-32602,"message":"unknown task"}}
        = failed 7: the server has lost the task of this call: unknown task
        "#,
    );
}

// Shows TA25-27, TA25-37, TA25-38.
#[test]
fn a_task_of_the_core_protocol_asks_on_the_session_while_its_result_is_waited_for() {
    check_core(&format!(
        r#"
        < {{"id":3,"result":{}}}
        = task tool=t t1 input_required
        > {{"id":4,"method":"tasks/result","params":{{"taskId":"t1"}}}}
        < {{"id":0,"method":"roots/list","params":{{"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"t1"}}}}}}}}
        = ask 1 tool=t "roots"
        ! at 4000000
        ! answer 1 roots {{"roots":[]}}
        > {{"id":0,"result":{{"roots":[],"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"t1"}}}}}}}}
        < {{"id":4,"result":{{"content":[]}}}}
        = done 7 {{"content":[]}}
        "#,
        core("input_required"),
    ));
}

#[test]
fn a_question_belongs_to_the_task_that_it_names() {
    let asks = |id: u32, task: &str| {
        format!(
            r#"< {{"id":{id},"method":"roots/list","params":{{"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{task}"}}}}}}}}"#
        )
    };
    check_core(&format!(
        r#"
        ! call 8 tools/call {{"name":"other"}}
        > {{"id":4,"method":"tools/call","params":{{"name":"other","_meta":{{"progressToken":4}}}}}}
        {}
        = ask 1 tool=t "roots"
        {}
        = ask 2 "roots"
        < {{"id":12,"method":"roots/list"}}
        = ask 3 "roots"
        < {{"id":4,"result":{{"content":[]}}}}
        = done 8 {{"content":[]}}
        {}
        = ask 4 "roots"
        < {{"id":14,"method":"roots/list"}}
        = ask 5 tool=t "roots"
        "#,
        asks(10, "t1"),
        asks(11, "t2"),
        asks(13, "t2"),
    ));
}

// Shows TA25-50.
#[test]
fn a_task_of_the_core_protocol_is_cancelled_with_its_call() {
    check_core(
        r#"
        ! cancel 7
        > {"id":4,"method":"tasks/cancel","params":{"taskId":"t1"}}
        "#,
    );
}

/// If an HTTP session ends and is opened again, the request about the task is repeated, but the
/// tool is not called again.
#[test]
fn a_task_of_the_core_protocol_outlives_its_session() {
    let opened = legacy("2025-11-25", "").replace(r#""id":1"#, r#""id":4"#);
    check_core(&format!(
        r#"
        ! lost 3 returned
        ! gone its session is over
        = note: the server went away and is started again
        = connect
        {opened}
        > {{"id":5,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        < {{"id":5,"result":{}}}
        ! until 2000
        > {{"id":6,"method":"tasks/get","params":{{"taskId":"t1"}}}}
        "#,
        core("working"),
    ));
}

#[test]
fn a_result_is_no_task_of_the_core_protocol_unless_that_was_asked_for() {
    check_as(
        &only("2025-11-25"),
        &legacy(
            "2025-11-25",
            &format!(
                r#"
                ! call 7 tools/call {{"name":"t","task":{{}}}}
                > {{"id":2,"method":"tools/call","params":{{"name":"t","task":{{}},"_meta":{{"progressToken":2}}}}}}
                < {{"id":2,"result":{{"content":[]}}}}
                = done 7 {{"content":[]}}
                ! call 8 tools/call {{"name":"t"}}
                > {{"id":3,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":3}}}}}}
                < {{"id":3,"result":{{"task":{}}}}}
                = done 8 {{"task":{}}}
                "#,
                core("working"),
                core("working"),
            ),
        ),
    );
}
