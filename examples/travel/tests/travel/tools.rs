//! The tools other than `book_holiday`.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};

use crate::{
    ALL, BEFORE_FORMS, FORMS,
    client::{Client, accept, agency, text},
};

#[tokio::test]
async fn a_trip_is_tailored_with_every_kind_of_field() {
    for revision in FORMS {
        let mut client = Client::connect(&agency(None), revision).await;
        let mut answer = json!({
            "name": "Tapas",
            "voucher": "ABC-1234",
            "email": "ada@example.com",
            "inspiration": "https://example.com/gaudi",
            "depart": "2026-06-15",
            "call_at": "2026-06-01T09:30:00Z",
            "budget": 99.5,
            "travellers": 3,
            "pets": true,
            "pace": "slow",
            "meals": "half_board",
            "interests": ["food", "music"],
            "extras": ["guide"],
        });
        let preferences = answer.clone();
        if revision == "2025-06-18" {
            // These revisions ask a multiple choice as one boolean per option.
            let asked = client_form(&mut client).await;
            answer = one_boolean_an_option(&asked, answer);
        }
        let answers = [("preferences", accept(answer))];
        let trip = json!({"destination": "Rome"});
        let result = client.call("tailor_trip", trip, &answers).await;
        assert!(result["isError"].is_null(), "{revision}: {result}");
        let expected = json!({"destination": "Rome", "preferences": preferences});
        assert_eq!(result["structuredContent"], expected, "{revision}");
        assert!(text(&result).contains("\n- pace: \"slow\"\n"), "{result}");
    }
}

async fn client_form(client: &mut Client) -> Value {
    let trip = json!({"destination": "Rome"});
    let answers = [("preferences", json!({"action": "cancel"}))];
    client.call("tailor_trip", trip, &answers).await;
    client.asked[0].1["requestedSchema"].clone()
}

/// Converts an answer to the booleans that a form asks for.
fn one_boolean_an_option(form: &Value, mut answer: Value) -> Value {
    let answer = answer.as_object_mut().unwrap();
    for list in ["interests", "extras"] {
        let chosen = answer.remove(list).unwrap();
        for field in form["properties"].as_object().unwrap().keys() {
            if let Some(option) = field.strip_prefix(list) {
                let option = option.trim_start_matches(|c: char| !c.is_alphanumeric());
                let yes = chosen.as_array().unwrap().contains(&json!(option));
                answer.insert(field.clone(), yes.into());
            }
        }
    }
    Value::Object(answer.clone())
}

#[tokio::test]
async fn a_form_of_every_kind_is_asked_as_it_is_written() {
    let mut client = Client::connect(&agency(None), "2025-11-25").await;
    let form = client_form(&mut client).await;
    let kinds: Vec<_> = form["properties"]
        .as_object()
        .unwrap()
        .values()
        .map(|field| {
            let kind = field["type"].as_str().unwrap();
            let titled = field["oneOf"].is_array() || field["items"]["anyOf"].is_array();
            match field["format"].as_str() {
                Some(format) => format.to_owned(),
                None if titled => format!("titled {kind}"),
                None if field["enum"].is_array() => format!("plain {kind}"),
                None => kind.to_owned(),
            }
        })
        .collect();
    for kind in [
        "string",
        "email",
        "uri",
        "date",
        "date-time",
        "number",
        "integer",
        "boolean",
        "plain string",
        "titled string",
        "array",
        "titled array",
    ] {
        assert!(kinds.iter().any(|found| found == kind), "{kind}: {kinds:?}");
    }
}

fn search() -> Value {
    json!({"destination": "Barcelona", "month": "june", "wishes": "in the morning"})
}

fn says(text: &str) -> (&'static str, Value) {
    let content = json!({"type": "text", "text": text});
    (
        "sample",
        json!({"role": "assistant", "content": content, "model": "test-model"}),
    )
}

