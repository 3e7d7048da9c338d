//! Tests of the host.

mod agreed;
#[cfg(unix)]
mod attach;
mod conversation;
mod desk;
mod dialog;
mod full;
#[cfg(feature = "models")]
mod models;
mod safety;
mod script;
mod several;
mod stories;
mod suggest;
mod unattended;
mod view;
#[cfg(feature = "web")]
mod web;
mod wire;
mod witness;

use askback::{
    forms::{Content, FormSchema},
    limits::{FormLimits, Limits},
    protocol::{
        CreateMessageParams, CreateMessageResult, Implementation, SamplingBlock, SamplingMessage,
    },
};
use askback_host::{
    model::{Ask, Asker, Call, Desk, Effect, Event, Origin, Question, Reply, Suggestions},
    page::{Excerpt, LEFT_OUT, Look, Page},
    question,
    text::Clock,
    view::Reader,
};
use serde_json::json;

fn travel() -> Asker {
    Asker {
        name: "travel".to_owned(),
        reached: Origin::Typed("askback serve travel".to_owned()),
        claims: Some(Implementation {
            title: Some("Travel agency".to_owned()),
            ..Implementation::new("travel-agency", "0.1.0")
        }),
    }
}

/// A user who reached this machine from another one.
const ELSEWHERE: Reader = Reader {
    is_elsewhere: true,
    reveals: false,
};

/// Lets a model reply to the requests at a desk.
fn with_model(mut desk: Desk) -> Desk {
    desk.ask_model("ollama/qwen3".to_owned());
    desk
}

/// Sunday evening in the user's time zone.
fn evening() -> Clock {
    Clock::new(|| {
        let evening = "2026-11-22T23:30:00+01:00[+01:00]".parse();
        evening.expect("it is a time")
    })
}

fn dates() -> Question {
    form(
        "When?",
        r#"
            "day": {"type": "string", "format": "date", "title": "Day"},
            "moment": {"type": "string", "format": "date-time", "title": "Call at"}"#,
        r#""moment""#,
    )
}

/// A form with these properties in this order, asked in a call of `book_holiday`.
fn form(message: &str, properties: &str, required: &str) -> Question {
    let schema = format!(
        r#"{{"type": "object", "properties": {{{properties}}}, "required": [{required}]}}"#
    );
    let schema = FormSchema::parse(schema.as_bytes(), &FormLimits::default());
    Question {
        call: Some(Call::Tool("book_holiday".to_owned())),
        key: Some("wishes".to_owned()),
        ask: Ask::Form {
            message: message.to_owned(),
            schema: schema.expect("the schema is one of a form"),
        },
    }
}

/// A form whose values have whitespace that is not visible.
fn blanks() -> Question {
    let fields = r#""a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}"#;
    form("Which?", fields, "")
}

/// A form whose labels are wider than a narrow screen.
fn long_labels() -> Question {
    let fields = r#"
        "agreed": {"type": "boolean", "title": "I book both rooms with breakfast, which costs 3000 USD and is final"},
        "name": {"type": "string", "title": "The name on\nthe card that is charged"},
        "city": {"type": "string", "title": "Where the invoice goes to"},
        "note": {"type": "string", "title": "Note"},
        "euros": {"type": "integer", "title": "Donate: 1 EUR                                        ."}
    "#;
    form("Shall we?", fields, "")
}

