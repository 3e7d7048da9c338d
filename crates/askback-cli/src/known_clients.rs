//! Known clients and their recorded behaviour, from `known_clients.json`.

use std::{path::Path, sync::LazyLock, time::Duration};

use askback::{
    Revision,
    protocol::{ElicitParams, InputRequest},
};
use askback_host::{text::Words, words};
use clap::{ValueEnum, builder::PossibleValue};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    role::Ability,
    servers::{ConfigFile, EntryShape, Format},
};

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownClient {
    pub name: &'static str,
    #[serde(default)]
    aliases: Vec<&'static str>,
    #[serde(default)]
    title: Option<&'static str>,
    /// The newest revision that it speaks, if recorded.
    #[serde(default)]
    pub revision: Option<&'static str>,
    #[serde(default)]
    asked: Vec<Ability>,
    #[serde(default)]
    undrawn: Vec<Ability>,
    /// The name that it sends in `clientInfo`, or the beginning of the name followed by `-`. `None` if other clients
    /// send the same name.
    #[serde(default)]
    pub info: Option<&'static str>,
    /// The links that it answers without showing them to the user.
    #[serde(default)]
    pub unseen_links: Option<UnseenLinks>,
    /// Absent if not recorded.
    #[serde(default)]
    waits: Option<Waits>,
    /// The files that list its servers. The first one that lists a server counts.
    #[serde(default)]
    pub files: Vec<ConfigFile>,
    /// The format of a server's entry in these files.
    #[serde(default)]
    pub entry: EntryShape,
    #[serde(default)]
    pub program: Option<&'static str>,
    /// The version in which its behaviour was seen.
    #[serde(default)]
    pub version: Option<&'static str>,
    /// The date on which its behaviour was seen.
    #[serde(default)]
    pub seen: Option<&'static str>,
    /// How it draws forms, if that was seen.
    #[serde(default)]
    pub forms: Option<FormDrawing>,
    /// How it answers forms in a run without a user.
    #[serde(default)]
    pub headless: Option<Headless>,
    /// Whether its request to a model fails if the server says which model it prefers.
    #[serde(default)]
    pub preferences_fail: bool,
    /// How its behaviour was seen.
    #[serde(default, rename = "source")]
    _source: Option<&'static str>,
    /// The date of what is known of its files.
    #[serde(default, rename = "files_seen")]
    _files_seen: Option<&'static str>,
    /// The origin of what is known of its files.
    #[serde(default, rename = "files_source")]
    _files_source: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormDrawing {
    pub layout: FormLayout,
    #[serde(default)]
    pub sorted: bool,
    /// Whether the first option of a choice without a default is selected.
    #[serde(default)]
    pub first_option: bool,
    /// Whether it leaves a text field empty that has a default.
    #[serde(default)]
    pub no_text_defaults: bool,
    /// Whether Enter does not send a form whose last field is an empty text.
    #[serde(default)]
    pub stuck_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormLayout {
    Page,
    Tabs,
    /// One field after the other.
    Steps,
}

/// A run of a client without a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headless {
    /// The command, or a description.
    pub run: &'static str,
    pub answer: HeadlessAnswer,
    /// The time within which it answers, in milliseconds, if a person can be as fast.
    #[serde(default)]
    pub within: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadlessAnswer {
    Cancels,
    Declines,
}

/// Links that a client answers without asking the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnseenLinks {
    All,
    Http,
}

/// The timeouts of a client for a call, in seconds. Absent means no timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Waits {
    /// For a call without progress notifications.
    silent: Option<u64>,
    /// For a call with progress notifications.
    progress: Option<u64>,
}

/// The timeouts of an unknown client: the defaults of the TypeScript SDK.
const UNKNOWN_WAITS: Waits = Waits {
    silent: Some(60),
    progress: Some(60),
};

/// The time between two progress notifications, in seconds.
const PROGRESS: u64 = 15;

/// The maximum time that a call is held, in seconds.
const LONGEST_HOLD: u64 = 1500;

/// A call is given back at least this many seconds before the client's timeout.
const SHORTEST_MARGIN: u64 = 15;

/// All entries of the file, in order.
static ALL: LazyLock<Vec<KnownClient>> = LazyLock::new(|| {
    // A test parses the file.
    serde_json::from_str(include_str!("known_clients.json")).unwrap_or_default()
});

static WITH_FILES: LazyLock<Vec<&KnownClient>> = LazyLock::new(|| {
    let all = ALL.iter();
    all.filter(|client| !client.files.is_empty()).collect()
});

impl Waits {
    /// The time after which a call is given back.
    fn hold(self, has_progress: bool) -> Duration {
        let limit = match has_progress {
            true => self.progress,
            false => self.silent,
        };
        Duration::from_secs(match limit {
            None => LONGEST_HOLD,
            Some(limit @ ..=20) => limit.saturating_sub(1),
            Some(limit) => limit
                .saturating_sub(SHORTEST_MARGIN.max(limit / 10))
                .min(LONGEST_HOLD),
        })
    }
}