fn numbers(result: &Value) -> Vec<&str> {
    let flights = result["structuredContent"]["flights"].as_array().unwrap();
    flights
        .iter()
        .map(|flight| flight["number"].as_str().unwrap())
        .collect()
}

async fn question(revision: &'static str) -> Value {
    let mut client = Client::connect(&agency(None), revision).await;
    client.call("find_best_flight", search(), &[says("")]).await;
    client.asked.remove(0).1
}

#[tokio::test]
async fn a_model_chooses_among_47_flights() {
    for revision in ALL {
        let question = question(revision).await;
        let preferences = &question["modelPreferences"];
        assert_eq!(preferences["costPriority"], 0.3, "{revision}");
        assert_eq!(preferences["speedPriority"], 0.2);
        assert_eq!(preferences["intelligencePriority"], 0.9);
        assert_eq!(question["maxTokens"], 1500);
        let message = question["messages"][0]["content"]["text"].as_str().unwrap();
        let flights: Vec<_> = message
            .lines()
            .filter_map(|line| line.strip_prefix("- "))
            .filter_map(|line| line.split(" at ").next())
            .collect();
        assert_eq!(flights.len(), 47, "{message}");

        let chosen = [flights[40], flights[0], flights[7]];
        let advice = format!("{}\n1. {}, 2. {}", chosen[0], chosen[1], chosen[2]);
        let mut client = Client::connect(&agency(None), revision).await;
        let result = client
            .call("find_best_flight", search(), &[says(&advice)])
            .await;
        let first = text(&result).lines().next().unwrap();
        assert_eq!(
            first,
            "The best flights to Barcelona in June, chosen by the model test-model:"
        );
        assert!(text(&result).ends_with(&advice), "{result}");
        if !BEFORE_FORMS.contains(&revision) {
            assert_eq!(numbers(&result), chosen, "{revision}");
        }
    }
}

#[tokio::test]
async fn what_the_model_does_not_say_is_filled_in_and_told() {
    let server = agency(None);
    let mut without = Client::with(&server, "2025-11-25", json!({})).await;
    let own = without.call("find_best_flight", search(), &[]).await;
    assert!(without.asked.is_empty());
    assert_eq!(
        own["structuredContent"]["chosen_by"],
        "us, by price, time and stops: this client has no model to weigh the wishes"
    );
    assert_eq!(numbers(&own).len(), 3);

    let mut with = Client::connect(&server, "2025-11-25").await;
    let vague = [says("Take the 08:10.")];
    let result = with.call("find_best_flight", search(), &vague).await;
    assert_eq!(numbers(&result), numbers(&own));
    assert_eq!(
        result["structuredContent"]["chosen_by"],
        "us, by price, time and stops: the reply of the model (test-model) names none of the flights"
    );

    let last = numbers(&own)[2];
    let one = [says(&format!("Only {last} will do."))];
    let result = with.call("find_best_flight", search(), &one).await;
    assert_eq!(numbers(&result), [last, numbers(&own)[0], numbers(&own)[1]]);
    assert_eq!(
        result["structuredContent"]["chosen_by"],
        "the model test-model, which named 1 of the flights; the rest by us, by price, time and \
         stops"
    );
}

/// A folder to share, next to one that is not shared.
struct Folders(tempfile::TempDir);

