//! Servers, and how they are reached.

use std::{
    collections::BTreeMap,
    path::{self, Path, PathBuf},
};

use askback::transport::{Child, Http};
use askback_host::{
    text::{self, given},
    words,
};
use sha2::{Digest, Sha256};
use url::Url;

use crate::{environment, error::Error, misplaced, name, private_file, sign_in::SignInEntry};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The configured name, or one taken from the command or the address.
    pub name: String,
    pub reach: Reach,
    /// The file that defines the server, unless the user typed it.
    pub file: Option<PathBuf>,
    /// Whether the user was just shown how it is reached, and agreed.
    pub is_told: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    Start(Command),
    Address(Address),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Address {
    pub url: String,
    pub headers: BTreeMap<String, String>,
    pub sign_in: SignInEntry,
    /// The URL as the file writes it. Set if variables were replaced, because their values may be secrets.
    pub written: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Command {
    pub program: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// More environment variables with our secrets, in addition to those recognized by name.
    pub withheld: Vec<String>,
    /// The working directory. `None` is the current one.
    pub cwd: Option<PathBuf>,
    /// The command as the file writes it. Set if variables were replaced, because their values may be secrets.
    pub written: Option<Box<Self>>,
}

impl Target {
    /// A server that is a child process, named after its script, package or program.
    pub fn child(program: &str, args: &[String]) -> Self {
        Self {
            name: name::of_command(program, args),
            reach: Reach::Start(Command {
                program: program.to_owned(),
                args: args.to_vec(),
                ..Command::default()
            }),
            file: None,
            is_told: false,
        }
    }

    pub fn address(url: &str) -> Result<Self, Error> {
        let address = Address {
            url: url.to_owned(),
            ..Address::default()
        };
        address.http()?;
        let parsed = Url::parse(url).ok();
        let host = parsed.as_ref().and_then(Url::host_str);
        Ok(Self {
            name: host.unwrap_or(url).to_owned(),
            reach: Reach::Address(address),
            file: None,
            is_told: false,
        })
    }

    /// Identifies the server in a file name or a key, by the user's configuration: its name, how it is reached, and the
    /// folder of a command, because the same command may start another server elsewhere. Excludes secrets and the name
    /// that the server claims.
    pub fn digest(&self) -> String {
        let folder = match &self.reach {
            Reach::Start(command) => Some(whole(command.cwd.as_deref().unwrap_or(Path::new(".")))),
            Reach::Address(_) => None,
        };
        let file = self.file.as_deref().map(whole);
        let paths = [folder, file].map(Option::unwrap_or_default);
        let paths = paths.iter().map(|path| path.as_os_str().as_encoded_bytes());
        let words = [self.name.clone(), self.shown()];
        let mut digest = Sha256::new();
        for part in words.iter().map(String::as_bytes).chain(paths) {
            digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(part);
        }
        private_file::hex(&digest.finalize())
    }

    /// Returns what a user would type to reach it, safe to show. Uses the file's text if a file defines it.
    pub fn shown(&self) -> String {
        match &self.reach {
            Reach::Start(command) => command.told().shown(),
            Reach::Address(address) => text::line(address.written.as_ref().unwrap_or(&address.url)),
        }
    }
}

fn whole(file: &Path) -> PathBuf {
    let whole = file.canonicalize().or_else(|_| path::absolute(file));
    whole.unwrap_or_else(|_| file.to_owned())
}

impl Reach {
    /// The URL without the parts that may identify the user.
    pub fn endpoint(&self) -> Option<Url> {
        let Self::Address(address) = self else {
            return None;
        };
        let mut url = Url::parse(&address.url).ok()?;
        url.set_query(None);
        url.set_fragment(None);
        // A URL with a host always accepts these.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Some(url)
    }

    /// Returns what a user would type to reach it, safe to show.
    pub fn shown(&self) -> String {
        match self {
            Self::Start(command) => command.shown(),
            Self::Address(address) => text::line(&address.url),
        }
    }
}

impl Address {
    /// Whether its headers authenticate the user, so that no sign-in is needed.
    pub fn is_authorized(&self) -> bool {
        let mut names = self.headers.keys();
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }

    pub fn http(&self) -> Result<Http, Error> {
        let mut http = Http::new(&self.url).map_err(|error| {
            let refused = Error::usage("the address of the server cannot be used:");
            let refused = refused.quoting(error.to_string());
            match misplaced::address(&self.url) {
                Some(url) if url != self.url => refused.hint(words!("Write {}", given(url))),
                _ => refused,
            }
        })?;
        for (name, value) in &self.headers {
            http = http.header(name, value).map_err(|error| {
                Error::usage("a header for the server cannot be sent:").quoting(error.to_string())
            })?;
        }
        Ok(http)
    }
}

impl Command {
    /// The process that the command starts. All child processes are created here, so that none gets our secrets in
    /// its environment.
    pub fn child(self) -> Child {
        let shown = self.told().program.clone();
        let withheld = self.withheld.into_iter().map(Into::into);
        let child = environment::ours()
            .chain(withheld)
            .fold(Child::command(self.program), Child::env_remove);
        // Variables that the file sets for the server are passed on.
        let child = child.args(self.args).envs(self.env).shown_as(shown);
        match self.cwd {
            Some(cwd) => child.current_dir(cwd),
            None => child,
        }
    }

    /// Returns the command for error messages, as the file writes it if a file defines it.
    pub fn told(&self) -> &Self {
        self.written.as_deref().unwrap_or(self)
    }

    /// Returns its working directory, if that does not exist.
    pub fn missing_folder(&self) -> Option<&Path> {
        let folder = self.cwd.as_deref().filter(|folder| !folder.is_dir())?;
        Some(self.told().cwd.as_deref().unwrap_or(folder))
    }

    /// The whole command as a user would type it, safe to show.
    pub fn shown(&self) -> String {
        std::iter::once(&self.program)
            .chain(&self.args)
            .map(|word| text::line(&quoted(word)))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_command_in_another_folder_is_another_server() {
        let of = |cwd: Option<&str>, file: Option<&str>| {
            let mut target = Target::child("python3", &["server.py".to_owned()]);
            if let Reach::Start(command) = &mut target.reach {
                command.cwd = cwd.map(PathBuf::from);
            }
            target.file = file.map(PathBuf::from);
            target.digest()
        };
        let here = std::env::current_dir().expect("a folder");
        let here = here.to_str().expect("it is UTF-8");
        assert_eq!(of(None, None), of(Some(here), None));
        assert_eq!(of(None, None), of(Some("src/.."), None));
        assert_ne!(of(None, None), of(Some("src"), None));
        let file = format!("{here}/mcp.json");
        assert_eq!(of(None, Some("mcp.json")), of(None, Some(&file)));
        assert_ne!(of(None, Some("mcp.json")), of(None, Some("src/mcp.json")));
        let at = |url: &str| Target::address(url).expect("it is a URL").digest();
        assert_eq!(at("https://a.test/"), at("https://a.test/"));
        assert_ne!(at("https://a.test/"), at("https://a.test/mcp"));
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        #[track_caller]
        fn check(words: &[&str], shown: &str) {
            let args: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(Target::child(&args[0], &args[1..]).reach.shown(), shown);
        }
        check(
            &["npx", "-y", "@scope/server@1.2"],
            "npx -y @scope/server@1.2",
        );
        check(&["sh", "-c", "a b"], "sh -c 'a b'");
        check(&["x", ""], "x ''");
        check(&["x", "it's"], "x 'it'\\''s'");
        check(&["x", "a\x1b[2Jb"], "x 'a<U+001B>[2Jb'");
    }
}
