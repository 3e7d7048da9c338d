//! A server that books tables.

use std::sync::{Arc, Mutex};

use askback::{Ctx, Form, Result, RunError, Server, ServerBuilder, State, tool};

/// The form that the person fills in.
#[derive(Form)]
struct Table {
    /// How many are coming?
    #[form(min = 1, max = 12, default = 2)]
    guests: u8,
    /// Outside, if it does not rain.
    #[form(default = false)]
    terrace: bool,
}

/// The bookings. A real server has a database here.
#[derive(Clone, Default)]
struct Bookings(Arc<Mutex<Vec<String>>>);

/// Books a table at a restaurant.
#[tool]
async fn book_table(
    ctx: Ctx,
    State(bookings): State<Bookings>,
    /// The name of the restaurant.
    restaurant: String,
) -> Result<String> {
    let question = format!("A table at {restaurant}?");
    let table: Table = ctx.elicit(question).await?.accepted()?;
    let place = if table.terrace { "outside" } else { "inside" };
    let booking = format!("{restaurant}, {} guests, {place}", table.guests);
    tracing::info!(booking, "the person agreed");
    let book = async move || {
        let mut bookings = bookings.0.lock().unwrap();
        bookings.push(booking);
        Ok(bookings.len())
    };
    let number = ctx.commit("book", book).await?;
    Ok(format!("Booked as number {number}."))
}

fn server() -> ServerBuilder {
    let bookings = Bookings::default();
    Server::new("tables", "1.0")
        .state(bookings)
        .tool(book_table)
}

#[tokio::main]
async fn main() -> Result<(), RunError> {
    // Standard output belongs to the protocol, so the log goes to standard error.
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
    server().run_stdio().await
}

#[cfg(test)]
mod tests {
    use askback::testing::{self, Person};
    use serde_json::json;

    use super::server;

    #[tokio::test(start_paused = true)]
    async fn a_table_is_booked_once() {
        let ada = Person::new().answer("table", json!({"guests": 4, "terrace": true}));
        let call = testing::call(server, "book_table", json!({"restaurant": "Luna"}));
        let report = call.with(ada).in_every_revision().await;
        assert_eq!(report.assert_same().text(), "Booked as number 1.");
    }

    #[tokio::test(start_paused = true)]
    async fn a_no_books_nothing() {
        let bob = Person::new().decline("table");
        let call = testing::call(server, "book_table", json!({"restaurant": "Luna"}));
        let report = call.with(bob).in_every_revision().await;
        let text = "Nothing was done: the person declined.";
        assert_eq!(report.assert_same().text(), text);
    }
}
