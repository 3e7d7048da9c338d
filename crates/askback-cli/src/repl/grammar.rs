//! The commands of a conversation: one grammar for parsing and help.

use std::sync::LazyLock;

use askback::protocol::LoggingLevel;
use askback_host::{
    model::Permission,
    remarks,
    text::{Words, given},
    words,
};
use clap::{
    Arg, ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
    error::{ContextKind, ContextValue},
};

use super::line;
use crate::error::Error;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    no_binary_name = true,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
pub(super) enum Command {
    /// list the tools
    Tools,
    /// call a tool; asks for missing arguments
    Call {
        tool: String,
        /// an argument, read as the tool declares it; KEY:=JSON gives any value
        #[arg(value_name = "KEY=VALUE")]
        arguments: Vec<String>,
    },
    /// call a tool in the background
    Begin {
        tool: String,
        /// an argument, read as the tool declares it; KEY:=JSON gives any value
        #[arg(value_name = "KEY=VALUE")]
        arguments: Vec<String>,
    },
    /// list the background calls, or show a result
    #[command(args_conflicts_with_subcommands = true)]
    Tasks {
        #[arg(value_name = "N")]
        number: Option<u32>,
        #[command(subcommand)]
        action: Option<TaskAction>,
    },
    /// list the prompts
    Prompts,
    /// get a prompt, as /NAME does
    Prompt {
        #[arg(value_name = "NAME")]
        prompt: String,
        /// an argument; KEY:=JSON gives the text of a value
        #[arg(value_name = "KEY=VALUE")]
        arguments: Vec<String>,
    },
    /// list the resources
    #[command(alias = "templates")]
    Resources,
    /// list the skills; /read shows one
    Skills,
    /// read a resource
    Read { uri: String },
    /// show or choose the folders that the server may use
    #[command(args_conflicts_with_subcommands = true)]
    Roots {
        /// share these folders and no others; a folder called add is ./add
        #[arg(value_name = "DIR", allow_hyphen_values = true)]
        folders: Vec<String>,
        #[command(subcommand)]
        action: Option<RootsAction>,
    },
    /// choose whether the server may use your model
    Sampling {
        #[arg(value_name = "ask|session|always|never", value_parser = permission())]
        permission: Option<Permission>,
    },
    /// report the changes of a resource
    Subscribe { uri: String },
    /// stop reporting them, or all changes
    Unsubscribe { uri: Option<String> },
    /// show more of the last result
    More,
    /// write the last result, or one of its files
    Save {
        /// a new file, which only you can read
        file: String,
        /// the number of the file in the result, from 1
        #[arg(value_name = "N")]
        number: Option<usize>,
    },
    /// ask for log lines: debug, info, … emergency
    Log {
        /// from this level on: debug, info, notice, warning, error, critical, alert or emergency
        #[arg(value_parser = level())]
        level: Option<LoggingLevel>,
    },
    /// make the last call again, with the same answers (F5)
    Again,
    /// change the arguments of the last call, and make it again
    Edit,
    /// restart the server, and show what is new
    Restart { server: Option<String> },
    /// list the servers and their state
    Servers,
    /// switch to another server
    Server {
        #[arg(value_name = "NAME")]
        server: String,
    },
    /// show questions again, after F8 or /mute in a question
    Unmute,
    /// show the server's instructions for models
    Instructions,
    /// show the server's standard error
    Stderr,
    /// show the newest messages (F2), or one whole
    #[command(args_conflicts_with_subcommands = true)]
    Wire {
        #[arg(value_name = "N")]
        number: Option<u64>,
        #[command(subcommand)]
        action: Option<WireAction>,
    },
    /// show this list, or the help of a command
    #[command(alias = "?")]
    Help { command: Option<String> },
    /// leave, like Ctrl-D
    #[command(alias = "exit")]
    Quit,
}

/// Properties of a command that are known before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// Whether the command fails without the server.
    pub(super) needs_server: bool,
    /// Whether an argument may be a secret, so that no history keeps the line. Only the server's lists tell which
    /// argument a word without a name is for, and which part of a URI is a secret.
    pub(super) may_hold_secret: bool,
}

