//! Tools that use the user's account at an airline, and a page of the agency.

use askback::{Ctx, Error, Form, Result, State, tool};
use askback_connect::{ConnectExt, Connection};

use super::{AIRLINE, FLIGHTS, airline::Airline, deposit};
use crate::bookings::{Bookings, Owner};

/// Connects the person's account at the airline.
#[tool(
    title = "Connect the airline",
    destructive = false,
    idempotent,
    open_world
)]
pub(crate) async fn connect_airline(ctx: Ctx) -> Result<String> {
    let airline = ctx.connect(AIRLINE).await?;
    let account = airline.account().await?;
    Ok(format!("Connected: the account {account} at the airline."))
}

/// Says how many miles the person has at the airline.
#[tool(title = "My miles", read_only, open_world)]
pub(crate) async fn my_miles(ctx: Ctx, State(site): State<Airline>) -> Result<String> {
    let airline = ctx.connect(AIRLINE).await?;
    let (account, miles) = (airline.account().await?, miles(&airline, &site).await?);
    Ok(format!("The account {account} has {miles} miles."))
}

async fn miles(airline: &Connection, site: &Airline) -> Result<u64> {
    let answer = airline.get(&site.miles_url()).await?;
    match answer.status {
        200 => {
            let miles = answer.json().and_then(|json| json["miles"].as_u64());
            miles.ok_or_else(|| Error::new("the airline did not say how many miles there are"))
        }
        401 => Err(Error::new(
            "the airline does not let the agency read the miles at the moment: try again in ten minutes",
        )),
        status => Err(Error::new(format!(
            "the airline did not give the miles (status {status}): try again in a minute"
        ))),
    }
}

/// Says which flights of today are late.
#[tool(title = "Flight times", read_only, open_world)]
pub(crate) async fn flight_times(ctx: Ctx, State(site): State<Airline>) -> Result<String> {
    let flights = ctx
        .connect(FLIGHTS)
        .message("Enter your Fake Airline API key on a page.");
    let answer = flights.await?.get(&site.flights_url()).await?;
    if answer.status != 200 {
        return Err(Error::new(
            "the airline did not give the flight times: try again in a minute",
        ));
    }
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

/// The tool's arguments.
#[derive(Form)]
pub(crate) struct Deposit {
    /// The reference of the booking, such as TRV-54A6B806.
    reference: String,
}

/// Has the person pay the deposit of a booking, on a page of the agency.
#[tool(title = "Pay a deposit", destructive = false, idempotent, open_world)]
pub(crate) async fn pay_deposit(
    ctx: Ctx,
    State(bookings): State<Bookings>,
    Deposit { reference }: Deposit,
) -> Result<String> {
    let owner = Owner::of(ctx.principal());
    // Recorded, because the call may be sent again while the user pays.
    let found = ctx.run("booking", async || bookings.find(&owner, &reference).await);
    let booking = found.await?.ok_or_else(|| {
        Error::invalid_params(format!(
            "there is no booking `{reference}` of yours; book_holiday gives the reference of one"
        ))
    })?;
    if booking.deposit_paid {
        return Ok(format!("The deposit of {reference} is paid already."));
    }
    let (amount, destination) = (booking.deposit(), booking.destination);
    let message = format!("Pay the deposit of {amount} USD for {destination}, {reference}.");
    ctx.ask_page(message, deposit::path(&reference, amount))
        .await?;
    let paid = {
        let reference = reference.clone();
        ctx.commit("pay", move || async move {
            bookings.pay(owner, &reference).await
        })
    };
    paid.await?;
    Ok(format!(
        "Paid: {amount} USD for {destination}, {reference}."
    ))
}
