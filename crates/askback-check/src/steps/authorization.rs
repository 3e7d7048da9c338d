//! Whether a user could sign in. Nothing is registered, and no sign-in takes place.

use std::sync::Arc;

use askback_host::{
    text::{Words, given},
    words,
};
use askback_oauth::{Attempt, AuthorizationError, Authorizer, SignInError};
use http::StatusCode;
use tokio::time::Instant;

use crate::{
    probe::{Address, Reply},
    report::Report,
};

const NAME: &str = "authorization";

const HOW: &str = "The server should name its authorization server (RFC 9728, RFC 8414). A token that you have goes in \
                   --header 'Authorization: Bearer ${TOKEN}', or in `headers` of mcp.json.";

const BY_HAND: &str = "The authorization server registers no clients by themselves: register one by hand, and name it with \
                       --client-id.";

/// Lets the client of the library look for the authorization server, which stops where a user would be asked. Returns
/// whether it renewed a stored sign-in instead.
pub(super) async fn look(
    authorizer: &Arc<Authorizer>,
    address: &Address,
    refusal: &Reply,
    report: &mut Report,
) -> bool {
    let began = Instant::now();
    match again(authorizer, address, refusal).await {
        Ok(true) => {
            let says = "the stored sign-in was renewed";
            report.ok(NAME, Some(began.elapsed()), says);
            return true;
        }
        Err(
            needed @ (AuthorizationError::SignIn(SignInError::Unattended)
            | AuthorizationError::NoRegistration(_)),
        ) => {
            report.wants_sign_in = true;
            let says = "a sign-in is needed, and everything for it is there";
            let step = report.ok(NAME, Some(began.elapsed()), says);
            let is_by_hand = matches!(needed, AuthorizationError::NoRegistration(_));
            step.advice = is_by_hand.then(|| BY_HAND.into());
            let why =
                "run askback list --url with the address at a terminal to sign in, then this again";
            report.skip("protocol", why);
        }
        Ok(false) => {
            let says = "the server does not take the stored sign-in:";
            report.fail(NAME, says, Some(refusal.shown()), HOW);
        }
        Err(error) => report.fail(NAME, "a user cannot sign in:", Some(error.to_string()), HOW),
    }
    false
}

async fn again(
    authorizer: &Arc<Authorizer>,
    address: &Address,
    refusal: &Reply,
) -> Result<bool, AuthorizationError> {
    let used = authorizer.pass().await?;
    let refused = (StatusCode::UNAUTHORIZED, &refusal.headers);
    let mut attempt = Attempt::default();
    authorizer
        .again(&mut attempt, &address.url, refused, used)
        .await
}

pub(super) fn refused(refusal: &Reply, credentials: &[String], report: &mut Report) {
    let says = "the server does not take the credentials that it is sent:";
    let advice = words!(
        "See whether it wants {}, and whether its value still holds.",
        named(credentials)
    );
    report.fail(NAME, says, Some(refusal.shown()), advice);
}

pub(super) fn named(credentials: &[String]) -> Words {
    let names = credentials.iter().map(|name| words!("`{}`", given(name)));
    Words::join(names, " and ")
}
