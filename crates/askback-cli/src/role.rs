//! Clients that are played: older ones, and such that can do less.

use std::str::FromStr;

use askback_core::{
    forms::{Field, FieldKind, FormSchema},
    revision::Revision,
};
use askback_host::{relay::Abilities, text::Words, words};
use serde::Deserialize;

/// The client that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    /// The name of the known client, where it is one.
    pub client: Option<&'static str>,
    /// The revision that was named.
    pub named: Option<Revision>,
    /// The kinds of questions that a server can ask it.
    pub abilities: Abilities,
    /// Whether its forms have fields for numbers.
    pub numbers: bool,
    /// Whether its forms have fields for lists.
    pub lists: bool,
    /// Whether a call may become a task.
    pub tasks: bool,
    /// Whether a model may be offered tools, where it can be asked.
    pub model_tools: bool,
}

/// A known client, as it was when its row was written. Where it speaks several revisions, the newest
/// that was found is its own; an ability that is not known it has not. None of them has tasks.
#[derive(Debug, Deserialize)]
pub struct KnownClient {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// The revision it speaks, where that is settled.
    pub revision: Option<&'static str>,
    /// The kinds of questions that a server can ask it.
    pub asked: Vec<Asked>,
    /// The fields that its forms do not have.
    #[serde(default)]
    pub undrawn: Vec<Undrawn>,
    /// The source of all this.
    pub source: &'static str,
}

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// A form.
    Forms,
    /// A link.
    Links,
    /// A request to a model.
    Sampling,
    /// The folders to work in.
    Roots,
}

/// A kind of field that the forms of a client do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Undrawn {
    /// A number.
    Numbers,
    /// A list of options.
    Lists,
}

/// The rows of the known clients.
const KNOWN: &str = include_str!("known_clients.json");

const ALL: Abilities = Abilities {
    forms: true,
    links: true,
    sampling: true,
    roots: true,
};

const NONE: Abilities = Abilities {
    forms: false,
    links: false,
    sampling: false,
    roots: false,
};

/// The name of a client that is played and none of the known ones.
const PLAYED: &str = "the client that is played";

/// The words that take something away from a client.
const LESS: [&str; 8] = [
    "no-forms",
    "no-url",
    "no-sampling",
    "no-roots",
    "no-numbers",
    "no-lists",
    "no-tasks",
    "no-questions",
];

impl Default for Role {
    /// Ourselves.
    fn default() -> Self {
        Self {
            client: None,
            named: None,
            abilities: ALL,
            numbers: true,
            lists: true,
            tasks: true,
            model_tools: true,
        }
    }
}

impl KnownClient {
    /// The known clients.
    pub fn all() -> Vec<Self> {
        // A test reads them.
        serde_json::from_str(KNOWN).unwrap_or_default()
    }

    fn abilities(&self) -> Abilities {
        let can = |asked| self.asked.contains(&asked);
        Abilities {
            forms: can(Asked::Forms),
            links: can(Asked::Links),
            sampling: can(Asked::Sampling),
            roots: can(Asked::Roots),
        }
    }
}

impl Asked {
    fn as_str(self) -> &'static str {
        match self {
            Self::Forms => "forms",
            Self::Links => "links",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    /// Whether a revision has it.
    fn is_in(self, revision: Revision) -> bool {
        let facts = revision.facts();
        match self {
            Self::Forms => facts.elicitation_form,
            Self::Links => facts.elicitation_url,
            Self::Sampling | Self::Roots => true,
        }
    }
}

impl Undrawn {
    /// Returns its name in a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Lists => "lists",
        }
    }

    fn is(self, field: &Field) -> bool {
        match self {
            Self::Numbers => matches!(field.kind, FieldKind::Number(_)),
            Self::Lists => matches!(field.kind, FieldKind::Choices(_)),
        }
    }
}

impl Role {
    /// Reads the words for a client: a known one, a revision, and those that take something away, with
    /// commas between them.
    ///
    /// # Errors
    ///
    /// Names the words there are, or the two of which one is wanted.
    pub fn read(text: &str) -> Result<Self, String> {
        let known = KnownClient::all();
        let mut role = Self::default();
        for word in text.split(',') {
            role.play(word.trim(), &known)?;
        }
        Ok(role)
    }

