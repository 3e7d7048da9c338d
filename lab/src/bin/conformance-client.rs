//! `conformance-client [--find] <url>`: the client for the official conformance suite, which runs it once per scenario,
//! with instructions in the environment. It speaks the revision that is set there, or negotiates one with `--find`.

use std::{env, error::Error, time::Duration};

use askback::transport::Http;
use lab::conformance::client::{self, Wish};
use tokio::time::timeout;

/// Shorter than the suite's timeout (180 s), because the suite does not kill clients that time out.
const PATIENCE: Duration = Duration::from_secs(150);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut wish = wish()?;
    let url = match &arguments[..] {
        [url] => url,
        [find, url] if find == "--find" => {
            wish.revision = None;
            url
        }
        _ => return Err("usage: conformance-client [--find] <url>".into()),
    };
    let played = client::play(Http::new(url)?, wish);
    timeout(PATIENCE, played)
        .await?
        .map_err(|error| error.to_string().into())
}

fn wish() -> Result<Wish, Box<dyn Error>> {
    let said = |name: &str| env::var(format!("MCP_CONFORMANCE_{name}")).ok();
    let revision = said("PROTOCOL_VERSION").map(|revision| revision.parse());
    let context = said("CONTEXT").map(|context| serde_json::from_str(&context));
    Ok(Wish {
        scenario: said("SCENARIO").ok_or("MCP_CONFORMANCE_SCENARIO is not set")?,
        revision: revision.transpose()?,
        context: context.transpose()?.unwrap_or_default(),
    })
}
