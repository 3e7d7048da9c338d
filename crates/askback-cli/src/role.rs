//! Clients that `--as` plays: older clients, and clients with fewer capabilities.

use std::str::FromStr;

use askback::{
    Revision,
    forms::{Field, FieldKind, FormSchema},
};
use askback_host::{relay, text::Words, words};
use serde::Deserialize;

use crate::known_clients::KnownClient;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    pub client: Option<&'static str>,
    pub named: Option<Revision>,
    /// Whether it introduces itself with the name and version of the client. Otherwise it says that it is askback.
    pub introduces_itself: bool,
    /// Whether it has each ability of [`Ability::ALL`].
    can: [bool; Ability::ALL.len()],
}

/// Defines [`Ability`] from a table: each capability and the word that removes it.
macro_rules! abilities {
    ($($variant:ident = $word:literal;)*) => {
        /// A capability that `--as` can remove from a client.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Ability {
            $($variant,)*
        }

        impl Ability {
            const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word that removes the ability.
            fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

abilities! {
    Forms = "no-forms";
    Links = "no-url";
    Sampling = "no-sampling";
    Roots = "no-roots";
    Numbers = "no-numbers";
    Lists = "no-lists";
    Tasks = "no-tasks";
}

/// The name of an unknown client.
const PLAYED: &str = "the client that is played";

/// The word that removes all [`Ability::QUESTIONS`].
const NO_QUESTIONS: &str = "no-questions";

impl Ability {
    const QUESTIONS: [Self; 4] = [Self::Forms, Self::Links, Self::Sampling, Self::Roots];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Links => "links",
            other => other.word().trim_start_matches("no-"),
        }
    }

    pub fn is_in(self, revision: Revision) -> bool {
        let facts = revision.facts();
        match self {
            Self::Forms => facts.elicitation_form,
            Self::Links => facts.elicitation_url,
            _ => true,
        }
    }

    pub fn is_needed_by(self, field: &Field) -> bool {
        match self {
            Self::Numbers => matches!(field.kind, FieldKind::Number(_)),
            Self::Lists => matches!(field.kind, FieldKind::Choices(_)),
            _ => false,
        }
    }
}

impl Default for Role {
    /// askback itself.
    fn default() -> Self {
        Self {
            client: None,
            named: None,
            introduces_itself: false,
            can: [true; Ability::ALL.len()],
        }
    }
}

impl Role {
    /// Parses a known client, a revision and words that remove abilities, separated by commas.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut role = Self::default();
        for word in text.split(',').map(str::trim) {
            if let Some(client) = Self::client_named(word) {
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
                return Err(format!("expected one of {}", Self::words().join(", ")));
            }
        }
        Ok(role)
    }

    /// A known client as a server sees it: its name, its revision and what it declares. It takes every form, even if
    /// its user would not see all fields.
    pub fn as_seen_by_servers(client: &'static KnownClient) -> Self {
        let unable = Ability::ALL.into_iter().filter(|ability| {
            !client.can(*ability) && !matches!(ability, Ability::Numbers | Ability::Lists)
        });
        let role = Self {
            client: Some(client.name),
            introduces_itself: true,
            ..Self::default()
        };
        unable.fold(role, Self::without)
    }

    pub fn without_questions() -> Self {
        Ability::QUESTIONS
            .into_iter()
            .fold(Self::default(), Self::without)
    }

    /// The name and version that it sends to servers, if it introduces itself as a known client.
    pub fn introduction(self) -> Option<(&'static str, &'static str)> {
        let client = KnownClient::named(self.client?)?;
        let name = client.info.unwrap_or(client.name);
        self.introduces_itself
            .then(|| (name, client.version.unwrap_or_default()))
    }

    /// A known client whose capabilities were recorded.
    fn client_named(name: &str) -> Option<&'static KnownClient> {
        KnownClient::named(name).filter(|client| client.revision.is_some())
    }

    pub fn words() -> Vec<&'static str> {
        let clients = KnownClient::all().iter();
        let clients = clients.filter(|client| client.revision.is_some());
        let clients = clients.map(|client| client.name);
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

    /// The only revision that it speaks. A client that speaks the newest revision also speaks older ones with older
    /// servers.
    pub fn revision(self) -> Option<Revision> {
        let known = self.client.and_then(KnownClient::named);
        let known = known.and_then(|client| client.revision?.parse().ok());
        let known = known.filter(|revision| *revision != Revision::LATEST);
        self.named.or(known)
    }

    /// The words that select this client. `None` for askback itself.
    pub fn played(self) -> Option<Words> {
        let known = self.client.and_then(KnownClient::named);
        // What a known client does not support follows from its name, so it is not listed.
        let less = Ability::ALL
            .into_iter()
            .filter(|ability| !self.can(*ability) && known.is_none_or(|it| it.can(*ability)));
        let words = self.client.into_iter();
        let words = words.chain(self.named.map(Revision::as_str));
        let words = words.chain(less.map(Ability::word));
        let words = Words::join(words.map(Words::from), ",");
        (!words.as_str().is_empty()).then_some(words)
    }

    /// The kinds of questions that it does not declare, as the end of a sentence. `None` if it declares all.
    pub fn undeclared(self) -> Option<Words> {
        let lacking = Ability::QUESTIONS.into_iter().filter(|it| !self.can(*it));
        let lacking = Words::join(lacking.map(|kind| kind.as_str().into()), ", ");
        let client = self.client.unwrap_or(PLAYED);
        (!lacking.is_empty()).then(|| words!("{} declares no {}", client, lacking))
    }

    /// Why it does not show a form, as a sentence. `None` if it shows the form.
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
        // A client that speaks the newest revision also speaks older ones.
        let claude = ["sampling", "tasks"];
        check("claude-code", None, &claude, "claude-code");
        let less = ["links", "sampling", "tasks"];
        check("claude-code,no-url", None, &less, "claude-code,no-url");
        assert_eq!(Role::default().played(), None);
    }
}