fn listed_secrets() -> Question {
    let fields = r#"
        "passwords": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "codes": {"type": "array", "title": "Your recovery codes", "description": "One is enough: a recovery code",
            "items": {"type": "string"}, "maxItems": 2},
        "l": {"type": "array", "items": {"type": "object", "properties": {
            "user": {"type": "string"}, "password": {"type": "string"}}}, "minItems": 1, "maxItems": 1}
    "#;
    let schema = format!(r#"{{"type": "object", "properties": {{{fields}}}}}"#);
    let schema = serde_json::from_str(&schema).expect("it is a schema");
    let message = "Sign in.".to_owned();
    Question {
        ask: Ask::Form { message, schema },
        ..form("", "", "")
    }
}

fn booking() -> Question {
    form(
        "Flights and hotel come to 3000 USD.\nShall we book?",
        r#"
            "confirm_booking": {"type": "boolean", "title": "Confirm booking"},
            "seat_preference": {"type": "string", "title": "Seat", "oneOf": [
                {"const": "window", "title": "Window"},
                {"const": "aisle", "title": "Aisle"},
                {"const": "no_preference", "title": "No preference"}
            ]},
            "travel_insurance": {
                "type": "boolean", "title": "Travel insurance", "description": "Costs 150 USD.", "default": false
            }
        "#,
        r#""confirm_booking""#,
    )
}

fn nested() -> Question {
    let schema = r#"{
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "home": {
                "type": "object",
                "title": "Home",
                "description": "Where you live.",
                "properties": {"street": {"type": "string"}},
                "minProperties": 1
            }
        },
        "required": ["home"]
    }"#;
    let Ask::Form { message, .. } = form("Who are you?", "", "").ask else {
        unreachable!("it is a form");
    };
    let schema = serde_json::from_str(schema).expect("it is a schema");
    Question {
        ask: Ask::Form { message, schema },
        ..form("", "", "")
    }
}

fn journey() -> Question {
    let fields = r#"
        "name": {"type": "string", "title": "Name"},
        "home": {
            "type": "object", "title": "Home",
            "properties": {
                "street": {"type": "string", "title": "Street", "description": "Without the number."},
                "floor": {"type": "integer", "maximum": 30}
            },
            "required": ["street"]
        },
        "stops": {
            "type": "array", "minItems": 1, "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "nights": {"type": "integer", "maximum": 9}},
                "required": ["city"]
            }
        },
        "tags": {"type": "array", "description": "Words to find it by.", "items": {"type": "string"}}
    "#;
    let schema = format!(
        r#"{{"type": "object", "properties": {{{fields}}}, "required": ["name", "stops"]}}"#
    );
    let schema = serde_json::from_str(&schema).expect("it is a schema");
    let message = "Where do you go?".to_owned();
    Question {
        ask: Ask::Form { message, schema },
        ..form("", "", "")
    }
}

/// A model's reply with this text. If `tool` is set, it calls a tool.
fn reply_of_a_model(text: &str, tool: bool) -> Event {
    let mut reply = CreateMessageResult::text("qwen3", text);
    if tool {
        let used =
            r#"{"type": "tool_use", "id": "1", "name": "seats", "input": {"flight": "08:10"}}"#;
        let used = serde_json::from_str(used).expect("it is a block");
        reply.content = vec![SamplingBlock::text(text), used].into();
        reply.stop_reason = Some("toolUse".to_owned());
    }
    Event::Sampled(Ok(Box::new(reply)))
}

/// A sampling request with tools and these messages.
fn offering(mode: &str, messages: Vec<SamplingMessage>) -> Question {
    let tools = json!([
        {
            "name": "seats", "title": "Free seats", "description": "Counts the free seats\u{1b}[2J of a flight.",
            "inputSchema": {"type": "object", "required": ["flight"], "properties": {
                "flight": {"type": "string", "minLength": 5, "title": "Flight", "description": "its time"},
                "class": {"type": "string", "enum": ["first", "second"], "default": "second"},
            }},
        },
        {"name": "now", "inputSchema": {"type": "object"}},
        {"name": "route", "inputSchema": {"type": "object", "oneOf": [{"required": ["to"]}, {"required": ["via"]}]}},
    ]);
    let mut request = CreateMessageParams::new("Pick a flight.", 100);
    request.messages.extend(messages);
    request.tools = Some(serde_json::from_value(tools).expect("they are tools"));
    request.tool_choice = Some(serde_json::from_value(json!({"mode": mode})).expect("it is one"));
    Question {
        call: Some(Call::Tool("find_best_flight".to_owned())),
        key: None,
        ask: Ask::Sample(Box::new(request)),
    }
}