/// What `/tasks` does with a call that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(super) enum TaskAction {
    /// wait for its end
    Wait {
        #[arg(value_name = "N")]
        number: u32,
    },
    /// tell the server to stop it
    Cancel {
        #[arg(value_name = "N")]
        number: u32,
    },
}

/// A change of the shared folders.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(super) enum RootsAction {
    /// share these folders, too
    Add {
        #[arg(value_name = "DIR", required = true, allow_hyphen_values = true)]
        folders: Vec<String>,
    },
    /// stop sharing these folders
    Remove {
        #[arg(value_name = "DIR", required = true, allow_hyphen_values = true)]
        folders: Vec<String>,
    },
    /// share no folder
    #[command(name = "none")]
    Clear,
}

/// What `/wire` does other than showing the newest messages.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(super) enum WireAction {
    /// show all kept messages
    All,
    /// write all kept messages to a new file
    Save { file: String },
}

static GRAMMAR: LazyLock<clap::Command> = LazyLock::new(|| {
    let mut grammar = Command::command();
    grammar.build();
    grammar
});

fn permission() -> impl TypedValueParser<Value = Permission> {
    PossibleValuesParser::new(["ask", "session", "always", "never"]).map(|word| match &*word {
        "session" => Permission::Session,
        "always" => Permission::Always,
        "never" => Permission::Never,
        _ => Permission::Ask,
    })
}

fn level() -> impl TypedValueParser<Value = LoggingLevel> {
    PossibleValuesParser::new(remarks::LEVELS).try_map(|word| serde_json::from_value(word.into()))
}

impl Command {
    /// The match is exhaustive, so that a new command needs an arm here.
    pub(super) fn facts(&self) -> Facts {
        const LOCAL: Facts = Facts {
            needs_server: false,
            may_hold_secret: false,
        };
        const REMOTE: Facts = Facts {
            needs_server: true,
            ..LOCAL
        };
        const SECRET: Facts = Facts {
            may_hold_secret: true,
            ..REMOTE
        };
        match self {
            Self::Call { arguments, .. }
            | Self::Begin { arguments, .. }
            | Self::Prompt { arguments, .. } => Facts {
                may_hold_secret: arguments.iter().any(|word| !word.contains('=')),
                ..REMOTE
            },
            Self::Read { .. } | Self::Subscribe { .. } => SECRET,
            Self::Unsubscribe { uri } => Facts {
                may_hold_secret: uri.is_some(),
                ..LOCAL
            },
            Self::Tools
            | Self::Prompts
            | Self::Resources
            | Self::Skills
            | Self::Log { level: Some(_) }
            | Self::Again
            | Self::Edit => REMOTE,
            Self::Wire { .. }
            | Self::More
            | Self::Save { .. }
            | Self::Unmute
            | Self::Tasks { .. }
            | Self::Roots { .. }
            | Self::Sampling { .. }
            | Self::Log { level: None }
            | Self::Restart { .. }
            | Self::Servers
            | Self::Server { .. }
            | Self::Instructions
            | Self::Stderr
            | Self::Help { .. }
            | Self::Quit => LOCAL,
        }
    }
}

pub(super) fn parse(line: &str) -> Result<Option<Command>, Error> {
    let words = line::words(line);
    let Some((first, rest)) = words.split_first() else {
        return Ok(None);
    };
    let Some(name) = first.strip_prefix('/').filter(|name| !name.is_empty()) else {
        return Err(Error::usage(
            "commands begin with a slash: /call TOOL calls a tool, /help lists the others",
        ));
    };
    // After `--`, clap parses no word as an option. The commands have no options.
    let command = find(name);
    let mut read = match command {
        None => vec!["prompt", "--", name],
        Some(command) if command.has_subcommands() => vec![name],
        Some(_) => vec![name, "--"],
    };
    read.extend(rest.iter().map(String::as_str));
    let matches = GRAMMAR.clone().try_get_matches_from_mut(read);
    let command = matches.and_then(|matches| Command::from_arg_matches(&matches));
    command.map(Some).map_err(|error| misread(name, &error))
}