impl KnownClient {
    pub fn all() -> &'static [Self] {
        &ALL
    }

    /// The client that sends this name in `clientInfo`.
    pub fn of_info(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|client| {
            client.info.is_some_and(|info| match info.ends_with('-') {
                true => name.starts_with(info),
                false => name == info,
            })
        })
    }

    /// The format of the entries in a file that the user named: of the client that has such a file, or else of a client
    /// whose files have its extension. `None` is an `mcp.json`.
    pub fn entry_of(path: &Path) -> Option<&'static EntryShape> {
        let is_it =
            |file: &ConfigFile| !file.path().ends_with("mcp.json") && path.ends_with(file.path());
        let known = ALL.iter().find(|client| client.files.iter().any(is_it));
        let client = known.or_else(|| match Format::of(path) {
            Format::Json => None,
            Format::Toml => Self::named("codex"),
            Format::Yaml => Self::named("goose"),
        })?;
        Some(&client.entry)
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|client| client.name == name)
    }

    /// The time after which a call that waits for the user is given back to a client with this name. The client may be
    /// unknown.
    pub fn hold(name: &str, has_progress: bool) -> Duration {
        let waits = Self::of_info(name).and_then(|client| client.waits);
        waits.unwrap_or(UNKNOWN_WAITS).hold(has_progress)
    }

    /// The revision that it speaks with a server of the newest revision. `None` if its behaviour was not recorded.
    pub fn newest(&self) -> Option<Revision> {
        self.revision?.parse().ok()
    }

    /// The seconds after which it gives up a call without progress notifications. `None` if that is unknown, or if it
    /// never gives up.
    pub fn gives_up_after(&self) -> Option<u64> {
        self.waits?.silent
    }

    pub fn title(&self) -> &'static str {
        self.title.unwrap_or(self.name)
    }

    /// The maximum number of seconds after which `askback wrap` in an entry gives a call back.
    pub fn hold_of(&self, entry: &Value, policy: Option<u64>) -> u64 {
        let waits = self.waits.unwrap_or(UNKNOWN_WAITS);
        let hold = self.entry.hold(entry).or(policy);
        hold.unwrap_or_else(|| waits.hold(true).as_secs())
    }

    /// The number of seconds after which the client gives up a call with progress notifications, for this entry. `None`
    /// if it never gives up.
    pub fn limit_of(&self, entry: &Value) -> Option<u64> {
        let set = self.entry.timeout.as_ref()?.seconds(entry);
        let by_itself = self.waits.unwrap_or(UNKNOWN_WAITS).progress;
        // Each progress notification restarts the timeout.
        let set = set.filter(|set| by_itself.is_some() || *set < 2 * PROGRESS);
        set.or(by_itself)
    }

    /// Names the links that it does not show, as an addition to the questions that it shows.
    pub fn unseen_links_words(&self) -> &'static str {
        match self.unseen_links {
            None => "",
            Some(UnseenLinks::All) => ", and agrees to links that nobody saw",
            Some(UnseenLinks::Http) => ", but not http links",
        }
    }

    pub fn waits_words(&self) -> Words {
        let told = |limit: Option<u64>| match limit {
            Some(seconds) => words!("{} s", seconds),
            None => "without a limit".into(),
        };
        match self.waits {
            None => "It was not tried how long it waits for a call.".into(),
            Some(Waits { silent, progress }) if silent == progress => {
                words!(
                    "It waits for a call {}, unless its file says otherwise.",
                    told(silent)
                )
            }
            Some(Waits { silent, progress }) => words!(
                "It waits for a call {}, and {} if it hears of progress, unless its file says otherwise.",
                told(silent),
                told(progress)
            ),
        }
    }

    pub fn shows(&self, question: &InputRequest) -> bool {
        match question {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                let mut fields = form.requested_schema.fields.iter();
                let is_undrawn = |field| self.undrawn.iter().any(|kind| kind.is_needed_by(field));
                !fields.any(is_undrawn)
            }
            InputRequest::Elicit(ElicitParams::Url(link)) => {
                let is_https = link.url.starts_with("https://");
                match self.unseen_links {
                    None => true,
                    Some(UnseenLinks::All) => false,
                    Some(UnseenLinks::Http) => is_https,
                }
            }
            _ => true,
        }
    }

    pub fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Numbers | Ability::Lists => !self.undrawn.contains(&ability),
            _ => self.asked.contains(&ability),
        }
    }
}

/// The command line accepts only clients whose configuration files are known.
impl ValueEnum for &'static KnownClient {
    fn value_variants<'a>() -> &'a [Self] {
        &WITH_FILES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.name).aliases(self.aliases.iter());
        Some(match self.title {
            Some(title) => value.help(title),
            None => value,
        })
    }
}

