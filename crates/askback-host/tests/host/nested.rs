//! Objects and lists in a form, as fields and as JSON.

use askback::{
    forms::{Content, Field, FormSchema},
    limits::Limits,
};
use askback_host::model::{Action, Ask, Desk, Draft, Event, Question, Step};
use serde_json::{Value, json};

use crate::travel;

const HOME: &str = r#""home": {"type": "object", "properties": {
    "street": {"type": "string"}, "floor": {"type": "integer"},
    "at": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}
}, "required": ["street"]}"#;
const TAGS: &str = r#""tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3}"#;
const STOPS: &str = r#""stops": {"type": "array", "minItems": 1, "items": {"type": "object",
    "properties": {"city": {"type": "string"}, "nights": {"type": "integer", "maximum": 9}}, "required": ["city"]}}"#;

struct Filling(Desk);

impl Filling {
    fn new(properties: &str, required: &str, preset: Value) -> Self {
        let schema = format!(
            r#"{{"type": "object", "properties": {{{properties}}}, "required": [{required}]}}"#
        );
        let limits = Limits::default();
        let schema = FormSchema::parse_arguments(schema.as_bytes(), &limits.forms);
        let ask = Ask::Arguments {
            about: None,
            schema: schema.expect("it is a schema"),
            preset: serde_json::from_value::<Content>(preset).expect("it is an object"),
            suggests: false,
            given: Content::new(),
            is_destructive: false,
        };
        let question = Question {
            call: None,
            key: None,
            ask,
        };
        let mut desk = Desk::new(travel(), None, None, limits);
        desk.update(Event::Asked(1, question));
        Self(desk)
    }

    fn draft(&self) -> &Draft {
        match self.0.front().expect("it is asked").step {
            Step::Filling(draft) => draft,
            step => panic!("{step:?} is no form"),
        }
    }

    fn say(&mut self, said: Action) {
        self.0.update(Event::Action(said));
    }

    fn write(&mut self, field: usize, text: &str) {
        let text = text.to_owned();
        self.say(Action::Write { field, text });
    }

    fn at(&self, name: &str) -> usize {
        let mut fields = self.draft().fields().iter();
        let found = fields.position(|field| field.name == name);
        found.unwrap_or_else(|| panic!("{name} is none of {:?}", self.names()))
    }

    /// Returns the names of the fields. A `*` follows each required one.
    fn names(&self) -> Vec<String> {
        let mark = |field: &Field| match field.required {
            true => format!("{}*", field.name),
            false => field.name.clone(),
        };
        self.draft().fields().iter().map(mark).collect()
    }

    fn content(&self) -> Value {
        self.draft().content().into()
    }
}

/// Writes texts into fields, and checks which fields there are then and what would be sent.
#[track_caller]
fn check(mut filling: Filling, writes: &[(&str, &str)], fields: &str, content: Value) -> Filling {
    for (name, text) in writes {
        filling.write(filling.at(name), text);
    }
    assert_eq!(filling.names().join(" "), fields);
    assert_eq!(filling.content(), content);
    filling
}

