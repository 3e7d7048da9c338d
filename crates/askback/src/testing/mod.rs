//! A scripted person, to test any handler in every revision.
//!
//! [`call`], [`prompt`] and [`read`] put a [`Person`] in front of a server and play the whole call
//! over the wire, as a client would: in the handshake revisions the questions are requests of the
//! server, in 2026-07-28 they are results and the call is sent again. There, a client carries the
//! state of the call, and may lose it, change it or send it twice: [`Trouble`] lists what the
//! person's client gets up to. Every handler runs under the replay check, so that one which asks
//! something else when it is run again is found out.
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
//! Tests run on tokio's paused time (`#[tokio::test(start_paused = true)]`), so that a person who
//! takes an hour takes no time: the server's clock is a [`TestClock`].
//!
//! # Effects
//!
//! That every run has the same result does not say that every run did the same. A [`Fixture`] gives each
//! run what it works with, such as an empty database, and counts the effects there.
//!
//! # Contracts
//!
//! The traits that others implement have rules that no type can hold. [`check_store`] runs them
//! against a [`Store`](crate::store::Store), [`check_transport`] against a maker of
//! [`Channel`](crate::transport::Channel)s, and each names the rules that are broken.

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
mod transport;
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
pub use transport::check_transport;
pub use trial::Trial;
pub use trouble::Trouble;
pub use wire::Wire;