#[cfg(test)]
mod tests {
    use askback::{
        forms::Dialect,
        internal::{
            ask::unshown_refusal,
            wire::{dialect, dialect_of_client},
        },
        protocol::{ElicitAction, Implementation},
    };

    use super::*;

    #[test]
    fn the_known_clients_can_be_read() {
        let known: Vec<KnownClient> =
            serde_json::from_str(include_str!("known_clients.json")).expect("they are rows");
        for client in known {
            let revision = client.revision.map(str::parse::<Revision>);
            assert!(revision.is_none_or(|read| read.is_ok()), "{client:?}");
        }
    }

    /// The library repeats how a client draws forms.
    #[test]
    fn the_library_writes_forms_as_a_client_draws_them() {
        for client in KnownClient::all() {
            let Some(info) = client.info else {
                assert!(client.undrawn.is_empty(), "{}: name its info", client.name);
                continue;
            };
            let introduced = Implementation::new(info, "1");
            let all = dialect(Revision::LATEST);
            let known = dialect_of_client(Revision::LATEST, Some(&introduced));
            let forms = client.forms;
            let expected = Dialect {
                numbers: client.can(Ability::Numbers),
                multi_choice: client.can(Ability::Lists),
                text_defaults: forms.is_none_or(|forms| !forms.no_text_defaults),
                empty_end: forms.is_none_or(|forms| !forms.stuck_end),
                ..all
            };
            assert_eq!(known, expected, "{}", client.name);
        }
    }

    /// The library repeats which refusals are a client's own.
    #[test]
    fn the_library_knows_the_refusals_that_are_as_slow_as_a_persons() {
        for client in KnownClient::all() {
            let introduced = client.info.map(|info| Implementation::new(info, "1"));
            let recorded = client.headless.and_then(|headless| {
                let action = match headless.answer {
                    HeadlessAnswer::Cancels => ElicitAction::Cancel,
                    HeadlessAnswer::Declines => ElicitAction::Decline,
                };
                Some((action, Duration::from_millis(headless.within?)))
            });
            assert_eq!(
                unshown_refusal(introduced.as_ref()),
                recorded,
                "{}",
                client.name
            );
        }
    }

    #[test]
    fn a_client_is_known_by_what_it_says_of_itself() {
        for (name, known) in [
            ("codex-mcp-client", Some("codex")),
            ("qwen-cli-mcp-client-travel", Some("qwen-code")),
            ("opencode-like", None),
            ("mcp", None),
            ("", None),
        ] {
            let found = KnownClient::of_info(name).map(|client| client.name);
            assert_eq!(found, known, "{name}");
        }
    }

    #[test]
    fn a_call_is_given_back_before_its_client_gives_up() {
        for (name, has_progress, seconds) in [
            ("claude-code", true, 1500),
            ("claude-code", false, 1500),
            ("copilot-cli", true, 1500),
            ("copilot-cli", false, 162),
            ("opencode", false, 45),
            ("codex-mcp-client", true, 270),
            ("qwen-cli-mcp-client-a", true, 540),
            ("qwen-cli-mcp-client-a", false, 270),
            ("@cline/core", false, 45),
            ("somebody", true, 45),
            ("somebody", false, 45),
        ] {
            let hold = KnownClient::hold(name, has_progress);
            assert_eq!(hold.as_secs(), seconds, "{name} {has_progress}");
        }
        let agents = KnownClient::named("openai-agents").expect("it is known");
        assert_eq!(
            agents.waits.map(|waits| waits.hold(false).as_secs()),
            Some(4)
        );
    }

    #[test]
    fn a_question_that_a_client_does_not_show_is_known() {
        #[track_caller]
        fn check(client: &str, question: serde_json::Value, shows: bool) {
            let client = KnownClient::named(client).expect("it is known");
            let params: ElicitParams = serde_json::from_value(question).expect("a question");
            assert_eq!(client.shows(&InputRequest::Elicit(params)), shows);
        }
        let form = |field: serde_json::Value| {
            let schema = serde_json::json!({"type": "object", "properties": {"a": field}});
            serde_json::json!({"message": "?", "requestedSchema": schema})
        };
        let link = |url: &str| serde_json::json!({"mode": "url", "message": "?", "url": url, "elicitationId": "1"});
        let number = serde_json::json!({"type": "integer"});
        let text = serde_json::json!({"type": "string"});
        check("codex", form(number.clone()), false);
        check("codex", form(text.clone()), true);
        check("codex", link("https://a.test/"), true);
        check("codex", link("http://127.0.0.1/"), false);
        check("claude-code", form(number), true);
        check("claude-code", link("http://127.0.0.1/"), true);
        check("fast-agent", form(text), true);
        check("fast-agent", link("https://a.test/"), false);
    }
}
