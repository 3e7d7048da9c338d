//! The travel agency with the customer's account at an airline, over standard streams, for the one user of this machine.
//!
//! Everything is kept in memory: accounts last as long as the program. `examples/repositories` keeps them in a file.

use std::{io, sync::Arc};

use askback::keys::{Key, KeyRing};
use askback_connect::vault::{LocalKeys, SqliteVault, Vault, VaultSettings};
use askback_travel::{Accounts, Itineraries, Result};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // The client gets a sentence; the operator reads the cause here.
    let log = tracing_subscriber::fmt().with_ansi(false);
    log.with_writer(io::stderr).init();
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    let keys = LocalKeys::new(KeyRing::new(Key::new(&key)));
    let store = Arc::new(SqliteVault::in_memory()?);
    let vault = Vault::open(store, Arc::new(keys), VaultSettings::default()).await?;
    let accounts = Accounts::on_this_machine(vault).await?;
    let agency = askback_travel::builder(None, Itineraries::SharedFolders)?;
    Ok(accounts.offered_by(agency).run_stdio().await?)
}
