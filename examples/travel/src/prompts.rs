//! The agency's prompts.

use askback::{
    Ctx, Error, Form, Result, State, prompt,
    protocol::{ContentBlock, PromptMessage, ResourceContents},
};

use crate::{
    bookings::{Bookings, Owner},
    completion::{complete_destination, complete_month},
    data::{Destination, Month, Weather},
    resources::booking_uri,
};

#[derive(Form)]
pub(crate) struct Plan {
    /// Where to.
    destination: String,
    /// How many days.
    #[form(min = 1, max = 60)]
    days: u8,
    /// How much money there is, in US dollars.
    #[form(min = 0)]
    budget: f64,
    /// What matters, such as food or museums.
    interests: Option<String>,
}

#[derive(Form)]
pub(crate) struct Report {
    /// The reference of a booking, such as TRV-1A2B3C4D.
    reference: String,
}

#[derive(Form)]
pub(crate) struct Show {
    /// Which destination.
    destination: String,
}

#[derive(Form)]
pub(crate) struct Packing {
    /// Where to.
    destination: String,
    /// When.
    month: Month,
}

/// Plans a vacation day by day, within a budget.
#[prompt(title = "Plan a vacation", complete(destination = complete_destination))]
pub(crate) async fn plan_vacation(plan: Plan) -> Result<String> {
    let destination = Destination::named(&plan.destination)?;
    let Plan { days, budget, .. } = plan;
    let interests = match plan.interests.as_deref() {
        None | Some("") => "I like a bit of everything".to_owned(),
        Some(interests) => format!("I like {interests}"),
    };
    Ok(format!(
        "Plan {days} days in {}, {}, for {budget} USD in all, which is {:.0} USD a day. \
         {interests}. Give me a plan for each day, and what it costs.",
        destination.name,
        destination.country,
        budget / f64::from(days),
    ))
}

/// Turns a booking into a report for those who stay at home.
#[prompt(title = "Report on a trip")]
pub(crate) async fn trip_report(
    ctx: Ctx,
    State(bookings): State<Bookings>,
    report: Report,
) -> Result<Vec<PromptMessage>> {
    let Report { reference } = report;
    let owner = Owner::of(ctx.principal());
    let Some(booking) = bookings.find(&owner, &reference).await? else {
        let message = format!("there is no booking `{reference}`");
        return Err(Error::invalid_params(message));
    };
    let json = serde_json::to_string_pretty(&booking)?;
    let booking = ResourceContents::text(booking_uri(&reference), json);
    let booking = booking.with_mime_type("application/json");
    Ok(vec![
        PromptMessage::user(ContentBlock::resource(booking)),
        PromptMessage::user(
            "This is our booking. Write a short and cheerful report of the trip as it will be, \
             for those who stay at home.",
        ),
    ])
}

/// Shows a postcard and asks what there is to see.
#[prompt(title = "Show a destination", complete(destination = complete_destination))]
pub(crate) async fn show_destination(show: Show) -> Result<Vec<PromptMessage>> {
    let destination = Destination::named(&show.destination)?;
    let postcard = ContentBlock::image_bytes(destination.postcard, "image/png");
    Ok(vec![
        PromptMessage::user(postcard),
        PromptMessage::user(format!(
            "This is a postcard from {}. {} What should I see there first?",
            destination.name, destination.about
        )),
    ])
}

/// Says what to pack for a destination and a month.
#[prompt(
    title = "Packing list",
    complete(destination = complete_destination, month = complete_month)
)]
pub(crate) async fn packing_list(packing: Packing) -> Result<Vec<PromptMessage>> {
    let destination = Destination::named(&packing.destination)?;
    let (name, month) = (destination.name, packing.month);
    let (weather, clothes) = match destination.weather(month) {
        Weather::Cold => ("cold", "a warm coat, gloves and boots"),
        Weather::Mild => ("mild", "a light jacket and an umbrella"),
        Weather::Hot => ("hot", "a hat, sandals and sun cream"),
    };
    Ok(vec![
        PromptMessage::user(format!(
            "I travel to {name} in {month}. What is the weather like?"
        )),
        PromptMessage::assistant(format!(
            "In {month} it is {weather} in {name}: take {clothes}."
        )),
        PromptMessage::user("Write me a list of what to pack, in the order in which to pack it."),
    ])
}
