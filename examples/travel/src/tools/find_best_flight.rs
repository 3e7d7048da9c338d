//! Advice from the client's model, if it has one.

use askback::{
    Ctx, Form, PlainJson, Result,
    handler::JsonWithText,
    protocol::{CreateMessageParams, ModelPreferences},
    tool,
};
use serde::Serialize;

use crate::{
    data::{Destination, Month},
    flights::{Flight, mentioned, rank, search},
};

const BEST: usize = 3;

/// The tool's arguments.
#[derive(Form)]
pub(crate) struct Search {
    /// Where to: Barcelona, Innsbruck, Kyoto, Lisbon, Marrakesh, New York, Reykjavik or Rome.
    destination: String,
    /// When.
    month: Month,
    /// What matters, in the person's own words.
    wishes: String,
}

/// The best flights.
#[derive(Serialize)]
pub(crate) struct Recommendation {
    flights: Vec<Flight>,
    /// Who chose, and how.
    chosen_by: String,
    /// The model's comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

/// Compares flights and recommends three. If the client has a model, the model helps to choose.
#[tool(title = "Find the best flight", read_only)]
pub(crate) async fn find_best_flight(
    ctx: Ctx,
    wanted: Search,
) -> Result<JsonWithText<PlainJson<Recommendation>>> {
    let Search {
        destination,
        month,
        wishes,
    } = wanted;
    let destination = Destination::named(&destination)?;
    let flights = ctx.run("search", async || Ok(search(destination, month)));
    let flights = flights.await?;

    let recommendation = if ctx.can_sample() {
        let question = question(destination, month, &wishes, &flights);
        let answer = ctx.sample(question).await?;
        by_model(flights, &answer.model, answer.content.text())
    } else {
        by_ourselves(flights)
    };
    let text = in_words(destination, month, &recommendation);
    Ok(PlainJson(recommendation).with_text(text))
}

fn question(
    destination: &Destination,
    month: Month,
    wishes: &str,
    flights: &[Flight],
) -> CreateMessageParams {
    let mut text = format!(
        "Which {BEST} of these flights to {} in {month} suit best?\n\nWishes: {wishes}\n\n",
        destination.name
    );
    for flight in flights {
        text.push_str(&format!("- {flight}\n"));
    }
    CreateMessageParams {
        system_prompt: Some(format!(
            "You help people choose flights. Begin with a line that holds the numbers of the \
             {BEST} best flights and nothing else, the best first; then give your reasons in a \
             few sentences."
        )),
        model_preferences: Some(ModelPreferences {
            cost_priority: Some(0.3),
            speed_priority: Some(0.2),
            intelligence_priority: Some(0.9),
            ..ModelPreferences::default()
        }),
        ..CreateMessageParams::new(text, 1500)
    }
}

/// A model may write anything. Flights that it does not name are added.
fn by_model(flights: Vec<Flight>, model: &str, advice: String) -> Recommendation {
    let mut best = mentioned(&flights, &advice);
    best.truncate(BEST);
    let chosen_by = match best.len() {
        BEST => format!("the model {model}"),
        0 => format!(
            "us, by price, time and stops: the reply of the model ({model}) names none of the flights"
        ),
        named => format!(
            "the model {model}, which named {named} of the flights; the rest by us, by price, \
             time and stops"
        ),
    };
    for flight in by_ourselves(flights).flights {
        if best.len() < BEST && !best.contains(&flight) {
            best.push(flight);
        }
    }
    Recommendation {
        flights: best,
        chosen_by,
        advice: Some(advice),
    }
}

fn by_ourselves(mut flights: Vec<Flight>) -> Recommendation {
    rank(&mut flights);
    flights.truncate(BEST);
    Recommendation {
        flights,
        chosen_by: "us, by price, time and stops: this client has no model to weigh the wishes"
            .to_owned(),
        advice: None,
    }
}

fn in_words(destination: &Destination, month: Month, best: &Recommendation) -> String {
    let mut text = format!(
        "The best flights to {} in {month}, chosen by {}:",
        destination.name, best.chosen_by
    );
    for (at, flight) in best.flights.iter().enumerate() {
        text.push_str(&format!("\n{}. {flight}", at + 1));
    }
    if let Some(advice) = &best.advice {
        text.push_str("\n\n");
        text.push_str(advice);
    }
    text
}
