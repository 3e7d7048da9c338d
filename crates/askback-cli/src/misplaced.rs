//! Hints for a server named where the command line expects something else.

use askback::internal::address::is_loopback_host;
use askback_host::text;
use clap::error::{ContextKind, ContextValue};

/// The maximum number of letters by which a misspelled command may differ.
const TYPING_ERRORS: usize = 2;

/// Returns the words to type instead of one that the command line rejects. `line` is the whole command line.
pub fn hint(error: &clap::Error, line: &[String], commands: &[&str]) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let argument = of(ContextKind::InvalidArg)?;
    if let Some(value) = of(ContextKind::InvalidValue) {
        // The value of an option is not a server.
        let is_word = !argument.starts_with('-');
        let url = address(value).filter(|_| is_word)?;
        return Some(format!("write --url {url}"));
    }
    let usage = error.get(ContextKind::Usage)?.to_string();
    if argument.starts_with('-') || !usage.contains("<CMD>") {
        return None;
    }
    let word = text::line(argument);
    let is_top = usage.contains("askback [OPTIONS] [SERVER]");
    if let (true, Some(command)) = (
        is_top,
        line.iter().find(|word| commands.contains(&&***word)),
    ) {
        return Some(format!("options follow the command: askback {command} …"));
    }
    if let (true, Some(first)) = (is_top, line.first().filter(|first| !first.starts_with('-'))) {
        return Some(match near(first, commands) {
            Some(command) => format!("the command `{command}` is near: askback {command} {word}"),
            None => format!(
                "a command that starts a server comes after --: askback -- {} {word}",
                text::line(first)
            ),
        });
    }
    Some(match address(argument) {
        Some(url) => format!("write --url {url}"),
        None => format!(
            "a command that starts a server comes after --: -- {word}; a server of mcp.json is --server {word}"
        ),
    })
}

pub fn near<'a>(word: &str, commands: &[&'a str]) -> Option<&'a str> {
    let distance = |command: &&&str| strsim::osa_distance(word, command);
    let nearest = commands.iter().min_by_key(distance)?;
    (distance(&nearest) <= TYPING_ERRORS && word.len() > TYPING_ERRORS).then_some(nearest)
}

/// The URL that a word seems to mean, safe to show. The word is a URL, or a URL without its scheme.
pub fn address(word: &str) -> Option<String> {
    if word.starts_with("http://") || word.starts_with("https://") {
        return Some(text::line(word));
    }
    let (authority, has_path) = match word.split_once('/') {
        Some((authority, _)) => (authority, true),
        None => (word, false),
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_name = host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let is_host = is_loopback_host(host) || host.contains('.');
    // A bare name with a dot is more likely a script.
    let is_address = is_name && is_port && is_host && (port.is_some() || has_path);
    let scheme = match is_loopback_host(host) {
        true => "http",
        false => "https",
    };
    is_address.then(|| format!("{scheme}://{}", text::line(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_from_other_words() {
        #[track_caller]
        fn check(word: &str, url: Option<&str>) {
            assert_eq!(address(word).as_deref(), url, "{word}");
        }
        check("https://a.example/mcp", Some("https://a.example/mcp"));
        check("127.0.0.1:8080/mcp", Some("http://127.0.0.1:8080/mcp"));
        check("localhost:8080", Some("http://localhost:8080"));
        check("localhost/mcp", Some("http://localhost/mcp"));
        check("a.example/mcp", Some("https://a.example/mcp"));
        check("a.example:8443", Some("https://a.example:8443"));
        for word in [
            "travel",
            "server.py",
            "./server.py",
            "dist/server.js",
            "a.example:x",
            "--url",
            "a b.c/d",
            "",
            "ws://a.b/c",
        ] {
            check(word, None);
        }
    }
}
