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
    for object in ["{b: 1}", "{date: today, of: b}"] {
        let accept = format!("{{text: {object}}}");
        assert!(
            filled(&accept).is_err_and(|why| why.contains("must be a text")),
            "{object}"
        );
    }
    // Text is not converted.
    check("{text: City}", json!({"text": "City"}));
    check("{text: 'yes'}", json!({"text": "yes"}));
    check("{text: null}", json!({}));
    assert!(filled("{room: Suite}").is_err_and(|why| why.contains("must be one of")));
    assert!(filled("{text: 4}").is_err_and(|why| why.contains("must be a text")));
    assert!(filled("{colour: red}").is_err_and(|why| why.contains("`colour`: is not known")));
}

#[test]
fn dates_count_from_the_day_of_the_run() {
    #[track_caller]
    fn check(field: &str, date: &str, sent: &str) {
        let accept = format!("{{{field}: {{date: {date}}}}}");
        assert_eq!(filled(&accept), Ok(json!({field: sent})), "{date}");
    }
    check("day", "today", "2026-03-01");
    check("day", "today+14d", "2026-03-15");
    check("day", "today + 2 weeks", "2026-03-15");
    check("day", "today-1d", "2026-02-28");
    check("day", "today+1mo", "2026-04-01");
    check("day", "today-1y1d", "2025-02-28");
    check("day", "now+15h", "2026-03-02");
    check("time", "now", "2026-03-01T09:30:15Z");
    check("time", "now-2h30m", "2026-03-01T07:00:15Z");
    check("time", "today+1d", "2026-03-02T00:00:00Z");
    check("text", "today", "2026-03-01");
    check("text", "now", "2026-03-01T09:30:15Z");
    let beyond = filled("{day: {date: today+9000y}}");
    assert_eq!(
        beyond,
        Err("`day`: is beyond the last possible date".to_owned())
    );
    assert!(filled("{count: {date: today}}").is_err_and(|why| why.contains("whole number")));
}