impl Folders {
    fn new() -> Self {
        let folders = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(folders.path("shared folder/sub")).unwrap();
        fs::create_dir(folders.path("private")).unwrap();
        fs::write(folders.path("private/secret"), "secret").unwrap();
        folders
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn link(&self, to: &str, at: &str) {
        symlink(self.path(to), self.path("shared folder").join(at)).unwrap();
    }

    fn roots(&self) -> (&'static str, Value) {
        let shared = uri(&self.path("shared folder"));
        let roots = [
            json!({"uri": uri(&self.path("not there"))}),
            json!({"uri": shared, "name": "Shared"}),
        ];
        ("roots", json!({"roots": roots}))
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display()).replace(' ', "%20")
}

// Shows RO-08.
#[tokio::test]
async fn an_itinerary_is_saved_in_a_shared_folder_in_every_revision() {
    for revision in ALL {
        let folders = Folders::new();
        folders.link("shared folder/sub", "inner");
        folders.link("shared folder/linked.md", "link.md");
        fs::write(folders.path("shared folder/linked.md"), "old").unwrap();
        let absolute = folders.path("shared folder/absolute.md");
        for (file, lands_in) in [
            ("plan.md", "shared folder/plan.md"),
            ("plan.md", "shared folder/plan.md"),
            ("sub/../sub/./plan.md", "shared folder/sub/plan.md"),
            ("inner/by link.md", "shared folder/sub/by link.md"),
            ("link.md", "shared folder/linked.md"),
            (absolute.to_str().unwrap(), "shared folder/absolute.md"),
        ] {
            let mut client = Client::connect(&agency(None), revision).await;
            let text = format!("{revision} {file}");
            let result = client
                .call(
                    "save_itinerary",
                    json!({"file": file, "text": text}),
                    &[folders.roots()],
                )
                .await;
            assert!(result["isError"].is_null(), "{result}");
            assert_eq!(fs::read_to_string(folders.path(lands_in)).unwrap(), text);
        }
        let drafts = fs::read_dir(folders.path("shared folder")).unwrap();
        let drafts = drafts.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_str().unwrap().ends_with(".draft")
        });
        assert_eq!(drafts.count(), 0);
        let link = folders.path("shared folder/link.md");
        assert!(fs::symlink_metadata(link).unwrap().is_symlink());
    }
}

// Shows RO-09, RO-10, RO-16.
#[tokio::test]
async fn nothing_is_written_outside_the_shared_folders() {
    let folders = Folders::new();
    folders.link("private", "way out");
    folders.link("private/secret", "secret.md");
    folders.link("private/new.md", "dangling.md");
    folders.link("shared folder/loop.md", "loop.md");
    let private = folders.path("private/new.md");
    let sibling = folders.path("shared folder sibling.md");
    for file in [
        "../private/new.md",
        "sub/../../private/new.md",
        "way out/new.md",
        "way out/../private/new.md",
        "secret.md",
        "dangling.md",
        "loop.md",
        "absent/new.md",
        "..",
        ".",
        "/",
        "sub/..",
        "../shared folder sibling.md",
        private.to_str().unwrap(),
        sibling.to_str().unwrap(),
    ] {
        let mut client = Client::connect(&agency(None), "2025-11-25").await;
        let arguments = json!({"file": file, "text": "gone"});
        let result = client
            .call("save_itinerary", arguments, &[folders.roots()])
            .await;
        assert_eq!(result["isError"], true, "{file}: {result}");
        let expected = format!(
            "`{file}` was not written: it must be a file within a folder you share, and in a \
             folder that is there. You share {}, {}.",
            uri(&folders.path("not there")),
            uri(&folders.path("shared folder")),
        );
        assert_eq!(text(&result), expected);
    }
    let secret = fs::read_to_string(folders.path("private/secret")).unwrap();
    assert_eq!(secret, "secret");
    assert!(!private.exists() && !sibling.exists());
    assert_eq!(fs::read_dir(folders.path("private")).unwrap().count(), 1);
}

// Shows RO-15.
#[tokio::test]
async fn without_roots_nothing_is_written() {
    let mut client = Client::connect(&agency(None), "2025-11-25").await;
    let arguments = json!({"file": "plan.md", "text": "gone"});
    let none = [("roots", json!({"roots": []}))];
    let result = client
        .call("save_itinerary", arguments.clone(), &none)
        .await;
    assert_eq!(
        text(&result),
        "`plan.md` was not written: you share no folder."
    );
    let mut client = Client::with(&agency(None), "2025-11-25", json!({})).await;
    let result = client.call("save_itinerary", arguments, &[]).await;
    assert_eq!(result["isError"], true);
    assert_eq!(
        text(&result),
        "this client cannot be asked: it does not support roots"
    );
}
