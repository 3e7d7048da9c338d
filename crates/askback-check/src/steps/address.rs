//! The way to an address: its name, a connection, TLS, and what answers there.

use std::{borrow::Cow, io, net::IpAddr, time::Duration};

use askback::Revision;
use askback_core::jsonrpc::METHOD_NOT_FOUND;
use askback_host::{
    text::{Words, given},
    words,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, lookup_host},
    time::{Instant, timeout},
};

use super::authorization;
use crate::{
    probe::{Address, Bounds, End, Reply, Way},
    report::Report,
    rules::PLAIN_HTTP,
};

/// The server at an address, if there is one.
#[derive(Debug)]
pub(super) enum Reached {
    /// A server that answers.
    Open,
    /// A server that wants the client to be authorized, by this response.
    Unauthorized(Box<Reply>),
    /// Nothing that can be spoken to.
    Nothing,
}

/// Goes there.
pub(super) async fn reach(address: &Address, bounds: &Bounds, report: &mut Report) -> Reached {
    let url = address.url().clone();
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or_default();
    if address.is_proxied() {
        report.skip("name", "a proxy does this");
        report.skip("connection", "a proxy does this");
    } else if !connect(&host, port, bounds.limits.http.connect, report).await {
        return Reached::Nothing;
    }
    let Ok(mut probe) = Way::Address(address.clone()).open(bounds, Revision::LATEST) else {
        return Reached::Nothing;
    };
    let reply = probe.greet().await;
    let is_secure = url.scheme() == "https";
    if let End::Unreachable(why) = &reply.end {
        let name = if is_secure { "TLS" } else { "endpoint" };
        let spoken = match address.is_proxied() {
            true => Spoken::Unknown,
            false => spoken(&host, port, bounds.limits.http.connect).await,
        };
        let advice = match (is_secure, spoken) {
            (true, Spoken::Plain) => {
                "It speaks HTTP without TLS at this port: write http: in the place of https:."
            }
            (true, _) => {
                "See whether it speaks TLS at this port, and its certificate is valid for this name."
            }
            (false, Spoken::Tls) => WRITE_HTTPS,
            (false, _) => "See whether something else listens there.",
        };
        report.fail(name, "no request can be sent:", Some(why.clone()), advice);
        return Reached::Nothing;
    }
    let is_turned_away = matches!(reply.status, None | Some(400)) && !is_secure;
    if is_turned_away
        && !address.is_proxied()
        && spoken(&host, port, bounds.limits.http.connect).await == Spoken::Tls
    {
        let says = "the request was turned away:";
        report.fail("endpoint", says, Some(reply.shown()), WRITE_HTTPS);
        return Reached::Nothing;
    }
    match is_secure {
        true => report.ok("TLS", None, "its certificate is trusted"),
        false => {
            report.skip("TLS", "the address begins with http:");
            if !is_loopback(&host) {
                report.ledger.judge_places(PLAIN_HTTP, vec![host]);
            }
        }
    }
    endpoint(reply, address, report)
}

/// The advice on an address without TLS at a port with it.
const WRITE_HTTPS: &str = "It speaks TLS at this port: write https: in the place of http:.";

/// The most bytes of an answer by which it is known what speaks at a port.
const BEGINNING: u64 = 1024;

/// The protocol that is spoken at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    /// HTTP without TLS.
    Plain,
    Tls,
    Unknown,
}

/// A greeting of TLS that says too little, which a server with TLS turns down by an alert.
const HELLO: [u8; 9] = [22, 3, 1, 0, 4, 1, 0, 0, 0];

/// Finds out what is spoken at a port, by the answer to the beginning of TLS, or else to a request without it.
async fn spoken(host: &str, port: u16, patience: Duration) -> Spoken {
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    match answer(host, port, patience, &HELLO).await {
        Spoken::Tls => Spoken::Tls,
        // Some do not answer what they do not understand.
        Spoken::Plain | Spoken::Unknown => answer(host, port, patience, request.as_bytes()).await,
    }
}

/// Finds out the same by the answer to these bytes.
async fn answer(host: &str, port: u16, patience: Duration, bytes: &[u8]) -> Spoken {
    let asking = async {
        let mut stream = TcpStream::connect((bare(host), port)).await?;
        stream.write_all(bytes).await?;
        let mut answer = Vec::new();
        // What came before the end counts.
        let _ = stream.take(BEGINNING).read_to_end(&mut answer).await;
        io::Result::Ok(answer)
    };
    match timeout(patience, asking).await {
        Ok(Ok(answer)) => Spoken::of(&answer),
        _ => Spoken::Unknown,
    }
}

