//! Options of `askback wrap` on the command line, and in `wrap.toml` for all servers of the user or for one.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askback_host::{text::given, words};
use clap::ValueEnum as _;
use serde::Deserialize;

use super::{Ask, Show};
use crate::{
    error::Error,
    locate::folders,
    seconds::seconds,
    servers::{HOLD, read_at},
};

/// The path of the file, relative to the folder for application settings.
const FILE: &str = "askback/wrap.toml";

/// The options that the command line and `wrap.toml` have. The command line comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// Answer questions from this file, YAML or JSON
    #[arg(long, value_name = "FILE")]
    pub answers: Option<PathBuf>,
    /// Who asks the person: the client whenever it can (client), the client unless it is known not to show the question (auto), or always askback (here) [default: auto]
    #[arg(long, value_name = "WHO", value_enum)]
    pub ask: Option<Ask>,
    /// Give a call back to the client after this long, if its question still waits here [default: depends on the client]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub hold: Option<u64>,
    /// How the user learns that a question waits: a page opens in the browser, or else a desktop notice (browser);
    /// only the notice (notice); only standard error (none) [default: browser]
    #[arg(long, value_name = "HOW", value_enum)]
    pub show: Option<Show>,
}

impl Options {
    /// Returns these options, and those of `other` that are not set here.
    pub fn or(self, other: Self) -> Self {
        let Self {
            answers,
            ask,
            hold,
            show,
        } = self;
        Self {
            answers: answers.or(other.answers),
            ask: ask.or(other.ask),
            hold: hold.or(other.hold),
            show: show.or(other.show),
        }
    }

    pub fn command_line(&self) -> Result<Vec<String>, Error> {
        let Self {
            answers,
            ask,
            hold,
            show,
        } = self;
        let mut words = Vec::new();
        if let Some(file) = answers {
            // The client starts the command in another folder.
            let file = std::path::absolute(file).map_err(|error| Error::unread(file, error))?;
            let file = file.to_str().map(str::to_owned);
            let file = file
                .ok_or_else(|| Error::usage("the path of the answers file is not valid UTF-8"))?;
            words.extend(["--answers".to_owned(), file]);
        }
        let ask = ask.and_then(|ask| ask.to_possible_value());
        words.extend(ask.map(|ask| format!("--ask={}", ask.get_name())));
        if let Some(hold) = hold {
            words.extend([HOLD.to_owned(), hold.to_string()]);
        }
        let show = show.and_then(|show| show.to_possible_value());
        words.extend(show.map(|show| format!("--show={}", show.get_name())));
        Ok(words)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Policy {
    defaults: Options,
    #[serde(rename = "server")]
    servers: BTreeMap<String, Options>,
}

/// Returns the options for a server, from `file` or else the user's file, which need not exist.
pub(super) fn options(file: Option<&Path>, server: &str) -> Result<Options, Error> {
    let path = match file {
        Some(file) => file.to_owned(),
        None => {
            let of_user = folders()?.settings.map(|settings| settings.join(FILE));
            match of_user.filter(|path| path.exists()) {
                Some(path) => path,
                None => return Ok(Options::default()),
            }
        }
    };
    let text = read_at(&path).map_err(|error| Error::unread(&path, error))?;
    let mut options = read(&text, server).map_err(|why| {
        let error = words!("{} is not a policy:", given(path.display()));
        Error::usage(error).quoting(why)
    })?;
    if let Some(answers) = &mut options.answers {
        *answers = path.parent().unwrap_or(Path::new("")).join(&answers);
    }
    Ok(options)
}

fn read(text: &str, server: &str) -> Result<Options, String> {
    let policy: Policy = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count().saturating_add(1);
        format!("line {line}: {}", error.message())
    })?;
    let Policy {
        defaults,
        mut servers,
    } = policy;
    let own = servers.remove(server).unwrap_or_default();
    let options = own.or(defaults);
    if let Some(hold) = options.hold {
        seconds(&hold.to_string()).map_err(|why| format!("`hold`: {why}"))?;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_its_own_options_before_the_defaults() {
        let text = "
            [defaults]
            ask = 'here'
            hold = 60
            [server.travel]
            hold = 30
            show = 'notice'
            answers = 'travel.yaml'
        ";
        let travel = Options {
            ask: Some(Ask::Here),
            show: Some(Show::Notice),
            hold: Some(30),
            answers: Some("travel.yaml".into()),
        };
        assert_eq!(read(text, "travel"), Ok(travel));
        let other = Options {
            ask: Some(Ask::Here),
            hold: Some(60),
            ..Options::default()
        };
        assert_eq!(read(text, "other"), Ok(other));
        assert_eq!(read("", "travel"), Ok(Options::default()));
    }

    #[test]
    fn what_a_policy_does_not_have_is_refused_with_its_line() {
        for (text, says) in [
            (
                "[defaults]\nsampling = 'here'",
                "line 2: unknown field `sampling`, expected one of `answers`, ",
            ),
            (
                "[defaults]\nask = 'nobody'",
                "line 2: unknown variant `nobody`",
            ),
            ("[server.travel]\nhold = 0", "`hold`: "),
            ("[servers]", "line 1: unknown field `servers`"),
            ("=", "line 1: "),
        ] {
            let why = read(text, "travel").expect_err("it is wrong");
            assert!(why.starts_with(says), "{why}");
        }
    }
}
