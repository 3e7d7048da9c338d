//! Server files that were found in a folder and not named by the user. Checks the owner of the file, and whether the
//! user agreed to its content.
//!
//! The file decides which programs run, and any folder may have one: an unpacked archive, a cloned repository, or a
//! parent folder that other users can write to.

mod agreements;
#[cfg(unix)]
mod ownership;

use std::{
    fs::File,
    io::{self, BufRead, Write},
    path::PathBuf,
};

pub use agreements::{Agreement, Agreements};

use askback_host::{
    page::{Page, Style, out},
    plain::forget_early,
    text::{self, PeerText, given},
    text_file, words,
};

use crate::{
    error::Error,
    servers::{self, Names},
    target::{Reach, Target},
};

/// A server file that was found. It is read once; only that content is used.
#[derive(Debug)]
pub struct Found {
    path: PathBuf,
    text: String,
}

impl Found {
    /// Reads the file at this absolute path.
    ///
    /// # Errors
    ///
    /// A usage error if it cannot be read, or if another user may have written it: the file and the folders above it must
    /// belong to this user or the system (as git demands of a repository, `safe.directory`), and no other user may be
    /// able to write to them.
    pub fn open(path: PathBuf) -> Result<Self, Error> {
        Self::open_by(path, text_file::read)
    }

    /// A client's configuration may be larger.
    pub fn of_client(path: PathBuf) -> Result<Self, Error> {
        Self::open_by(path, servers::read)
    }

    /// Sets the part of the text that the user agrees to, if the rest changes frequently.
    #[must_use]
    pub fn saying(mut self, text: String) -> Self {
        self.text = text;
        self
    }

