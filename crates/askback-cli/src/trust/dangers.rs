//! Warnings about parts of a command that deserve a second look, in words of ours alone. They are no judgement: a
//! command without a warning can do as much.

use std::path::Path;

use askback_host::{text::Words, words};

use crate::target::Command;

/// Programs, variables and places of one kind.
struct Kind {
    /// The warning, with a hole for what was found.
    says: fn(Words) -> Words,
    programs: &'static [&'static str],
    /// Names in capital letters; a `*` stands for any letters.
    variables: &'static [&'static str],
    places: &'static [&'static str],
}

const KINDS: [Kind; 7] = [
    Kind {
        says: |found| words!("! It acts as another user: {}", found),
        programs: &["sudo", "doas", "su", "pkexec", "runas"],
        variables: &[],
        places: &[],
    },
    Kind {
        says: |found| words!("! It removes or overwrites files: {}", found),
        programs: &[
            "rm", "rmdir", "del", "rd", "shred", "dd", "mkfs", "format", "truncate",
        ],
        variables: &[],
        places: &[],
    },
    Kind {
        says: |found| words!("! It reaches into the network: {}", found),
        programs: &[
            "curl",
            "wget",
            "nc",
            "ncat",
            "netcat",
            "socat",
            "ssh",
            "scp",
            "sftp",
            "ftp",
            "rsync",
            "iwr",
            "invoke-webrequest",
        ],
        variables: &[],
        places: &[],
    },
    Kind {
        says: |found| words!("! It decides what other programs run: {}", found),
        programs: &["crontab", "launchctl", "systemctl", "schtasks"],
        variables: &[
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "DYLD_LIBRARY_PATH",
            "PATH",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "BASH_ENV",
            "JAVA_TOOL_OPTIONS",
            "*_COMMAND",
            "*_ASKPASS",
            "*_WRAPPER",
            "*EDITOR",
            "*PAGER",
            "GIT_SSH",
            "SHELL",
            "BROWSER",
        ],
        places: &[
            ".bashrc",
            ".profile",
            ".zshrc",
            ".git/hooks",
            "docker.sock",
            "LaunchAgents",
        ],
    },
    Kind {
        says: |found| words!("! It decides what is installed and run: {}", found),
        programs: &[],
        variables: &PACKAGES,
        places: &[],
    },
    Kind {
        says: |found| words!("! It reaches for keys and passwords: {}", found),
        programs: &[],
        variables: &[],
        places: &[
            ".ssh",
            ".gnupg",
            ".aws",
            ".azure",
            ".config/gcloud",
            ".config/gh",
            ".kube",
            ".docker",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".git-credentials",
            ".password-store",
            ".mozilla",
            "Keychains",
        ],
    },
    Kind {
        says: |found| words!("! It reaches into the system: {}", found),
        programs: &[],
        variables: &[],
        places: &[
            "/etc", "/root", "/boot", "/dev", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib",
            "/System",
        ],
    },
];

/// The variables that say where packages come from, among them in a URL.
const PACKAGES: [&str; 3] = ["NPM_CONFIG_*", "PIP_*", "UV_*INDEX*"];

/// The variables that say what runs, by the ends of their names.
const RUNNING: [&str; 5] = ["*_COMMAND", "*_ASKPASS", "*PATH", "*_OPTIONS", "*_PRELOAD"];

/// The most that may be hidden of the value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hides {
    /// Nothing: the value says what runs.
    Nothing,
    /// The password of a user in a URL: the rest says where packages come from.
    Passwords,
    /// A whole value that seems to be a secret.
    Secrets,
}

/// Returns the most that may be hidden of the value of a variable of this name.
pub(super) fn hides(name: &str) -> Hides {
    let is_any = |patterns: &[&str]| patterns.iter().any(|pattern| is_variable(name, pattern));
    if is_any(&RUNNING) {
        return Hides::Nothing;
    }
    if is_any(&PACKAGES) {
        return Hides::Passwords;
    }
    match KINDS.iter().any(|kind| is_any(kind.variables)) {
        true => Hides::Nothing,
        false => Hides::Secrets,
    }
}

/// A program that takes a program as text.
struct Reader {
    name: &'static str,
    /// The letter of its argument, which may stand among others: `-c` as in `bash -lc`.
    letter: Option<char>,
    /// Its arguments with a name of their own, in small letters.
    named: &'static [&'static str],
    /// Whether each beginning of such a name will do.
    shortens: bool,
}

