//! Forwarded requests, and questions to a client that represents another client.

use askback_core::{engine::client::Profile, revision::Revision};

use super::{check, check_as, legacy, modern, only, profile};

#[test]
fn a_request_is_passed_on_with_all_its_members() {
    check(&modern(
        r#"
        ! pass 7 tools/call {"name":"t","zebra":[1.0,{"a":1e2}],"arguments":{"b":2},"_meta":{"com.example/x":1}}
        >> {"id":2,"method":"tools/call","params":{"name":"t","zebra":[1.0,{"a":1e2}],"arguments":{"b":2},"_meta":{"progressToken":2,"com.example/x":1}}}
        < {"method":"notifications/progress","params":{"progressToken":2,"progress":1}}
        = progress 1 of None, None, of call 7
        < {"id":2,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"x/unknown"}},"requestState":"s"}}
        = done 7 {"inputRequests":{"k":{"method":"x/unknown"}},"requestState":"s","resultType":"input_required"}
        ! pass 8 x/unknown {"y":null}
        >> {"id":3,"method":"x/unknown","params":{"y":null,"_meta":{"progressToken":3}}}
        < {"id":3,"error":{"code":-32042,"message":"links","data":{"elicitations":[]}}}
        = failed 8: the server answered: links (-32042)
        "#,
    ));
}

#[test]
fn a_question_and_its_answer_are_passed_on_unchecked() {
    let revision = "2025-11-25";
    let profile = Profile {
        forwards: true,
        ..only(revision)
    };
    let form =
        r#"{"type":"object","properties":{"a":{"type":"string","minLength":3}},"required":["a"]}"#;
    check_as(
        &profile,
        &legacy(
            revision,
            &format!(
                r#"
                ! pass 1 tools/call {{"name":"t"}}
                > {{"id":2,"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":2}}}}}}
                < {{"id":"q","method":"elicitation/create","params":{{"message":"A?","requestedSchema":{form}}}}}
                = ask 1 tool=t {{"message":"A?","requestedSchema":{form}}}
                ! answer 1 elicit {{"action":"accept","content":{{"a":"x"}}}}
                > {{"id":"q","result":{{"action":"accept","content":{{"a":"x"}}}}}}
                < {{"id":2,"result":{{"content":[],"extra":[]}}}}
                = done 1 {{"content":[],"extra":[]}}
                "#
            ),
        ),
    );
}

#[test]
fn a_client_that_prefers_sessions_begins_with_the_handshake() {
    let profile = Profile {
        handshake: Some(Revision::V2025_06_18),
        ..profile()
    };
    let greeting = r#"! connected
        > {"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    check_as(
        &profile,
        &format!(
            r#"
            {greeting}
            < {{"id":1,"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}
            > {{"method":"notifications/initialized"}}
            = opened 2025-11-25
            "#
        ),
    );
    check_as(
        &profile,
        &format!(
            r#"
            {greeting}
            < {{"id":1,"error":{{"code":-32601,"message":"no"}}}}
            >> {{"id":2,"method":"server/discover"}}
            < {{"id":2,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}
            = opened 2026-07-28
            "#
        ),
    );
}
