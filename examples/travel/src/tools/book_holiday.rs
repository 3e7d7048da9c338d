//! A booking, with two questions in one call.

use askback::{
    Change, Ctx, Error, Form, PlainJson, Result, State, forms::Date, handler::JsonWithText, tool,
};

use crate::{
    bookings::{Booking, Bookings, Contact, Owner, Room, Seat, day},
    data::{Destination, INSURANCE},
};

/// The tool's arguments.
#[derive(Form)]
pub(crate) struct Trip {
    /// Where to: Barcelona, Innsbruck, Kyoto, Lisbon, Marrakesh, New York, Reykjavik or Rome.
    destination: String,
    /// The day of departure.
    depart: Date,
    /// How many nights.
    #[form(min = 1, max = 30, default = 7)]
    nights: u8,
    /// How many people.
    #[form(min = 1, max = 9, default = 2)]
    travellers: u8,
}

/// The first question.
#[derive(Form)]
struct Wishes {
    /// Shall we book this holiday?
    #[form(title = "Book it")]
    confirm_booking: bool,
    #[form(title = "Seat", default = Seat::NoPreference)]
    seat_preference: Seat,
    #[form(title = "Room", default = Room::CityView)]
    room_type: Room,
    /// Costs 75 USD for each traveller.
    #[form(title = "Travel insurance", default = false)]
    travel_insurance: bool,
}

/// Books flights and a hotel. The person is asked for their wishes, sees the price, and confirms
/// before anything is booked.
#[tool(title = "Book a holiday", destructive = false, open_world)]
pub(crate) async fn book_holiday(
    ctx: Ctx,
    State(bookings): State<Bookings>,
    trip: Trip,
) -> Result<JsonWithText<PlainJson<Booking>>> {
    let destination = Destination::named(&trip.destination)?;
    // Prices may change, so the price that the user saw is recorded. The check for room comes before the questions.
    let owner = Owner::of(ctx.principal());
    let today = day(ctx.now());
    let quote = ctx.run("quote", async || {
        bookings.make_room(&owner, today).await?;
        Ok(destination.price(trip.nights, trip.travellers))
    });
    let quote = quote.await?;

    let holiday = in_words(destination.name, &trip);
    let wishes: Wishes = ctx
        .elicit(format!(
            "{holiday}: flights and hotel for {quote} USD. Shall we book?"
        ))
        .await?
        .accepted()?;
    if !wishes.confirm_booking {
        return Err(Error::not_done(
            "Nothing was booked: the person did not confirm the booking.",
        ));
    }
    let contact: Contact = ctx.elicit("Who is travelling?").await?.accepted()?;

    let insurance = if wishes.travel_insurance {
        INSURANCE * u32::from(trip.travellers)
    } else {
        0
    };
    let booking = Booking {
        reference: reference(&ctx),
        destination: destination.name.to_owned(),
        depart: trip.depart.to_string(),
        nights: trip.nights,
        travellers: trip.travellers,
        seat_preference: wishes.seat_preference,
        room_type: wishes.room_type,
        travel_insurance: wishes.travel_insurance,
        total: quote + insurance,
        contact,
        deposit_paid: false,
    };
    let (owner, today) = (Owner::of(ctx.principal()), day(ctx.now()));
    let booking = ctx.commit("book", move || async move {
        bookings.add(owner, booking, today).await
    });
    let booking = booking.await?;
    ctx.changed_for_caller(Change::Resources);
    let text = format!(
        "Booked: {holiday}, {} USD in all. The reference is {}; the tickets go to {}.",
        booking.total, booking.reference, booking.contact.email
    );
    Ok(PlainJson(booking).with_text(text))
}

/// The booking's reference. It depends on the call, not on the attempt, so it is the same however
/// often the last round is sent.
fn reference(ctx: &Ctx) -> String {
    let key = ctx.idempotency_key("book");
    let key: String = key.chars().take(8).collect();
    format!("TRV-{}", key.to_uppercase())
}

fn in_words(destination: &str, trip: &Trip) -> String {
    let count = |number: u8, one: &str| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    };
    format!(
        "{destination}, {} from {}, {}",
        count(trip.nights, "night"),
        trip.depart.strftime("%-d %B %Y"),
        count(trip.travellers, "traveller"),
    )
}
