//! `askback auth`: what this user is signed in to.

use std::{
    io::{self, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use askback::authorization::client::{Authorization, SignOut, SignedIn};

use super::print_text;
use crate::{
    error::{Error, Kind},
    sign_in::{Nobody, SignInArgs, SignInEntry},
    text,
};

/// See what you are signed in to, and sign out
#[derive(Debug, Clone, clap::Args)]
pub struct AuthArgs {
    #[command(subcommand)]
    command: AuthCommand,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum AuthCommand {
    /// List the servers you are signed in to
    List {
        #[command(flatten)]
        sign_in: SignInArgs,
    },
    /// Sign out: give tokens back where the authorization server takes them, and forget them
    Logout {
        /// The address of the server
        #[arg(long, value_name = "URL", required_unless_present = "all")]
        url: Option<String>,
        /// Sign out of every server
        #[arg(long, conflicts_with = "url")]
        all: bool,
        #[command(flatten)]
        sign_in: SignInArgs,
    },
}

/// Runs the command.
///
/// # Errors
///
/// What is kept cannot be read or changed, or a server cannot be signed out of.
pub async fn run(args: AuthArgs) -> Result<(), Error> {
    match args.command {
        AuthCommand::List { sign_in } => list(&sign_in),
        AuthCommand::Logout { url, sign_in, .. } => log_out(url, &sign_in).await,
    }
}

fn list(args: &SignInArgs) -> Result<(), Error> {
    let vault = args.vault(|_| {})?;
    let all = vault.signed_in().map_err(unkept)?;
    if all.is_empty() {
        return print_text("You are signed in to no server.");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let shown: Vec<_> = all
        .iter()
        .map(|(signed_in, place)| shown(signed_in, place, now))
        .collect();
    print_text(&shown.join("\n"))
}

async fn log_out(url: Option<String>, args: &SignInArgs) -> Result<(), Error> {
    let vault = args.vault(|_| {})?;
    let is_all = url.is_none();
    let servers = match url {
        Some(url) => vec![url],
        None => vault.servers().map_err(unkept)?,
    };
    // Nobody is asked anything on the way out.
    let authorization = Authorization::person(Nobody).store(vault.clone());
    let authorization = match args.client(&SignInEntry::default())? {
        Some(client) => authorization.client(client),
        None => authorization,
    };
    let mut failed = Ok(());
    for server in servers {
        let came_to = match authorization.sign_out(&server).await {
            Ok(came_to) => words(&came_to),
            // One that stays is no reason for the others to stay.
            Err(error) => {
                let why = text::line(&error.to_string());
                failed = Err(Error::new(Kind::SignIn, format!("not signed out: {why}")));
                format!("you are still signed in: {why}")
            }
        };
        // Whoever does not read it does not need it.
        let _ = writeln!(io::stderr(), "{}: {came_to}", text::line(&server));
    }
    if is_all {
        vault.forget_registrations().map_err(unkept)?;
    }
    failed
}

/// A line on each server, and the details below it.
fn shown(signed_in: &SignedIn, place: &str, now: u64) -> String {
    let scopes = match signed_in.scopes.is_empty() {
        true => "what the authorization server chose".to_owned(),
        false => signed_in.scopes.to_string(),
    };
    let ends = match signed_in.expires_at {
        _ if signed_in.renewable => "renewed by itself".to_owned(),
        Some(end) if end <= now => "ended".to_owned(),
        Some(end) => format!("ends in {} min", (end - now).div_ceil(60)),
        None => "no end is known".to_owned(),
    };
    let SignedIn { server, issuer, .. } = signed_in;
    format!("{server}\n  at {issuer}\n  for {scopes}\n  {ends}; kept in {place}")
}

fn words(came_to: &SignOut) -> String {
    match came_to {
        SignOut::WasNot => "you were not signed in.".to_owned(),
        SignOut::Revoked => "signed out; the tokens are good for nothing now.".to_owned(),
        SignOut::Forgotten(why) => format!(
            "signed out here; the tokens are forgotten, and may be good until they end ({}).",
            text::line(why)
        ),
        _ => "signed out.".to_owned(),
    }
}

fn unkept(error: io::Error) -> Error {
    Error::usage(text::line(&error.to_string()))
}
