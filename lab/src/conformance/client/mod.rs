//! The client for the conformance suite, which does what a scenario requires.

mod scenarios;
mod sign_in;

use askback::{
    Error, Result, Revision,
    client::{Client, ClientBuilder, Protocol},
    protocol::{CreateMessageResult, ElicitResult, Root},
    transport::Http,
};
use serde_json::Value;

/// The suite's instructions for a client, from the environment.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The scenario: `MCP_CONFORMANCE_SCENARIO`.
    pub scenario: String,
    /// The revision to speak, if the suite sets one: `MCP_CONFORMANCE_PROTOCOL_VERSION`.
    pub revision: Option<Revision>,
    /// The context of the scenario, as JSON: `MCP_CONFORMANCE_CONTEXT`.
    pub context: Value,
}

/// Runs one scenario with the server.
///
/// # Errors
///
/// If the server cannot be reached or returns an error, or the scenario is unknown.
pub async fn play(server: Http, wish: Wish) -> Result<()> {
    let authorization = sign_in::authorization(&wish).map_err(Error::new)?;
    let server = server.authorize(&authorization);
    let client = agreeable()
        .protocol(wish.revision.map_or(Protocol::Auto, Protocol::Only))
        .connect(server)
        .await?;
    let played = scenarios::play(&client, &wish).await;
    client.close().await;
    played
}

/// A client that agrees to everything, and submits forms with their defaults.
fn agreeable() -> ClientBuilder {
    Client::builder("askback-conformance", env!("CARGO_PKG_VERSION"))
        .title("askback under test")
        .on_elicit(|form| async move {
            let filled = form
                .request
                .requested_schema
                .with_defaults(Default::default());
            Ok(ElicitResult::accept(filled))
        })
        .on_elicit_url(|_| async { Ok(ElicitResult::agree()) })
        .on_sample(|_| async { Ok(CreateMessageResult::text("parrot", "Yes.")) })
        .on_roots(|_| async { Ok(vec![Root::new("file:///conformance")]) })
}