#[test]
fn an_object_has_a_field_for_each_member() {
    let none = || json!({});
    let fields = "home.street home.floor home.at.lat";
    check(Filling::new(HOME, "", none()), &[], fields, none());
    // An object that may be null, too.
    let nullable = r#""by":{"anyOf":[{"type":"object","properties":{"name":{"type":"string"}}},{"type":"null"}],"default":null}"#;
    check(
        Filling::new(nullable, "", none()),
        &[("by.name", "Ada")],
        "by.name",
        json!({"by": {"name": "Ada"}}),
    );
    // A required member must be filled in if any other member is.
    check(
        Filling::new(HOME, "", none()),
        &[("home.floor", "2")],
        "home.street* home.floor home.at.lat",
        json!({"home": {"floor": 2}}),
    );
    check(
        Filling::new(HOME, r#""home""#, none()),
        &[("home.street", "Main"), ("home.at.lat", "1.5")],
        "home.street* home.floor home.at.lat*",
        json!({"home": {"street": "Main", "at": {"lat": 1.5}}}),
    );
    let given = json!({"home": {"street": "Main", "floor": 2}});
    check(
        Filling::new(HOME, "", given.clone()),
        &[("home.street", "")],
        "home.street* home.floor home.at.lat",
        json!({"home": {"floor": 2}}),
    );
    // An invalid value is not sent, and its text stays in the field.
    let wrong = check(
        Filling::new(HOME, "", given),
        &[("home.floor", "two")],
        "home.street* home.floor home.at.lat",
        json!({"home": {"street": "Main"}}),
    );
    assert_eq!(wrong.draft().wrong(), Some(1));
    assert_eq!(wrong.draft().written(1), Some("two"));
}

#[test]
fn a_list_has_room_for_one_item_more() {
    let none = || json!({});
    check(Filling::new(TAGS, "", none()), &[], "tags[1]", none());
    check(
        Filling::new(TAGS, "", none()),
        &[("tags[1]", "a"), ("tags[2]", "b")],
        "tags[1] tags[2] tags[3]",
        json!({"tags": ["a", "b"]}),
    );
    // An emptied item is left out. The list has no more items than it accepts.
    check(
        Filling::new(TAGS, "", json!({"tags": ["a", "b", "c"]})),
        &[("tags[2]", "")],
        "tags[1] tags[2] tags[3]",
        json!({"tags": ["a", "c"]}),
    );
    check(
        Filling::new(TAGS, r#""tags""#, none()),
        &[],
        "tags[1]",
        json!({"tags": []}),
    );
    let stops = "stops[1].city* stops[1].nights";
    check(
        Filling::new(STOPS, r#""stops""#, none()),
        &[],
        stops,
        json!({"stops": [{}]}),
    );
    check(
        Filling::new(STOPS, "", none()),
        &[("stops[1].city", "Rome"), ("stops[2].nights", "3")],
        "stops[1].city* stops[1].nights stops[2].city* stops[2].nights stops[3].city stops[3].nights",
        json!({"stops": [{"city": "Rome"}, {"nights": 3}]}),
    );
    // The number of fields in a form is limited.
    let many: Vec<_> = (0..200).map(|tag| tag.to_string()).collect();
    let endless = TAGS.replace(r#", "maxItems": 3"#, "");
    let mut full = Filling::new(&endless, "", json!({"tags": many[..60]}));
    for tag in &many[60..] {
        full.write(full.draft().fields().len() - 1, tag);
    }
    assert_eq!(full.names().len(), Limits::default().forms.fields);
    let whole = Filling::new(&endless, "", json!({"tags": many}));
    assert_eq!(whole.names(), ["tags"]);
    assert_eq!(whole.content(), json!({"tags": many}));
}

#[test]
fn what_would_not_be_seen_in_fields_is_json() {
    #[track_caller]
    fn stays(properties: &str, preset: Value) {
        let filling = Filling::new(properties, "", preset.clone());
        assert_eq!(filling.names().len(), 1, "{properties}");
        assert_eq!(filling.content(), preset);
    }
    stays(HOME, json!({"home": {"street": "Main", "door": 3}}));
    stays(HOME, json!({"home": {"street": "Main", "floor": "two"}}));
    stays(HOME, json!({"home": {"at": {"lon": 1}}}));
    stays(TAGS, json!({"tags": ["a", 2]}));
    stays(r#""a": {"type": "object"}"#, json!({}));
    stays(r#""a": {"type": "array"}"#, json!({"a": [1]}));
    let more = r#""properties": {"b": {"type": "string"}}"#;
    stays(
        &format!(r#""a": {{"type": "object", {more}, "minProperties": 1}}"#),
        json!({}),
    );
    stays(
        &format!(
            r#""a": {{"type": "object", {more}, "additionalProperties": {{"type": "string"}}}}"#
        ),
        json!({"a": {"c": "d"}}),
    );
    stays(
        &format!(r#""a": {{"type": ["object", "null"], {more}}}"#),
        json!({}),
    );
    let items = r#""items": {"type": "string"}"#;
    stays(
        &format!(r#""a": {{"type": "array", {items}, "uniqueItems": true}}"#),
        json!({}),
    );
    stays(
        &format!(r#""a": {{"type": "array", {items}, "minItems": 2, "maxItems": 1}}"#),
        json!({}),
    );
    let deep = (0..40).fold(r#"{"type": "string"}"#.to_owned(), |inner, _| {
        format!(r#"{{"type": "object", "properties": {{"b": {inner}}}}}"#)
    });
    stays(&format!(r#""a": {deep}"#), json!({}));
}
