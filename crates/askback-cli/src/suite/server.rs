//! The server that a suite tests.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askback_host::{script::Surroundings, text::given, words};
use serde::Deserialize;

use crate::{
    error::Error,
    locate::TargetArgs,
    target::{Command, Reach, Target},
};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ServerText")]
pub struct Server {
    name: Option<String>,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// A command with its arguments, environment variables and working directory.
    Command(CommandLine, BTreeMap<String, String>, Option<PathBuf>),
    /// A URL and the headers to send.
    Url(String, BTreeMap<String, String>),
    /// An entry in a file of servers: in the given file, or in the one found from the working directory.
    Listed(Option<PathBuf>),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
struct CommandLine {
    program: String,
    args: Vec<String>,
}

impl TryFrom<Vec<String>> for CommandLine {
    type Error = &'static str;

    fn try_from(mut words: Vec<String>) -> Result<Self, Self::Error> {
        if words.first().is_none_or(String::is_empty) {
            return Err("`command` begins with a program: [my-server, --its-option]");
        }
        let program = words.remove(0);
        Ok(Self {
            program,
            args: words,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerText {
    command: Option<CommandLine>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    name: Option<String>,
    config: Option<PathBuf>,
}

impl TryFrom<ServerText> for Server {
    type Error = &'static str;

    fn try_from(text: ServerText) -> Result<Self, Self::Error> {
        let is_started = text.env.is_some() || text.cwd.is_some();
        let source = match (text.command, text.url) {
            (Some(_), Some(_)) => return Err("a server has a `command` or a `url`, not both"),
            (Some(command), None) => {
                Source::Command(command, text.env.unwrap_or_default(), text.cwd)
            }
            _ if is_started => return Err("`env` and `cwd` go with a `command`"),
            (None, Some(url)) => Source::Url(url, text.headers.clone().unwrap_or_default()),
            (None, None) if text.name.is_some() => Source::Listed(text.config.clone()),
            (None, None) => {
                return Err(
                    "a server needs a `command`, a `url`, or the `name` of one of mcp.json",
                );
            }
        };
        if text.headers.is_some() && !matches!(source, Source::Url(..)) {
            return Err("`headers` go with a `url`");
        }
        if text.config.is_some() && !matches!(source, Source::Listed(_)) {
            return Err("`config` goes with the `name` of a server alone");
        }
        Ok(Self {
            name: text.name,
            source,
        })
    }
}

impl Server {
    /// The server for a suite in `folder`. The server starts in that folder, and paths are relative to it.
    pub fn target(&self, folder: &Path) -> Result<Target, Error> {
        let mut target = match &self.source {
            Source::Command(CommandLine { program, args }, env, cwd) => {
                // A bare name is searched for in `PATH`.
                let is_path = Path::new(program).components().nth(1).is_some();
                let path = folder.join(program).display().to_string();
                let target = Target::child(program, args);
                let command = Command {
                    program: if is_path { path } else { program.clone() },
                    args: args.clone(),
                    env: filled(env)?,
                    withheld: Vec::new(),
                    cwd: Some(cwd.as_ref().map_or(folder.into(), |cwd| folder.join(cwd))),
                    written: None,
                };
                Target {
                    reach: Reach::Start(command),
                    ..target
                }
            }
            Source::Url(url, headers) => {
                let mut target = Target::address(url)?;
                if let Reach::Address(address) = &mut target.reach {
                    address.headers = filled(headers)?;
                    address.http()?;
                }
                target
            }
            Source::Listed(config) => {
                let config = config.as_ref().map(|config| folder.join(config));
                let args = TargetArgs {
                    server: self.name.iter().cloned().collect(),
                    config,
                    ..TargetArgs::default()
                };
                args.target()?
            }
        };
        if let Some(name) = &self.name {
            target.name.clone_from(name);
        }
        Ok(target)
    }
}

/// Replaces `${NAME}` with the variable's value, so that a suite need not contain secrets.
fn filled(values: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Error> {
    let at = Surroundings::of_process(Path::new(""));
    let filled = values.iter().map(|(name, value)| {
        let value = at.variables(value).map_err(|why| {
            Error::usage(words!("{}: {}", given(name), why))
                .hint("The `server` of the suite names it.")
        })?;
        Ok((name.clone(), value))
    });
    filled.collect()
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    fn target(text: &str) -> Result<Target, Error> {
        let server: Server = yaml_serde::from_str(text).expect("a server");
        server.target(Path::new("/suites"))
    }

    #[test]
    fn a_server_is_started_in_the_suites_folder() {
        #[track_caller]
        fn check(text: &str, name: &str, program: &str, cwd: &str) {
            let target = target(text).expect("a target");
            let Reach::Start(command) = target.reach else {
                panic!("{text}");
            };
            assert_eq!(
                (&*target.name, &*command.program, command.cwd),
                (name, program, Some(PathBuf::from(cwd))),
            );
        }
        check(
            "{command: [askback, serve]}",
            "askback",
            "askback",
            "/suites",
        );
        check(
            "{command: [bin/it], name: mine}",
            "mine",
            "/suites/bin/it",
            "/suites",
        );
        check(
            "{command: [/bin/it], cwd: sub}",
            "it",
            "/bin/it",
            "/suites/sub",
        );
    }

    #[test]
    fn a_server_runs_at_its_url() {
        let found = target("{url: 'https://example.com/mcp', headers: {Authorization: Bearer x}}");
        let found = found.expect("a target");
        assert_eq!(found.name, "example.com");
        let Reach::Address(address) = found.reach else {
            panic!("it runs somewhere");
        };
        assert!(address.is_authorized());
        assert!(target("{url: nowhere}").is_err());
    }

    #[test]
    fn a_header_names_variables() {
        #[track_caller]
        fn check(text: &str, expected: Result<&str, &str>) {
            let path = env::var("PATH").expect("every shell sets it");
            let headers = BTreeMap::from([("X".to_owned(), text.to_owned())]);
            let filled = filled(&headers).map(|mut all| all.remove("X").unwrap_or_default());
            let filled = filled.map_err(|error| error.message.to_string());
            let expected = expected.map(|text| text.replace("PATH", &path));
            assert_eq!(filled, expected.map_err(str::to_owned));
        }
        check("plain $ {text}", Ok("plain $ {text}"));
        check("Bearer ${PATH}", Ok("Bearer PATH"));
        check("@x $${NOT}", Ok("@x ${NOT}"));
        let unset = "X: the variable ASKBACK_UNKNOWN is not set";
        check("${ASKBACK_UNKNOWN}", Err(unset));
        let open = "X: `${` has no `}`; write `$${` for the characters";
        check("a ${b", Err(open));
    }
}