const READERS: [Reader; 14] = [
    Reader::letter("sh", 'c', &[]),
    Reader::letter("bash", 'c', &[]),
    Reader::letter("zsh", 'c', &[]),
    Reader::letter("dash", 'c', &[]),
    Reader::letter("ksh", 'c', &[]),
    Reader::letter("fish", 'c', &["--command"]),
    Reader::letter("osascript", 'e', &[]),
    Reader::letter("python", 'c', &[]),
    Reader::letter("node", 'e', &["--eval", "-p", "--print"]),
    Reader::letter("perl", 'e', &[]),
    Reader::letter("ruby", 'e', &[]),
    Reader::named("cmd", &["/c", "/k"], false),
    Reader::named("powershell", &["-command", "-encodedcommand"], true),
    Reader::named("pwsh", &["-command", "-encodedcommand"], true),
];

impl Reader {
    const fn letter(name: &'static str, letter: char, named: &'static [&'static str]) -> Self {
        Self {
            name,
            letter: Some(letter),
            named,
            shortens: false,
        }
    }

    const fn named(name: &'static str, named: &'static [&'static str], shortens: bool) -> Self {
        Self {
            name,
            letter: None,
            named,
            shortens,
        }
    }

    /// Whether a program of that name is this one, in any version: `python3.12` is a `python`.
    fn is(&self, name: &str) -> bool {
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        bare.eq_ignore_ascii_case(self.name)
    }

    /// Whether that argument says that a program follows.
    fn takes(&self, argument: &str) -> bool {
        let argument = argument.to_ascii_lowercase();
        let letters = argument.strip_prefix('-').filter(|letters| {
            let is_letters = letters.bytes().all(|byte| byte.is_ascii_alphabetic());
            is_letters && self.letter.is_some_and(|letter| letters.contains(letter))
        });
        let begins = |name: &&str| argument.len() > 1 && name.starts_with(&argument);
        letters.is_some()
            || self.named.contains(&&*argument)
            || self.shortens && self.named.iter().any(begins)
    }
}

/// Files of devices that hold nothing.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// Returns the warnings about a command, a line each; at most as many as there are kinds.
pub(super) fn of(command: &Command, home: Option<&Path>) -> Vec<Words> {
    let mut warnings = Vec::new();
    if let Some(reader) = reader(command) {
        warnings.push(words!("! It runs text as a program: {}", reader));
    }
    let named = programs(command);
    let given = places(command.args.iter().chain(command.env.values()));
    // Where a server starts is not given to it, and below the home folder is no place of the system: that of root is one.
    let cwd = command.cwd.as_deref().map(|cwd| {
        let inside = home.and_then(|home| cwd.strip_prefix(home).ok());
        inside.unwrap_or(cwd).display().to_string()
    });
    let mut places = places(cwd.iter());
    places.extend(given.iter().cloned());
    let set = variables(command);
    for kind in &KINDS {
        let programs = kind
            .programs
            .iter()
            .filter(|program| named.iter().any(|name| is_program(name, program)));
        let variables = kind
            .variables
            .iter()
            .filter(|variable| set.iter().any(|name| is_variable(name, variable)));
        let places = kind
            .places
            .iter()
            .filter(|place| places.iter().any(|path| is_in(path, place)));
        let found: Vec<_> = programs.chain(variables).chain(places).copied().collect();
        if !found.is_empty() {
            let found = found.into_iter().map(Words::from);
            warnings.push((kind.says)(Words::join(found, ", ")));
        }
    }
    if given.iter().any(|path| is_whole(path, home)) {
        warnings.push("! It is given your whole home folder, or the whole disk".into());
    }
    warnings
}

/// The program that is given a program as text.
fn reader(command: &Command) -> Option<&'static str> {
    // It may stand behind another, as in `env sh -c`.
    let names = std::iter::once(&command.program).chain(&command.args);
    let names: Vec<_> = names.map(|word| file_name(word)).collect();
    let reader = READERS.iter().find(|reader| {
        names.iter().any(|name| reader.is(name)) && command.args.iter().any(|it| reader.takes(it))
    });
    reader.map(|reader| reader.name)
}

/// The names of all variables that a command sets, also in its arguments: `env NAME=value server`.
fn variables(command: &Command) -> Vec<&str> {
    let given = command.args.iter().filter_map(|word| word.split_once('='));
    let given = given.map(|(name, _)| name.rsplit(char::is_whitespace).next().unwrap_or(name));
    command
        .env
        .keys()
        .map(|name| &**name)
        .chain(given)
        .collect()
}

/// All words of a command that may be the name of a program, without their folders. A text that a
/// shell reads is taken apart.
fn programs(command: &Command) -> Vec<&str> {
    let words = std::iter::once(&command.program).chain(&command.args);
    words
        .flat_map(|word| word.split(|c: char| c.is_whitespace() || ";|&()`$\"'{}".contains(c)))
        .map(file_name)
        .collect()
}

/// All words of these texts that may be a path.
fn places<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    texts
        .flat_map(|word| word.split(|c: char| c.is_whitespace() || ";|&()<>`\"'=,:".contains(c)))
        .filter(|word| !word.is_empty() && !HARMLESS.contains(word))
        .map(|word| word.replace('\\', "/"))
        .collect()
}

