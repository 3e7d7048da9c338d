//! The server of a recording: how a suite names it, and its secrets in what the person says of it, which it may repeat.

use std::{collections::BTreeMap, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use url::Url;

use super::{
    document::{Map as Members, Part},
    secrets::Secrets,
};
use crate::{
    secret::{after_scheme, holds, is_in, is_plain_header, is_setting},
    servers::conceal_args,
    target::{Address, Command, Reach, Target},
};

/// The name of what is left out of a command.
const COMMAND: &str = "the command of the server";

/// The name of what is left out of a URL.
const URL: &str = "the URL of the server";

/// The name of what is left out of a query.
const QUERY: &str = "the query of the URL";

/// The server as a suite in this file names it; none where that may hold a secret.
pub(super) fn server(file: &Path, target: &Target, secrets: &mut Secrets) -> Option<Members> {
    let mut server = Members::default();
    match &target.reach {
        _ if target.file.is_some() => server.need("name", target.name.clone()),
        Reach::Start(command) => {
            let words = std::iter::once(&command.program)
                .chain(&command.args)
                .map(|word| Part::Text(word.clone()));
            if conceal_args("", &command.args) != command.args {
                secrets.names.insert(COMMAND.to_owned());
                return None;
            }
            server.need("command", Part::All(words.collect()));
            let here = std::env::current_dir().ok()?;
            let folder = file.parent().unwrap_or(Path::new(""));
            // A suite starts its server where it lies.
            if here.join(folder) != here {
                server.need("cwd", here.display().to_string());
            }
        }
        Reach::Address(address) => {
            let mut url = Url::parse(&address.url).ok()?;
            if url.query().is_some() {
                url.set_query(None);
                secrets.names.insert(QUERY.to_owned());
            }
            if is_in(url.as_str(), is_setting) {
                secrets.names.insert(URL.to_owned());
                return None;
            }
            server.need("url", url.to_string());
        }
    }
    Some(server)
}

impl Secrets {
    /// The secrets of a server, as its address and its command have them.
    pub(super) fn of(target: &Target) -> Self {
        let mut secrets = Self::default();
        match (&target.reach, &target.written) {
            (Reach::Address(address), Some(Reach::Address(written))) => {
                secrets.learn_address(address, Some(written));
            }
            (Reach::Address(address), _) => secrets.learn_address(address, None),
            (Reach::Start(command), _) => secrets.learn_command(command),
        }
        secrets
    }

    fn learn_address(&mut self, address: &Address, written: Option<&Address>) {
        for (name, value) in &address.headers {
            if !is_plain_header(name) || holds(&value.as_str().into()) {
                self.learn(name, value);
            }
        }
        if let Some(written) = written {
            self.learn_variables(&address.headers, &written.headers);
            self.learn_variable(URL, &address.url, &written.url);
        }
        let Ok(url) = Url::parse(&address.url) else {
            return;
        };
        for (name, value) in url.query_pairs() {
            if is_setting(&name) || holds(&value.as_ref().into()) {
                self.learn(QUERY, &value);
            }
        }
    }

    fn learn_command(&mut self, command: &Command) {
        for (name, value) in &command.env {
            if is_setting(name) || is_in(value, is_setting) {
                self.learn(name, value);
            }
        }
        let concealed = conceal_args("", &command.args);
        for (arg, concealed) in command.args.iter().zip(&concealed) {
            self.learn_variable(COMMAND, arg, concealed);
        }
        let written = command.told();
        self.learn_variables(&command.env, &written.env);
        for (arg, written) in command.args.iter().zip(&written.args) {
            self.learn_variable(COMMAND, arg, written);
        }
    }

    fn learn_variables(
        &mut self,
        values: &BTreeMap<String, String>,
        written: &BTreeMap<String, String>,
    ) {
        for (name, value) in values {
            if let Some(written) = written.get(name) {
                self.learn_variable(name, value, written);
            }
        }
    }

    /// Learns what stands in a text in the place of variables.
    fn learn_variable(&mut self, name: &str, text: &str, written: &str) {
        if text == written {
            return;
        }
        if let (Some((before, _)), Some((_, after))) =
            (written.split_once("${"), written.rsplit_once('}'))
        {
            let value = text
                .strip_prefix(before)
                .and_then(|text| text.strip_suffix(after));
            self.learn(name, value.unwrap_or(text));
        }
    }

    /// Learns a value, and what stands in it behind a scheme such as `Bearer`, behind the name of a secret, or as a
    /// password of a URL.
    fn learn(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if value.is_empty() {
            return;
        }
        self.note(name, &value.into());
        let (scheme, token) = after_scheme(value);
        let token = token.trim();
        if !scheme.is_empty() && !token.is_empty() {
            self.note(name, &token.into());
        }
        if let Some(password) = basic_password(scheme, token) {
            self.note(name, &password.into());
        }
        for secret in assigned(value) {
            self.note(name, &secret.into());
        }
        if let Some(password) = Url::parse(value).as_ref().ok().and_then(Url::password) {
            self.note(name, &password.into());
        }
    }
}

/// What a line of a shell gives to variables with the names of secrets.
fn assigned(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let signs = line.match_indices('=').filter(move |(at, _)| {
        let before = &line[..*at];
        is_setting(&before[before.trim_end_matches(is_part).len()..])
    });
    let values = signs.filter_map(|(at, sign)| {
        let value = &line[at.saturating_add(sign.len())..];
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| Some(value.strip_prefix(quote)?.split(quote).next()));
        quoted.unwrap_or_else(|| {
            value
                .split([' ', '\t', '\n', ';', '&', '|', '"', '\''])
                .next()
        })
    });
    values.filter(|value| !value.is_empty())
}

