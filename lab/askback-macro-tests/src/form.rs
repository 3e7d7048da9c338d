//! `#[derive(Form)]`: the schema, reading and writing.

use std::sync::atomic::{AtomicU16, Ordering};

use askback_core::{
    forms::{self, Content, Date, Form, FormChoice, FormField, FormSchema, Timestamp},
    limits::FormLimits,
};
use askback_macros::Form;
use serde_json::{Value, json};

/// Checks the properties and the required names of a form, in order, and that the form is valid.
#[track_caller]
fn asks<F: Form>(properties: Value, required: &[&str]) {
    let schema = F::schema();
    schema.lint(&FormLimits::default()).unwrap();
    let written = serde_json::to_value(&schema).unwrap();
    assert_eq!(written["properties"], properties);
    let names = schema
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), required);
}

fn content(value: Value) -> Content {
    serde_json::from_value(value).unwrap()
}

/// Checks that the answer is read as the value, and that the value is written as the answer.
#[track_caller]
fn reads<F: Form + PartialEq + std::fmt::Debug>(answer: Value, expected: F) {
    let answer = content(answer);
    F::schema().check(&answer, &FormLimits::default()).unwrap();
    assert_eq!(expected.write(), answer);
    assert_eq!(F::read(&answer).unwrap(), expected);
}

#[track_caller]
fn refuses<F: Form>(answer: Value, expected: &str) {
    let issues = F::read(&content(answer)).err().unwrap();
    assert_eq!(issues.to_string(), expected);
}

#[derive(Debug, Clone, Copy, PartialEq, Form)]
#[form(crate = "askback_core")]
enum Seat {
    #[form(title = "At the window")]
    Window,
    #[form(rename = "gang")]
    Aisle,
    NoPreference,
}

#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core", rename_all = "SCREAMING_SNAKE_CASE")]
enum Extra {
    SeaView,
    Meal,
}

#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core", enum_names)]
enum Room {
    #[form(title = "One bed")]
    Single,
}

#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core")]
struct Wishes {
    /// Shall we book?
    confirm_booking: bool,
    #[form(title = "Seat", default = Seat::NoPreference)]
    seat: Seat,
    #[form(min_items = 1, max_items = 2)]
    extras: Vec<Extra>,
    room: Option<Room>,
    #[form(enum_names)]
    other: Option<Seat>,
}

#[test]
fn choices() {
    let seats = json!([{"const": "window", "title": "At the window"}, {"const": "gang", "title": "Aisle"},
        {"const": "no_preference", "title": "No preference"}]);
    asks::<Wishes>(
        json!({
            "confirm_booking": {"type": "boolean", "description": "Shall we book?"},
            "seat": {"type": "string", "title": "Seat", "oneOf": seats, "default": "no_preference"},
            "extras": {"type": "array", "items": {"type": "string", "enum": ["SEA_VIEW", "MEAL"]},
                "minItems": 1, "maxItems": 2},
            "room": {"type": "string", "enum": ["single"], "enumNames": ["One bed"]},
            "other": {"type": "string", "enum": ["window", "gang", "no_preference"],
                "enumNames": ["At the window", "Aisle", "No preference"]},
        }),
        &["confirm_booking", "extras"],
    );
    reads(
        json!({"confirm_booking": false, "seat": "gang", "extras": ["MEAL", "SEA_VIEW"], "room": "single"}),
        Wishes {
            confirm_booking: false,
            seat: Seat::Aisle,
            extras: vec![Extra::Meal, Extra::SeaView],
            room: Some(Room::Single),
            other: None,
        },
    );
    assert_eq!(Seat::from_value("window"), Some(Seat::Window));
    assert_eq!(Seat::from_value("Window"), None);
}

macro_rules! names_in_every_case {
    ($($case:literal => $names:expr;)*) => {$({
        #[derive(Form)]
        #[form(crate = "askback_core", rename_all = $case)]
        #[expect(non_camel_case_types, reason = "names of every form are written in each case")]
        enum Names {
            SeaView,
            first_name,
            HTMLPage2,
            _x,
        }
        let names: [&str; 4] = $names;
        for (name, variant) in names.into_iter().zip(["SeaView", "first_name", "HTMLPage2", "_x"]) {
            let read = Names::from_value(name).map(|name| match name {
                Names::SeaView => "SeaView",
                Names::first_name => "first_name",
                Names::HTMLPage2 => "HTMLPage2",
                Names::_x => "_x",
            });
            assert_eq!(read, Some(variant), "{name} in {}", $case);
        }
    })*};
}

