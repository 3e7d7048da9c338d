//! Clients that are played: older ones, and such that can do less.

use std::str::FromStr;

use askback_core::revision::Revision;
use askback_host::{relay::Abilities, text::Words};
use serde::Deserialize;

/// The client that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    /// The revision it speaks, where that is not whatever both sides have.
    pub revision: Option<Revision>,
    /// The kinds of questions that a server can ask it.
    pub abilities: Abilities,
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
    pub name: String,
    /// The revision it speaks, where that is settled.
    pub revision: Option<String>,
    /// The kinds of questions that a server can ask it.
    pub asked: Vec<Asked>,
    /// The source of all this.
    pub source: String,
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

/// The words that take something away from a client.
const LESS: [&str; 6] = [
    "no-forms",
    "no-url",
    "no-sampling",
    "no-roots",
    "no-tasks",
    "no-questions",
];

impl Default for Role {
    /// Ourselves.
    fn default() -> Self {
        Self {
            revision: None,
            abilities: ALL,
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

impl Role {
    /// Reads the words for a client: a known one, a revision, and those that take something away, with
    /// commas between them.
    ///
    /// # Errors
    ///
    /// Names the words there are.
    pub fn read(text: &str) -> Result<Self, String> {
        let known = KnownClient::all();
        let mut role = Self::default();
        for word in text.split(',') {
            role.play(word.trim(), &known)?;
        }
        Ok(role)
    }

    /// The words that make this client; none where it is ourselves.
    pub fn played(self) -> Option<Words> {
        let Abilities {
            forms,
            links,
            sampling,
            roots,
        } = self.abilities;
        let can = [forms, links, sampling, roots, self.tasks];
        let less = LESS.iter().zip(can).filter(|(_, can)| !can);
        let revision = self.revision.map(Revision::as_str);
        let words = revision.into_iter().chain(less.map(|(word, _)| *word));
        let words = Words::join(words.map(Words::from), ",");
        (!words.as_str().is_empty()).then_some(words)
    }

    fn play(&mut self, word: &str, known: &[KnownClient]) -> Result<(), String> {
        let abilities = &mut self.abilities;
        match word {
            "no-forms" => abilities.forms = false,
            "no-url" => abilities.links = false,
            "no-sampling" => abilities.sampling = false,
            "no-roots" => abilities.roots = false,
            "no-tasks" => self.tasks = false,
            "no-questions" => *abilities = NONE,
            word => {
                if let Some(client) = known.iter().find(|client| client.name == word) {
                    self.become_one(client);
                } else if let Ok(revision) = Revision::from_str(word) {
                    self.revision = Some(revision);
                } else {
                    let names = known.iter().map(|client| client.name.as_str());
                    let revisions = Revision::ALL.map(Revision::as_str);
                    let all: Vec<_> = names.chain(LESS).chain(revisions).collect();
                    return Err(format!("there are {}", all.join(", ")));
                }
            }
        }
        Ok(())
    }

    /// Can do no more than this client.
    fn become_one(&mut self, client: &KnownClient) {
        let abilities = client.abilities();
        let revision = client.revision.as_deref();
        self.revision = revision.and_then(|it| it.parse().ok()).or(self.revision);
        self.abilities = Abilities {
            forms: self.abilities.forms && abilities.forms,
            links: self.abilities.links && abilities.links,
            sampling: self.abilities.sampling && abilities.sampling,
            roots: self.abilities.roots && abilities.roots,
        };
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
            let revision = client.revision.as_deref().map(Revision::from_str);
            assert!(revision.is_none_or(|it| it.is_ok()), "{client:?}");
        }
    }

    #[test]
    fn words_make_a_client() {
        #[track_caller]
        fn check(text: &str, revision: Option<&str>, abilities: [bool; 4], others: [bool; 2]) {
            let [forms, links, sampling, roots] = abilities;
            let [tasks, model_tools] = others;
            let role = Role {
                revision: revision.map(|it| it.parse().expect("it is one")),
                abilities: Abilities {
                    forms,
                    links,
                    sampling,
                    roots,
                },
                tasks,
                model_tools,
            };
            assert_eq!(Role::read(text), Ok(role));
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
        let played = |text: &str| Role::read(text).expect("it is one").played();
        assert_eq!(Role::default().played(), None);
        let codex = "2025-11-25,no-sampling,no-roots,no-tasks";
        assert_eq!(played("codex,2025-11-25"), Some(codex.into()));
        assert_eq!(Role::read(codex).map(Role::played), Ok(Some(codex.into())));
        for wrong in ["", "no-", "codex codex", "2025"] {
            let why = Role::read(wrong).expect_err("there is no such client");
            assert!(why.starts_with("there are claude-code, ") && why.contains("no-url"));
        }
    }
}
