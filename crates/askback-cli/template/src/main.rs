//! A server that books tables and asks first.

use askback::{Ctx, Form, Result, RunError, Server, ServerBuilder, tool};

/// The form that the person fills in.
#[derive(Form)]
struct Table {
    /// How many are coming?
    #[form(title = "Guests", min = 1, max = 12, default = 2)]
    guests: u8,
    /// Outside, if it does not rain.
    #[form(title = "On the terrace", default = false)]
    terrace: bool,
}

/// Books a table at a restaurant.
#[tool(title = "Book a table", destructive = false)]
async fn book_table(
    ctx: Ctx,
    /// The name of the restaurant.
    #[arg(title = "Restaurant")]
    restaurant: String,
) -> Result<String> {
    let question = format!("A table at {restaurant}?");
    let table: Table = ctx.elicit(question).await?.accepted()?;
    let place = if table.terrace { "outside" } else { "inside" };
    // A commit runs at most once, even if the client sends its answer twice.
    let book = async move || Ok(format!("{restaurant}, {} guests, {place}", table.guests));
    let booking = ctx.commit("book", book).await?;
    Ok(format!("Booked: {booking}."))
}

fn server() -> ServerBuilder {
    Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).tool(book_table)
}

// Standard output belongs to the protocol: write logs to standard error.
#[tokio::main]
async fn main() -> Result<(), RunError> {
    server().run_stdio().await
}

#[cfg(test)]
mod tests {
    use askback::testing::{self, Person};
    use serde_json::json;

    use super::*;

    /// The result, which is the same in every revision and with every trouble a client can make.
    async fn booked(person: Person) -> String {
        let arguments = json!({"restaurant": "Noma"});
        let call = testing::call(server, "book_table", arguments).with(person);
        call.in_every_revision().await.assert_same().text()
    }

    #[tokio::test(start_paused = true)]
    async fn a_table_is_booked() {
        let ada = Person::new().answer("table", json!({"guests": 4, "terrace": true}));
        assert_eq!(booked(ada).await, "Booked: Noma, 4 guests, outside.");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_booked_on_a_no() {
        let bob = Person::new().decline_because("table", "too dear");
        let told = "Nothing was done: the person declined (too dear).";
        assert_eq!(booked(bob).await, told);
    }
}
