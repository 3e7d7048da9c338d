//! Resources: lists, contents and changes of the list.

use serde_json::{Value, json};

use crate::{
    ALL, FORMS,
    client::{Client, accept, agency},
};

async fn read(client: &mut Client, uri: &str) -> Value {
    let read = client
        .result("resources/read", json!({"uri": uri}), &[])
        .await;
    read["contents"][0].clone()
}

// Shows RE-02.
#[tokio::test]
async fn destinations_are_listed_and_read() {
    for revision in ALL {
        let mut client = Client::connect(&agency(None), revision).await;
        let listed = client.result("resources/list", json!({}), &[]).await;
        assert_eq!(listed["resources"][0]["uri"], "travel://destinations");
        let templates = client
            .result("resources/templates/list", json!({}), &[])
            .await;
        let templates: Vec<_> = templates["resourceTemplates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|template| template["uriTemplate"].as_str().unwrap())
            .collect();
        assert_eq!(
            templates,
            [
                "travel://destinations/{name}",
                "travel://bookings/{reference}"
            ]
        );

        let all = read(&mut client, "travel://destinations").await;
        assert_eq!(all["mimeType"], "application/json", "{revision}");
        let all: Value = serde_json::from_str(all["text"].as_str().unwrap()).unwrap();
        assert_eq!(all.as_array().unwrap().len(), 8);
        for destination in all.as_array().unwrap() {
            let uri = destination["uri"].as_str().unwrap();
            let page = read(&mut client, uri).await;
            assert_eq!(page["mimeType"], "text/markdown", "{revision}");
            assert_eq!(page["uri"], uri);
            let heading = format!("# {}", destination["name"].as_str().unwrap());
            let text = page["text"].as_str().unwrap();
            assert!(text.starts_with(&heading), "{text}");
            assert!(!text.contains("Best months: \n"), "{text}");
        }
    }
}

// Shows RE-09, RE-12, RE25-01, BA-17.
#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for (revision, code) in [("2025-11-25", -32002), ("2026-07-28", -32602)] {
        let mut client = Client::connect(&agency(None), revision).await;
        for uri in [
            "travel://destinations/Atlantis",
            "travel://bookings/TRV-00000000",
            "travel://elsewhere",
        ] {
            let error = client.error("resources/read", json!({"uri": uri})).await;
            assert_eq!(error["code"], code, "{revision}: {error}");
            assert_eq!(error["data"]["uri"], uri);
        }
    }
}

// Shows RE-05.
#[tokio::test]
async fn a_booking_changes_the_list() {
    for revision in FORMS {
        let server = agency(None);
        let mut watcher = Client::connect(&server, revision).await;
        if revision == "2026-07-28" {
            let wanted = json!({"notifications": {"resourcesListChanged": true}});
            watcher.request("subscriptions/listen", wanted).await;
            let opened = watcher.notification().await;
            assert_eq!(
                opened["method"], "notifications/subscriptions/acknowledged",
                "{opened}"
            );
        }
        let mut client = Client::connect(&server, revision).await;
        let trip = json!({"destination": "Lisbon", "depart": "2026-09-01"});
        let answers = [
            ("wishes", accept(json!({"confirm_booking": true}))),
            (
                "contact",
                accept(json!({"name": "Ada", "email": "ada@example.com"})),
            ),
        ];
        let booked = client.call("book_holiday", trip, &answers).await;
        let booking = &booked["structuredContent"];
        let changed = watcher.notification().await;
        assert_eq!(
            changed["method"], "notifications/resources/list_changed",
            "{revision}"
        );

        let listed = client.result("resources/list", json!({}), &[]).await;
        let uri = format!(
            "travel://bookings/{}",
            booking["reference"].as_str().unwrap()
        );
        assert_eq!(listed["resources"][1]["uri"], uri);
        assert_eq!(listed["resources"][1]["title"], "Lisbon on 2026-09-01");
        let read = read(&mut client, &uri).await;
        let read: Value = serde_json::from_str(read["text"].as_str().unwrap()).unwrap();
        assert_eq!(read, *booking);
    }
}
