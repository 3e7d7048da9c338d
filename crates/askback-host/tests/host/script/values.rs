//! Values in a file, and as they are sent.

use askback_host::{
    model::{Question, Reply},
    script::Answer,
};
use serde_json::{Value, json};

use super::answer;
use crate::{form, travel};

pub(super) fn kinds() -> Question {
    form(
        "Book?",
        r#"
            "text": {"type": "string"},
            "day": {"type": "string", "format": "date"},
            "time": {"type": "string", "format": "date-time"},
            "count": {"type": "integer"},
            "agreed": {"type": "boolean"},
            "room": {"type": "string", "oneOf": [
                {"const": "sea_view", "title": "With a view of the sea"}, {"const": "city", "title": "City"}
            ]},
            "extras": {"type": "array", "items": {"anyOf": [
                {"const": "car", "title": "Rental car"}, {"const": "guide", "title": "Guide, local"}
            ]}}
        "#,
        "",
    )
}

fn filled(accept: &str) -> Result<Value, String> {
    match answer(
        &format!("answers: [{{accept: {accept}}}]"),
        &travel(),
        &kinds(),
    ) {
        Answer::Given(Reply::Form(content), Some(1)) => Ok(Value::Object(content)),
        Answer::Unfit { why, .. } => Err(why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_are_read_as_a_person_writes_them() {
    #[track_caller]
    fn check(accept: &str, sent: Value) {
        assert_eq!(filled(accept), Ok(sent), "{accept}");
    }
    check("{room: sea_view}", json!({"room": "sea_view"}));
    check(
        "{room: With a view of the sea}",
        json!({"room": "sea_view"}),
    );
    check("{room: CITY}", json!({"room": "city"}));
    check(
        "{extras: [Rental car, guide]}",
        json!({"extras": ["car", "guide"]}),
    );
    check("{extras: 'Guide, local'}", json!({"extras": ["guide"]}));
    check("{extras: ['Guide, local']}", json!({"extras": ["guide"]}));
    check(
        "{count: 4, agreed: true}",
        json!({"count": 4, "agreed": true}),
    );
    check(
        "{count: '4', agreed: 'yes'}",
        json!({"count": 4, "agreed": true}),
    );
    // Other objects are sent as they are.
    assert!(filled("{text: {b: 1}}").is_err_and(|why| why.contains("must be a text")));
    // Text is not converted.
    check("{text: City}", json!({"text": "City"}));
    check("{text: 'yes'}", json!({"text": "yes"}));
    check("{text: null}", json!({}));
    assert!(filled("{room: Suite}").is_err_and(|why| why.contains("must be one of")));
    assert!(filled("{text: 4}").is_err_and(|why| why.contains("must be a text")));
    assert!(filled("{colour: red}").is_err_and(|why| why.contains("`colour`: is not known")));
}