/// The password in the token of a header with the scheme `Basic`, whose user may be known.
fn basic_password(scheme: &str, token: &str) -> Option<String> {
    let is_basic = scheme.trim_end().eq_ignore_ascii_case("basic");
    let pair = is_basic.then(|| STANDARD.decode(token).ok()).flatten()?;
    let pair = String::from_utf8(pair).ok()?;
    let (_, password) = pair.split_once(':')?;
    (!password.is_empty()).then(|| password.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        let all = all.iter();
        all.map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Each of these that a server repeats is left out of a recording; the rest stays.
    #[track_caller]
    fn check(target: &Target, repeated: &[&str], stays: &[&str]) {
        let secrets = Secrets::of(target);
        for text in repeated {
            assert!(secrets.are_in(text), "{text}");
        }
        for text in stays {
            assert!(!secrets.is_in(&json!(text)), "{text}");
        }
    }

    fn address(address: Address, written: Option<Address>) -> Target {
        Target {
            reach: Reach::Address(address),
            written: written.map(Reach::Address),
            ..Target::child("x", &[])
        }
    }

    #[test]
    fn what_is_sent_to_a_server_is_known() {
        let sent = Address {
            url: "https://a.test/mcp?key=hunter3&who=adam".to_owned(),
            headers: texts(&[
                ("X-Api-Key", "hunter2"),
                ("Authorization", "Bearer hunter4"),
                ("Accept", "text/plain"),
                ("X-Empty", ""),
                ("X-Basic", "Basic YWRhbTpodW50ZXI5"),
            ]),
            ..Address::default()
        };
        let repeated = [
            "it is hunter2.",
            "Bearer hunter4",
            "hunter4",
            "hunter3",
            "hunter9",
            "YWRhbTpodW50ZXI5",
        ];
        check(
            &address(sent, None),
            &repeated,
            &["text/plain", "Bearer", "adam", ""],
        );
        let of = |user: &str, path: &str| Address {
            url: format!("https://a.test/{path}/mcp"),
            headers: texts(&[("User-Agent", user)]),
            ..Address::default()
        };
        let listed = address(of("me-adam", "hunter2"), Some(of("me-${USER}", "${KEY}")));
        check(
            &listed,
            &["adam", "hunter2"],
            &["me-", "mcp", "https://a.test/"],
        );
    }

    #[test]
    fn what_a_server_is_started_with_is_known() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let started = |args: &[&str], env: &[(&str, &str)], written: Option<Command>| Target {
            reach: Reach::Start(Command {
                args: words(args),
                env: texts(env),
                written: written.map(Box::new),
                ..Command::default()
            }),
            ..Target::child("x", &[])
        };
        let args = [
            "--api-key",
            "hunter5",
            "--token=hunter6",
            "--port",
            "8080",
            "SPEED=slow API_TOKEN='hunter9' exec run",
        ];
        let env = [
            ("API_KEY", "hunter7"),
            ("URL", "db://u:hunter8@h/"),
            ("MODE", "calm"),
        ];
        check(
            &started(&args, &env, None),
            &["hunter5", "hunter6", "hunter7", "hunter8", "hunter9"],
            &["--api-key", "--token", "8080", "calm", "slow", "exec"],
        );
        let written = Command {
            args: words(&["--as=${USER}!", "same"]),
            env: texts(&[("MODE", "${MODE}"), ("SPEED", "slow")]),
            ..Command::default()
        };
        let env = [("MODE", "calm"), ("SPEED", "slow")];
        check(
            &started(&["--as=adam!", "same"], &env, Some(written)),
            &["adam", "calm"],
            &["--as=", "same", "slow"],
        );
    }
}
