//! Prompts: their messages, completion and list.

use serde_json::{Value, json};

use crate::{
    ALL,
    client::{Client, accept, agency},
};

async fn get(client: &mut Client, prompt: &str, arguments: Value) -> Value {
    let params = json!({"name": prompt, "arguments": arguments});
    let got = client.result("prompts/get", params, &[]).await;
    got["messages"].clone()
}

async fn complete(
    client: &mut Client,
    reference: Value,
    argument: &str,
    typed: &str,
    known: Value,
) -> Value {
    let params = json!({
        "ref": reference,
        "argument": {"name": argument, "value": typed},
        "context": {"arguments": known},
    });
    let completed = client.result("completion/complete", params, &[]).await;
    completed["completion"]["values"].clone()
}

#[tokio::test]
async fn arguments_are_read_by_their_type() {
    for revision in ALL {
        let mut client = Client::connect(&agency(None), revision).await;
        let arguments = json!({"destination": "rome", "days": "4", "budget": "1000.5",
            "interests": "food"});
        let messages = get(&mut client, "plan_vacation", arguments).await;
        let expected = "Plan 4 days in Rome, Italy, for 1000.5 USD in all, which is 250 USD a \
            day. I like food. Give me a plan for each day, and what it costs.";
        assert_eq!(
            messages,
            json!([{"role": "user", "content": {"type": "text", "text": expected}}]),
            "{revision}"
        );
    }
}

// Shows PR-11, PR-12, PR-14.
#[tokio::test]
async fn wrong_arguments_are_refused() {
    for revision in ALL {
        let mut client = Client::connect(&agency(None), revision).await;
        for (prompt, arguments, expected) in [
            (
                "plan_vacation",
                json!({"destination": "Rome", "days": "soon", "budget": "much"}),
                "`budget`: must be a number; `days`: must be a whole number",
            ),
            (
                "plan_vacation",
                json!({"destination": "Rome", "days": "0", "budget": "1"}),
                "`days`: must be at least 1",
            ),
            (
                "plan_vacation",
                json!({"destination": "Rome", "days": "1"}),
                "`budget`: must be given",
            ),
            (
                "show_destination",
                json!({"destination": "Atlantis"}),
                "we do not travel to `Atlantis`; we do to Barcelona, Innsbruck, Kyoto, Lisbon, \
                 Marrakesh, New York, Reykjavik, Rome",
            ),
            (
                "trip_report",
                json!({"reference": "TRV-00000000"}),
                "there is no booking `TRV-00000000`",
            ),
            (
                "packing",
                json!({}),
                "there is no prompt `packing`; there are: plan_vacation, trip_report, \
                 show_destination, packing_list",
            ),
        ] {
            let params = json!({"name": prompt, "arguments": arguments});
            let error = client.error("prompts/get", params).await;
            assert_eq!(error["code"], -32602, "{revision}: {error}");
            assert_eq!(error["message"], expected, "{revision}");
        }
    }
}

// Shows PR-06.
#[tokio::test]
async fn a_destination_is_shown_as_a_picture() {
    let mut client = Client::connect(&agency(None), "2026-07-28").await;
    for destination in ["Barcelona", "New York"] {
        let arguments = json!({"destination": destination});
        let messages = get(&mut client, "show_destination", arguments).await;
        let picture = &messages[0]["content"];
        assert_eq!(picture["type"], "image");
        assert_eq!(picture["mimeType"], "image/png");
        // The first eight bytes of every PNG.
        let data = picture["data"].as_str().unwrap();
        assert!(data.starts_with("iVBORw0KGgo"), "{data}");
        assert_eq!(messages[1]["content"]["type"], "text");
    }
}

#[tokio::test]
async fn a_packing_list_is_a_conversation() {
    let mut client = Client::connect(&agency(None), "2025-03-26").await;
    for (month, clothes) in [("january", "coat"), ("may", "umbrella"), ("august", "hat")] {
        let arguments = json!({"destination": "Rome", "month": month});
        let messages = get(&mut client, "packing_list", arguments).await;
        let roles: Vec<_> = (0..3).map(|at| messages[at]["role"].clone()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        let answer = messages[1]["content"]["text"].as_str().unwrap();
        assert!(answer.contains(clothes), "{answer}");
    }
}

// Shows PR-08, PR-09, PR-10.
#[tokio::test]
async fn a_report_holds_the_booking() {
    let mut client = Client::connect(&agency(None), "2025-11-25").await;
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
    let reference = &booking["reference"];
    let arguments = json!({"reference": reference});
    let messages = get(&mut client, "trip_report", arguments).await;
    let embedded = &messages[0]["content"];
    assert_eq!(embedded["type"], "resource");
    assert_eq!(embedded["resource"]["mimeType"], "application/json");
    let uri = embedded["resource"]["uri"].as_str().unwrap();
    assert!(uri.contains("://"), "{uri}");
    let text = embedded["resource"]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), *booking);

    let report = json!({"type": "ref/prompt", "name": "trip_report"});
    for (typed, expected) in [
        ("", json!([reference])),
        ("trv", json!([reference])),
        ("X", json!([])),
    ] {
        let found = complete(&mut client, report.clone(), "reference", typed, json!({})).await;
        assert_eq!(found, expected, "{typed}");
    }
}