    /// The words that there are: the known clients, those that take something away, and the revisions.
    pub fn words() -> Vec<&'static str> {
        let known = KnownClient::all().into_iter().map(|client| client.name);
        let revisions = Revision::ALL.map(Revision::as_str);
        known.chain(LESS).chain(revisions).collect()
    }

    /// The one revision that it speaks; none where it speaks whatever both sides have.
    pub fn revision(self) -> Option<Revision> {
        let known = || {
            let mut known = KnownClient::all().into_iter();
            let client = known.find(|client| Some(client.name) == self.client)?;
            let revision: Option<Revision> = client.revision?.parse().ok();
            // Who speaks the newest speaks older ones where a server has not that.
            revision.filter(|revision| *revision != Revision::LATEST)
        };
        self.named.or_else(known)
    }

    /// The words that make this client; none where it is ourselves.
    pub fn played(self) -> Option<Words> {
        // What a known client cannot do goes without saying.
        let known = self.client.and_then(|name| Self::read(name).ok());
        let known = known.map_or([true; LESS.len() - 1], Self::can);
        let less = LESS.iter().zip(self.can()).zip(known);
        let less = less.filter(|((_, can), known)| *known && !can);
        let named = self.named.map(Revision::as_str);
        let words = self.client.into_iter().chain(named);
        let words = words.chain(less.map(|((word, _), _)| *word));
        let words = Words::join(words.map(Words::from), ",");
        (!words.as_str().is_empty()).then_some(words)
    }

    /// Whether it can do what each word of [`LESS`] takes away, but for the last, which is several of them.
    fn can(self) -> [bool; LESS.len() - 1] {
        let Abilities {
            forms,
            links,
            sampling,
            roots,
        } = self.abilities;
        [
            forms,
            links,
            sampling,
            roots,
            self.numbers,
            self.lists,
            self.tasks,
        ]
    }

    /// All kinds of questions, and whether a server can ask it for each.
    fn questions(self) -> [(Asked, bool); 4] {
        [
            (Asked::Forms, self.abilities.forms),
            (Asked::Links, self.abilities.links),
            (Asked::Sampling, self.abilities.sampling),
            (Asked::Roots, self.abilities.roots),
        ]
    }

    /// The kinds of questions that it does not declare, as the end of a sentence; none where it declares all.
    pub fn undeclared(self) -> Option<Words> {
        let lacking = self.questions().into_iter().filter(|(_, can)| !can);
        let lacking = Words::join(lacking.map(|(kind, _)| kind.as_str().into()), ", ");
        let client = self.client.unwrap_or(PLAYED);
        (!lacking.is_empty()).then(|| words!("{} declares no {}", client, lacking))
    }

    /// The kinds of questions that a server can ask it in a revision, as the end of a sentence.
    pub fn asked_in(self, revision: Revision) -> Words {
        let forms = match (self.numbers, self.lists) {
            (true, true) => "forms",
            (false, true) => "forms without numbers",
            (true, false) => "forms without lists",
            (false, false) => "forms without numbers and lists",
        };
        let questions = self.questions().into_iter();
        let asked = questions.filter(|(kind, can)| *can && kind.is_in(revision));
        let asked = asked.map(|(kind, _)| match kind {
            Asked::Forms => forms.into(),
            kind => kind.as_str().into(),
        });
        let asked = Words::join(asked, ", ");
        match asked.as_str() {
            "" => "nothing".into(),
            _ => asked,
        }
    }

    /// Whether a server can ask it nothing.
    pub fn is_never_asked(self) -> bool {
        self.abilities == NONE
    }

    /// Why it does not show a form, as a sentence; none where it does.
    pub fn cannot_show(self, form: &FormSchema) -> Option<Words> {
        let lacks = [
            (Undrawn::Numbers, !self.numbers),
            (Undrawn::Lists, !self.lists),
        ];
        let wanted = |kind: Undrawn| form.fields.iter().any(|field| kind.is(field));
        let (kind, _) = lacks
            .into_iter()
            .find(|(kind, is_lacking)| *is_lacking && wanted(*kind))?;
        let client = self.client.unwrap_or(PLAYED);
        Some(words!(
            "A form was cancelled: {} shows no {} in forms.",
            client,
            kind.as_str()
        ))
    }

    fn play(&mut self, word: &str, known: &[KnownClient]) -> Result<(), String> {
        let abilities = &mut self.abilities;
        match word {
            "no-forms" => abilities.forms = false,
            "no-url" => abilities.links = false,
            "no-sampling" => abilities.sampling = false,
            "no-roots" => abilities.roots = false,
            "no-numbers" => self.numbers = false,
            "no-lists" => self.lists = false,
            "no-tasks" => self.tasks = false,
            "no-questions" => *abilities = NONE,
            word => {
                if let Some(client) = known.iter().find(|client| client.name == word) {
                    if let Some(before) = self.client {
                        return Err(format!("{before} and {word} are two clients; name one"));
                    }
                    self.become_one(client);
                } else if let Ok(revision) = Revision::from_str(word) {
                    if let Some(before) = self.named {
                        return Err(format!("{before} and {word} are two revisions; name one"));
                    }
                    self.named = Some(revision);
                } else {
                    return Err(format!("there are {}", Self::words().join(", ")));
                }
            }
        }
        Ok(())
    }

    /// Can do no more than this client.
    fn become_one(&mut self, client: &KnownClient) {
        let abilities = client.abilities();
        self.client = Some(client.name);
        self.abilities = Abilities {
            forms: self.abilities.forms && abilities.forms,
            links: self.abilities.links && abilities.links,
            sampling: self.abilities.sampling && abilities.sampling,
            roots: self.abilities.roots && abilities.roots,
        };
        self.numbers &= !client.undrawn.contains(&Undrawn::Numbers);
        self.lists &= !client.undrawn.contains(&Undrawn::Lists);
        (self.tasks, self.model_tools) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_clients_can_be_read() {
        let known: Vec<KnownClient> = serde_json::from_str(KNOWN).expect("they are rows");
        for client in known {
            let revision = client.revision.map(Revision::from_str);
            assert!(revision.is_none_or(|it| it.is_ok()), "{client:?}");
        }
    }

    #[test]
    fn a_client_is_asked_for_what_its_revision_has() {
        #[track_caller]
        fn check(text: &str, revision: &str, asked: &str) {
            let role = Role::read(text).expect("it is one");
            let revision = revision.parse().expect("it is one");
            assert_eq!(role.asked_in(revision).as_str(), asked);
        }
        check("vscode", "2025-11-25", "forms, links, sampling, roots");
        check("vscode", "2025-06-18", "forms, sampling, roots");
        check("no-url", "2025-03-26", "sampling, roots");
        check(
            "codex",
            "2026-07-28",
            "forms without numbers and lists, links",
        );
        check("zed", "2025-11-25", "nothing");
    }

    #[test]
    fn words_make_a_client() {
        #[track_caller]
        fn check(text: &str, revision: Option<&str>, abilities: [bool; 4], others: [bool; 2]) {
            let [forms, links, sampling, roots] = abilities;
            let [tasks, model_tools] = others;
            let role = Role::read(text).expect("it is one");
            assert_eq!(role.revision().map(Revision::as_str), revision);
            let can = Abilities {
                forms,
                links,
                sampling,
                roots,
            };
            assert_eq!(role.abilities, can);
            assert_eq!([role.tasks, role.model_tools], [tasks, model_tools]);
        }
        check("no-forms", None, [false, true, true, true], [true; 2]);
        check("2025-06-18", Some("2025-06-18"), [true; 4], [true; 2]);
        check(
            "2025-06-18, no-url,no-tasks",
            Some("2025-06-18"),
            [true, false, true, true],
            [false, true],
        );
        check("no-questions", None, [false; 4], [true; 2]);
        check(
            "gemini-cli",
            Some("2025-06-18"),
            [false, false, false, true],
            [false; 2],
        );
        check(
            "codex,2025-11-25",
            Some("2025-11-25"),
            [true, true, false, false],
            [false; 2],
        );
        check(
            "2025-11-25,codex",
            Some("2025-11-25"),
            [true, true, false, false],
            [false; 2],
        );
        let played = |text: &str| Role::read(text).expect("it is one").played();
        assert_eq!(Role::default().played(), None);
        for text in [
            "codex",
            "codex,2025-11-25",
            "codex,2025-11-25,no-url",
            "2025-11-25,no-sampling,no-numbers,no-lists,no-tasks",
        ] {
            assert_eq!(played(text), Some(text.into()));
        }
        // What a client cannot do anyway is not said again.
        assert_eq!(played("codex,no-sampling"), Some("codex".into()));
        // One that speaks the newest revision speaks older ones where a server has not that.
        let revision = |text| Role::read(text).expect("it is one").revision();
        assert_eq!(revision("codex"), None);
        assert_eq!(revision("vscode"), Some(Revision::V2025_11_25));
        for wrong in ["", "no-", "codex codex", "2025"] {
            let why = Role::read(wrong).expect_err("there is no such client");
            assert!(why.starts_with("there are claude-code, ") && why.contains("no-url"));
        }
    }

    #[test]
    fn one_client_and_one_revision_are_played() {
        for (text, expected) in [
            ("codex,vscode", "codex and vscode are two clients; name one"),
            (
                "2025-06-18,no-url,2025-11-25",
                "2025-06-18 and 2025-11-25 are two revisions; name one",
            ),
        ] {
            assert_eq!(Role::read(text), Err(expected.to_owned()));
        }
    }

    #[test]
    fn a_form_that_a_client_does_not_show_is_told() {
        #[track_caller]
        fn check(role: &str, field: serde_json::Value, expected: Option<&str>) {
            let form = serde_json::json!({"type": "object", "properties": {"a": field}});
            let form: FormSchema = serde_json::from_value(form).expect("a form");
            let told = Role::read(role).expect("it is one").cannot_show(&form);
            assert_eq!(told.as_ref().map(Words::as_str), expected, "{role}");
        }
        let number = || serde_json::json!({"type": "integer"});
        let text = || serde_json::json!({"type": "string"});
        let list = || serde_json::json!({"type": "array", "items": {"enum": ["b"]}});
        let codex = "A form was cancelled: codex shows no numbers in forms.";
        check("codex", number(), Some(codex));
        let codex = "A form was cancelled: codex shows no lists in forms.";
        check("codex", list(), Some(codex));
        check("codex", text(), None);
        let played = "A form was cancelled: the client that is played shows no numbers in forms.";
        check("no-numbers", number(), Some(played));
        check("no-numbers", list(), None);
        let played = "A form was cancelled: the client that is played shows no lists in forms.";
        check("no-lists,2025-11-25", list(), Some(played));
        check("vscode", number(), None);
    }
}
