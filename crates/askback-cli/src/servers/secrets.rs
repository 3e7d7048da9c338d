//! Hides the secrets of a server's command when it is shown.

use super::expand::{Part, parts};
use crate::secret::{after_scheme, is_in, is_setting};

/// Stands for a value that may be a secret.
pub const HIDDEN: &str = "***";

/// The words of a command, without values that look like secrets.
pub fn conceal_args(args: &[String]) -> Vec<String> {
    let mut before = "";
    let shown = args.iter().map(|arg| {
        let literal = literal(arg);
        let is_option = arg.starts_with('-');
        let follows = !is_option && is_setting(before) && !is_empty(&literal);
        let is_secret = follows || is_in(&literal, is_setting);
        before = if is_option && !arg.contains('=') {
            arg
        } else {
            ""
        };
        match arg.split_once('=') {
            _ if !is_secret => arg.clone(),
            Some((name, _)) if !follows && is_name(name) && !is_in(name, is_setting) => {
                format!("{name}={HIDDEN}")
            }
            _ => HIDDEN.to_owned(),
        }
    });
    shown.collect()
}

/// An address without its query, which may hold a secret. Hidden if the rest looks like a secret, too.
pub fn conceal_url(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match is_in(&literal(url), is_setting) {
        true => HIDDEN,
        false => url,
    }
}

/// A text without its variables, but with their default values.
fn literal(text: &str) -> String {
    let parts = parts(text).into_iter().map(|part| match part {
        Part::Plain(text) | Part::Unknown(text) => text.to_owned(),
        Part::Variable(name, Some(default)) if !default.is_empty() => format!("{name}:-{default}"),
        Part::Variable(..) | Part::Input(_) | Part::Known(_) => String::new(),
    });
    parts.collect()
}

/// Whether a text is only a name, and not the beginning of a value that contains `=`.
fn is_name(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Whether a text is empty, or only the scheme of a token.
fn is_empty(literal: &str) -> bool {
    after_scheme(literal).1.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_command_are_hidden() {
        // Arguments, and what is shown if that differs.
        const ARGS: &str = "
            -y ; @scope/x ; --port ; 80
            --header ; Authorization: Bearer ${A} ; -c ; run \"$TOKEN\" ; A=$TOKEN
            --header ; Authorization: Bearer x ; -H ; X-Api-Key: x ; -e ; TOKEN=x => --header ; *** ; -H ; *** ; -e ; TOKEN=***
            x: bearer x ; postgresql://u:x@h/db ; --url=HTTPS://u:x@h ; TOKEN=x run => *** ; *** ; --url=*** ; TOKEN=***
            --api-key ; x=ghp_x ; --token=x ; -v ; ghp_x => --api-key ; *** ; --token=*** ; -v ; ***
            --password ; --other
            --token ; ${TOKEN:-x} => --token ; ***
            postgresql://u:hunter=two@h/db ; --url=https://u:a=b@h => *** ; --url=***
        ";
        for row in ARGS.trim().lines() {
            let row = row.trim();
            let (args, shown) = row.split_once(" => ").unwrap_or((row, row));
            let args: Vec<_> = args.split(" ; ").map(str::to_owned).collect();
            assert_eq!(conceal_args(&args).join(" ; "), shown);
        }
    }

    #[test]
    fn the_secrets_of_an_address_are_hidden() {
        assert_eq!(
            conceal_url("https://a.test/mcp?x=1#y"),
            "https://a.test/mcp"
        );
        assert_eq!(conceal_url("https://u:x@a.test/mcp"), HIDDEN);
        assert_eq!(
            conceal_url("https://a.test/${TOKEN}"),
            "https://a.test/${TOKEN}"
        );
    }
}
