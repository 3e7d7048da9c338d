use askback::{Form, Result, Tool};

#[derive(Form)]
struct Trip {
    city: String,
}

async fn borrows(trip: &Trip) -> Result<String> {
    Ok(trip.city.clone())
}

async fn takes_a_plain_argument(city: String) -> Result<String> {
    Ok(city)
}

async fn returns_no_result(trip: Trip) -> String {
    trip.city
}

fn is_not_async(trip: Trip) -> Result<String> {
    Ok(trip.city)
}

fn main() {
    let _ = Tool::new("borrows", borrows);
    let _ = Tool::new("takes_a_plain_argument", takes_a_plain_argument);
    let _ = Tool::new("returns_no_result", returns_no_result);
    let _ = Tool::new("is_not_async", is_not_async);
}
