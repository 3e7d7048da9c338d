use std::{borrow::Cow, net::IpAddr, time::Duration};

use askback::{
    Revision,
    internal::{address::is_loopback_host, jsonrpc::METHOD_NOT_FOUND},
};
use askback_host::{
    text::{Words, given},
    words,
};
use serde_json::json;
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout},
};

use super::authorization;
use crate::{
    probe::{Address, Bounds, End, Reply, Way},
    report::Report,
    rules::PLAIN_HTTP,
};

/// Connects, and returns the response if a server answers: 401 if it requires authorization.
pub(super) async fn reach(
    address: &Address,
    bounds: &Bounds,
    report: &mut Report,
) -> Option<Reply> {
    let url = address.url().clone();
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or_default();
    let patience = bounds.limits.http.connect;
    if address.is_proxied() {
        report.skip("name", "a proxy does this");
        report.skip("connection", "a proxy does this");
    } else if !connect(&host, port, patience, report).await {
        return None;
    }
    let way = Way::Address(address.clone());
    let mut probe = way.open(bounds, Revision::LATEST, json!({})).ok()?;
    let reply = probe.greet().await;
    let is_secure = url.scheme() == "https";
    let unreached = match &reply.end {
        End::Unreachable(why) => Some(why.clone()),
        _ => None,
    };
    if let Some(why) = unreached {
        let (name, advice) = match is_secure {
            // The rustls error for a response that is not TLS.
            true if why.contains("InvalidContentType") => (
                "TLS",
                "It answers without TLS at this port: write http: in the place of https:, if it is HTTP.",
            ),
            true => (
                "TLS",
                "See whether it speaks TLS at this port, and its certificate is valid for this name.",
            ),
            false => (
                "endpoint",
                "See whether something else listens there. If it speaks TLS, write https: in the place of http:.",
            ),
        };
        report.fail(name, "no request can be sent:", Some(why), advice);
        return None;
    }
    if is_secure {
        report.ok("TLS", None, "its certificate is trusted");
    } else {
        report.skip("TLS", "the address begins with http:");
        if !is_loopback_host(&host) {
            report.ledger.judge_places(PLAIN_HTTP, vec![host]);
        }
    }
    is_endpoint(&reply, address, report).then_some(reply)
}

async fn connect(host: &str, port: u16, patience: Duration, report: &mut Report) -> bool {
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let bare = bare.unwrap_or(host);
    let began = Instant::now();
    let addresses = match timeout(patience, lookup_host((bare, port))).await {
        Ok(Ok(found)) => found.collect::<Vec<_>>(),
        failed => {
            let why = failed.ok().and_then(|failed| failed.map(drop).err());
            let why = why.map_or("no answer".to_owned(), |why| why.to_string());
            let says = words!("{} leads to no address:", given(bare));
            let advice = "Check the spelling, and the network of this machine.";
            report.fail("name", says, Some(why), advice);
            return false;
        }
    };
    if bare.parse::<IpAddr>().is_ok() {
        report.skip("name", "it is an address already");
    } else {
        let list = addresses.iter().map(|it| words!("{}", given(it.ip())));
        report.ok("name", Some(began.elapsed()), Words::join(list, ", "));
    }
    let began = Instant::now();
    let mut why = "it has no address".to_owned();
    for address in addresses {
        match timeout(patience, TcpStream::connect(address)).await {
            Ok(Ok(_)) => {
                let says = words!("{} port {}", given(address.ip()), port);
                report.ok("connection", Some(began.elapsed()), says);
                return true;
            }
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => why = "no answer".to_owned(),
        }
    }
    let says = words!("nothing answers at port {}:", port);
    let advice = "See whether the server runs, listens at this port, and is behind a firewall.";
    report.fail("connection", says, Some(why), advice);
    false
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
    let credentials = address.credentials();
    let advice: Words = match (status, credentials.is_empty()) {
        (403, true) => {
            "See whether it takes requests from this machine. A token goes in --header, or in `headers` of mcp.json.".into()
        }
        (403, false) => words!(
            "See whether the user of {} may use it, and whether it takes requests from this machine.",
            authorization::named(&credentials)
        ),
        (404, _) => "Check the path: many servers use /mcp.".into(),
        (429, _) => "It has too many requests. Try again later.".into(),
        (500..=599, _) => "See the log of the server.".into(),
        _ => "See whether there is an MCP server at this address.".into(),
    };
    report.fail(name, says, shown, advice);
    false
}
