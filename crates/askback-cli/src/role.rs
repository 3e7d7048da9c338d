//! Clients that `--as` plays: older ones, and clients that can do less.

use std::{str::FromStr, time::Duration};

use askback::{
    Revision,
    forms::{Field, FieldKind, FormSchema},
    protocol::{ElicitParams, InputRequest},
};
use askback_host::{relay, text::Words, words};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    pub client: Option<&'static str>,
    pub named: Option<Revision>,
    /// Whether it has each of [`Ability::ALL`].
    can: [bool; Ability::ALL.len()],
}

#[derive(Debug, Deserialize)]
pub struct KnownClient {
    pub name: &'static str,
    pub revision: &'static str,
    pub asked: Vec<Ability>,
    #[serde(default)]
    pub undrawn: Vec<Ability>,
    /// The name in its description of itself, or the beginning of it, with `-` at its end; none if others give the same.
    #[serde(default)]
    info: Option<&'static str>,
    /// The links that it takes and no person sees.
    #[serde(default)]
    unseen_links: Option<UnseenLinks>,
    #[serde(default)]
    waits: Waits,
}

/// Links that a client answers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UnseenLinks {
    All,
    Http,
}

/// How many seconds a client waits for a call; without a limit if absent.
#[derive(Debug, Clone, Copy, Deserialize, Default)]
struct Waits {
    /// A call of which nothing is heard.
    silent: Option<u64>,
    /// A call that tells of progress.
    progress: Option<u64>,
}

/// The waits of a client of which nothing is known: those of the TypeScript SDK.
const UNKNOWN_WAITS: Waits = Waits {
    silent: Some(60),
    progress: Some(60),
};

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

/// The most seconds that a call is held.
const LONGEST_HOLD: u64 = 1500;

/// The least seconds before the limit of a client at which a call is given back.
const SHORTEST_MARGIN: u64 = 15;

/// Something that `--as` can take away from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ability {
    Forms,
    Links,
    Sampling,
    Roots,
    Numbers,
    Lists,
    Tasks,
}

/// The name of an unknown client.
const PLAYED: &str = "the client that is played";

/// The word that takes all [`Ability::QUESTIONS`] away.
const NO_QUESTIONS: &str = "no-questions";

impl Ability {
    const ALL: [Self; 7] = [
        Self::Forms,
        Self::Links,
        Self::Sampling,
        Self::Roots,
        Self::Numbers,
        Self::Lists,
        Self::Tasks,
    ];

    /// The kinds of questions.
    const QUESTIONS: [Self; 4] = [Self::Forms, Self::Links, Self::Sampling, Self::Roots];

    /// The word that takes it away.
    fn word(self) -> &'static str {
        match self {
            Self::Forms => "no-forms",
            Self::Links => "no-url",
            Self::Sampling => "no-sampling",
            Self::Roots => "no-roots",
            Self::Numbers => "no-numbers",
            Self::Lists => "no-lists",
            Self::Tasks => "no-tasks",
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Links => "links",
            other => other.word().trim_start_matches("no-"),
        }
    }

    fn is_in(self, revision: Revision) -> bool {
        let facts = revision.facts();
        match self {
            Self::Forms => facts.elicitation_form,
            Self::Links => facts.elicitation_url,
            _ => true,
        }
    }

    fn is_needed_by(self, field: &Field) -> bool {
        match self {
            Self::Numbers => matches!(field.kind, FieldKind::Number(_)),
            Self::Lists => matches!(field.kind, FieldKind::Choices(_)),
            _ => false,
        }
    }
}

impl KnownClient {
    pub fn all() -> Vec<Self> {
        // A test reads them.
        serde_json::from_str(include_str!("known_clients.json")).unwrap_or_default()
    }

    /// The client that describes itself by this name.
    pub fn of_info(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|client| {
            client.info.is_some_and(|info| match info.ends_with('-') {
                true => name.starts_with(info),
                false => name == info,
            })
        })
    }

    /// After how long a call is given back to a client with this name that waits for a person, if it is known or not.
    pub fn hold(name: &str, has_progress: bool) -> Duration {
        let waits = Self::of_info(name).map_or(UNKNOWN_WAITS, |client| client.waits);
        waits.hold(has_progress)
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

    fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|client| client.name == name)
    }

    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Numbers | Ability::Lists => !self.undrawn.contains(&ability),
            _ => self.asked.contains(&ability),
        }
    }
}

impl Default for Role {
    /// askback itself.
    fn default() -> Self {
        Self {
            client: None,
            named: None,
            can: [true; Ability::ALL.len()],
        }
    }
}

