//! `askback connections`: the accounts at third parties that this user has connected.

use std::path::PathBuf;

use askback_connect::vault::{AccountState, ConnectedAccount, Vault};
use askback_host::{
    page::{Page, Style, out},
    text::{PeerText, given},
    words,
};
use serde::Serialize;

use super::print_as_json;
use crate::{
    connections::{open_files, open_if_made, unusable, user},
    error::Error,
};

/// See which accounts you have connected to the servers of this program, and disconnect them
///
/// `askback serve travel --connect` is such a server; `--vault` names the accounts of another one. No secret is shown.
#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ConnectionsArgs {
    /// Print them as JSON
    #[arg(long)]
    pub json: bool,
    /// The accounts of another server on this machine: the file of its SQLite vault
    #[arg(long, value_name = "FILE", requires = "keys", global = true)]
    pub vault: Option<PathBuf>,
    /// The file of the keys of that vault
    #[arg(long, value_name = "FILE", requires = "vault", global = true)]
    pub keys: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<ConnectionsCommand>,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum ConnectionsCommand {
    /// Disconnect an account: forget it here, and give its tokens back when the server runs next
    Disconnect {
        /// The third party, as the list names it
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// The account, as the list names it; by its id, where others at the third party have the same name
        #[arg(value_name = "ACCOUNT")]
        account: String,
    },
}

/// All accounts, as JSON.
#[derive(Serialize)]
struct All<'a> {
    connections: Vec<Row<'a>>,
}

/// An account in the list, as JSON.
#[derive(Serialize)]
struct Row<'a> {
    provider: &'a str,
    account: &'a str,
    id: &'a str,
    state: &'static str,
    scopes: String,
}

/// Runs the command.
///
/// # Errors
///
/// Fails where the vault cannot be used, or has no such account.
pub async fn run(args: ConnectionsArgs) -> Result<(), Error> {
    let vault = match (args.vault, args.keys) {
        (Some(vault), Some(keys)) => Some(open_files(vault, keys).await?),
        _ => open_if_made().await?,
    };
    match args.command {
        None => list(vault, args.json).await,
        Some(ConnectionsCommand::Disconnect { provider, account }) => {
            disconnect(vault, &provider, &account).await
        }
    }
}

async fn list(vault: Option<Vault>, json: bool) -> Result<(), Error> {
    let accounts = match vault {
        Some(vault) => vault.accounts(&user()).await.map_err(unusable)?,
        None => Vec::new(),
    };
    if json {
        let connections = accounts.iter().map(row).collect();
        return print_as_json(&All { connections });
    }
    let mut page = out::stdout_page();
    if accounts.is_empty() {
        page.say(Style::Plain, "No account is connected.");
    }
    for account in &accounts {
        put(&mut page, account);
    }
    Ok(out::print(&page.take().alone())?)
}

async fn disconnect(vault: Option<Vault>, provider: &str, account: &str) -> Result<(), Error> {
    let was_connected = match vault {
        Some(vault) => {
            let id = id_of(&vault, provider, account).await?;
            let disconnected = vault.disconnect(&user(), provider, &id).await;
            disconnected.map_err(unusable)?
        }
        None => false,
    };
    if !was_connected {
        let message = words!(
            "there is no account {} at {}",
            given(account),
            given(provider)
        );
        return Err(Error::usage(message).hint("`askback connections` lists those there are."));
    }
    let mut page = out::stderr_page();
    page.line(words!(
        "{} at {} is disconnected. Its tokens are given back while the server runs.",
        given(account),
        given(provider)
    ));
    out::tell(&mut page);
    Ok(())
}

/// The id of the account that is called so: the one of this id, or else the only one of this name.
async fn id_of(vault: &Vault, provider: &str, called: &str) -> Result<String, Error> {
    let mut accounts = vault.accounts(&user()).await.map_err(unusable)?;
    accounts.retain(|it| it.key.provider == provider && it.state != AccountState::Revoking);
    let ids: Vec<_> = accounts
        .into_iter()
        .filter(|it| it.key.account == called || *it.name == *called)
        .map(|it| it.key.account)
        .collect();
    match &*ids {
        [id] => Ok(id.clone()),
        [_, ..] if !ids.iter().any(|id| id == called) => {
            let message = words!(
                "{} accounts at {} are called {}",
                given(ids.len()),
                given(provider),
                given(called)
            );
            Err(Error::usage(message).hint("Give the id of one: `askback connections` lists them."))
        }
        _ => Ok(called.to_owned()),
    }
}

fn row(connected: &ConnectedAccount) -> Row<'_> {
    Row {
        provider: &connected.key.provider,
        account: &connected.name,
        id: &connected.key.account,
        state: state(connected.state).0,
        scopes: connected.scopes.to_string(),
    }
}

/// Puts an account on the page. Its name is what the third party said.
fn put(page: &mut Page, connected: &ConnectedAccount) {
    page.line(given(&connected.key.provider));
    let id = &connected.key.account;
    page.quote_line("  account ", PeerText::from(connected.name.to_string()));
    if **id != *connected.name {
        page.quote_line("  id ", PeerText::from(id.clone()));
    }
    if !connected.scopes.is_empty() {
        page.quote_line("  for ", connected.scopes.to_string());
    }
    page.note(Style::Plain, state(connected.state).1);
}

/// The state of an account, in a word and in a sentence.
fn state(state: AccountState) -> (&'static str, &'static str) {
    match state {
        AccountState::Active | AccountState::Replaced { .. } | AccountState::Reconnected { .. } => {
            ("active", "connected")
        }
        AccountState::CoolingDown { .. } => (
            "cooling-down",
            "connected; its token could not be renewed, and is tried again later",
        ),
        AccountState::Revoking => ("revoking", "disconnected; its tokens are being given back"),
        _ => (
            "needs-reconnect",
            "no longer good: the next call that needs it asks you to connect it again",
        ),
    }
}