impl Spoken {
    fn of(answer: &[u8]) -> Self {
        match answer {
            // An alert of TLS 1.0 to 1.3, which have the same first bytes.
            [21, 3, ..] => Self::Tls,
            _ if answer.starts_with(b"HTTP/") => Self::Plain,
            _ => Self::Unknown,
        }
    }
}

/// A host without the brackets of an address of IPv6.
fn bare(host: &str) -> &str {
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    bare.unwrap_or(host)
}

/// Resolves a name, and connects to the first of its addresses that answers.
async fn connect(host: &str, port: u16, patience: Duration, report: &mut Report) -> bool {
    let bare = bare(host);
    let addresses = match bare.parse::<IpAddr>() {
        Ok(address) => {
            report.skip("name", "it is an address already");
            vec![address]
        }
        Err(_) => {
            let began = Instant::now();
            match timeout(patience, lookup_host((bare, port))).await {
                Ok(Ok(found)) => {
                    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
                    let list = found.iter().map(|address| words!("{}", given(address)));
                    report.ok("name", Some(began.elapsed()), Words::join(list, ", "));
                    found
                }
                failed => {
                    let why = match failed {
                        Ok(Err(error)) => error.to_string(),
                        _ => "no answer".to_owned(),
                    };
                    let says = words!("{} leads to no address:", given(bare));
                    let advice = "Check the spelling, and the network of this machine.";
                    report.fail("name", says, Some(why), advice);
                    return false;
                }
            }
        }
    };
    let began = Instant::now();
    let mut why = "it has no address".to_owned();
    for address in addresses {
        match timeout(patience, TcpStream::connect((address, port))).await {
            Ok(Ok(_)) => {
                let says = words!("{} port {}", given(address), port);
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

/// Judges the first response.
fn endpoint(reply: Reply, address: &Address, report: &mut Report) -> Reached {
    let name = "endpoint";
    let Some(status) = reply.status else {
        let says = "the server closed the connection without a response";
        let shown = Some(reply.shown());
        report.fail(name, says, shown, "See whether it is a server of HTTP.");
        return Reached::Nothing;
    };
    if status == 401 {
        report.ok(
            name,
            Some(reply.took),
            "it wants the client to be authorized",
        );
        return Reached::Unauthorized(Box::new(reply));
    }
    if (300..400).contains(&status) {
        let to = reply.header("location").map(Cow::into_owned);
        let says = words!("it redirects (HTTP status {}), to:", status);
        report.fail(
            name,
            says,
            to,
            "Use that address, if it is the one you mean.",
        );
        return Reached::Nothing;
    }
    // A server of an older revision refuses the first request, with a message or without.
    let is_unknown = status == 404 && reply.has_code(METHOD_NOT_FOUND);
    let is_old = matches!(status, 400 | 405 | 406);
    if is_unknown || (200..300).contains(&status) || is_old {
        let says = words!("HTTP status {}", status);
        report.ok(name, Some(reply.took), says);
        return Reached::Open;
    }
    let says = words!("it answers with HTTP status {}:", status);
    let credentials = address.credentials();
    let advice: Words = match (status, credentials.is_empty()) {
        (403, true) => {
            "See whether it takes requests from this machine. A token goes in --header, or in `headers` of mcp.json.".into()
        }
        (403, false) => words!(
            "See whether who is meant by {} may use it, and whether it takes requests from this machine.",
            authorization::named(&credentials)
        ),
        (404, _) => "Check the path: that of many servers is /mcp.".into(),
        (429, _) => "It has too many requests. Try again later.".into(),
        (500..=599, _) => "See the log of the server.".into(),
        _ => "See whether there is an MCP server at this address.".into(),
    };
    report.fail(name, says, Some(reply.shown()), advice);
    Reached::Nothing
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let address = bare(host).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_at_a_port_is_known_by_its_answer() {
        for (answer, expected) in [
            (&b"\x15\x03\x01\x00\x02\x02F"[..], Spoken::Tls),
            (b"HTTP/1.1 400 Bad Request\r\n\r\nuse https", Spoken::Plain),
            (b"SSH-2.0-OpenSSH\r\n", Spoken::Unknown),
            (b"", Spoken::Unknown),
        ] {
            let text = String::from_utf8_lossy(answer);
            assert_eq!(Spoken::of(answer), expected, "{text}");
        }
    }
}