pub(super) fn find(name: &str) -> Option<&'static clap::Command> {
    GRAMMAR.find_subcommand(name)
}

pub(super) static HELP: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let all = GRAMMAR.get_subcommands();
    all.map(|command| (format!("/{}", usage(command)), about(command)))
        .collect()
});

pub(super) fn explain(name: &str) -> Option<Vec<(String, String)>> {
    let command = find(name)?;
    let whole = (format!("/{}", usage(command)), about(command));
    let args = command.get_positionals().map(|arg| {
        let names = arg.get_value_names().unwrap_or_default().join(" ");
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        (names, help)
    });
    let actions = command.get_subcommands();
    let actions = actions.map(|action| (usage(action), about(action)));
    let behind = args.chain(actions).filter(|(_, about)| !about.is_empty());
    Some([whole].into_iter().chain(behind).collect())
}

/// A hint with the command that a misspelled name probably means: a similar name with the same first letter.
pub(super) fn near(name: &str) -> Option<Words> {
    let error = GRAMMAR.clone().try_get_matches_from_mut([name]).err()?;
    let near = text(&error, ContextKind::SuggestedSubcommand)?;
    let is_near = near.get(..1)?.eq_ignore_ascii_case(name.get(..1)?);
    is_near.then(|| words!("Did you mean /{}?", given(near)))
}

fn usage(command: &clap::Command) -> String {
    let value = |arg: &Arg| {
        let name = arg.get_value_names().unwrap_or_default().join(" ");
        let more = match arg.get_action() {
            ArgAction::Append => "…",
            _ => "",
        };
        (name, more, arg.is_required_set())
    };
    let values = command.get_positionals().map(value);
    let name = command.get_name();
    if command.has_subcommands() {
        let values = values.map(|(name, more, _)| format!("{name}{more}"));
        let ways = values.chain(command.get_subcommands().map(usage));
        return format!("{name} [{}]", ways.collect::<Vec<_>>().join(" | "));
    }
    values.fold(
        name.to_owned(),
        |line, (name, more, is_required)| match is_required {
            true => format!("{line} {name}{more}"),
            false => format!("{line} [{name}]{more}"),
        },
    )
}

