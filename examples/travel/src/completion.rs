//! Completion of arguments as they are typed.

use askback::{Result, State, server::CompletionRequest};

use crate::{
    bookings::{Bookings, Owner},
    data::{DESTINATIONS, Destination, Month, Weather},
};

pub(crate) async fn complete_destination(typed: CompletionRequest) -> Result<Vec<String>> {
    let names = DESTINATIONS.iter().map(|destination| destination.name);
    Ok(beginning_with(&typed.value, names.map(str::to_owned)))
}

/// Completes a month. If the destination is known, months with mild weather come first.
pub(crate) async fn complete_month(typed: CompletionRequest) -> Result<Vec<String>> {
    let mut months = Month::ALL;
    if let Some(destination) = typed.arguments.get("destination")
        && let Ok(destination) = Destination::named(destination)
    {
        months.sort_by_key(|month| destination.weather(*month) != Weather::Mild);
    }
    let months = months.map(|month| month.to_string().to_lowercase());
    Ok(beginning_with(&typed.value, months.into_iter()))
}

pub(crate) async fn complete_reference(
    State(bookings): State<Bookings>,
    typed: CompletionRequest,
) -> Result<Vec<String>> {
    let owner = Owner::of(typed.principal.as_deref());
    let bookings = bookings.all(&owner).await?.into_iter().rev();
    let references = bookings.map(|booking| booking.reference);
    Ok(beginning_with(&typed.value, references))
}

/// The names that begin with the typed text, ignoring case.
fn beginning_with(typed: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let typed = typed.to_lowercase();
    names
        .filter(|name| name.to_lowercase().starts_with(&typed))
        .collect()
}
