//! The client's cache.

use super::{check, check_as, legacy, modern, only, profile};

/// Requests one list twice, the second time after `again` milliseconds, with the transcript
/// `between` in between.
fn twice(result: &str, between: &str, again: &str) -> String {
    modern(&format!(
        r#"
        ! call 1 tools/list
        >> {{"id":2,"method":"tools/list"}}
        < {{"id":2,"result":{result}}}
        = done 1 {result}
        {between}
        ! call 2 tools/list
        {again}
        "#
    ))
}

const SENT: &str = r#">> {"id":3,"method":"tools/list"}"#;

// Shows CC-09, CC-10, CC-11, CC-12, CC-14, CC-15.
#[test]
fn a_list_is_kept_as_long_as_it_says() {
    let fresh = r#"{"tools":[],"ttlMs":1000,"cacheScope":"private"}"#;
    let again = format!("= done 2 {fresh}");
    check(&twice(fresh, "", &again));
    check(&twice(fresh, "! at 999", &again));
    check(&twice(fresh, "! at 1000", SENT));
    // Absent, zero and negative all mean no caching.
    check(&twice(r#"{"tools":[],"cacheScope":"public"}"#, "", SENT));
    check(&twice(
        r#"{"tools":[],"ttlMs":0,"cacheScope":"public"}"#,
        "",
        SENT,
    ));
    check(&twice(
        r#"{"tools":[],"ttlMs":-5,"cacheScope":"public"}"#,
        "",
        SENT,
    ));
    check(&twice(r#"{"tools":[],"ttlMs":"long"}"#, "", SENT));
    // Too long to be represented.
    let eternal = r#"{"tools":[],"ttlMs":9223372036854775807,"cacheScope":"public"}"#;
    check(&twice(
        eternal,
        "! at 9999999999999",
        &format!("= done 2 {eternal}"),
    ));
}

#[test]
fn what_is_private_is_not_given_to_another_principal() {
    let private = r#"{"tools":[],"ttlMs":1000,"cacheScope":"private"}"#;
    let unsaid = r#"{"tools":[],"ttlMs":1000}"#;
    let public = r#"{"tools":[],"ttlMs":1000,"cacheScope":"public"}"#;
    check(&twice(private, "! principal bob", SENT));
    check(&twice(unsaid, "! principal bob", SENT));
    check(&twice(
        public,
        "! principal bob",
        &format!("= done 2 {public}"),
    ));
}

// Shows CC-17.
#[test]
fn what_is_private_is_not_given_in_another_authorization_context() {
    let private = r#"{"tools":[],"ttlMs":1000,"cacheScope":"private"}"#;
    let unsaid = r#"{"tools":[],"ttlMs":1000}"#;
    let public = r#"{"tools":[],"ttlMs":1000,"cacheScope":"public"}"#;
    for context in ["! context 1", "! context 1\n! principal bob"] {
        check(&twice(private, context, SENT));
        check(&twice(unsaid, context, SENT));
        check(&twice(public, context, &format!("= done 2 {public}")));
    }
    check(&twice(
        private,
        "! context 0",
        &format!("= done 2 {private}"),
    ));
    let read = r#">> {"id":2,"method":"resources/read","params":{"uri":"a:b","_meta":{"progressToken":2}}}"#;
    check(&modern(&format!(
        r#"
        ! call 1 resources/read {{"uri":"a:b"}}
        {read}
        < {{"id":2,"result":{{"contents":[],"ttlMs":1000}}}}
        = done 1 {{"contents":[],"ttlMs":1000}}
        ! context 1
        ! call 2 resources/read {{"uri":"a:b"}}
        {again}
        "#,
        again = read.replace(":2,", ":3,").replace(":2}", ":3}"),
    )));
}

#[test]
fn a_result_that_arrives_after_a_change_of_credentials_is_not_cached() {
    for (change, scope) in [
        ("! context 1", "private"),
        ("! context 1", "public"),
        ("! principal bob", "private"),
        ("! principal bob", "public"),
    ] {
        let list = format!(r#"{{"tools":[],"ttlMs":1000,"cacheScope":"{scope}"}}"#);
        check(&modern(&format!(
            r#"
            ! call 1 tools/list
            >> {{"id":2,"method":"tools/list"}}
            {change}
            < {{"id":2,"result":{list}}}
            = done 1 {list}
            ! call 2 tools/list
            {SENT}
            < {{"id":3,"result":{list}}}
            = done 2 {list}
            ! call 3 tools/list
            = done 3 {list}
            "#
        )));
    }
}

#[test]
fn a_change_of_credentials_opens_subscriptions_again() {
    let granted = |id: u32| {
        format!(
            r#"< {{"method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}
            = granted 1 {{"toolsListChanged":true}}"#
        )
    };
    let changed = |id: u32| {
        format!(
            r#"< {{"method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    let listen = |id: u32| {
        format!(
            r#">> {{"id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true}}}}}}"#
        )
    };
    let hung_up = |id: u32| {
        format!(
            r#"> {{"method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the client's authorization changed"}}}}"#
        )
    };
    let call = r#"! call 1 subscriptions/listen {"notifications":{"toolsListChanged":true}}"#;
    // An active subscription.
    check(&modern(&format!(
        "{call}\n{}\n{}\n! context 1\n{}\n{}\n{}\n{}\n{}\n= tools changed",
        listen(2),
        granted(2),
        hung_up(2),
        listen(3),
        // Messages of the earlier subscription are not for these credentials.
        changed(2),
        granted(3),
        changed(3),
    )));
    // A subscription that begins only now is reopened once, in case each reopening requires a new
    // sign-in.
    check(&modern(&format!(
        "{call}\n{}\n! context 1\n{}\n{}\n{}\n! context 2\n{}\n{}\n= tools changed",
        listen(2),
        granted(2),
        hung_up(2),
        listen(3),
        granted(3),
        changed(3),
    )));
}

#[test]
fn a_change_makes_a_list_stale_also_one_that_is_on_its_way() {
    let fresh = r#"{"tools":[],"ttlMs":1000,"cacheScope":"private"}"#;
    check(&twice(
        fresh,
        r#"< {"method":"notifications/tools/list_changed"}"#,
        SENT,
    ));
    check(&twice(
        fresh,
        r#"< {"method":"notifications/prompts/list_changed"}"#,
        &format!("= done 2 {fresh}"),
    ));
    check(&modern(
        r#"
        ! call 1 tools/list
        >> {"id":2,"method":"tools/list"}
        < {"method":"notifications/tools/list_changed"}
        < {"id":2,"result":{"tools":[],"ttlMs":1000}}
        = done 1 {"tools":[],"ttlMs":1000}
        ! call 2 tools/list
        >> {"id":3,"method":"tools/list"}
        "#,
    ));
}

// Shows CC-07.
#[test]
fn a_change_of_the_resources_makes_lists_templates_and_reads_stale_each_in_its_way() {
    check(&modern(
        r#"
        ! call 1 resources/list
        >> {"id":2,"method":"resources/list"}
        < {"id":2,"result":{"resources":[],"ttlMs":1000}}
        = done 1 {"resources":[],"ttlMs":1000}
        ! call 2 resources/templates/list
        >> {"id":3,"method":"resources/templates/list"}
        < {"id":3,"result":{"resourceTemplates":[],"ttlMs":1000}}
        = done 2 {"resourceTemplates":[],"ttlMs":1000}
        ! call 3 resources/read {"uri":"a:b"}
        >> {"id":4,"method":"resources/read","params":{"uri":"a:b","_meta":{"progressToken":4}}}
        < {"id":4,"result":{"contents":[],"ttlMs":1000}}
        = done 3 {"contents":[],"ttlMs":1000}
        < {"method":"notifications/resources/updated","params":{"uri":"a:c"}}
        ! call 4 resources/read {"uri":"a:b"}
        = done 4 {"contents":[],"ttlMs":1000}
        < {"method":"notifications/resources/updated","params":{"uri":"a:b"}}
        ! call 5 resources/read {"uri":"a:b"}
        >> {"id":5,"method":"resources/read","params":{"uri":"a:b","_meta":{"progressToken":5}}}
        ! call 6 resources/list
        = done 6 {"resources":[],"ttlMs":1000}
        < {"method":"notifications/resources/list_changed"}
        ! call 7 resources/list
        >> {"id":6,"method":"resources/list"}
        ! call 8 resources/templates/list
        >> {"id":7,"method":"resources/templates/list"}
        "#,
    ));
}

// Shows CC-07, CC-18, CC-20, PG-06, PG-07, PG-08.
#[test]
fn pages_are_kept_by_their_cursor_and_dropped_with_it() {
    check(&modern(
        r#"
        ! call 1 tools/list
        >> {"id":2,"method":"tools/list"}
        < {"id":2,"result":{"tools":[],"ttlMs":1000,"nextCursor":""}}
        = done 1 {"tools":[],"ttlMs":1000,"nextCursor":""}
        ! call 2 tools/list {"cursor":""}
        >> {"id":3,"method":"tools/list","params":{"cursor":""}}
        < {"id":3,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":500}}
        = done 2 {"tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":500}
        ! at 600
        ! call 3 tools/list
        = done 3 {"tools":[],"ttlMs":1000,"nextCursor":""}
        ! call 4 tools/list {"cursor":""}
        >> {"id":4,"method":"tools/list","params":{"cursor":""}}
        < {"id":4,"error":{"code":-32602,"message":"invalid cursor"}}
        = failed 4: the server answered: invalid cursor (-32602)
        ! call 5 tools/list
        >> {"id":5,"method":"tools/list"}
        "#,
    ));
}

// Shows CC-08.
#[test]
fn what_depends_on_answers_or_state_is_not_kept() {
    for (asks, lines) in [
        (
            r#""inputRequests":{"a":{"method":"roots/list"}}"#,
            r#"
            = ask 1 resource=a:b key=a retried "roots"
            ! answer 1 roots {"roots":[]}
            >> {"id":3,"method":"resources/read","params":{"uri":"a:b","inputResponses":{"a":{"roots":[]}},"_meta":{"progressToken":3}}}
            "#,
        ),
        (
            r#""requestState":"s""#,
            r#"
            ! until 50
            >> {"id":3,"method":"resources/read","params":{"uri":"a:b","requestState":"s","_meta":{"progressToken":3}}}
            "#,
        ),
    ] {
        check(&modern(&format!(
            r#"
            ! call 1 resources/read {{"uri":"a:b"}}
            >> {{"id":2,"method":"resources/read","params":{{"uri":"a:b","_meta":{{"progressToken":2}}}}}}
            < {{"id":2,"result":{{"resultType":"input_required",{asks}}}}}
            {lines}
            < {{"id":3,"result":{{"contents":[],"ttlMs":1000,"cacheScope":"public"}}}}
            = done 1 {{"contents":[],"ttlMs":1000,"cacheScope":"public"}}
            ! call 2 resources/read {{"uri":"a:b"}}
            >> {{"id":4,"method":"resources/read","params":{{"uri":"a:b","_meta":{{"progressToken":4}}}}}}
            "#
        )));
    }
}

// Shows PG25-01, VE-07.
#[test]
fn a_restart_and_an_older_revision_keep_nothing() {
    check(&modern(
        r#"
        ! call 1 tools/list
        >> {"id":2,"method":"tools/list"}
        < {"id":2,"result":{"tools":[],"ttlMs":1000}}
        = done 1 {"tools":[],"ttlMs":1000}
        ! gone killed
        = disconnected: killed
        ! call 2 tools/list
        = note: the server went away and is started again
        = connect
        ! connected
        >> {"id":3,"method":"tools/list"}
        "#,
    ));
    check_as(
        &only("2025-11-25"),
        &legacy(
            "2025-11-25",
            r#"
            ! call 1 tools/list
            > {"id":2,"method":"tools/list"}
            < {"id":2,"result":{"tools":[],"ttlMs":1000}}
            = done 1 {"tools":[],"ttlMs":1000}
            ! call 2 tools/list
            > {"id":3,"method":"tools/list"}
            "#,
        ),
    );
}

#[test]
fn the_cache_has_a_limit_of_bytes_and_evicts_what_expires_first() {
    let list = |name: &str, bytes: usize, ttl: u32| {
        let json = format!(r#"{{"ttlMs":{ttl},"{name}":[],"_meta":{{"a":""}}}}"#);
        let filled = json.replace(
            r#""a":"""#,
            &format!(r#""a":"{}""#, "x".repeat(bytes - json.len())),
        );
        assert_eq!(filled.len(), bytes);
        filled
    };
    let (tools, prompts, resources) = (
        list("tools", 80, 3000),
        list("prompts", 80, 1000),
        list("resources", 60, 2000),
    );
    let transcript = |again: &str| {
        modern(&format!(
            r#"
            ! call 1 tools/list
            >> {{"id":2,"method":"tools/list"}}
            < {{"id":2,"result":{tools}}}
            = done 1 {tools}
            ! call 2 prompts/list
            >> {{"id":3,"method":"prompts/list"}}
            < {{"id":3,"result":{prompts}}}
            = done 2 {prompts}
            ! call 3 resources/list
            >> {{"id":4,"method":"resources/list"}}
            < {{"id":4,"result":{resources}}}
            = done 3 {resources}
            {again}
            "#
        ))
    };
    let check_within = |cache_bytes: usize, again: &str| {
        let mut bounded = profile();
        bounded.limits.client.cache_bytes = cache_bytes;
        check_as(&bounded, &transcript(again));
    };
    let kept = format!(
        "! call 4 tools/list\n= done 4 {tools}\n! call 5 resources/list\n= done 5 {resources}\n"
    );
    let lost = "! call 6 prompts/list\n>> {\"id\":5,\"method\":\"prompts/list\"}";
    check_within(
        220,
        &format!("{kept}! call 6 prompts/list\n= done 6 {prompts}"),
    );
    check_within(219, &format!("{kept}{lost}"));
    // A result that is too large does not evict others.
    check_within(
        79,
        &format!("! call 5 resources/list\n= done 5 {resources}\n{lost}"),
    );
}

#[test]
fn the_cache_has_a_limit_of_entries_and_evicts_what_expires_first() {
    let mut bounded = profile();
    bounded.limits.client.cache_entries = 2;
    check_as(
        &bounded,
        &modern(
            r#"
            ! call 1 tools/list
            >> {"id":2,"method":"tools/list"}
            < {"id":2,"result":{"tools":[],"ttlMs":3000}}
            = done 1 {"tools":[],"ttlMs":3000}
            ! call 2 prompts/list
            >> {"id":3,"method":"prompts/list"}
            < {"id":3,"result":{"prompts":[],"ttlMs":1000}}
            = done 2 {"prompts":[],"ttlMs":1000}
            ! call 3 resources/list
            >> {"id":4,"method":"resources/list"}
            < {"id":4,"result":{"resources":[],"ttlMs":2000}}
            = done 3 {"resources":[],"ttlMs":2000}
            ! call 4 tools/list
            = done 4 {"tools":[],"ttlMs":3000}
            ! call 5 resources/list
            = done 5 {"resources":[],"ttlMs":2000}
            ! call 6 prompts/list
            >> {"id":5,"method":"prompts/list"}
            "#,
        ),
    );
}
