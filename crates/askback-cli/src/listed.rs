//! A server from a configuration file: as the file describes it, and with the values of its variables.

use std::path::{Path, PathBuf};

use askback::{
    client::{ServerCommand, ServerEntry, ServerUrl, ServersFile, ServersFileError},
    internal::json,
};
use askback_host::{
    page::{Page, Style, out},
    text::given,
    words,
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, json};

use crate::{
    environment,
    error::Error,
    servers::{Document, Missing, Names, fill, unseen, unused},
    sign_in::SignInEntry,
    target::{Address, Command, Reach, Target},
};

#[derive(Debug)]
pub struct ListedServer {
    name: String,
    file: PathBuf,
    folder: PathBuf,
    server: Value,
    names: Names,
    /// Variables that contain our secrets.
    withheld: Vec<String>,
    /// The project folder that the file belongs to.
    workspace: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
struct OwnMembers {
    #[serde(default, deserialize_with = "sign_in")]
    oauth: SignInEntry,
}

/// The values of `type`, and the member that such a server requires.
const TYPES: [(&str, &str); 6] = [
    ("stdio", "command"),
    ("http", "url"),
    ("sse", "url"),
    ("streamable-http", "url"),
    ("streamable_http", "url"),
    ("streamableHttp", "url"),
];

impl ListedServer {
    /// Finds the server with this name. It is started in `folder` unless the file names another folder. `workspace` is
    /// the project folder that the file belongs to.
    pub fn find(
        document: &Document,
        name: &str,
        file: &Path,
        folder: &Path,
        workspace: Option<&Path>,
    ) -> Result<Self, Error> {
        let Some(server) = document.server(name) else {
            return Err(unusable(ServersFileError::Unknown {
                name: name.to_owned(),
                known: document.names().map(str::to_owned).collect(),
            }));
        };
        if let Some(why) = unseen(name) {
            let error = words!("`{}` cannot be used, as {}", given(name).short(), why);
            return Err(Error::usage(error).hint("Give it another name in the file."));
        }
        if !server.is_object() {
            let name = given(name);
            return Err(Error::usage(words!(
                "its entry `{}` is not an object",
                name
            )));
        }
        let server = of_type(server.clone());
        let withheld = withheld(document);
        let names = Names::of(&server);
        let is_withheld = |name: &&String| {
            let mut withheld = withheld.iter();
            environment::is_ours(name) || withheld.any(|other| name.eq_ignore_ascii_case(other))
        };
        if let Some(name) = names
            .variables
            .iter()
            .chain(&names.optional)
            .find(is_withheld)
        {
            return Err(Error::usage(
                "no server is given this variable, which holds a secret of askback:",
            )
            .quoting(&**name));
        }
        Ok(Self {
            name: name.to_owned(),
            file: file.to_owned(),
            folder: folder.to_owned(),
            server,
            names,
            withheld,
            workspace: workspace.map(Path::to_owned),
        })
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The server as the file describes it, with variable names instead of values.
    pub fn written(&self) -> Result<Target, Error> {
        let mut reach = self.reach(&self.server)?;
        match &mut reach {
            // A path that starts with a variable is kept as it is written.
            Reach::Start(command) => {
                let said = |member: &str| {
                    let text = self.server[member].as_str();
                    text.filter(|text| text.starts_with("${"))
                        .map(str::to_owned)
                };
                if let Some(program) = said("command") {
                    command.program = program;
                }
                if let Some(cwd) = said("cwd") {
                    command.cwd = Some(cwd.into());
                }
            }
            Reach::Address(address) if self.names.is_empty() => {
                address.http()?;
            }
            Reach::Address(_) => {}
        }
        Ok(self.reached(reach))
    }

    /// The server with the values of its variables.
    pub fn target(&self) -> Result<Target, Error> {
        let written = self.written()?;
        if self.names.is_empty() && !self.server.to_string().contains("${") {
            return Ok(written);
        }
        let mut server = self.server.clone();
        fill(&mut server, self.workspace.as_deref()).map_err(|why| missing("the file", why))?;
        let mut reach = self.reach(&server)?;
        match (&mut reach, &written.reach) {
            (Reach::Start(command), Reach::Start(written)) => {
                command.written = Some(Box::new(written.clone()));
            }
            (Reach::Address(address), Reach::Address(written)) => {
                address.written = Some(written.url.clone());
            }
            _ => {}
        }
        if let Reach::Address(address) = &reach
            && let Err(error) = address.http()
        {
            // The URL may contain a secret now.
            return Err(match self.names.is_empty() {
                true => error,
                false => Error::usage(
                    "with the values of its variables, this is not the address of a server:",
                )
                .quoting(written.reach.shown()),
            });
        }
        Ok(self.reached(reach))
    }

    pub fn remark(&self) {
        let mut page = out::stderr_page();
        self.remarks(&mut page);
        out::tell(&mut page);
    }

    fn remarks(&self, page: &mut Page) {
        let (file, name) = (given(self.file.display()), given(&self.name));
        if self.server["disabled"] == true {
            page.say(
                Style::Plain,
                words!(
                    "{} is disabled in {}, and used because you named it.",
                    name.clone(),
                    file.clone()
                ),
            );
        }
        let mut unused = unused(&self.server);
        let kind = self.server["type"].as_str();
        if kind.is_some_and(|kind| !TYPES.iter().any(|(known, _)| *known == kind)) {
            unused.push("type");
        }
        if !unused.is_empty() {
            page.line(words!(
                "{} has settings for {} that askback does not use:",
                file.clone(),
                name.clone()
            ));
            page.quote_line("  ", unused.join(", "));
        }
        if !self.names.unknown.is_empty() {
            let unknown: Vec<_> = self.names.unknown.iter().map(String::as_str).collect();
            page.line(words!(
                "{} has names for {} that askback does not know. They stay as they are:",
                file,
                name
            ));
            page.quote_line("  ", unknown.join(", "));
        }
    }

    fn reached(&self, reach: Reach) -> Target {
        Target {
            name: self.name.clone(),
            reach,
            file: Some(self.file.clone()),
            is_told: false,
        }
    }

    fn reach(&self, server: &Value) -> Result<Reach, Error> {
        let json = json!({"mcpServers": {&self.name: server}}).to_string();
        let file = ServersFile::parse(&json, &self.folder).map_err(unusable)?;
        let own: OwnMembers = file.read_entry(&self.name).map_err(unusable)?;
        let entry = file.server(&self.name).map_err(|error| match error {
            ServersFileError::Unreachable(name) => unreachable_server(&name, server),
            error => unusable(error),
        })?;
        Ok(match entry {
            ServerEntry::Command(ServerCommand {
                program,
                args,
                env,
                cwd,
            }) => Reach::Start(Command {
                program,
                args,
                env,
                withheld: self.withheld.clone(),
                cwd,
                written: None,
            }),
            ServerEntry::Url(ServerUrl { url, headers }) => Reach::Address(Address {
                url,
                headers,
                sign_in: own.oauth,
                written: None,
            }),
        })
    }
}

/// Removes the member that does not belong to the server's type.
fn of_type(mut server: Value) -> Value {
    if let (Some(by), Value::Object(members)) = (required_by_type(&server), &mut server) {
        members.remove(match by {
            "command" => "url",
            _ => "command",
        });
    }
    server
}

fn required_by_type(server: &Value) -> Option<&'static str> {
    let kind = server["type"].as_str();
    let (_, by) = *TYPES.iter().find(|(known, _)| kind == Some(*known))?;
    Some(by)
}

/// Reads the settings of a sign-in. A member that is `null` or `""` counts as absent.
fn sign_in<'de, D: Deserializer<'de>>(json: D) -> Result<SignInEntry, D::Error> {
    match Value::deserialize(json)? {
        Value::Null => Ok(SignInEntry::default()),
        entry => json::document(entry).map_err(D::Error::custom),
    }
}

/// The variables that the file names as secrets of its clients, including those in invalid entries: no other server
/// must get such a secret.
fn withheld(document: &Document) -> Vec<String> {
    let servers = document.names().filter_map(|name| document.server(name));
    let named = servers.filter_map(|server| server["oauth"]["clientSecretEnv"].as_str());
    named.map(str::to_owned).collect()
}

/// The error for a name in a text that has no value here. `a_text` describes the text, such as "a header".
pub fn missing(a_text: &'static str, missing: Missing) -> Error {
    let unset = |name: String| {
        let words = words!(
            "{} takes a value from this variable, which is not set:",
            a_text
        );
        Error::usage(words).quoting(name)
    };
    match missing {
        Missing::Variable(name) => {
            unset(name).hint("Set it where you run askback, or write a default: ${NAME:-default}.")
        }
        Missing::Input(name) => unset(name).hint("Set it where you run askback."),
        Missing::Room => Error::usage("with the values of its variables, it is larger than 1 MiB"),
        Missing::Folder(name) => {
            let name = words!("there is no folder for the name `{}` here", name);
            Error::usage(name).hint("Write the folder in its place.")
        }
    }
}

fn unusable(error: ServersFileError) -> Error {
    match error {
        ServersFileError::Unknown { name, known } if known.is_empty() => {
            Error::usage(words!("no server is called `{}`", given(name)))
                .hint("It names no server at all.")
        }
        ServersFileError::Unknown { name, known } => Error::usage(words!(
            "no server is called `{}`; the servers are:",
            given(name)
        ))
        .quoting(known.join(", ")),
        ServersFileError::Entry { name, why } => Error::usage(words!(
            "the entry of server `{}` is not valid:",
            given(name)
        ))
        .quoting(why),
        other => Error::usage("the file of servers cannot be used:").quoting(other.to_string()),
    }
}

/// The error for a server without the member that says how it is reached.
fn unreachable_server(name: &str, server: &Value) -> Error {
    let name = given(name);
    let error = match required_by_type(server) {
        Some(by) => words!(
            "server `{}` has no `{}`, which its `type` requires",
            name,
            by
        ),
        None => words!("server `{}` has no `command` and no `url`", name),
    };
    Error::usage(error).hint("Write \"command\": \"python3\", \"args\": [\"server.py\"], or \"url\": \"https://example.com/mcp\".")
}

#[cfg(test)]
mod tests {
    use std::env;

