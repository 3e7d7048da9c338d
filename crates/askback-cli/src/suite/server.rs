//! The server that a suite tests.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askback_host::{script::Surroundings, text::given, words};
use serde::{Deserialize, Deserializer, de::Error as _};

use crate::{
    error::Error,
    locate::TargetArgs,
    target::{Command, Reach, Target},
};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    command: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    /// Without a command and a URL, a name in the file, or in the `mcp.json` found from the working directory.
    name: Option<String>,
    config: Option<PathBuf>,
}

pub(super) fn read<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Server>, D::Error> {
    let server: Option<Server> = Deserialize::deserialize(json)?;
    match server.as_ref().map_or(Ok(()), Server::check) {
        Ok(()) => Ok(server),
        Err(why) => Err(D::Error::custom(why)),
    }
}

impl Server {
    fn check(&self) -> Result<(), &'static str> {
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => Err("a server has a `command` or a `url`, not both"),
            (Some(words), None) if words.first().is_none_or(String::is_empty) => {
                Err("`command` begins with a program: [my-server, --its-option]")
            }
            (None, _) if self.env.is_some() || self.cwd.is_some() => {
                Err("`env` and `cwd` go with a `command`")
            }
            (None, None) if self.name.is_none() => {
                Err("a server needs a `command`, a `url`, or the `name` of one of mcp.json")
            }
            (_, None) if self.headers.is_some() => Err("`headers` go with a `url`"),
            (Some(_), _) | (_, Some(_)) if self.config.is_some() => {
                Err("`config` goes with the `name` of a server alone")
            }
            _ => Ok(()),
        }
    }

    /// The server for a suite in `folder`. The server starts in that folder, and paths are relative to it.
    pub fn target(&self, folder: &Path) -> Result<Target, Error> {
        let command = self.command.as_deref().and_then(<[String]>::split_first);
        let mut target = if let Some((program, args)) = command {
            // A bare name is searched for in `PATH`.
            let is_path = Path::new(program).components().nth(1).is_some();
            let path = folder.join(program).display().to_string();
            let cwd = self.cwd.as_ref();
            Target {
                reach: Reach::Start(Command {
                    program: if is_path { path } else { program.clone() },
                    args: args.to_vec(),
                    env: filled(self.env.as_ref())?,
                    withheld: Vec::new(),
                    cwd: Some(cwd.map_or(folder.into(), |cwd| folder.join(cwd))),
                    written: None,
                }),
                ..Target::child(program, args)
            }
        } else if let Some(url) = &self.url {
            let mut target = Target::address(url)?;
            if let Reach::Address(address) = &mut target.reach {
                address.headers = filled(self.headers.as_ref())?;
                address.http()?;
            }
            target
        } else {
            let args = TargetArgs {
                server: self.name.iter().cloned().collect(),
                config: self.config.as_ref().map(|config| folder.join(config)),
                ..TargetArgs::default()
            };
            args.target()?
        };
        if let Some(name) = &self.name {
            target.name.clone_from(name);
        }
        Ok(target)
    }
}

/// Replaces `${NAME}` with the variable's value, so that a suite need not contain secrets.
fn filled(values: Option<&BTreeMap<String, String>>) -> Result<BTreeMap<String, String>, Error> {
    let at = Surroundings::of_process(Path::new(""));
    let filled = values.into_iter().flatten().map(|(name, value)| {
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
            let filled = filled(Some(&headers)).map(|mut all| all.remove("X").unwrap_or_default());
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
