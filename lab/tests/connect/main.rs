//! The stage on which the connect kit is tried, tried itself: a real browser, authorization servers that
//! others wrote, and an airline as the third party. Where there is no browser, these tests are left out and
//! say so; with `ASKBACK_BROWSER=required` they fail.

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

/// The reason why something cannot be tried.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The one browser of all tests, whose persons share nothing; nothing where there is none. It ends with
/// this process.
async fn browser() -> Result<Option<&'static Browser>> {
    static BROWSER: OnceCell<Option<Browser>> = OnceCell::const_new();
    let browser = BROWSER.get_or_try_init(Browser::start).await?;
    Ok(browser.as_ref())
}
