//! Tokens are never printed or passed on.

use askback::{
    Ctx, Principal, Tool,
    authorization::server::{DevelopmentTokens, Introspection, PresentedToken, Protection},
};
use serde_json::json;

use super::{NOW, RESOURCE, Ran, bearer, builder, claims, key, protection, with};
use crate::{
    http::client::{Client, MESSAGE, hello_tool, mirrored, stateless},
    log::Log,
};

// Shows AZ-45, AS-05.
#[tokio::test]
async fn neither_the_log_nor_an_answer_holds_a_token() {
    let log = Log::default();
    let logging = log.listen();
    let tokens = DevelopmentTokens::new();
    let tokens = tokens.allow(Principal::new("alice"), "canary-fixed", ["notes:read"]);
    let fixed = Protection::new(RESOURCE, tokens.unwrap()).unwrap();
    let wrong = with("aud", json!("https://other.example"));
    let mut sent = vec![
        "Bearer canary-fixed".to_owned(),
        "Bearer canary-unknown".to_owned(),
    ];
    sent.extend([claims(), wrong].iter().map(bearer));
    sent.push("Bearer canary-one canary-two".to_owned());
    sent.push("Bearer eyJhbGciOiJub25lIn0.canary.canary".to_owned());
    for protection in [protection(), fixed] {
        let server = builder(&Ran::default()).build().unwrap();
        let client = Client(server.http().allow_http_sse().protect(protection).service());
        for authorization in &sent {
            for message in [
                hello_tool(),
                stateless("tools/call", json!({"name": "whoami"})),
            ] {
                for path in ["/mcp", "/mcp?access_token=canary-url"] {
                    let own = [("authorization", authorization.as_str())];
                    let headers = [&MESSAGE[..], &mirrored(&message), &own].concat();
                    let response = client
                        .send("POST", path, &headers, message.to_string())
                        .await;
                    let told = format!("{:?}", response.headers);
                    check("a header", &told, authorization);
                    check("a body", &response.text().await, authorization);
                }
            }
        }
    }
    drop(logging);
    let log = log.text();
    assert!(log.contains("refused"), "nothing was logged: {log}");
    for authorization in &sent {
        check("the log", &log, authorization);
    }
}

// Shows AZ-45, AS-29, EL-22.
#[tokio::test]
async fn a_handler_has_no_token_to_pass_on() {
    let everything = async |ctx: Ctx| {
        Ok(format!(
            "{:?} {:?} {:?} {:?}",
            ctx.incoming(),
            // Prints what `Debug` hides.
            ctx.principal().map(
                |Principal {
                     tenant,
                     issuer,
                     subject,
                     client_id,
                     ..
                 }| {
                    (
                        tenant.clone(),
                        issuer.clone(),
                        subject.clone(),
                        client_id.clone(),
                    )
                }
            ),
            ctx.client_info(),
            ctx.client_capabilities(),
        ))
    };
    let tokens = DevelopmentTokens::new();
    let tokens = tokens.allow(Principal::new("alice"), "canary-fixed", ["notes:read"]);
    let fixed = Protection::new(RESOURCE, tokens.unwrap()).unwrap();
    let signed = bearer(&claims());
    for (protection, authorization) in [(fixed, "Bearer canary-fixed"), (protection(), &*signed)] {
        let tool = Tool::new("everything", everything);
        let server = builder(&Ran::default()).tool(tool).build().unwrap();
        let client = Client(server.http().protect(protection).service());
        let message = stateless("tools/call", json!({"name": "everything"}));
        let own = [("authorization", authorization)];
        let headers = [&mirrored(&message)[..], &own].concat();
        let answer = client.post(&headers, &message).await.json().await;
        let told = answer["result"]["content"][0]["text"].as_str();
        let told = told.unwrap_or_else(|| panic!("{answer}"));
        assert!(told.contains("alice"), "{told}");
        check("a handler", told, authorization);
    }
}

#[track_caller]
fn check(place: &str, text: &str, authorization: &str) {
    let token = authorization.rsplit(['.', ' ']).next().unwrap();
    assert!(!text.contains("canary"), "{place}: {text}");
    assert!(!text.contains(token), "{place}: {text}");
}

// Shows AS-05.
#[test]
fn what_holds_a_token_does_not_print_it() {
    let token = key().token(&claims());
    let presented = PresentedToken::new(&token, RESOURCE, NOW);
    assert_eq!(format!("{presented:?}"), "PresentedToken { .. }");
    let tokens = DevelopmentTokens::new();
    let tokens = tokens
        .allow(Principal::new("alice"), "canary", ["a"])
        .unwrap();
    assert!(!format!("{tokens:?}").contains("canary"));
    let url = "https://auth.example.com";
    let introspection = Introspection::new(url, url, "notes", "canary").unwrap();
    let printed = format!("{introspection:?}");
    assert!(
        !printed.contains("canary") && !printed.contains("Basic"),
        "{printed}"
    );
}
