//! The agency's resources.

use std::sync::Arc;

use askback::{Ctx, Error, Form, Principal, Result, State, protocol::Resource, resource};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::{
    bookings::{Bookings, Owner},
    completion::complete_destination,
    data::{DESTINATIONS, Destination, Month, Weather},
};

#[derive(Form)]
pub(crate) struct Place {
    /// The name of the destination.
    name: String,
}

#[derive(Form)]
pub(crate) struct Booked {
    /// The reference of the booking.
    reference: String,
}

/// All destinations, and where to read of each.
#[resource(
    uri = "travel://destinations",
    title = "Destinations",
    mime_type = "application/json"
)]
pub(crate) async fn destinations() -> Result<String> {
    let destinations = DESTINATIONS.each_ref().map(|destination| {
        let name = utf8_percent_encode(destination.name, NON_ALPHANUMERIC);
        json!({
            "name": destination.name,
            "country": destination.country,
            "airport": destination.airport,
            "uri": format!("travel://destinations/{name}"),
        })
    });
    Ok(serde_json::to_string_pretty(&destinations)?)
}

/// A destination: what to see, when to go, and what a week costs.
#[resource(
    uri = "travel://destinations/{name}",
    title = "Destination",
    mime_type = "text/markdown",
    complete(name = complete_destination)
)]
pub(crate) async fn destination(place: Place) -> Result<String> {
    let Ok(destination) = Destination::named(&place.name) else {
        return Err(Error::not_found(format!("no destination `{}`", place.name)));
    };
    let months = Month::ALL.into_iter();
    let best: Vec<_> = months
        .filter(|month| destination.weather(*month) == Weather::Mild)
        .map(|month| month.to_string())
        .collect();
    Ok(format!(
        "# {}, {}\n\n{}\n\n- Airport: {}\n- Best months: {}\n- A week for two: {} USD\n",
        destination.name,
        destination.country,
        destination.about,
        destination.airport,
        best.join(", "),
        destination.price(7, 2),
    ))
}

/// A booking.
#[resource(
    uri = "travel://bookings/{reference}",
    title = "Booking",
    mime_type = "application/json"
)]
pub(crate) async fn booking(
    ctx: Ctx,
    State(bookings): State<Bookings>,
    booked: Booked,
) -> Result<String> {
    let owner = Owner::of(ctx.principal());
    match bookings.find(&owner, &booked.reference).await? {
        Some(booking) => Ok(serde_json::to_string_pretty(&booking)?),
        None => Err(Error::not_found(format!(
            "no booking `{}`",
            booked.reference
        ))),
    }
}

pub(crate) fn booking_uri(reference: &str) -> String {
    format!("travel://bookings/{reference}")
}

/// Returns the caller's bookings, as list entries.
pub(crate) async fn booked(
    bookings: Bookings,
    who: Option<Arc<Principal>>,
) -> Result<Vec<Resource>> {
    let owner = Owner::of(who.as_deref());
    let bookings = bookings.all(&owner).await?.into_iter();
    Ok(bookings
        .map(|booking| Resource {
            title: Some(format!("{} on {}", booking.destination, booking.depart)),
            mime_type: Some("application/json".to_owned()),
            ..Resource::new(booking_uri(&booking.reference), booking.reference)
        })
        .collect())
}