    fn open_by(path: PathBuf, read: fn(File) -> io::Result<String>) -> Result<Self, Error> {
        let shown = given(path.display());
        let unread = |error: io::Error| {
            Error::usage(words!("{} cannot be read: {}", shown.clone(), given(error)))
        };
        let file = File::open(&path).map_err(unread)?;
        #[cfg(unix)]
        ownership::check(&path, &file).map_err(|why| {
            Error::usage(why).hint(words!(
                "Look at what it starts, and name it if you want that: --config {}",
                shown.clone()
            ))
        })?;
        let text = read(file).map_err(unread)?;
        Ok(Self { path, text })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Makes sure that the user agreed to use this server, now or earlier. Asks only once until the file changes.
    /// Returns whether it asked now.
    pub fn agree(&self, target: &Target, names: &Names) -> Result<bool, Error> {
        let agreement = Agreement {
            path: &self.path,
            server: &target.name,
            text: &self.text,
        };
        let agreements = Agreements::of_user();
        if let Some(agreements) = &agreements {
            let unread = |error: io::Error| Error::usage(given(error));
            if agreements.hold(&agreement).map_err(unread)? {
                return Ok(false);
            }
        }
        let shown = given(self.path.display());
        if !out::is_attended() {
            return Err(Error::usage(words!(
                "{} was found, not named, and you have not agreed to its entry for {}",
                shown.clone(),
                given(&target.name).short()
            ))
            .hint(words!(
                "Read the entry, and name the file if you want that: --config {}",
                shown
            )));
        }
        let mut page = out::stderr_page();
        self.question(target, names, &mut page);
        forget_early(&mut page);
        if !ask(page, &mut io::stdin().lock(), &mut out::stderr()) {
            return Err(Error::usage(words!("{} is not used", shown)));
        }
        let kept = match agreements {
            Some(agreements) => agreements.remember(&agreement),
            None => Err(io::Error::other("no folder for it")),
        };
        if let Err(error) = kept {
            // If writing fails here, too, the user finds out at the next question.
            let mut page = out::stderr_page();
            page.say(
                Style::Plain,
                words!("You will be asked again: {}", given(error)),
            );
            out::tell(&mut page);
        }
        Ok(true)
    }

    /// Puts the question on a page: the file, and the effects of using the server. If it may not fit on a screen, a
    /// short form follows directly above the prompt.
    fn question(&self, target: &Target, names: &Names, page: &mut Page) {
        let mut measured = Page::new(page.look());
        self.put_whole(target, names, &mut measured);
        let is_long = measured.take().count() > NEAR;
        self.put_whole(target, names, page);
        if is_long {
            self.put_short(target, page);
        }
    }

    fn put_whole(&self, target: &Target, names: &Names, page: &mut Page) {
        page.say(
            Style::Plain,
            words!(
                "{} was found here, and says of this server:",
                given(self.path.display())
            ),
        );
        page.quote_row("", &target.name);
        page.quote(does(target, names));
        if let Reach::Start(_) = &target.reach {
            page.say(
                Style::Warning,
                "! It is a program, and it runs with your rights: it can do whatever you can.",
            );
        }
    }

    /// Puts a short form on a page: the file, the server, and how much was shown above.
    fn put_short(&self, target: &Target, page: &mut Page) {
        let file = given(self.path.display());
        let what = match &target.reach {
            Reach::Start(command) => {
                page.say(
                    Style::Plain,
                    words!(
                        "{} names this server, and what it starts (arguments above: {}, variables: {}):",
                        file,
                        command.args.len(),
                        command.env.len()
                    ),
                );
                &command.program
            }
            Reach::Address(address) => {
                page.say(
                    Style::Plain,
                    words!(
                        "{} names this server, and where it is (headers above: {}):",
                        file,
                        address.headers.len()
                    ),
                );
                &address.url
            }
        };
        page.quote_row("", &target.name);
        let (what, more) = PeerText::from(text::line(what)).cut(REPEATED);
        page.quote(what);
        if more > 0 {
            page.note(Style::Warning, words!("{} more characters are above", more));
        }
    }
}

/// The number of rows above the prompt that are visible on any terminal.
const NEAR: usize = 12;

/// The maximum number of characters of a program or a URL in the short form.
const REPEATED: usize = 256;

/// Returns the effects of using a server, one per line. Any user may have written the file, so it is shown as peer
/// text.
fn does(target: &Target, names: &Names) -> PeerText {
    let mut lines = Vec::new();
    match &target.reach {
        Reach::Start(command) => {
            lines.push(format!("start {}", text::line(&command.shown())));
            if let Some(cwd) = &command.cwd {
                let cwd = text::line(&cwd.display().to_string());
                lines.push(format!("in the folder {cwd}"));
            }
            // A variable may decide which code runs, as LD_PRELOAD and PATH do.
            for (name, value) in &command.env {
                let (name, value) = (text::line(name), text::line(value));
                lines.push(format!("with the variable {name} set to {value}"));
            }
        }
        Reach::Address(address) => {
            lines.push(format!("connect to {}", text::line(&address.url)));
            if !address.headers.is_empty() {
                // The values of headers may be secrets.
                let names: Vec<_> = address
                    .headers
                    .keys()
                    .map(|name| text::line(name))
                    .collect();
                lines.push(format!("and send these headers: {}", names.join(", ")));
            }
            if let (Some(variable), Some(issuer)) = (
                address.sign_in.client_secret_env(),
                address.sign_in.issuer(),
            ) {
                lines.push(format!(
                    "and show the secret in the variable {} to {}",
                    text::line(variable),
                    text::line(issuer)
                ));
            }
        }
    }
    // Variables of the user's environment that the file passes on.
    let variables = names.variables.union(&names.optional);
    let variables: Vec<_> = variables.map(|name| text::line(name)).collect();
    if !variables.is_empty() {
        lines.push(format!(
            "and give it your variables: {}",
            variables.join(", ")
        ));
    }
    PeerText::from(lines.join("\n"))
}

/// Asks until the user types yes or no. The end of the input means no.
fn ask(mut page: Page, input: &mut impl BufRead, out: &mut dyn Write) -> bool {
    loop {
        page.say(
            Style::Plain,
            "Use it, now and later, as long as the file stays the same? yes or no",
        );
        page.prompt("");
        // If the terminal cannot be written to, reading from it fails, too.
        let _ = page.take().write_to(out);
        let _ = out.flush();
        let mut line = String::new();
        if !matches!(input.read_line(&mut line), Ok(1..)) {
            return false;
        }
        match line.trim().to_lowercase().as_str() {
            "yes" | "y" => return true,
            "no" | "n" => return false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::target::{Address, Command};
    use askback_host::page::Look;

    fn page() -> Page {
        Page::new(Look {
            columns: 100,
            styled: false,
        })
    }

    fn found() -> Found {
        Found {
            path: PathBuf::from("/project/mcp.json"),
            text: String::new(),
        }
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        #[track_caller]
        fn check(typed: &str, agreed: bool, times: usize) {
            let mut out = Vec::new();
            let mut page = page();
            page.say(Style::Plain, "A file?");
            assert_eq!(ask(page, &mut typed.as_bytes(), &mut out), agreed);
            let out = String::from_utf8(out).expect("it writes text");
            assert!(out.starts_with("A file?\n"), "{out}");
            assert_eq!(out.matches("yes or no\n> ").count(), times, "{out}");
        }
        check("yes\n", true, 1);
        check(" Y \n", true, 1);
        check("no\nyes\n", false, 1);
        check("\nmaybe\nyes\n", true, 3);
        check("", false, 1);
        check("what?\n", false, 2);
        check("yes", true, 1);
    }

    // Shows BP-44.
    #[test]
    fn what_is_agreed_to_is_named_last() {
        #[track_caller]
        fn check(args: &[String]) {
            let target = Target {
                name: "it".to_owned(),
                ..Target::child("/bin/sh", args)
            };
            let mut page = page();
            found().question(&target, &Names::default(), &mut page);
            let mut out = Vec::new();
            ask(page, &mut "yes\n".as_bytes(), &mut out);
            let question = String::from_utf8(out).expect("it writes text");
            let last: Vec<_> = question.lines().rev().take(7).collect();
            let last = last.into_iter().rev().collect::<Vec<_>>().join("\n");
            // The short form follows only a long question.
            assert_eq!(last.contains("names this server"), args.len() > 1, "{last}");
            for says in ["/project/mcp.json", "| it", "/bin/sh", "yes or no"] {
                assert!(
                    last.contains(says),
                    "{says} is not in the end of\n{question}"
                );
            }
            // The long form is never shortened.
            for arg in args {
                assert!(question.contains(arg), "{question}");
            }
        }
        check(&[]);
        check(&["serve".to_owned()]);
        let many: Vec<_> = (0..5000).map(|n| format!("--{n}")).collect();
        check(&many);
    }

    // Shows BP-45, BP-50.
    #[test]
    fn a_person_is_shown_what_a_file_does() {
        #[track_caller]
        fn check(reach: Reach, says: &[&str]) {
            let found = Found {
                path: PathBuf::from("/a\u{1b}[2J/mcp.json"),
                text: String::new(),
            };
            let target = Target {
                name: "it\n".to_owned(),
                reach,
                ..Target::child("", &[])
            };
            let mut page = page();
            found.question(&target, &Names::default(), &mut page);
            let question = page.take().to_string();
            for words in says {
                assert!(question.contains(words), "{words} is not in\n{question}");
            }
            // The value of a header may be a secret; the value of a variable may choose what runs.
            let is_shown = question.contains("hush");
            assert_eq!(
                is_shown,
                matches!(target.reach, Reach::Start(_)),
                "{question}"
            );
            assert!(!question.contains('\u{1b}'), "{question}");
            let (ours, theirs) = question.split_once('\n').expect("there are two lines");
            assert_eq!(
                ours,
                "/a<U+001B>[2J/mcp.json was found here, and says of this server:"
            );
            let starts = matches!(target.reach, Reach::Start(_));
            assert_eq!(theirs.contains("\n! It is a program"), starts, "{theirs}");
            let ours: Vec<_> = theirs
                .lines()
                .filter(|line| !line.starts_with("| "))
                .collect();
            let mut ours = ours.iter().filter(|line| !line.starts_with("! It "));
            assert_eq!(ours.next(), None, "{theirs}");
            let warnings = theirs.matches("\n! It ").count();
            assert_eq!(warnings, usize::from(starts), "{theirs}");
        }
        let pair = |name: &str| BTreeMap::from([(name.to_owned(), "hush".to_owned())]);
        let command = Command {
            program: "sh".to_owned(),
            args: vec![
                "-c".to_owned(),
                "rm *\u{1b}".to_owned(),
                "--token=abc".to_owned(),
                "--key".to_owned(),
                "def".to_owned(),
            ],
            env: pair("LD_PRELOAD\u{1b}"),
            cwd: Some(PathBuf::from("/b\u{1b}")),
            ..Command::default()
        };
        check(
            Reach::Start(command),
            &[
                "| start sh -c 'rm *<U+001B>' --token=abc --key def",
                "| in the folder /b",
                "| with the variable LD_PRELOAD<U+001B> set to hush",
            ],
        );
        let sign_in = serde_json::json!({
            "clientId": "it", "clientSecretEnv": "TOKEN", "issuer": "https://a.test\u{1b}",
        });
        let address = Address {
            url: "https://b.test/mcp?team=x&api_key=abc#@c.test\u{1b}".to_owned(),
            headers: pair("X-Key"),
            sign_in: serde_json::from_value(sign_in).expect("it is an entry"),
            ..Address::default()
        };
        check(
            Reach::Address(address),
            &[
                "| connect to https://b.test/mcp?team=x&api_key=abc#@c.test<U+001B>",
                "| and send these headers: X-Key",
                "| and show the secret in the variable TOKEN to https://a.test",
            ],
        );
    }
}