fn called() -> Vec<SamplingMessage> {
    let blocks =
        |blocks| -> Vec<SamplingBlock> { serde_json::from_value(blocks).expect("they are blocks") };
    let uses = json!([
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "call-1", "name": "seats", "input": {"flight": "08:10"}},
        {"type": "tool_use", "id": "call-2", "name": "now", "input": {}},
    ]);
    let results = json!([
        {"type": "tool_result", "toolUseId": "call-1", "content": [{"type": "text", "text": "3 seats\u{1b}[2J"}]},
        {"type": "tool_result", "toolUseId": "call-2", "isError": true, "content": [],
         "structuredContent": {"why": "no clock"}},
    ]);
    vec![
        SamplingMessage::assistant(blocks(uses)),
        SamplingMessage::user(blocks(results)),
    ]
}

fn of_model(effect: &Effect) -> Option<String> {
    let json = |value: Result<String, _>| value.expect("it is JSON");
    match effect {
        Effect::Run(request) => Some(format!("= run {}\n", json(serde_json::to_string(request)))),
        Effect::Answer(id, Reply::Sampled(reply)) => {
            Some(format!("= {id}: {}\n", json(serde_json::to_string(reply))))
        }
        Effect::Remember(permission) => Some(format!("= remember {permission:?}\n")),
        _ => None,
    }
}

fn link(url: &str) -> Question {
    Question {
        call: Some(Call::Tool("connect_calendar".to_owned())),
        key: Some("calendar".to_owned()),
        ask: Ask::Link {
            message: "Sign in to your calendar.".to_owned(),
            url: url.to_owned(),
            id: Some("one".to_owned()),
            retried: true,
            again: false,
        },
    }
}

/// A link from an error response (2025-11-25).
fn link_of_error(url: &str) -> Question {
    Question {
        key: None,
        ..link(url)
    }
}

/// A link in a call that continues as soon as the user agrees.
fn going_on() -> Question {
    let mut question = link("http://localhost:3000/");
    if let Ask::Link { retried, .. } = &mut question.ask {
        *retried = false;
    }
    question
}

/// A link that is asked again, because its page is not finished.
fn unfinished(url: &str) -> Question {
    let mut question = link(url);
    if let Ask::Link { again, .. } = &mut question.ask {
        *again = true;
    }
    question
}

fn sign_in(url: &str) -> Question {
    Question {
        call: None,
        key: None,
        ask: Ask::SignIn {
            url: url.to_owned(),
            issuer: "https://auth.example.com".to_owned(),
            scopes: Some("trips:read trips:write".to_owned()),
            more: None,
            returns_to: "http://127.0.0.1:4321/callback".to_owned(),
        },
    }
}

/// A sign-in that asks for more scopes than an earlier one.
fn sign_in_for_more() -> Question {
    let mut question = sign_in("https://auth.example.com/authorize");
    if let Ask::SignIn { more, .. } = &mut question.ask {
        *more = Some("trips:write".to_owned());
    }
    question
}

fn roots() -> Question {
    Question {
        call: Some(Call::Tool("save_itinerary".to_owned())),
        key: None,
        ask: Ask::Roots,
    }
}

/// The arguments of a prompt, with or without suggestions from the server.
fn vacation(suggests: bool) -> Question {
    let form = form(
        "",
        r#""destination": {"type": "string"}, "month": {"type": "string"}"#,
        r#""destination""#,
    );
    Question {
        call: Some(Call::Prompt("plan_vacation".to_owned())),
        key: None,
        ask: match form.ask {
            Ask::Form { message, schema } => Ask::Arguments {
                about: Some(message),
                schema,
                preset: Content::new(),
                suggests,
                given: Content::new(),
                is_destructive: false,
            },
            _ => unreachable!("it is a form"),
        },
    }
}

/// A request that the user edits before it is sent.
fn suggested(field: usize, text: &str, values: &[&str]) -> Event {
    Event::Suggested(Suggestions {
        field,
        text: text.to_owned(),
        values: values.iter().map(|&value| value.to_owned()).collect(),
        has_more: values.len() > 2,
    })
}

/// Prints all that is known about a question.
fn in_full(asker: &Asker, question: &Question, look: Look) -> String {
    let mut page = Page::new(look);
    let mut excerpt = Excerpt::new(&mut page, Limits::default().host.message_shown);
    question::in_full(&mut excerpt, asker, question, 0);
    excerpt.end(LEFT_OUT);
    page.take().to_string()
}
