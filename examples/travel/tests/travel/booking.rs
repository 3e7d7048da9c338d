//! `book_holiday`.

use std::fs;

use serde_json::{Value, json};

use crate::{
    BEFORE_FORMS, FORMS,
    client::{Client, accept, agency, agency_on, text},
};

fn trip() -> Value {
    json!({"destination": "Barcelona", "depart": "2026-06-15", "nights": 7, "travellers": 2})
}

fn wishes(more: Value) -> (&'static str, Value) {
    let mut wishes = json!({"confirm_booking": true});
    let more = more.as_object().unwrap().clone();
    wishes.as_object_mut().unwrap().extend(more);
    ("wishes", accept(wishes))
}

fn contact() -> (&'static str, Value) {
    let ada = json!({"name": "Ada Lovelace", "email": "ada@example.com"});
    ("contact", accept(ada))
}

#[track_caller]
fn take_reference(booking: &mut Value) -> String {
    let reference = booking["reference"].take();
    let reference = reference.as_str().unwrap();
    let digits = reference.strip_prefix("TRV-").unwrap();
    assert_eq!(digits.len(), 8);
    assert!(
        digits
            .bytes()
            .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    );
    reference.to_owned()
}

#[tokio::test]
async fn a_holiday_is_booked_in_every_revision_with_forms() {
    for revision in FORMS {
        let mut client = Client::connect(&agency(None), revision).await;
        let wishes = wishes(json!({"seat_preference": "aisle", "room_type": "sea_view"}));
        let result = client
            .call("book_holiday", trip(), &[wishes, contact()])
            .await;
        assert!(result["isError"].is_null(), "{revision}: {result}");
        let mut booking = result["structuredContent"].clone();
        let reference = take_reference(&mut booking);
        let expected = json!({
            "reference": null,
            "destination": "Barcelona",
            "depart": "2026-06-15",
            "nights": 7,
            "travellers": 2,
            "seat_preference": "aisle",
            "room_type": "sea_view",
            "travel_insurance": false,
            "total": 3000,
            "contact": {"name": "Ada Lovelace", "email": "ada@example.com"},
        });
        assert_eq!(booking, expected, "{revision}");
        let expected = format!(
            "Booked: Barcelona, 7 nights from 15 June 2026, 2 travellers, 3000 USD in all. The \
             reference is {reference}; the tickets go to ada@example.com."
        );
        assert_eq!(text(&result), expected);
        let asked: Vec<_> = client
            .asked
            .iter()
            .map(|(key, question)| (key.as_str(), question["message"].as_str().unwrap()))
            .collect();
        assert_eq!(
            asked,
            [
                (
                    "wishes",
                    "Barcelona, 7 nights from 15 June 2026, 2 travellers: flights and hotel for \
                     3000 USD. Shall we book?"
                ),
                ("contact", "Who is travelling?")
            ]
        );
        assert_eq!(booked(&mut client).await, [reference]);
    }
}

