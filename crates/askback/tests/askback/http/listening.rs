//! `subscriptions/listen` over HTTP (2026-07-28, basic/patterns/subscriptions).

use askback::{Change, Limits};
use serde_json::{Value, json};

use super::{
    Stage,
    client::{Client, MESSAGE, Response, mirrored, stateless},
};

const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn uri(name: &str) -> Change {
    Change::Resource(name.to_owned())
}

async fn listening(client: &Client, filter: Value) -> Response {
    let mut stream = client
        .call("subscriptions/listen", json!({"notifications": filter}))
        .await;
    assert_eq!(stream.status, 200);
    let first = stream.message().await;
    assert_eq!(
        first["method"], "notifications/subscriptions/acknowledged",
        "{first}"
    );
    assert_eq!(first["params"]["_meta"][ID], 1, "{first}");
    stream
}

// Shows TO-09, BA-51, SU-01, SU-02.
#[tokio::test(start_paused = true)]
async fn a_client_is_told_what_it_asked_for_and_nothing_else() {
    let server = Stage::default().builder().build().unwrap();
    let client = Client::of(&server);
    // Earlier changes are not reported.
    server.changed(Change::Tools);
    let all = [
        Change::Tools,
        Change::Resources,
        uri("note://one"),
        uri("note://two"),
    ];
    let cases = [
        (json!({}), &[][..]),
        (json!({"toolsListChanged": false}), &[]),
        (
            json!({"toolsListChanged": true}),
            &["notifications/tools/list_changed"],
        ),
        (
            json!({"resourcesListChanged": true}),
            &["notifications/resources/list_changed"],
        ),
        (
            json!({"resourceSubscriptions": ["note://two"]}),
            &["notifications/resources/updated"],
        ),
        // The server has no prompts.
        (json!({"promptsListChanged": true}), &[]),
    ];
    for (filter, expected) in cases {
        let mut stream = listening(&client, filter.clone()).await;
        for _ in 0..3 {
            all.iter()
                .for_each(|changed| server.changed(changed.clone()));
        }
        for method in expected {
            let told = stream.message().await;
            assert_eq!(told["method"], *method, "{filter}");
            assert_eq!(told["params"]["_meta"][ID], 1, "{told}");
            if let Some(uri) = told["params"]["uri"].as_str() {
                assert_eq!(uri, "note://two");
            }
        }
        stream.assert_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_says_what_is_granted() {
    let client = Stage::default().client();
    let wish = json!({"toolsListChanged": true, "promptsListChanged": true});
    let params = json!({"notifications": wish});
    let mut stream = client.call("subscriptions/listen", params).await;
    let granted = &stream.message().await["params"]["notifications"];
    assert_eq!(*granted, json!({"toolsListChanged": true}));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_gets_each_change_once() {
    let server = Stage::default().builder().build().unwrap();
    let client = Client::of(&server);
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["note://one"]});
    let mut stream = listening(&client, filter).await;
    for _ in 0..100_000 {
        server.changed(Change::Tools);
        server.changed(uri("note://one"));
    }
    let bytes = stream.chunk().await.unwrap();
    assert_eq!(bytes.matches("data:").count(), 2, "{bytes}");
    stream.assert_quiet().await;
    assert_eq!(
        stream.chunk().await.as_deref(),
        Some(":\n\n"),
        "a sign of life"
    );
    server.changed(Change::Tools);
    assert_eq!(
        stream.message().await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_streams_within_limits() {
    let client = Stage::default().client();
    let most = Limits::default().server.subscriptions;
    for (count, status) in [(most, 200), (most + 1, 400)] {
        let uris: Vec<_> = (0..count).map(|at| format!("note://{at}")).collect();
        let params = json!({"notifications": {"resourceSubscriptions": uris}});
        let response = client.call("subscriptions/listen", params).await;
        assert_eq!(response.status, status, "{count}");
        assert_eq!(response.is_stream(), status == 200);
    }
    let message = stateless("subscriptions/listen", json!({"notifications": {}}));
    let mut headers = vec![MESSAGE[0], MESSAGE[1], ("accept", "application/json")];
    headers.extend(mirrored(&message));
    let response = client
        .send("POST", "/mcp", &headers, message.to_string())
        .await;
    assert_eq!(response.status, 406);
    let wrong = client
        .call("subscriptions/listen", json!({"notifications": 1}))
        .await;
    assert_eq!(wrong.status, 400);
}
