//! The call that files a claim, with a scripted user whose client makes trouble.

use askback::{
    Principal, Revision,
    testing::{Fixture, Person},
};
use askback_expense::{Claims, server};
use serde_json::{Value, json};

use crate::{bill, desk, has_forms};

fn fixture() -> Fixture<Claims> {
    Fixture::new(desk, server).effects(|claims| claims.count() as usize)
}

fn person(department: &str, project: &str) -> Person {
    Person::new()
        .reply("sample", "Lisbon")
        .answer("filing", json!({"department": department}))
        .answer("project", json!({"answer": project}))
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_filed_once_whatever_the_client_repeats() {
    let trial = fixture().call("file_expenses", bill());
    let report = trial
        .as_principal(Principal::new("ada"))
        .with(person("sales", "Key accounts"))
        .in_every_revision()
        .await;
    let run = report.assert_same();
    assert_eq!(run.keys(), ["sample", "filing", "project"]);
    assert_eq!(run.messages()[1], "File 61550 cents for Lisbon?");
    assert_eq!(run.effects, Some(1));
    let claim = json!({"number": 1, "title": "Lisbon", "cents": 61550});
    for run in report.runs.iter().filter(|run| has_forms(run.revision)) {
        assert_eq!(run.result()["structuredContent"], claim, "{run}");
    }
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        let run = report.in_revision(revision);
        assert!(
            run.text().starts_with("this client cannot be asked"),
            "{run:?}"
        );
        assert_eq!(run.effects, Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn the_second_form_depends_on_the_answer_to_the_first() {
    for (department, projects) in [
        ("research", ["Batteries", "Solar cells"]),
        ("sales", ["Fair in Berlin", "Key accounts"]),
    ] {
        let trial = fixture().call("file_expenses", bill());
        let report = trial
            .with(person(department, projects[1]))
            .in_every_revision()
            .await;
        report.assert_same();
        for run in report.runs.iter().filter(|run| has_forms(run.revision)) {
            let form = &run.questions[2].params["requestedSchema"];
            assert_eq!(
                form["properties"]["answer"]["enum"],
                json!(projects),
                "{run}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_files_nothing() {
    let asked = Person::new().reply("sample", "Lisbon");
    let filing = json!({"department": "sales"});
    for person in [
        asked.clone().decline("filing"),
        asked.answer("filing", filing).cancel("project"),
    ] {
        let report = fixture()
            .call("file_expenses", bill())
            .with(person)
            .in_every_revision()
            .await;
        let run = report.assert_same();
        assert_eq!(run.text(), "Nothing was filed.");
        assert_eq!(run.result()["structuredContent"]["number"], Value::Null);
        assert_eq!(run.effects, Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_bill_that_does_not_fit_is_refused_with_its_place() {
    let bill = json!({"purpose": "a trip", "items": [{"what": "hotel", "cents": "much"}]});
    let report = fixture()
        .call("file_expenses", bill)
        .in_every_revision()
        .await;
    let run = report.assert_same();
    assert!(run.text().contains("items[0].cents"), "{}", run.text());
}
