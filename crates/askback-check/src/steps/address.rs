use std::borrow::Cow;

use askback::{
    Revision,
    internal::{address::is_loopback_host, jsonrpc::METHOD_NOT_FOUND},
};
use askback_host::{text::Words, words};
use serde_json::json;

use super::authorization;
use crate::{
    probe::{Address, Bounds, End, Reply, Way},
    report::Report,
    rules::PLAIN_HTTP,
};

/// Connects, and returns the response if a server answers: 401 if it requires authorization.
pub(super) async fn reach(
    way: &Way,
    address: &Address,
    bounds: &Bounds,
    report: &mut Report,
) -> Option<Reply> {
    let url = &address.url;
    let mut probe = way.open(bounds, Revision::LATEST, json!({})).ok()?;
    let reply = probe.greet().await;
    let (name, is_secure) = ("connection", url.scheme() == "https");
    if let End::Unreachable(why) = &reply.end {
        let advice = match is_secure {
            // The rustls error for a response that is not TLS.
            true if why.contains("InvalidContentType") => {
                "It answers without TLS at this port: write http: in the place of https:, if it is HTTP."
            }
            true => {
                "Check the name and the port, and see whether the server runs. It must speak TLS there, with a certificate for this name."
            }
            false => {
                "Check the name and the port, and see whether the server runs. If it speaks TLS, write https: in the place of http:."
            }
        };
        report.fail(name, "no request can be sent:", Some(why.clone()), advice);
        return None;
    }
    let host = url.host_str().unwrap_or_default();
    match is_secure {
        true => report.ok(name, None, "its certificate is trusted"),
        false => report.ok(name, None, "without TLS, as the address begins with http:"),
    };
    if !is_secure && !is_loopback_host(host) {
        report
            .ledger
            .judge_places(PLAIN_HTTP, vec![host.to_owned()]);
    }
    is_endpoint(&reply, address, report).then_some(reply)
}

/// Judges the first response. Returns whether an MCP server sent it.
fn is_endpoint(reply: &Reply, address: &Address, report: &mut Report) -> bool {
    let name = "endpoint";
    let shown = Some(reply.shown());
    let Some(status) = reply.status else {
        let says = "the server closed the connection without a response";
        let advice = "See whether it is a server of HTTP. If it speaks TLS, write https: in the place of http:.";
        report.fail(name, says, shown, advice);
        return false;
    };
    // A server of an older revision rejects the first request, with or without a message.
    let is_unknown = status == 404 && reply.has_code(METHOD_NOT_FOUND);
    if is_unknown || matches!(status, 200..300 | 400 | 401 | 405 | 406) {
        let says = match status {
            401 => "it wants the client to be authorized".into(),
            status => words!("HTTP status {}", status),
        };
        report.ok(name, Some(reply.took), says);
        return true;
    }
    if (300..400).contains(&status) {
        let to = reply.header("location").map(Cow::into_owned);
        let says = words!("it redirects (HTTP status {}), to:", status);
        let advice = "Use that address, if it is the one you mean.";
        report.fail(name, says, to, advice);
        return false;
    }
    let says = words!("it answers with HTTP status {}:", status);
    let credentials = &address.credentials;
    let advice: Words = match (status, credentials.is_empty()) {
        (403, true) => {
            "See whether it takes requests from this machine. A token goes in --header, or in `headers` of mcp.json.".into()
        }
        (403, false) => words!(
            "See whether the user of {} may use it, and whether it takes requests from this machine.",
            authorization::named(credentials)
        ),
        (404, _) => "Check the path: many servers use /mcp.".into(),
        (429, _) => "It has too many requests. Try again later.".into(),
        (500..=599, _) => "See the log of the server.".into(),
        _ => "See whether there is an MCP server at this address.".into(),
    };
    report.fail(name, says, shown, advice);
    false
}
