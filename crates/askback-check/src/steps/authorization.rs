//! The authorization server of a server, as that names it. Nothing is registered, and nobody signed in.

use askback_core::{
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

/// Why a document is of no use.
struct Useless {
    says: Words,
    detail: Option<String>,
    advice: &'static str,
}

/// Looks at the documents that lead from a refusal to an authorization server.
pub(super) async fn look(address: &Address, refusal: &Reply, bounds: &Bounds, report: &mut Report) {
    let began = Instant::now();
    match documents(address, refusal, bounds).await {
        Ok((resource, issuer)) => {
            report.wants_sign_in = true;
            let says = "a sign-in is needed, and everything for it is there:";
            report.ok(NAME, Some(began.elapsed()), says);
            let scopes = resource.scopes_supported.unwrap_or_default().join(" ");
            let title = resource.resource_name.unwrap_or(resource.resource);
            let mut about = format!("{title}\nat {}", issuer.issuer);
            if !scopes.is_empty() {
                about = format!("{about}\nscopes {scopes}");
            }
            let registers = issuer.registration_endpoint.is_some()
                || issuer.client_id_metadata_document_supported;
            let advice = "The authorization server registers no clients by themselves: register one by hand, and name it with --client-id.";
            report.quote(about, (!registers).then_some(advice));
            let why =
                "run askback list --url with the address at a terminal to sign in, then this again";
            report.skip("protocol", why);
        }
        Err(useless) => {
            let advice = words!("{} {}", useless.advice, HOW);
            report.fail(NAME, useless.says, useless.detail, advice);
        }
    }
}

/// Tells that the server does not take what it was sent in these headers.
pub(super) fn refused(refusal: &Reply, credentials: &[&str], report: &mut Report) {
    let says = "the server does not take the credentials that it is sent:";
    let advice = words!(
        "See whether it wants {}, and whether its value still holds.",
        named(credentials)
    );
    report.fail(NAME, says, Some(refusal.shown()), advice);
}

/// The names of headers, in a sentence.
pub(super) fn named(credentials: &[&str]) -> Words {
    let names = credentials.iter().map(|name| words!("`{}`", given(name)));
    Words::join(names, " and ")
}

async fn documents(
    address: &Address,
    refusal: &Reply,
    bounds: &Bounds,
) -> Result<(ProtectedResource, AuthorizationServer), Useless> {
    let server = address.url();
    let fetcher = Fetcher::new(Reach::of(server, false), &Route::Direct, &bounds.limits);
    let fetcher = fetcher.map_err(|error| Useless {
        says: "nothing can be fetched here:".into(),
        detail: Some(error.to_string()),
        advice: "See the settings of this machine.",
    })?;
    let header = refusal.header("www-authenticate").unwrap_or_default();
    let challenges = Challenge::parse(&header).map_err(|error| Useless {
        says: "its `WWW-Authenticate` cannot be read:".into(),
        detail: Some(format!("{error}\n{header}")),
        advice: "The server should send `Bearer resource_metadata=\"…\"`.",
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
        return Err(Useless {
            says: "its protected-resource metadata is about another server:".into(),
            detail: Some(resource.resource),
            advice: "`resource` should be the address of the server, as clients use it.",
        });
    }
    let issuer = resource
        .authorization_servers
        .first()
        .ok_or_else(|| Useless {
            says: "its protected-resource metadata names no authorization server".into(),
            detail: None,
            advice: "The server should name one in `authorization_servers`.",
        })?;
    let places = AuthorizationServer::well_known(issuer).map_err(|error| Useless {
        says: "the name of the authorization server is no URL:".into(),
        detail: Some(format!("{issuer}\n{error}")),
        advice: "The server should name it by its `issuer`.",
    })?;
    let what = "the metadata of the authorization server";
    let advice = "The authorization server should publish it (RFC 8414).";
    let found: AuthorizationServer = fetch(&fetcher, what, places, advice).await?;
    if found.issuer != *issuer {
        return Err(Useless {
            says: "the authorization server calls itself otherwise:".into(),
            detail: Some(format!("{issuer}\n{}", found.issuer)),
            advice: "Both documents should have the same `issuer`.",
        });
    }
    if !found.has_s256() {
        return Err(Useless {
            says: "the authorization server does not announce PKCE with S256".into(),
            detail: Some(found.issuer),
            advice: "It should list it in `code_challenge_methods_supported`; clients go no further.",
        });
    }
    Ok((resource, found))
}

/// Fetches a document from the first place that has it.
async fn fetch<T: DeserializeOwned>(
    fetcher: &Fetcher,
    what: &'static str,
    places: Vec<String>,
    advice: &'static str,
) -> Result<T, Useless> {
    let mut tried = Vec::new();
    for place in places {
        let Some(url) = fetcher.url(&place) else {
            tried.push(format!("{place}: it may not be fetched from there"));
            continue;
        };
        let fetched = match fetcher.get(&url, Redirects::SameOrigin).await {
            Ok(fetched) => fetched,
            Err(error) => {
                tried.push(format!("{place}: {error}"));
                continue;
            }
        };
        if !(200..300).contains(&fetched.status) {
            tried.push(format!("{place}: HTTP status {}", fetched.status));
            continue;
        }
        let read = fetched.json().map(json::document);
        return match read {
            Some(Ok(document)) => Ok(document),
            unread => Err(Useless {
                says: words!("{} cannot be read:", what),
                detail: Some(match unread {
                    Some(Err(error)) => format!("{place}: {error}"),
                    _ => format!("{place}: it is no JSON"),
                }),
                advice,
            }),
        };
    }
    Err(Useless {
        says: words!("{} is not there:", what),
        detail: Some(tried.join("\n")),
        advice,
    })
}

/// Whether a document about this resource is about the server.
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
        for (resource, expected) in [
            ("https://a.example/mcp", true),
            ("https://a.example/", true),
            ("https://a.example", true),
            ("https://a.example/mc", false),
            ("https://a.example.net", false),
            ("https://b.example/mcp", false),
        ] {
            assert_eq!(
                is_within("https://a.example/mcp", resource),
                expected,
                "{resource}"
            );
        }
    }
}
