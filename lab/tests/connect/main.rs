//! Tests the environment for the connect kit: a real browser, third-party authorization servers, and an airline as the
//! third party. Without a browser, these tests are skipped with a note; with `ASKBACK_BROWSER=required` they fail.

mod by_hand;
mod canary;
#[cfg(unix)]
#[path = "../../../crates/askback-connect/tests/connect/cluster.rs"]
mod cluster;
#[cfg(unix)]
mod command;
mod editor;
#[cfg(unix)]
mod fleet;
mod flow;
mod hands;
mod looks;
mod others;
mod pages;
mod renewal;
mod rotation;
mod scene;
mod sign_in;
mod site;
#[cfg(unix)]
mod terminal;
mod third_party;
#[cfg(unix)]
mod wire;

use lab::browser::Browser;
use tokio::sync::OnceCell;

/// The error if a test cannot run.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Returns the browser of all tests, whose persons share nothing; `None` if there is no browser. It ends with this
/// process.
async fn browser() -> Result<Option<&'static Browser>> {
    static BROWSER: OnceCell<Option<Browser>> = OnceCell::const_new();
    let browser = BROWSER.get_or_try_init(Browser::start).await?;
    Ok(browser.as_ref())
}