    use askback_host::{page::Look, text::PeerText};

    use super::*;

    fn listed(server: &str) -> Result<ListedServer, Error> {
        let text = format!(
            r#"{{
                // A comment, and a comma behind the last.
                "servers": {{"it": {server},}},
                "mcpServers": {{"other": {{"url": "https://a.test", "oauth": {{"clientSecretEnv": "PWD", "issuer": "https://b.test"}}}}}},
            }}"#
        );
        let document =
            Document::read(&text, Path::new("mcp.json"), None, None).expect("it is such a file");
        let folder = Path::new("/project");
        ListedServer::find(
            &document,
            "it",
            Path::new("/project/mcp.json"),
            folder,
            Some(folder),
        )
    }

    fn path() -> String {
        env::var("PATH").expect("every shell sets it")
    }

    #[test]
    fn variables_are_replaced_and_their_values_are_not_shown() {
        // An entry, how it is reached, and what is shown.
        const ENTRIES: &str = r#"
            {"command": "x", "args": ["a b"]} => x 'a b' => x 'a b'
            {"command": "x", "args": ["--a=${PATH}"]} => x --a=PATH => x '--a=${PATH}'
            {"command": "${NOT_SET:-/bin}/x"} => /bin/x => '${NOT_SET:-/bin}/x'
            {"command": "${workspaceFolder}/x"} => /project/x => '${workspaceFolder}/x'
            {"command": "x", "args": ["${config:a}"]} => x '${config:a}' => x '${config:a}'
            {"url": "https://${NOT_SET:-a.test}/${NOT_SET:-mcp}"} => https://a.test/mcp => https://${NOT_SET:-a.test}/${NOT_SET:-mcp}
            {"command": "x", "url": "https://a.test/mcp"} => x => x
            {"command": "x", "url": "https://a.test/mcp", "type": "stdio"} => x => x
            {"command": "x", "url": "https://a.test/mcp", "type": "http"} => https://a.test/mcp => https://a.test/mcp
            {"command": "x", "url": "https://a.test/mcp", "type": "sse"} => https://a.test/mcp => https://a.test/mcp
            {"command": "x", "url": "https://a.test/mcp", "type": "streamable-http"} => https://a.test/mcp => https://a.test/mcp
        "#;
        for row in ENTRIES.trim().lines() {
            let [server, reached, shown] = row.split(" => ").collect::<Vec<_>>()[..] else {
                panic!("{row}");
            };
            let target = listed(server)
                .and_then(|listed| listed.target())
                .expect(row);
            assert_eq!(target.reach.shown(), reached.replace("PATH", &path()));
            assert_eq!(target.shown(), shown);
        }
    }

    #[test]
    fn variables_and_headers_are_filled() {
        let server = r#"{"command": "x", "cwd": "${NOT_SET:-sub}", "env": {"A": "${PATH}"}}"#;
        let target = listed(server)
            .expect("it is listed")
            .target()
            .expect("it is a target");
        let Reach::Start(command) = target.reach else {
            panic!("it is started");
        };
        assert_eq!(command.env["A"], path());
        assert_eq!(command.cwd, Some(PathBuf::from("/project/sub")));
        let written = command.told();
        assert_eq!(written.env["A"], "${PATH}");
        assert_eq!(written.cwd, Some(PathBuf::from("${NOT_SET:-sub}")));
        let server = r#"{"url": "https://a.test", "headers": {"A": "Bearer ${NOT_SET:-x}"}}"#;
        let target = listed(server)
            .expect("it is listed")
            .target()
            .expect("it is a target");
        let Reach::Address(address) = target.reach else {
            panic!("it runs somewhere");
        };
        assert_eq!(address.headers["A"], "Bearer x");
    }

    #[test]
    fn an_invalid_entry_does_not_affect_other_entries() {
        #[track_caller]
        fn check(oauth: &str, says: &str) {
            let text = format!(
                r#"{{"mcpServers": {{
                    "good": {{"command": "x", "args": ["${{PWD:-y}}"]}},
                    "plain": {{"command": "x"}},
                    "bad": {{"url": "https://a.test", "oauth": {oauth}}}
                }}}}"#
            );
            let document =
                Document::read(&text, Path::new("mcp.json"), None, None).expect("it is a file");
            let find = |name: &str| {
                let (file, folder) = (Path::new("/p/mcp.json"), Path::new("/p"));
                ListedServer::find(&document, name, file, folder, None)?.target()
            };
            find("plain").expect("it can be used");
            // The server must not get the secret that the invalid entry names.
            assert_eq!(find("good").is_err(), oauth.contains("PWD"), "{oauth}");
            let bad = find("bad").map_err(|error| error.reason());
            match says {
                "" => drop(bad.expect("it is understood")),
                says => {
                    let why = bad.expect_err("it is wrong");
                    assert!(why.contains(says), "{why}");
                }
            }
        }
        check("null", "");
        check(
            r#"{"clientId": "1", "scopes": "a:read b:write", "callbackPort": 3118}"#,
            "",
        );
        check(
            r#"{"clientId": null, "scopes": null, "clientSecretEnv": ""}"#,
            "",
        );
        check("true", "oauth: it is not a JSON object");
        check(
            r#"{"clientSecretEnv": "PWD", "callbackPort": "x"}"#,
            "oauth: callbackPort: expected a whole number from 0 to 65535, got a text",
        );
        check(
            r#"{"scopes": 7}"#,
            "oauth: scopes: expected a list of texts",
        );
    }

    #[test]
    fn a_server_that_cannot_be_used_is_told() {
        const ENTRIES: &str = r#"
            null => its entry `it` is not an object
            {"command": "${ASKBACK_TEST_UNSET}"} => ASKBACK_TEST_UNSET
            {"command": "x", "args": ["${NOT_SET}"]} => is not set:¶  Set it
            {"command": "x", "args": ["${NOT_SET}"]} => ¶NOT_SET
            {"command": "x", "args": ["${input:not-set}"]} => Set it where you run askback.¶NOT_SET
            {"url": "${PATH}"} => not the address of a server:
            {"type": "other"} => has no `command` and no `url`
            {"url": "https://a.test/", "type": "stdio"} => has no `command`, which its `type` requires
            {"command": "x", "type": "http"} => has no `url`, which its `type` requires
            {"command": "x", "args": ["${ASKBACK_CLIENT_SECRET}"]} => holds a secret of askback:
            {"command": "x", "args": ["${PWD}"]} => holds a secret of askback:
            {"command": "x", "args": ["${pwd:-x}"]} => holds a secret of askback:
            {"command": "x", "args": ["${env:PWD}"]} => holds a secret of askback:
        "#;
        for row in ENTRIES.trim().lines() {
            let (server, says) = row.split_once(" => ").expect("a row");
            let error = listed(server).and_then(|listed| listed.target());
            let error = error.expect_err("it cannot be used");
            let quoted = error.quoted.as_ref().map_or("", PeerText::raw);
            let told = format!("{error}\n{quoted}").replace('\n', "¶");
            assert!(told.contains(says), "{told}");
            // No error contains the value of a variable.
            assert!(!told.contains(&path()), "{told}");
        }
    }

    #[test]
    fn what_changes_nothing_is_told() {
        #[track_caller]
        fn check(server: &str, expected: &str) {
            let mut page = Page::new(Look {
                columns: 120,
                styled: false,
            });
            listed(server).expect("it is listed").remarks(&mut page);
            assert_eq!(page.take().to_string().trim_end(), expected);
        }
        check(
            r#"{"command": "x", "type": "stdio", "disabled": false, "autoApprove": []}"#,
            "",
        );
        check(
            r#"{"command": "x", "disabled": true}"#,
            "it is disabled in /project/mcp.json, and used because you named it.",
        );
        check(
            r#"{"command": "x", "timeout": 1, "envFile": "x", "type": "new"}"#,
            "/project/mcp.json has settings for it that askback does not use:\n  | envFile, timeout, type",
        );
        check(
            r#"{"command": "x", "args": ["${config:a}"]}"#,
            "/project/mcp.json has names for it that askback does not know. They stay as they are:\n  | ${config:a}",
        );
    }
}