#[test]
fn names_are_written_in_every_case() {
    names_in_every_case! {
        "lowercase" => ["seaview", "firstname", "htmlpage2", "x"];
        "UPPERCASE" => ["SEAVIEW", "FIRSTNAME", "HTMLPAGE2", "X"];
        "snake_case" => ["sea_view", "first_name", "html_page2", "x"];
        "SCREAMING_SNAKE_CASE" => ["SEA_VIEW", "FIRST_NAME", "HTML_PAGE2", "X"];
        "kebab-case" => ["sea-view", "first-name", "html-page2", "x"];
        "camelCase" => ["seaView", "firstName", "htmlPage2", "x"];
        "PascalCase" => ["SeaView", "FirstName", "HtmlPage2", "X"];
    }
}

/// Many generators put an enum next to the form and refer to it, which clients cannot display.
#[test]
fn an_enum_is_written_where_it_is_asked() {
    assert!(!Wishes::schema().to_json().contains("$ref"));
}

#[test]
fn what_is_not_given_is_the_default_or_nothing() {
    let wishes = Wishes::read(&content(
        json!({"confirm_booking": true, "extras": [], "seat": null}),
    ))
    .unwrap();
    assert_eq!(wishes.seat, Seat::NoPreference);
    assert_eq!((wishes.room, wishes.other), (None, None));
}

#[test]
fn every_fault_of_an_answer_is_told() {
    refuses::<Wishes>(
        json!({}),
        "`confirm_booking`: must be given; `extras`: must be given",
    );
    refuses::<Wishes>(
        json!({"confirm_booking": "yes", "seat": "roof", "extras": ["MEAL", 1], "room": []}),
        "`confirm_booking`: must be yes or no; `seat`: must be one of window, gang, no_preference; \
         `extras`: must be one of SEA_VIEW, MEAL; `room`: must be one of single",
    );
}

/// Who is travelling.
#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core", key = "traveller")]
struct Contact {
    #[form(title = "Full name", min_length = 1, max_length = 100)]
    name: String,
    /// Where the tickets
    /// go to.
    ///
    /// Never to anyone else.
    #[form(format = "email")]
    email: String,
    #[form(description = "Written", pattern = "^[+0-9 ]+$")]
    phone: Option<String>,
    #[form(rename = "homePage", format = "uri", default = "https://example.com/")]
    home_page: String,
    r#type: String,
}

#[test]
fn texts() {
    asks::<Contact>(
        json!({
            "name": {"type": "string", "title": "Full name", "minLength": 1, "maxLength": 100},
            "email": {"type": "string", "format": "email",
                "description": "Where the tickets go to.\n\nNever to anyone else."},
            "phone": {"type": "string", "description": "Written", "pattern": "^[+0-9 ]+$"},
            "homePage": {"type": "string", "format": "uri", "default": "https://example.com/"},
            "type": {"type": "string"},
        }),
        &["name", "email", "type"],
    );
    reads(
        json!({"name": "Ada", "email": "ada@example.com", "homePage": "urn:x", "type": "42"}),
        Contact {
            name: "Ada".into(),
            email: "ada@example.com".into(),
            phone: None,
            home_page: "urn:x".into(),
            r#type: "42".into(),
        },
    );
    assert_eq!(Contact::KEY, "traveller");
    assert_eq!(Wishes::KEY, "wishes");
}

#[test]
fn the_order_is_that_of_the_struct() {
    let json = Contact::schema().to_json();
    let places = ["name", "email", "phone", "homePage", "type"]
        .map(|name| json.find(&format!("\"{name}\":{{")).unwrap());
    assert!(places.is_sorted());
    assert_eq!(
        serde_json::from_str::<FormSchema>(&json).unwrap(),
        *Contact::schema()
    );
}

fn next_year() -> u16 {
    static YEAR: AtomicU16 = AtomicU16::new(2026);
    YEAR.fetch_add(1, Ordering::Relaxed)
}

#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core")]
struct Year {
    #[form(default = next_year())]
    year: u16,
}

#[test]
fn a_default_of_a_function_is_that_of_the_moment() {
    let defaults = [2026, 2027]
        .map(|year| json!({"type": "integer", "minimum": 0, "maximum": 65535, "default": year}));
    for default in defaults {
        asks::<Year>(json!({"year": default}), &[]);
    }
}

const MOST: u8 = 30;

#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core", rename_all = "camelCase")]
struct Numbers {
    #[form(min = 1, max = MOST, default = 7)]
    nights: u8,
    travellers: i8,
    #[form(min = -3_000_000_000, max = 3000000000)]
    a_big_one: i64,
    unsigned: u64,
    any: i64,
    #[form(min = -0.5, max = 10, default = 0.25)]
    share: f64,
    #[form(default = 0.1)]
    small: f32,
    left_out: Option<u32>,
    // The type is narrower than these limits.
    #[form(min = -5, max = 1000)]
    narrow: u8,
}

