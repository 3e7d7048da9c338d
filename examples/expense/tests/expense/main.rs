//! The expense desk in every revision, over messages and over HTTP, and the programs.

mod http;
mod messages;
mod programs;
mod trials;

use askback::{
    Revision,
    client::{Client, ClientBuilder, Event, Protocol},
    protocol::{ContentBlock, ElicitResult, Reference},
};
use askback_expense::Claims;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

fn desk() -> Claims {
    Claims::open(":memory:").expect("a database")
}

fn bill() -> Value {
    json!({
        "purpose": "a trip to Lisbon",
        "items": [{"what": "hotel", "cents": 60_000}, {"what": "taxi", "cents": 1_550}],
    })
}

fn has_forms(revision: Revision) -> bool {
    revision >= Revision::V2025_06_18
}

/// A client of an employee in the sales department, and its events.
fn employee(revision: Revision) -> (ClientBuilder, UnboundedReceiver<Event>) {
    let (hear, heard) = unbounded_channel();
    let client = Client::builder("test", "1")
        .protocol(Protocol::Only(revision))
        .on_elicit(async |question| {
            let value = match question.key.as_deref() {
                Some("filing") => ("department", json!("sales")),
                Some("project") => ("answer", json!("Key accounts")),
                Some("confirm") => ("confirm", json!(true)),
                _ => return Ok(ElicitResult::decline()),
            };
            Ok(ElicitResult::accept([value]))
        })
        .on_event(move |event| {
            // The test may have stopped receiving.
            let _ = hear.send(event);
        });
    (client, heard)
}

/// Checks that each of two callers sees only their own claims, and the approvers' tool only after signing in.
async fn check_two_callers(ada: &Client, bob: &Client) {
    let revision = ada.revision();
    let tools = async |client: &Client| -> Vec<String> {
        let tools = client.tools().await.expect("tools");
        tools.into_iter().map(|tool| tool.name).collect()
    };
    let everybody = ["file_expenses", "sign_in", "audit"];
    assert_eq!(tools(ada).await, everybody, "{revision}");
    let filed = bob
        .call_tool("file_expenses", bill())
        .await
        .expect("a result");
    let signed_in = ada.call_tool("sign_in", ()).await.expect("a result");
    if !has_forms(revision) {
        let error = filed.text().expect_err("nobody was asked").to_string();
        assert!(
            error.contains("this client cannot be asked"),
            "{revision}: {error}"
        );
        assert_eq!(tools(ada).await, everybody, "{revision}");
        return;
    }
    let claim: Value = filed.structured().expect("a claim");
    assert_eq!(claim["number"], 1, "{revision}");
    assert_eq!(
        signed_in.text().expect("a text"),
        "You are signed in.",
        "{revision}"
    );

    let approver = ["file_expenses", "sign_in", "approve", "audit"];
    assert_eq!(tools(ada).await, approver, "{revision}");
    assert_eq!(tools(bob).await, everybody, "{revision}");
    let number = json!({"number": 1});
    let refused = bob.call_tool("approve", number.clone()).await;
    let refused = refused.expect_err("no such tool").to_string();
    let unknown = bob.call_tool("no_such_tool", number.clone()).await;
    let unknown = unknown.expect_err("no such tool").to_string();
    assert_eq!(
        refused,
        unknown.replace("no_such_tool", "approve"),
        "{revision}"
    );

    let approved = ada.call_tool("approve", number).await.expect("a result");
    let ContentBlock::Image(stamp) = &approved.content[1] else {
        panic!("{revision}: {:?}", approved.content);
    };
    assert_eq!(stamp.mime_type, "image/png", "{revision}");
    // The first bytes of every PNG, in base64.
    assert!(stamp.data.starts_with("iVBORw0KGgo"), "{revision}");

    let policy = bob.read_resource("expense://policy").await;
    let policy = policy.expect("the rules").text();
    assert_eq!(policy, "Items of 500 EUR and more are noted.", "{revision}");
    let read = bob
        .read_resource("expense://claims/1")
        .await
        .expect("a claim");
    assert_eq!(read.text(), "a trip to Lisbon", "{revision}");
    let hidden = ada.read_resource("expense://claims/1").await;
    let hidden = hidden.expect_err("a claim of somebody else").to_string();
    assert!(
        hidden.contains("there is no resource"),
        "{revision}: {hidden}"
    );
    for (client, numbers) in [(ada, &[][..]), (bob, &["1"][..])] {
        let template = Reference::resource("expense://claims/{number}");
        let typed = client.complete(template, ("number", ""), Default::default());
        assert_eq!(typed.await.expect("numbers").values, numbers, "{revision}");
    }
}