/// The last part of a path, without the end that programs have on Windows.
fn file_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

fn is_program(name: &str, program: &str) -> bool {
    // As in `mkfs.ext4`.
    let name = name.split('.').next().unwrap_or(name);
    name.eq_ignore_ascii_case(program)
}

/// Whether a variable is one of this pattern, in small or capital letters.
fn is_variable(name: &str, pattern: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let Some((start, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    name.strip_prefix(start)
        .is_some_and(|after| match rest.strip_suffix('*') {
            Some(inside) => after.contains(inside),
            None => after.ends_with(rest),
        })
}

/// Whether a path is that place or below it: from the root, or anywhere in the path.
fn is_in(path: &str, place: &str) -> bool {
    if place.starts_with('/') {
        let rest = path.strip_prefix(place);
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    let (path, place) = (format!("/{path}/"), format!("/{place}/"));
    path.contains(&place)
}

/// Whether a path is the whole home folder, or the whole disk.
fn is_whole(path: &str, home: Option<&Path>) -> bool {
    let bare = path.trim_end_matches('/');
    let named = ["~", "$HOME", "${HOME}", "%USERPROFILE%"];
    path == "/"
        || named.contains(&bare)
        || home.is_some_and(|home| !bare.is_empty() && home == Path::new(bare))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn command(words: &[&str]) -> Command {
        let (program, args) = words.split_first().expect("there is a program");
        Command {
            program: (*program).to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            ..Command::default()
        }
    }

    #[track_caller]
    fn check(command: &Command, warnings: &[&str]) {
        let given: Vec<_> = of(command, Some(Path::new("/home/ada")))
            .iter()
            .map(Words::to_string)
            .collect();
        assert_eq!(given, warnings, "{}", command.shown());
    }

    // Shows BP-48.
    #[test]
    fn commands_that_deserve_a_second_look_are_pointed_out() {
        let another = "! It acts as another user: sudo";
        let removes = "! It removes or overwrites files: rm";
        check(&command(&["sudo", "server"]), &[another]);
        check(&command(&["/usr/bin/sudo", "-n", "server"]), &[another]);
        check(&command(&["env", "rm", "-rf", "x"]), &[removes]);
        check(&command(&["server", "x;rm -rf y"]), &[removes]);
        check(
            &command(&["sh", "-c", "curl -s https://a.test/x | sudo sh"]),
            &[
                "! It runs text as a program: sh",
                another,
                "! It reaches into the network: curl",
            ],
        );
        check(
            &command(&[r"C:\Windows\PowerShell.exe", "-EncodedCommand", "aGk="]),
            &["! It runs text as a program: powershell"],
        );
        for (words, reader) in [
            (["bash", "-lc", "server"], "bash"),
            (["sh", "-ec", "server"], "sh"),
            (["/usr/bin/python3.12", "-c", "server"], "python"),
            (["python3", "-Ic", "server"], "python"),
            (["node20", "--print", "server"], "node"),
            (["pwsh", "-Enc", "aGk="], "pwsh"),
            (["cmd.exe", "/C", "server"], "cmd"),
        ] {
            let warning = format!("! It runs text as a program: {reader}");
            check(&command(&words), &[&warning]);
        }
        check(
            &command(&["mkfs.ext4", "disk"]),
            &["! It removes or overwrites files: mkfs"],
        );
        let mut preloaded = command(&["server"]);
        preloaded.env = BTreeMap::from([("LD_PRELOAD".to_owned(), "x.so".to_owned())]);
        check(
            &preloaded,
            &["! It decides what other programs run: LD_PRELOAD"],
        );
        check(
            &command(&["env", "LD_PRELOAD=x.so", "server"]),
            &["! It decides what other programs run: LD_PRELOAD"],
        );
        let decides = "! It decides what other programs run: ";
        let installs = "! It decides what is installed and run: ";
        for (name, kind, found) in [
            ("GIT_SSH_COMMAND", decides, "*_COMMAND"),
            ("GIT_PROXY_PASSWORD_COMMAND", decides, "*_COMMAND"),
            ("SSH_ASKPASS", decides, "*_ASKPASS"),
            ("RUSTC_WRAPPER", decides, "*_WRAPPER"),
            ("GIT_EDITOR", decides, "*EDITOR"),
            ("PAGER", decides, "*PAGER"),
            ("NPM_CONFIG_REGISTRY", installs, "NPM_CONFIG_*"),
            ("npm_config_registry", installs, "NPM_CONFIG_*"),
            ("PIP_INDEX_URL", installs, "PIP_*"),
            ("UV_INDEX", installs, "UV_*INDEX*"),
            ("UV_INDEX_URL", installs, "UV_*INDEX*"),
            ("UV_DEFAULT_INDEX", installs, "UV_*INDEX*"),
        ] {
            let mut set = command(&["server"]);
            set.env = BTreeMap::from([(name.to_owned(), "x".to_owned())]);
            check(&set, &[&format!("{kind}{found}")]);
        }
        for name in ["COMMAND", "UV_CACHE", "PIPE", "MY_PIP_X", "INDEX"] {
            let mut set = command(&["server"]);
            set.env = BTreeMap::from([(name.to_owned(), "x".to_owned())]);
            check(&set, &[]);
        }
        // Words that only look like these.
        for words in [
            &["npx", "-y", "@example/server-rm"][..],
            &["node", "server.js", "--format-of", "dates"],
            &["python3", "-m", "server"],
            &["node", "--experimental-vm-modules", "server.js"],
            &["pwsh", "-File", "server.ps1"],
            &["bash", "--norc", "server.sh"],
            &["server", "--path=x", "--nodes", "-c"],
            &["server", "--url", "https://a.test/sudoku"],
        ] {
            check(&command(words), &[]);
        }
    }

    // Shows BP-49.
    #[test]
    fn places_that_hold_more_than_a_server_needs_are_pointed_out() {
        let whole = "! It is given your whole home folder, or the whole disk";
        check(
            &command(&["server", "/home/ada/.ssh/id_ed25519"]),
            &["! It reaches for keys and passwords: .ssh"],
        );
        check(
            &command(&["server", "--key=~/.aws/credentials"]),
            &["! It reaches for keys and passwords: .aws"],
        );
        check(
            &command(&["docker", "run", "-v", "/etc:/host", "image"]),
            &["! It reaches into the system: /etc"],
        );
        for path in [
            "~",
            "~/",
            "/",
            "$HOME",
            "${HOME}",
            "/home/ada",
            "/home/ada/",
        ] {
            check(&command(&["server", path]), &[whole]);
        }
        let mut below = command(&["server"]);
        below.cwd = Some("/home/ada/.gnupg".into());
        check(&below, &["! It reaches for keys and passwords: .gnupg"]);
        // A folder in which it only starts: that of its file, for most.
        for cwd in ["/home/ada", "/home/ada/", "/home/ada/project", "/"] {
            let mut there = command(&["server"]);
            there.cwd = Some(cwd.into());
            check(&there, &[]);
        }
        // The home folder of root is a place of the system to others.
        let mut of_root = command(&["server"]);
        of_root.cwd = Some("/root".into());
        assert_eq!(of(&of_root, Some(Path::new("/root"))), Vec::<Words>::new());
        check(&of_root, &["! It reaches into the system: /root"]);
        for words in [
            &["/usr/bin/server", "/home/ada/project"][..],
            &["server", "/etcetera", "my.ssh", ".sshx", "/home/adam"],
            &["server", "/dev/null", "https://a.test/"],
        ] {
            check(&command(words), &[]);
        }
    }
}