#[test]
fn numbers() {
    asks::<Numbers>(
        json!({
            "nights": {"type": "integer", "minimum": 1, "maximum": 30, "default": 7},
            "travellers": {"type": "integer", "minimum": -128, "maximum": 127},
            "aBigOne": {"type": "integer", "minimum": -3_000_000_000_i64, "maximum": 3_000_000_000_i64},
            "unsigned": {"type": "integer", "minimum": 0},
            "any": {"type": "integer"},
            "share": {"type": "number", "minimum": -0.5, "maximum": 10, "default": 0.25},
            "small": {"type": "number", "default": 0.1},
            "leftOut": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
            "narrow": {"type": "integer", "minimum": 0, "maximum": 255},
        }),
        &["travellers", "aBigOne", "unsigned", "any", "narrow"],
    );
    reads(
        json!({"nights": 3, "travellers": -2, "aBigOne": 3_000_000_000_i64, "unsigned": u64::MAX,
            "any": i64::MIN, "share": 1.5, "small": 0.5, "narrow": 0}),
        Numbers {
            nights: 3,
            travellers: -2,
            a_big_one: 3_000_000_000,
            unsigned: u64::MAX,
            any: i64::MIN,
            share: 1.5,
            small: 0.5,
            left_out: None,
            narrow: 0,
        },
    );
}

#[test]
fn whole_numbers_may_come_with_a_point() {
    assert_eq!(u8::read(Some(&json!(3.0))), Ok(3));
    assert_eq!(
        u8::read(Some(&json!(3.5))),
        Err("must be a whole number from 0 to 255".into())
    );
    assert_eq!(
        u8::read(Some(&json!(-1))),
        Err("must be a whole number from 0 to 255".into())
    );
    assert_eq!(
        u8::read(Some(&json!("3"))),
        Err("must be a whole number".into())
    );
    assert_eq!(f64::read(Some(&json!(3))), Ok(3.0));
    assert!(f32::read(Some(&json!(1e300))).is_err());
    assert_eq!(f64::NAN.write(), None);
}

#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core")]
struct Times {
    depart: Date,
    #[form(default = Timestamp::UNIX_EPOCH)]
    since: Timestamp,
}

#[test]
fn dates() {
    asks::<Times>(
        json!({
            "depart": {"type": "string", "format": "date"},
            "since": {"type": "string", "format": "date-time", "default": "1970-01-01T00:00:00Z"},
        }),
        &["depart"],
    );
    reads(
        json!({"depart": "2026-06-15", "since": "2026-06-15T09:30:00Z"}),
        Times {
            depart: "2026-06-15".parse().unwrap(),
            since: "2026-06-15T09:30:00Z".parse().unwrap(),
        },
    );
    refuses::<Times>(
        json!({"depart": "20260615", "since": "2026-06-15"}),
        "`depart`: must be a date such as 2026-06-15; \
         `since`: must be a date and time such as 2026-06-15T09:30:00Z",
    );
}

/// Not what is asked.
#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core", message = "Nothing at all?")]
struct Nothing;

#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core")]
struct EmptyHTTPForm {}

#[test]
fn a_form_may_ask_nothing() {
    asks::<Nothing>(json!({}), &[]);
    asks::<EmptyHTTPForm>(json!({}), &[]);
    reads(json!({}), Nothing);
    reads(json!({}), EmptyHTTPForm {});
    assert_eq!(EmptyHTTPForm::KEY, "empty_http_form");
    assert_eq!(<() as Form>::KEY, "confirm");
}

/// Which room?
#[derive(Debug, PartialEq, Form)]
#[form(crate = "askback_core", key = "where")]
enum Stay {
    Sea,
}

#[test]
fn a_choice_is_asked_by_itself() {
    let told = (
        <Seat as forms::Elicitable>::KEY,
        <Seat as forms::Elicitable>::MESSAGE,
    );
    assert_eq!(told, ("seat", "Please answer."));
    let told = (
        <Stay as forms::Elicitable>::KEY,
        <Stay as forms::Elicitable>::MESSAGE,
    );
    assert_eq!(told, ("where", "Which room?"));
    let answer = content(json!({"answer": "sea"}));
    assert_eq!(<Stay as forms::Elicitable>::read(&answer), Ok(Stay::Sea));
}

#[test]
fn what_is_asked_where_nothing_else_is_said() {
    assert_eq!(Nothing::MESSAGE, "Nothing at all?");
    assert_eq!(Contact::MESSAGE, "Who is travelling.");
    assert_eq!(EmptyHTTPForm::MESSAGE, <() as Form>::MESSAGE);
}