fn about(command: &clap::Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn expected(name: &str) -> Error {
    let usage = find(name).map(usage).unwrap_or_default();
    Error::usage(words!("expected /{}", given(usage)))
}

fn misread(name: &str, error: &clap::Error) -> Error {
    use ContextKind::{
        InvalidArg, InvalidSubcommand, InvalidValue, SuggestedSubcommand, SuggestedValue,
        ValidValue,
    };
    let takes_words = find(name).is_none_or(|it| it.get_positionals().next().is_some());
    let mut expected = expected(name);
    let kinds = [InvalidValue, InvalidSubcommand, InvalidArg];
    if let Some(got) = kinds.into_iter().find_map(|kind| text(error, kind)) {
        expected.message = words!("{}, got `{}`", expected.message, given(got));
    }
    let near = [SuggestedValue, SuggestedSubcommand];
    if let Some(near) = near.into_iter().find_map(|kind| text(error, kind)) {
        return expected.hint(words!("Did you mean {}?", given(near)));
    }
    match (error.kind(), error.get(ValidValue)) {
        (clap::error::ErrorKind::UnknownArgument, _) if takes_words => {
            expected.hint("Quotes hold a word with blanks together.")
        }
        (_, Some(ContextValue::Strings(all))) => {
            expected.hint(words!("It may be {}.", given(all.join(", "))))
        }
        _ => expected,
    }
}

/// A part of an error's context. clap puts the best of several suggestions last.
fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        ContextValue::Strings(all) if kind != ContextKind::InvalidArg => {
            all.last().map(String::as_str)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        const LINES: &str = r#"
            /tools                       => Tools
            /templates                   => Resources
            /restart                     => Restart { server: None }
            /server a\ b                 => Server { server: "a b" }
            /call book to='New York' n:=2 => Call { tool: "book", arguments: ["to=New York", "n:=2"] }
            /call -x --help -- y=--      => Call { tool: "-x", arguments: ["--help", "--", "y=--"] }
            /call -- --                  => Call { tool: "--", arguments: ["--"] }
            /a/plan                      => Prompt { prompt: "a/plan", arguments: [] }
            /plan --to -- x              => Prompt { prompt: "plan", arguments: ["--to", "--", "x"] }
            /-x                          => Prompt { prompt: "-x", arguments: [] }
            /prompt help a=b             => Prompt { prompt: "help", arguments: ["a=b"] }
            /read 'a b'                  => Read { uri: "a b" }
            /log warning                 => Log { level: Some(Warning) }
            /sampling never              => Sampling { permission: Some(Never) }
            /tasks 2                     => Tasks { number: Some(2), action: None }
            /tasks wait 2                => Tasks { number: None, action: Some(Wait { number: 2 }) }
            /roots ../a add -b           => Roots { folders: ["../a", "add", "-b"], action: None }
            /roots add "b c" none        => Roots { folders: [], action: Some(Add { folders: ["b c", "none"] }) }
            /roots none                  => Roots { folders: [], action: Some(Clear) }
            /wire save 'a b'             => Wire { number: None, action: Some(Save { file: "a b" }) }
        "#;
        assert_eq!(parse("  "), Ok(None));
        for row in LINES.trim().lines() {
            let (line, expected) = row.split_once(" => ").expect("a row");
            let command = parse(line).expect(line).expect(line);
            assert_eq!(format!("{command:?}"), expected, "{line}");
        }
    }

    #[test]
    fn an_error_says_how_the_command_is_written() {
        const ERRORS: &str = "
            /call => expected /call TOOL [KEY=VALUE]…
            /read a b => expected /read URI, got `b` | Quotes hold a word with blanks together.
            /tools x => expected /tools, got `x`
            /save a two => expected /save FILE [N], got `two`
            /log loud => expected /log [LEVEL], got `loud` | It may be debug, info, notice, warning, error, critical, alert, emergency.
            /log debg => expected /log [LEVEL], got `debg` | Did you mean debug?
            /tasks wait => expected /tasks [N | wait N | cancel N]
            /tasks wait two => expected /tasks [N | wait N | cancel N], got `two`
            /tasks 2 3 => expected /tasks [N | wait N | cancel N], got `3`
            /wire save => expected /wire [N | all | save FILE]
            /wire error => expected /wire [N | all | save FILE], got `error`
            /wire save a b => expected /wire [N | all | save FILE], got `b` | Quotes hold a word with blanks together.
            /wire save a \u{202e} => expected /wire [N | all | save FILE], got `<U+202E>` | Quotes hold a word with blanks together.
            /roots add => expected /roots [DIR… | add DIR… | remove DIR… | none]
            tools => commands begin with a slash: /call TOOL calls a tool, /help lists the others
            / => commands begin with a slash: /call TOOL calls a tool, /help lists the others
        ";
        for row in ERRORS.trim().lines() {
            let (line, expected) = row.trim().split_once(" => ").expect("a row");
            let error = parse(line).expect_err(line);
            let told = [error.message].into_iter().chain(error.hints);
            assert_eq!(Words::join(told, " | ").as_str(), expected, "{line}");
        }
    }

    #[test]
    fn the_guide_has_every_command() {
        let guide = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/guide/conversation.md"
        );
        let guide = std::fs::read_to_string(guide).expect("it is in the repository");
        let rows = guide.lines().filter(|line| line.starts_with("| "));
        let rows = rows.collect::<Vec<_>>().join("\n").replace("\\|", "|");
        for (command, _) in HELP.iter() {
            assert!(rows.contains(&format!("`{command}`")), "{command}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read(line in "/(wire|roots|tasks|save|help|x)( [ -~]{0,6}| add| save| --){0,3}|\\PC{0,20}") {
            if let Err(error) = parse(&line) {
                proptest::prop_assert!(!error.message.as_str().is_empty());
            }
            let _ = line.strip_prefix('/').and_then(near);
        }
    }
}
