//! The server's authorization server. Nothing is registered, and no sign-in takes place.

use askback::internal::{
    auth::{AuthorizationServer, Challenge, ProtectedResource},
    json,
};
use askback_host::{
    text::{Words, given},
    words,
};
use askback_oauth::{Fetcher, Reach, Redirects, Route};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::probe::{Address, Bounds, Reply};
use crate::report::Report;

const NAME: &str = "authorization";

const HOW: &str = "A token that you have goes in --header 'Authorization: Bearer ${TOKEN}', or in `headers` of mcp.json.";

/// Why a document is unusable: the problem, a detail, and what to do.
type DocumentFault = (Words, String, &'static str);

/// Follows the metadata documents from a refusal to the authorization server.
pub(super) async fn look(address: &Address, refusal: &Reply, bounds: &Bounds, report: &mut Report) {
    let began = Instant::now();
    let (resource, issuer) = match documents(address, refusal, bounds).await {
        Ok(documents) => documents,
        Err((says, detail, advice)) => {
            let advice = words!("{} {}", advice, HOW);
            return report.fail(NAME, says, Some(detail), advice);
        }
    };
    report.wants_sign_in = true;
    let says = "a sign-in is needed, and everything for it is there:";
    let step = report.ok(NAME, Some(began.elapsed()), says);
    let scopes = resource.scopes_supported.unwrap_or_default().join(" ");
    let title = resource.resource_name.unwrap_or(resource.resource);
    let mut about = format!("{title}\nat {}", issuer.issuer);
    if !scopes.is_empty() {
        about = format!("{about}\nscopes {scopes}");
    }
    step.quoted = Some(about.into());
    let takes_document = issuer.client_id_metadata_document_supported;
    if issuer.registration_endpoint.is_none() && !takes_document {
        let by_hand = "The authorization server registers no clients by themselves: register one by hand, and name it \
                       with --client-id.";
        step.advice = Some(by_hand.into());
    }
    let why = "run askback list --url with the address at a terminal to sign in, then this again";
    report.skip("protocol", why);
}

pub(super) fn refused(refusal: &Reply, credentials: &[&str], report: &mut Report) {
    let says = "the server does not take the credentials that it is sent:";
    let advice = words!(
        "See whether it wants {}, and whether its value still holds.",
        named(credentials)
    );
    report.fail(NAME, says, Some(refusal.shown()), advice);
}

pub(super) fn named(credentials: &[&str]) -> Words {
    let names = credentials.iter().map(|name| words!("`{}`", given(name)));
    Words::join(names, " and ")
}

async fn documents(
    address: &Address,
    refusal: &Reply,
    bounds: &Bounds,
) -> Result<(ProtectedResource, AuthorizationServer), DocumentFault> {
    let server = address.url();
    let useless = |says: &'static str, detail, advice| (says.into(), detail, advice);
    let fetcher = Fetcher::new(Reach::of(server, false), &Route::Direct, &bounds.limits);
    let fetcher = fetcher.map_err(|error| {
        let advice = "See the settings of this machine.";
        useless("nothing can be fetched here:", error.to_string(), advice)
    })?;
    let header = refusal.header("www-authenticate").unwrap_or_default();
    let challenges = Challenge::parse(&header).map_err(|error| {
        let says = "its `WWW-Authenticate` cannot be read:";
        let advice = "The server should send `Bearer resource_metadata=\"…\"`.";
        useless(says, format!("{error}\n{header}"), advice)
    })?;
    let mut named = challenges.iter().filter_map(Challenge::resource_metadata);
    let places = match named.next() {
        Some(place) => vec![place.to_owned()],
        None => ProtectedResource::well_known(server.as_str()).unwrap_or_default(),
    };
    let what = "the protected-resource metadata of the server";
    let advice = "The server should publish it (RFC 9728), and name it in `WWW-Authenticate`.";
    let resource: ProtectedResource = fetch(&fetcher, what, places, advice).await?;
    if !is_within(server.as_str(), &resource.resource) {
        let says = "its protected-resource metadata is about another server:";
        let advice = "`resource` should be the address of the server, as clients use it.";
        return Err(useless(says, resource.resource, advice));
    }
    let Some(issuer) = resource.authorization_servers.first() else {
        let says = "its protected-resource metadata names no authorization server";
        let advice = "The server should name one in `authorization_servers`.";
        return Err(useless(says, String::new(), advice));
    };
    let places = AuthorizationServer::well_known(issuer).map_err(|error| {
        let says = "the name of the authorization server is not a URL:";
        let advice = "The server should name it by its `issuer`.";
        useless(says, format!("{issuer}\n{error}"), advice)
    })?;
    let what = "the metadata of the authorization server";
    let advice = "The authorization server should publish it (RFC 8414).";
    let found: AuthorizationServer = fetch(&fetcher, what, places, advice).await?;
    if found.issuer != *issuer {
        let says = "the authorization server has another name in its metadata:";
        let advice = "Both documents should have the same `issuer`.";
        return Err(useless(says, format!("{issuer}\n{}", found.issuer), advice));
    }
    if !found.has_s256() {
        let says = "the authorization server does not announce PKCE with S256";
        let advice =
            "It should list it in `code_challenge_methods_supported`; clients go no further.";
        return Err(useless(says, found.issuer, advice));
    }
    Ok((resource, found))
}

async fn fetch<T: DeserializeOwned>(
    fetcher: &Fetcher,
    what: &'static str,
    places: Vec<String>,
    advice: &'static str,
) -> Result<T, DocumentFault> {
    let mut tried = Vec::new();
    for place in places {
        let Some(url) = fetcher.url(&place) else {
            tried.push(format!("{place}: it may not be fetched from there"));
            continue;
        };
        let why = match fetcher.get(&url, Redirects::SameOrigin).await {
            Ok(fetched) if (200..300).contains(&fetched.status) => {
                let read = fetched.json().map(json::document);
                let read = read.unwrap_or_else(|| Err("it is not JSON".to_owned()));
                return read.map_err(|why| {
                    let says = words!("{} cannot be read:", what);
                    (says, format!("{place}: {why}"), advice)
                });
            }
            Ok(fetched) => format!("HTTP status {}", fetched.status),
            Err(error) => error.to_string(),
        };
        tried.push(format!("{place}: {why}"));
    }
    Err((words!("{} is not there:", what), tried.join("\n"), advice))
}

/// Whether the resource that a document describes includes the server.
fn is_within(server: &str, resource: &str) -> bool {
    let resource = resource.strip_suffix('/').unwrap_or(resource);
    let rest = server.strip_prefix(resource);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_the_server_or_above_it() {
        let of = |resource| is_within("https://a.example/mcp", resource);
        for above in [
            "https://a.example/mcp",
            "https://a.example/",
            "https://a.example",
        ] {
            assert!(of(above), "{above}");
        }
        for other in [
            "https://a.example/mc",
            "https://a.example.net",
            "https://b.example/mcp",
        ] {
            assert!(!of(other), "{other}");
        }
    }
}