#[tokio::test]
async fn destinations_are_completed_everywhere() {
    for revision in ALL {
        let mut client = Client::connect(&agency(None), revision).await;
        for prompt in ["plan_vacation", "show_destination", "packing_list"] {
            let prompt = json!({"type": "ref/prompt", "name": prompt});
            for (typed, expected) in [
                ("r", json!(["Reykjavik", "Rome"])),
                ("NEW ", json!(["New York"])),
                ("york", json!([])),
            ] {
                let found =
                    complete(&mut client, prompt.clone(), "destination", typed, json!({})).await;
                assert_eq!(found, expected, "{revision}: {typed}");
            }
        }
        let template = json!({"type": "ref/resource", "uri": "travel://destinations/{name}"});
        let found = complete(&mut client, template, "name", "b", json!({})).await;
        assert_eq!(found, json!(["Barcelona"]));
    }
}

#[tokio::test]
async fn months_are_completed_by_destination() {
    let mut client = Client::connect(&agency(None), "2025-06-18").await;
    let packing = json!({"type": "ref/prompt", "name": "packing_list"});
    for (typed, known, expected) in [
        ("J", json!({}), json!(["january", "june", "july"])),
        (
            "j",
            json!({"destination": "Reykjavik"}),
            json!(["june", "july", "january"]),
        ),
        (
            "j",
            json!({"destination": "Marrakesh"}),
            json!(["january", "june", "july"]),
        ),
        (
            "j",
            json!({"destination": "Atlantis"}),
            json!(["january", "june", "july"]),
        ),
    ] {
        let found = complete(&mut client, packing.clone(), "month", typed, known).await;
        assert_eq!(found, expected);
    }
    let all = complete(
        &mut client,
        packing,
        "month",
        "",
        json!({"destination": "rome"}),
    )
    .await;
    assert_eq!(all.as_array().unwrap().len(), 12);
    assert_eq!(all[0], "february");
}

// Shows PR-03.
#[tokio::test]
async fn lists_come_in_pages() {
    let options = askback_travel::Options {
        page_size: Some(3),
        revisions: Some(vec![askback::Revision::V2025_06_18]),
        ..Default::default()
    };
    let server = askback_travel::server(options).unwrap();
    let mut client = Client::connect(&server, "2025-06-18").await;
    for (method, member, expected) in [
        (
            "prompts/list",
            "prompts",
            vec![
                vec!["plan_vacation", "trip_report", "show_destination"],
                vec!["packing_list"],
            ],
        ),
        (
            "tools/list",
            "tools",
            vec![
                vec!["book_holiday", "tailor_trip", "find_best_flight"],
                vec!["save_itinerary"],
            ],
        ),
    ] {
        let mut params = json!({});
        let mut pages = Vec::new();
        loop {
            let page = client.result(method, params.clone(), &[]).await;
            let items = page[member].as_array().unwrap();
            let names = items
                .iter()
                .map(|item| item["name"].as_str().unwrap().to_owned());
            pages.push(names.collect::<Vec<_>>());
            match page["nextCursor"].as_str() {
                Some(cursor) => params["cursor"] = cursor.into(),
                None => break,
            }
        }
        assert_eq!(pages, expected);
    }
    let error = client.error("prompts/list", json!({"cursor": "1"})).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn a_server_for_one_revision_speaks_that_one() {
    let options = askback_travel::Options {
        revisions: Some(vec![askback::Revision::V2025_03_26]),
        ..Default::default()
    };
    let server = askback_travel::server(options).unwrap();
    Client::connect(&server, "2025-03-26").await;
    let mut modern = Client::connect(&server, "2026-07-28").await;
    let response = modern.response("tools/list", json!({}), &[]).await;
    assert!(response["error"].is_object(), "{response}");
}
