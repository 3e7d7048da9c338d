//! `askback servers sign-ins` and `sign-out`.

use std::{
    io,
    time::{SystemTime, UNIX_EPOCH},
};

use askback::authorization::client::{Authorization, SignOut, StoredSignIn};
use askback_host::{
    page::{Page, Style, out},
    text::{PeerText, Words, given},
    words,
};
use url::Url;

use crate::{
    error::{Error, Kind},
    sign_in::{Nobody, SignInArgs, SignInEntry},
};

pub(super) fn list(args: &SignInArgs) -> Result<(), Error> {
    let vault = args.vault(|_| {})?;
    let all = vault.map_or(Ok(Vec::new()), |vault| vault.signed_in());
    let all = all.map_err(unkept)?;
    let mut page = out::stdout_page();
    if all.is_empty() {
        page.say(Style::Plain, "You are signed in to no server.");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    for signed_in in &all {
        put(&mut page, signed_in, now);
    }
    Ok(out::print(&page.take())?)
}

pub(super) async fn sign_out(url: Option<String>, args: &SignInArgs) -> Result<(), Error> {
    if let Some(url) = &url
        && Url::parse(url).is_err()
    {
        let error = Error::usage(words!("`{}` is not the address of a server", given(url)));
        return Err(
            error.hint("`askback servers sign-ins` lists the servers you are signed in to.")
        );
    }
    let vault = args.vault(|_| {})?;
    let is_all = url.is_none();
    let servers = match (url, &vault) {
        (Some(url), _) => vec![url],
        (None, Some(vault)) => vault.servers().map_err(unkept)?,
        (None, None) => Vec::new(),
    };
    // Signing out never asks the user anything.
    let authorization = Authorization::person(Nobody);
    let authorization = match &vault {
        Some(vault) => authorization.store(vault.clone()),
        None => authorization,
    };
    let authorization = match args.client(&SignInEntry::default())? {
        Some(client) => authorization.client(client),
        None => authorization,
    };
    if servers.is_empty() {
        let mut page = out::stderr_page();
        page.say(Style::Plain, "You are signed in to no server.");
        out::tell(&mut page);
    }
    let mut failed = Ok(());
    for server in servers {
        let mut page = out::stderr_page();
        match authorization.sign_out(&server).await {
            Ok(came_to) => put_end(&mut page, &server, &came_to),
            // One failed sign-out must not prevent the others.
            Err(error) => {
                let why = PeerText::from(error.to_string());
                page.line(words!("{}: you are still signed in:", given(&server)));
                page.quote_at("  ", why.clone());
                failed = Err(Error::new(Kind::SignIn, "not signed out:").quoting(why));
            }
        }
        // A failed write is not an error here.
        out::tell(&mut page);
    }
    if let (true, Some(vault)) = (is_all, vault) {
        vault.forget_registrations().map_err(unkept)?;
    }
    failed
}

fn put(page: &mut Page, signed_in: &StoredSignIn, now: u64) {
    let ends: Words = match signed_in.expires_at {
        _ if signed_in.renewable => "renewed by itself".into(),
        Some(end) if end <= now => "ended".into(),
        Some(end) => words!("expires in {} min", end.saturating_sub(now).div_ceil(60)),
        None => "no expiry is known".into(),
    };
    page.line(given(&signed_in.server));
    page.quote_line("  at ", &signed_in.issuer);
    match signed_in.scopes.is_empty() {
        true => page.note(Style::Plain, "for what the authorization server chose"),
        false => page.quote_line("  for ", signed_in.scopes.to_string()),
    }
    page.note(Style::Plain, ends);
}

fn put_end(page: &mut Page, server: &str, came_to: &SignOut) {
    let end: Words = match came_to {
        SignOut::WasNot => "you were not signed in.".into(),
        SignOut::Revoked => "signed out; the tokens are revoked.".into(),
        SignOut::Forgotten(_) => {
            "signed out here; the tokens are deleted, but may be valid until they expire:".into()
        }
        _ => "signed out.".into(),
    };
    page.line(words!("{}: {}", given(server), end));
    if let SignOut::Forgotten(why) = came_to {
        page.quote_at("  ", why);
    }
}

fn unkept(error: io::Error) -> Error {
    Error::usage(given(error))
}
