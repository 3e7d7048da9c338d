//! Tests handlers in every revision with a scripted user.
//!
//! [`call`], [`prompt`] and [`read`] run a whole call over the wire, with a [`Person`] who answers. In the handshake
//! revisions, questions are requests of the server. In 2026-07-28 they are results, and the client repeats the call
//! with the call's state, which it may send twice: [`Trouble`] lists what the test's client does. Every handler runs
//! with the replay check, which finds handlers that ask something else on a replay.
//!
//! ```
//! use askback::{Ctx, Form, Result, Server, ServerBuilder, Tool, testing::{self, Person}};
//! use serde_json::json;
//!
//! #[derive(Form)]
//! struct Seat {
//!     /// A seat by the window?
//!     window: bool,
//! }
//!
//! async fn reserve(ctx: Ctx) -> Result<String> {
//!     let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
//!     let number = ctx.commit("reserve", move || async move {
//!         Ok(if seat.window { "12A" } else { "12C" }.to_owned())
//!     });
//!     Ok(format!("Seat {} is yours.", number.await?))
//! }
//!
//! fn server() -> ServerBuilder {
//!     Server::new("airline", "1.0.0").tool(Tool::new("reserve", reserve))
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! let person = Person::new().answer("seat", json!({"window": true}));
//! let report = testing::call(server, "reserve", json!({})).with(person).in_every_revision().await;
//!
//! let run = report.assert_same();
//! assert_eq!(run.text(), "Seat 12A is yours.");
//! assert_eq!(run.keys(), ["seat"]);
//! # }
//! ```
//!
//! Tests run on tokio's paused time (`#[tokio::test(start_paused = true)]`), so waiting for a slow user takes no real
//! time. The server's clock is a [`TestClock`].
//!
//! # Effects
//!
//! Runs with the same result can still have different effects. A [`Fixture`] gives each run its own environment, such
//! as an empty database, and counts the effects there.
//!
//! # Contracts
//!
//! Some traits have rules that the type system cannot express. [`check_store`] tests a [`Store`](crate::store::Store),
//! and returns the rules that are broken.

mod bench;
#[cfg(feature = "http-server")]
mod bus;
mod clock;
mod contract;
mod crash;
mod fixture;
mod handshake;
#[cfg(feature = "http-server")]
mod journal;
mod person;
mod report;
mod stateless;
mod store;
mod trial;
mod trouble;
mod wire;

#[cfg(feature = "http-server")]
pub use bus::check_bus;
pub use clock::TestClock;
pub use contract::BrokenContract;
#[doc(hidden)]
pub use crash::{Crash, CrashingStore};
pub use fixture::{Fixture, call, prompt, read};
#[cfg(feature = "http-server")]
pub use journal::check_journal;
pub use person::Person;
pub use report::{CallEnd, ReceivedNotification, ReceivedQuestion, Report, Run};
pub use store::check_store;
pub use trial::Trial;
pub use trouble::Trouble;
pub use wire::Wire;