impl Role {
    /// Reads a known client, a revision, and words that take something away, with commas between them.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut role = Self::default();
        for word in text.split(',').map(str::trim) {
            if let Some(client) = KnownClient::named(word) {
                if let Some(before) = role.client.replace(client.name) {
                    return Err(format!("{before} and {word} are two clients; name one"));
                }
                let unable = Ability::ALL.into_iter().filter(|it| !client.can(*it));
                role = unable.fold(role, Self::without);
            } else if let Ok(revision) = Revision::from_str(word) {
                if let Some(before) = role.named.replace(revision) {
                    return Err(format!("{before} and {word} are two revisions; name one"));
                }
            } else if word == NO_QUESTIONS {
                role = Ability::QUESTIONS.into_iter().fold(role, Self::without);
            } else if let Some(ability) = Ability::ALL.into_iter().find(|it| it.word() == word) {
                role = role.without(ability);
            } else {
                return Err(format!("there are {}", Self::words().join(", ")));
            }
        }
        Ok(role)
    }

    pub fn words() -> Vec<&'static str> {
        let clients = KnownClient::all().into_iter().map(|client| client.name);
        let less = Ability::ALL.map(Ability::word).into_iter();
        let revisions = Revision::ALL.map(Revision::as_str);
        clients
            .chain(less)
            .chain([NO_QUESTIONS])
            .chain(revisions)
            .collect()
    }

    #[must_use]
    pub fn without(mut self, ability: Ability) -> Self {
        self.can[ability as usize] = false;
        self
    }

    pub fn can(self, ability: Ability) -> bool {
        self.can[ability as usize]
    }

    pub fn abilities(self) -> relay::Abilities {
        relay::Abilities {
            forms: self.can(Ability::Forms),
            links: self.can(Ability::Links),
            sampling: self.can(Ability::Sampling),
            roots: self.can(Ability::Roots),
        }
    }

    /// The only revision that it speaks. A client that speaks the newest one speaks older ones with older servers.
    pub fn revision(self) -> Option<Revision> {
        let known = self.client.and_then(KnownClient::named);
        let known = known.and_then(|client| client.revision.parse().ok());
        let known = known.filter(|revision| *revision != Revision::LATEST);
        self.named.or(known)
    }

    /// The words that make this client; none if it is askback itself.
    pub fn played(self) -> Option<Words> {
        let known = self.client.and_then(KnownClient::named);
        // What a known client cannot do goes without saying.
        let less = Ability::ALL.into_iter().filter(|ability| {
            !self.can(*ability) && known.as_ref().is_none_or(|it| it.can(*ability))
        });
        let words = self.client.into_iter();
        let words = words.chain(self.named.map(Revision::as_str));
        let words = words.chain(less.map(Ability::word));
        let words = Words::join(words.map(Words::from), ",");
        (!words.as_str().is_empty()).then_some(words)
    }

    /// The kinds of questions that it does not declare, as the end of a sentence; none if it declares all.
    pub fn undeclared(self) -> Option<Words> {
        let lacking = Ability::QUESTIONS.into_iter().filter(|it| !self.can(*it));
        let lacking = Words::join(lacking.map(|kind| kind.as_str().into()), ", ");
        let client = self.client.unwrap_or(PLAYED);
        (!lacking.is_empty()).then(|| words!("{} declares no {}", client, lacking))
    }

    /// The kinds of questions that a server can ask it in a revision, as the end of a sentence.
    pub fn asked_in(self, revision: Revision) -> Words {
        let undrawn = [Ability::Numbers, Ability::Lists];
        let undrawn = undrawn.into_iter().filter(|it| !self.can(*it));
        let undrawn = Words::join(undrawn.map(|it| it.as_str().into()), " and ");
        let asked = Ability::QUESTIONS.into_iter();
        let asked = asked.filter(|kind| self.can(*kind) && kind.is_in(revision));
        let asked = asked.map(|kind| match kind {
            Ability::Forms if !undrawn.is_empty() => words!("forms without {}", undrawn.clone()),
            kind => kind.as_str().into(),
        });
        let asked = Words::join(asked, ", ");
        match asked.is_empty() {
            true => "nothing".into(),
            false => asked,
        }
    }

    pub fn is_never_asked(self) -> bool {
        !Ability::QUESTIONS.into_iter().any(|kind| self.can(kind))
    }

    /// Why it does not show a form, as a sentence; none if it does.
    pub fn cannot_show(self, form: &FormSchema) -> Option<Words> {
        let is_lacking = |kind: &Ability| {
            let mut fields = form.fields.iter();
            !self.can(*kind) && fields.any(|field| kind.is_needed_by(field))
        };
        let kind = Ability::ALL.into_iter().find(is_lacking)?;
        let client = self.client.unwrap_or(PLAYED);
        let kind = kind.as_str();
        Some(words!(
            "A form was cancelled: {} shows no {} in forms.",
            client,
            kind
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_clients_can_be_read() {
        let known: Vec<KnownClient> =
            serde_json::from_str(include_str!("known_clients.json")).expect("they are rows");
        for client in known {
            assert!(Revision::from_str(client.revision).is_ok(), "{client:?}");
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
        assert_eq!(agents.waits.hold(false).as_secs(), 4);
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

    #[test]
    fn a_client_is_asked_for_what_its_revision_has() {
        #[track_caller]
        fn check(text: &str, revision: &str, asked: &str) {
            let role = Role::read(text).expect("it is one");
            let revision = revision.parse().expect("it is one");
            assert_eq!(role.asked_in(revision).as_str(), asked);
        }
        check("copilot-cli", "2026-07-28", "forms, links, sampling");
        check("copilot-cli", "2025-06-18", "forms, sampling");
        check("no-url", "2025-03-26", "sampling, roots");
        check(
            "no-lists",
            "2025-06-18",
            "forms without lists, sampling, roots",
        );
        check("codex", "2025-06-18", "forms without numbers and lists");
        check("cline", "2025-11-25", "nothing");
    }

    #[test]
    fn words_make_a_client() {
        #[track_caller]
        fn check(text: &str, revision: Option<&str>, lacks: &[&str], played: &str) {
            let role = Role::read(text).expect("it is one");
            assert_eq!(role.revision().map(Revision::as_str), revision);
            let lacking = Ability::ALL.into_iter().filter(|it| !role.can(*it));
            assert_eq!(lacking.map(Ability::as_str).collect::<Vec<_>>(), lacks);
            let words = role.played().map(|words| words.as_str().to_owned());
            assert_eq!(words.as_deref(), Some(played));
        }
        check("no-forms", None, &["forms"], "no-forms");
        check("2025-06-18", Some("2025-06-18"), &[], "2025-06-18");
        let less = ["links", "tasks"];
        let text = "2025-06-18, no-url,no-tasks";
        check(text, Some("2025-06-18"), &less, &text.replace(' ', ""));
        let none = ["forms", "links", "sampling", "roots"];
        let words = "no-forms,no-url,no-sampling,no-roots";
        check("no-questions", None, &none, words);
        let codex = ["sampling", "roots", "numbers", "lists", "tasks"];
        check("codex", Some("2025-06-18"), &codex, "codex");
        check("codex,no-sampling", Some("2025-06-18"), &codex, "codex");
        for text in ["codex,2025-11-25", "2025-11-25,codex"] {
            check(text, Some("2025-11-25"), &codex, "codex,2025-11-25");
        }
        // A client that speaks the newest revision speaks older ones, too.
        let claude = ["sampling", "tasks"];
        check("claude-code", None, &claude, "claude-code");
        let less = ["links", "sampling", "tasks"];
        check("claude-code,no-url", None, &less, "claude-code,no-url");
        assert_eq!(Role::default().played(), None);
    }

    #[test]
    fn words_that_make_no_client_are_refused() {
        #[track_caller]
        fn check(text: &str, says: &str) {
            let why = Role::read(text).expect_err("there is no such client");
            assert!(why.starts_with(says), "{why}");
        }
        for wrong in ["", "no-", "codex cline", "2025"] {
            check(wrong, "there are claude-code, ");
        }
        check("codex,cline", "codex and cline are two clients; name one");
        check(
            "2025-06-18,no-url,2025-11-25",
            "2025-06-18 and 2025-11-25 are two revisions; name one",
        );
    }

    #[test]
    fn a_form_that_a_client_does_not_show_is_told() {
        #[track_caller]
        fn check(role: &str, field: serde_json::Value, expected: &str) {
            let form = serde_json::json!({"type": "object", "properties": {"a": field}});
            let form: FormSchema = serde_json::from_value(form).expect("a form");
            let told = Role::read(role).expect("it is one").cannot_show(&form);
            let told = told.as_ref().map_or("", Words::as_str);
            assert_eq!(told, expected, "{role}");
        }
        let number = || serde_json::json!({"type": "integer"});
        let text = || serde_json::json!({"type": "string"});
        let list = || serde_json::json!({"type": "array", "items": {"enum": ["b"]}});
        let codex = "A form was cancelled: codex shows no numbers in forms.";
        check("codex", number(), codex);
        check("codex", list(), &codex.replace("numbers", "lists"));
        check("codex", text(), "");
        let played = codex.replace("codex", PLAYED);
        check("no-numbers", number(), &played);
        check("no-numbers", list(), "");
        check("claude-code", number(), "");
    }
}