async fn booked(client: &mut Client) -> Vec<String> {
    let listed = client.result("resources/list", json!({}), &[]).await;
    let listed = listed["resources"].as_array().unwrap().iter();
    let uris = listed.filter_map(|resource| resource["uri"].as_str());
    uris.filter_map(|uri| uri.strip_prefix("travel://bookings/"))
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn what_is_left_out_is_filled_in() {
    let mut client = Client::connect(&agency(None), "2025-11-25").await;
    let trip = json!({"destination": " new york", "depart": "2026-02-28"});
    let result = client
        .call("book_holiday", trip, &[wishes(json!({})), contact()])
        .await;
    let booking = &result["structuredContent"];
    for (member, expected) in [
        ("destination", json!("New York")),
        ("nights", json!(7)),
        ("travellers", json!(2)),
        ("seat_preference", json!("no_preference")),
        ("room_type", json!("city_view")),
        ("travel_insurance", json!(false)),
    ] {
        assert_eq!(booking[member], expected, "{member}");
    }
}

#[tokio::test]
async fn prices_grow_with_what_is_booked() {
    let insured = json!({"travel_insurance": true});
    for (nights, travellers, wish, total) in [
        (7, 2, json!({}), 3000),
        (7, 2, insured.clone(), 3150),
        (1, 1, json!({}), 750),
        (1, 1, insured.clone(), 825),
        (7, 3, json!({}), 3 * 450 + 2 * 7 * 300),
        (30, 9, insured, 9 * 450 + 5 * 30 * 300 + 9 * 75),
    ] {
        let mut client = Client::connect(&agency(None), "2025-06-18").await;
        let mut trip = trip();
        trip["nights"] = nights.into();
        trip["travellers"] = travellers.into();
        let result = client
            .call("book_holiday", trip, &[wishes(wish), contact()])
            .await;
        assert_eq!(result["structuredContent"]["total"], total, "{result}");
    }
}

#[tokio::test]
async fn a_no_is_a_result_of_its_own_and_books_nothing() {
    let unconfirmed = accept(json!({"confirm_booking": false}));
    // A script is faster than a user.
    let by = json!({"dev.askback/answered-by": "person"});
    let decline = json!({"action": "decline", "_meta": by});
    let cancel = json!({"action": "cancel", "_meta": by});
    let declined = "Nothing was done: the person declined.";
    let cancelled = "Nothing was done: the person cancelled.";
    let yes = || wishes(json!({}));
    for revision in FORMS {
        for (answers, expected) in [
            (
                vec![("wishes", unconfirmed.clone())],
                "Nothing was booked: the person did not confirm the booking.",
            ),
            (vec![("wishes", decline.clone())], declined),
            (vec![("wishes", cancel.clone())], cancelled),
            (vec![yes(), ("contact", decline.clone())], declined),
            (vec![yes(), ("contact", cancel.clone())], cancelled),
        ] {
            let mut client = Client::connect(&agency(None), revision).await;
            let result = client.call("book_holiday", trip(), &answers).await;
            assert!(result["isError"].is_null(), "{revision}: {result}");
            assert!(
                result["structuredContent"].is_null(),
                "{revision}: {result}"
            );
            assert_eq!(text(&result), expected, "{revision}");
            assert!(booked(&mut client).await.is_empty());
        }
    }
}

// Shows BA-47, LI25-22.
#[tokio::test]
async fn without_forms_it_fails_in_plain_words() {
    let expected = "this client cannot be asked: it does not support forms (elicitation)";
    for revision in BEFORE_FORMS {
        let mut client = Client::connect(&agency(None), revision).await;
        let result = client.call("book_holiday", trip(), &[]).await;
        assert_eq!(result["isError"], true, "{revision}: {result}");
        assert_eq!(text(&result), expected, "{revision}");
    }
    let mut client = Client::with(&agency(None), "2026-07-28", json!({})).await;
    let params = json!({"name": "book_holiday", "arguments": trip()});
    let error = client.error("tools/call", params).await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32021), &json!(expected))
    );
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let mut client = Client::connect(&agency(None), "2025-11-25").await;
    for (member, value, expected) in [
        (
            "destination",
            json!("Atlantis"),
            "we do not travel to `Atlantis`; we do to Barcelona, Innsbruck, Kyoto, Lisbon, \
             Marrakesh, New York, Reykjavik, Rome",
        ),
        (
            "depart",
            json!("2026-02-30"),
            "`depart`: must be a date such as 2026-06-15",
        ),
        (
            "depart",
            json!("soon"),
            "`depart`: must be a date such as 2026-06-15",
        ),
        ("nights", json!(0), "`nights`: must be at least 1"),
        ("nights", json!(31), "`nights`: must be at most 30"),
        ("travellers", json!(10), "`travellers`: must be at most 9"),
    ] {
        let mut trip = trip();
        trip[member] = value;
        let result = client.call("book_holiday", trip, &[]).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(text(&result), expected);
    }
}

#[tokio::test]
async fn the_form_of_wishes_is_as_promised() {
    let mut client = Client::connect(&agency(None), "2025-11-25").await;
    let answers = [wishes(json!({})), contact()];
    client.call("book_holiday", trip(), &answers).await;
    let form = &client.asked[0].1["requestedSchema"];
    assert_eq!(form["required"], json!(["confirm_booking"]));
    let values = |field: &str| -> Vec<Value> {
        let options = form["properties"][field]["oneOf"].as_array().unwrap();
        options
            .iter()
            .map(|option| option["const"].clone())
            .collect()
    };
    assert_eq!(
        values("seat_preference"),
        ["window", "aisle", "no_preference"]
    );
    assert_eq!(
        values("room_type"),
        ["sea_view", "city_view", "garden_view"]
    );
    let form = &client.asked[1].1["requestedSchema"];
    assert_eq!(form["required"], json!(["name", "email"]));
    let name = &form["properties"]["name"];
    assert_eq!(
        (&name["minLength"], &name["maxLength"]),
        (&json!(1), &json!(100))
    );
}

