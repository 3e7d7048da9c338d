//! Known clients, and what was seen of them: `known_clients.json`.

use std::{sync::LazyLock, time::Duration};

use askback::protocol::{ElicitParams, InputRequest};
use askback_host::{text::Words, words};
use clap::{ValueEnum, builder::PossibleValue};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    role::Ability,
    servers::{ConfigFile, EntryShape},
};

/// A client.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct KnownClient {
    pub name: &'static str,
    /// Other names by which the command line takes it.
    #[serde(default)]
    aliases: Vec<&'static str>,
    /// Its name for people.
    #[serde(default)]
    title: Option<&'static str>,
    /// The newest revision that it speaks, if it was seen.
    #[serde(default)]
    pub revision: Option<&'static str>,
    #[serde(default)]
    asked: Vec<Ability>,
    #[serde(default)]
    undrawn: Vec<Ability>,
    /// The name in its description of itself, or the beginning of it, with `-` at its end; none if others give the same.
    #[serde(default)]
    info: Option<&'static str>,
    /// The links that it takes and no person sees.
    #[serde(default)]
    unseen_links: Option<UnseenLinks>,
    /// Absent if it was not seen.
    #[serde(default)]
    waits: Option<Waits>,
    /// The files in which it names its servers. The first that names a server counts.
    #[serde(default)]
    pub files: Vec<ConfigFile>,
    /// How these files describe a server.
    #[serde(default)]
    pub entry: EntryShape,
    /// The program that starts it, if it has one.
    #[serde(default)]
    pub program: Option<&'static str>,
}

/// Links that a client answers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UnseenLinks {
    All,
    Http,
}

/// How many seconds a client waits for a call; without a limit if absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Waits {
    /// For a call without any message.
    silent: Option<u64>,
    /// For a call with notes of progress.
    progress: Option<u64>,
}

/// The waits of an unknown client: the defaults of the TypeScript SDK.
const UNKNOWN_WAITS: Waits = Waits {
    silent: Some(60),
    progress: Some(60),
};

/// How many seconds pass between two notes of progress.
const PROGRESS: u64 = 15;

/// The most seconds that a call is held.
const LONGEST_HOLD: u64 = 1500;

/// The least seconds before the limit of a client at which a call is given back.
const SHORTEST_MARGIN: u64 = 15;

/// All rows of the file, in their order.
static ALL: LazyLock<Vec<KnownClient>> = LazyLock::new(|| {
    // A test reads them.
    serde_json::from_str(include_str!("known_clients.json")).unwrap_or_default()
});

/// The clients whose files are known.
static WITH_FILES: LazyLock<Vec<&KnownClient>> = LazyLock::new(|| {
    let all = ALL.iter();
    all.filter(|client| !client.files.is_empty()).collect()
});

impl Waits {
    /// After how long a call is given back.
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

    /// The client that describes itself by this name.
    pub fn of_info(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|client| {
            client.info.is_some_and(|info| match info.ends_with('-') {
                true => name.starts_with(info),
                false => name == info,
            })
        })
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|client| client.name == name)
    }

    /// After how long a call is given back to a client with this name that waits for a person, if it is known or not.
    pub fn hold(name: &str, has_progress: bool) -> Duration {
        let waits = Self::of_info(name).and_then(|client| client.waits);
        waits.unwrap_or(UNKNOWN_WAITS).hold(has_progress)
    }

    pub fn title(&self) -> &'static str {
        self.title.unwrap_or(self.name)
    }

    /// After how many seconds `askback wrap` in an entry gives a call back, at most.
    pub fn hold_of(&self, entry: &Value) -> u64 {
        let waits = self.waits.unwrap_or(UNKNOWN_WAITS);
        let hold = self.entry.hold(entry);
        hold.unwrap_or_else(|| waits.hold(true).as_secs())
    }

    /// After how many seconds the client gives up a call with notes of progress, if this is its entry. None if it never does.
    pub fn limit_of(&self, entry: &Value) -> Option<u64> {
        let set = self.entry.timeout.as_ref()?.seconds(entry);
        let by_itself = self.waits.unwrap_or(UNKNOWN_WAITS).progress;
        // Each note of progress restarts the timeout.
        let set = set.filter(|set| by_itself.is_some() || *set < 2 * PROGRESS);
        set.or(by_itself)
    }

    /// The links that it does not show, behind what it asks.
    pub fn unseen_links_words(&self) -> &'static str {
        match self.unseen_links {
            None => "",
            Some(UnseenLinks::All) => ", and agrees to links that nobody saw",
            Some(UnseenLinks::Http) => ", but not http links",
        }
    }

    /// How long it waits for a call, as a sentence.
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

    /// Whether a person sees this question in full.
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

/// On the command line, a client is one whose files are known.
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
    use askback::Revision;

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
