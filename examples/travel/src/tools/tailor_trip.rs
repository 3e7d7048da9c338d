//! A form with every kind of field.

use askback::{
    Ctx, Form, PlainJson, Result,
    forms::{Content, Date, Timestamp},
    handler::JsonWithText,
    protocol::Schema,
    tool,
};
use serde::Serialize;
use serde_json::json;

use crate::data::Destination;

/// The tool's arguments.
#[derive(Form)]
pub(crate) struct Tailor {
    /// Where to: Barcelona, Innsbruck, Kyoto, Lisbon, Marrakesh, New York, Reykjavik or Rome.
    destination: String,
}

/// The trip that the person would like.
#[derive(Form)]
struct Preferences {
    /// What the trip is called.
    #[form(
        title = "Name of the trip",
        min_length = 3,
        max_length = 40,
        default = "Our trip"
    )]
    name: String,
    /// Three letters and four digits, if you have one.
    #[form(title = "Voucher", pattern = "^[A-Z]{3}-[0-9]{4}$")]
    voucher: Option<String>,
    /// Where we send the plan.
    #[form(title = "Email", format = "email")]
    email: String,
    /// A page of something you would like to see.
    #[form(title = "Inspiration", format = "uri")]
    inspiration: Option<String>,
    #[form(title = "First day")]
    depart: Date,
    /// When we may call you.
    #[form(title = "Call at")]
    call_at: Option<Timestamp>,
    /// For each day, in US dollars.
    #[form(title = "Budget", min = 20, max = 2000, default = 150.0)]
    budget: f64,
    #[form(title = "Travellers", min = 1, max = 9, default = 2)]
    travellers: u8,
    #[form(title = "Pets come along", default = false)]
    pets: bool,
    #[form(title = "Pace", default = Pace::Steady)]
    pace: Pace,
    #[form(title = "Meals")]
    meals: Meals,
    #[form(title = "Interests", min_items = 1, max_items = 3)]
    interests: Vec<Interest>,
    #[form(title = "Extras", max_items = 2, default = vec![Extra::Transfer])]
    extras: Vec<Extra>,
}

/// How fast.
#[derive(Form)]
enum Pace {
    Slow,
    Steady,
    Fast,
}

/// The meals that are included.
#[derive(Form)]
enum Meals {
    #[form(title = "No meals")]
    None,
    #[form(title = "Breakfast")]
    Breakfast,
    #[form(title = "Breakfast and dinner")]
    HalfBoard,
}

/// The interests of the travellers.
#[derive(Form)]
enum Interest {
    Food,
    History,
    Museums,
    Music,
    Nature,
}

/// The extras.
#[derive(Form)]
enum Extra {
    #[form(title = "A car from the airport")]
    Transfer,
    #[form(title = "A guide for a day")]
    Guide,
    #[form(title = "A rented bicycle")]
    Bicycle,
}

/// The trip that the person asked for.
#[derive(Serialize)]
pub(crate) struct Tailored {
    destination: &'static str,
    /// The answers, by the names of the fields.
    preferences: Content,
}

/// Asks the person how they would like to travel, and gives back what they said.
#[tool(title = "Tailor a trip", read_only, output_schema = tailored(), unchecked)]
pub(crate) async fn tailor_trip(
    ctx: Ctx,
    trip: Tailor,
) -> Result<JsonWithText<PlainJson<Tailored>>> {
    let destination = Destination::named(&trip.destination)?.name;
    let preferences: Preferences = ctx
        .elicit(format!("How would you like to travel to {destination}?"))
        .await?
        .accepted()?;
    let preferences = preferences.write();
    let mut text = format!("A trip to {destination}:");
    for (name, value) in &preferences {
        text.push_str(&format!("\n- {name}: {value}"));
    }
    let tailored = Tailored {
        destination,
        preferences,
    };
    Ok(PlainJson(tailored).with_text(text))
}

/// Returns the schema of the answers. It is written by hand, so that the agency builds without the features `schemars`
/// and `json-schema`; for the same reason it is not checked.
fn tailored() -> Schema {
    let schema = json!({
        "type": "object",
        "properties": {
            "destination": {"type": "string"},
            "preferences": {"type": "object"},
        },
        "required": ["destination", "preferences"],
    });
    Schema::new(&schema).expect("an object")
}