#[test]
fn an_agency_without_its_directory_does_not_open() {
    let directory = tempfile::tempdir().unwrap();
    let absent = directory.path().join("absent");
    assert!(askback_travel::Bookings::in_directory(&absent).is_err());
}

/// Returns a file of trips from 2026-06-15 by unauthenticated callers.
fn booked_trips(nights: impl Iterator<Item = u8>) -> String {
    let line = |(number, nights)| {
        let booking = json!({
            "owner": {"tenant": null, "issuer": null, "subject": null},
            "reference": format!("TRV-{number}"),
            "destination": "Rome",
            "depart": "2026-06-15",
            "nights": nights,
            "travellers": 2,
            "seat_preference": "no_preference",
            "room_type": "city_view",
            "travel_insurance": false,
            "total": 3000,
            "contact": {"name": "Ada", "email": "ada@example.com"},
        });
        format!("\n{booking}\n")
    };
    nights.enumerate().map(line).collect()
}

#[tokio::test]
async fn a_trip_that_is_over_makes_room_for_another() {
    // The nights of the trips, the current day, the expected refusal, and the resulting number of bookings.
    let full = "nothing is booked: the agency has 2500 bookings of travellers it does not know, as \
                many as it keeps of them; sign in, or ask its operator to make room";
    for (nights, day, refused, count) in [
        (vec![7; 2500], "2026-06-22T23:00:00Z", Some(full), 2500),
        // In some time zone it is still the day of the return.
        (vec![7; 2500], "2026-06-23T23:00:00Z", Some(full), 2500),
        (vec![7; 2500], "2026-06-24T00:00:00Z", None, 1),
        (vec![7; 2499], "2026-06-24T00:00:00Z", None, 2500),
        (
            [vec![6; 10], vec![7; 2490]].concat(),
            "2026-06-23T23:00:00Z",
            None,
            2491,
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        fs::write(&file, booked_trips(nights.into_iter())).unwrap();
        let agency = agency_on(directory.path(), day);
        let mut client = Client::connect(&agency, "2025-11-25").await;
        let answers = [wishes(json!({})), contact()];
        let result = client.call("book_holiday", trip(), &answers).await;
        match refused {
            Some(why) => assert_eq!(text(&result), why, "{day}"),
            None => assert!(text(&result).starts_with("Booked: "), "{day}: {result}"),
        }
        // If there is no room, the user is not asked.
        assert_eq!(client.asked.is_empty(), refused.is_some());
        assert_eq!(booked(&mut client).await.len(), count, "{day}");
    }
}

/// Each round may reach another process: here, another server with the same directory. The last round may be sent
/// twice, also to different processes.
#[tokio::test]
async fn a_restarted_agency_goes_on_and_books_once() {
    let directory = tempfile::tempdir().unwrap();
    let start = || agency(Some(directory.path()));
    let params = json!({"name": "book_holiday", "arguments": trip()});
    let answers = [wishes(json!({})), contact()];
    let mut round = params.clone();
    for key in ["wishes", "contact"] {
        let mut client = Client::connect(&start(), "2026-07-28").await;
        let id = client.request("tools/call", round).await;
        let response = client.response_to(id, &[]).await;
        round = client.next_round(&params, &response["result"], &answers);
        assert_eq!(client.asked[0].0, key);
    }
    let mut results = Vec::new();
    for server in [start(), start()] {
        for _ in 0..2 {
            let mut client = Client::connect(&server, "2026-07-28").await;
            let result = client.result("tools/call", round.clone(), &[]).await;
            results.push(result["structuredContent"].clone());
        }
    }
    assert_eq!(results[0]["total"], 3000);
    assert!(
        results.iter().all(|result| *result == results[0]),
        "{results:?}"
    );
    let mut client = Client::connect(&start(), "2026-07-28").await;
    let reference = results[0]["reference"].as_str().unwrap();
    assert_eq!(booked(&mut client).await, [reference]);
    let params = json!({"name": "trip_report", "arguments": {"reference": reference}});
    let report = client.result("prompts/get", params, &[]).await;
    let uri = &report["messages"][0]["content"]["resource"]["uri"];
    assert_eq!(*uri, format!("travel://bookings/{reference}"));
}
