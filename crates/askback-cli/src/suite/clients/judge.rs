//! Decides what a known client does with a question, from what was recorded of the client.

use askback::forms::{Field, FieldKind};
use askback_host::{text::Words, words};
use serde::Serialize;

use crate::{
    known_clients::{KnownClient, UnseenLinks},
    role::Ability,
    suite::observe::{QuestionMode, QuestionRequest},
};

/// A later verdict is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The user sees the question as it is.
    Drawn,
    /// The user sees the question, but something is missing or preset.
    Degraded,
    /// The client answers by itself, and the user sees nothing.
    Unseen,
    /// A server cannot ask this client.
    Unreachable,
}

/// Why a client does not show or answer a question as the server asks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    NumberHidesFields,
    ListHidesFields,
    FirstOptionSelected,
    NoTextDefault,
    StuckAtEnd,
    PreferencesFail,
    HttpLinkDeclined,
    LinkAcceptedUnseen,
    FormsUndeclared,
    LinksUndeclared,
    SamplingUndeclared,
    NoLinksInRevision,
    NoFormsInRevision,
    /// The server asks only in older revisions, and the client speaks the newest.
    AsksInOlderAlone,
    /// The server does not speak a revision of the client, or closes the connection.
    NoConnection,
}

/// A flaw with the names of the fields that cause it, in the server's order. They are the server's text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    pub flaw: Flaw,
    pub fields: Vec<String>,
}

impl Flaw {
    pub fn verdict(self) -> Verdict {
        match self {
            Self::NumberHidesFields
            | Self::ListHidesFields
            | Self::FirstOptionSelected
            | Self::NoTextDefault
            | Self::StuckAtEnd
            | Self::PreferencesFail => Verdict::Degraded,
            Self::HttpLinkDeclined | Self::LinkAcceptedUnseen => Verdict::Unseen,
            Self::FormsUndeclared
            | Self::LinksUndeclared
            | Self::SamplingUndeclared
            | Self::NoLinksInRevision
            | Self::NoFormsInRevision
            | Self::AsksInOlderAlone
            | Self::NoConnection => Verdict::Unreachable,
        }
    }

    /// A sentence about the client. If the flaw has fields, their names follow.
    pub fn words(self) -> &'static str {
        match self {
            Self::NumberHidesFields => "It shows no field of a form that has a number:",
            Self::ListHidesFields => "It shows no field of a form that has a list:",
            Self::FirstOptionSelected => {
                "Enter takes the first option, because the choice has no default:"
            }
            Self::NoTextDefault => "It leaves a text empty that has a default:",
            Self::StuckAtEnd => {
                "Enter does not send the form while its last field by name, a text, is empty:"
            }
            Self::PreferencesFail => {
                "Its request to the model fails if the server says which model it prefers."
            }
            Self::HttpLinkDeclined => "It declines an http link, and shows nothing.",
            Self::LinkAcceptedUnseen => "It accepts a link before the user sees it.",
            Self::FormsUndeclared => "It declares no forms.",
            Self::LinksUndeclared => "It declares no links.",
            Self::SamplingUndeclared => "It declares no sampling.",
            Self::NoLinksInRevision => "Its revision of the protocol has no links.",
            Self::NoFormsInRevision => "Its revision of the protocol has no forms.",
            Self::AsksInOlderAlone => {
                "It speaks the newest revision, and the server asks only in older revisions."
            }
            Self::NoConnection => "It gets no connection to the server.",
        }
    }

    /// The smallest change to the server that helps every client.
    pub fn fix(self) -> &'static str {
        match self {
            Self::NumberHidesFields => {
                "Ask for the number as text, with its range in the description and a pattern."
            }
            Self::ListHidesFields => "Ask one yes-or-no field for each option.",
            Self::FirstOptionSelected => {
                "Give the choice a default, or a first option that decides nothing."
            }
            Self::NoTextDefault => "Say the default in the description of the field.",
            Self::StuckAtEnd => {
                "Make the field required, or name a field with a choice that comes behind it."
            }
            Self::PreferencesFail => "Leave modelPreferences out of the request.",
            Self::HttpLinkDeclined => "Serve the page over https.",
            Self::LinkAcceptedUnseen => {
                "Show the link in the result of the tool, too, and let the user call it again."
            }
            Self::FormsUndeclared
            | Self::LinksUndeclared
            | Self::NoLinksInRevision
            | Self::NoFormsInRevision => {
                "Nothing in the server helps: `askback wrap -- SERVER` asks the user instead."
            }
            Self::SamplingUndeclared => "Let the tool work without a model.",
            Self::AsksInOlderAlone => {
                "In the newest revision, return the questions as an InputRequiredResult, and read the answers in the next call. Without a change, `askback wrap -- SERVER` asks in an older revision."
            }
            Self::NoConnection => "Support the revision of the client.",
        }
    }

    /// Whether the client shows no field of the form.
    pub fn hides_fields(self) -> bool {
        matches!(self, Self::NumberHidesFields | Self::ListHidesFields)
    }

    /// Whether this goes wrong only if the client shows the fields of the form.
    pub fn is_of_shown_fields(self) -> bool {
        matches!(
            self,
            Self::FirstOptionSelected | Self::NoTextDefault | Self::StuckAtEnd
        )
    }

    /// Whether `askback wrap` asks the user instead of the client.
    pub fn is_wrapped(self) -> bool {
        matches!(
            self,
            Self::FormsUndeclared
                | Self::LinksUndeclared
                | Self::NoLinksInRevision
                | Self::NoFormsInRevision
                | Self::AsksInOlderAlone
        )
    }

    fn of_field(self, field: &Field) -> Reason {
        self.of_fields(vec![field.name.clone()])
    }

    fn of_fields(self, fields: Vec<String>) -> Reason {
        Reason { flaw: self, fields }
    }

    pub fn alone(self) -> Reason {
        self.of_fields(Vec::new())
    }
}

impl Verdict {
    /// The worst verdict of the reasons. Without reasons, the question is drawn.
    pub fn of<'a>(reasons: impl IntoIterator<Item = &'a Reason>) -> Self {
        let verdicts = reasons.into_iter().map(|reason| reason.flaw.verdict());
        verdicts.max().unwrap_or(Self::Drawn)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Drawn => "drawn",
            Self::Degraded => "degraded",
            Self::Unseen => "unseen",
            Self::Unreachable => "unreachable",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Drawn => "the user sees the question as it is",
            Self::Degraded => "the user sees it, but something is missing or preset",
            Self::Unseen => "the client declines or accepts it silently, the user sees nothing",
            Self::Unreachable => "a server cannot ask this client",
        }
    }
}

/// Why a server cannot ask the client this kind of question. `None` if it can.
pub fn unreachable(mode: QuestionMode, client: &KnownClient) -> Option<Flaw> {
    let (ability, undeclared) = match mode {
        QuestionMode::Form => (Ability::Forms, Flaw::FormsUndeclared),
        QuestionMode::Url => (Ability::Links, Flaw::LinksUndeclared),
        QuestionMode::Sampling => (Ability::Sampling, Flaw::SamplingUndeclared),
    };
    let lacks = client.newest().is_some_and(|it| !ability.is_in(it));
    match (client.can(ability), lacks, mode) {
        (false, _, _) => Some(undeclared),
        (true, true, QuestionMode::Url) => Some(Flaw::NoLinksInRevision),
        (true, true, _) => Some(Flaw::NoFormsInRevision),
        (true, false, _) => None,
    }
}

/// Why the client does not show or answer the question as the server asks it. Empty if it does.
pub fn judge(question: &QuestionRequest, client: &KnownClient) -> Vec<Reason> {
    if let Some(flaw) = unreachable(question.mode(), client) {
        return vec![flaw.alone()];
    }
    match question {
        QuestionRequest::Form(form) => of_fields(&form.fields, client),
        QuestionRequest::Link(url) => match client.unseen_links {
            Some(UnseenLinks::All) => vec![Flaw::LinkAcceptedUnseen.alone()],
            Some(UnseenLinks::Http) if !url.starts_with("https://") => {
                vec![Flaw::HttpLinkDeclined.alone()]
            }
            _ => Vec::new(),
        },
        QuestionRequest::Sampling { has_preferences } => {
            match *has_preferences && client.preferences_fail {
                true => vec![Flaw::PreferencesFail.alone()],
                false => Vec::new(),
            }
        }
    }
}

fn of_fields(fields: &[Field], client: &KnownClient) -> Vec<Reason> {
    let hiding = [
        (Ability::Numbers, Flaw::NumberHidesFields),
        (Ability::Lists, Flaw::ListHidesFields),
    ];
    let hidden: Vec<_> = hiding
        .into_iter()
        .filter(|(ability, _)| !client.can(*ability))
        .filter_map(|(ability, flaw)| {
            let lacking = fields.iter().filter(|field| ability.is_needed_by(field));
            let names: Vec<_> = lacking.map(|field| field.name.clone()).collect();
            (!names.is_empty()).then(|| flaw.of_fields(names))
        })
        .collect();
    let Some(drawing) = client.forms else {
        return hidden;
    };
    // If no field is shown, these go wrong once the author has mended that.
    let named = |flaw: Flaw, is_meant: &dyn Fn(&Field) -> bool| {
        let meant = fields.iter().filter(|field| is_meant(field));
        let names: Vec<_> = meant.map(|field| field.name.clone()).collect();
        (!names.is_empty()).then(|| flaw.of_fields(names))
    };
    let first_option = named(Flaw::FirstOptionSelected, &|field| {
        drawing.first_option && starts_on_first_option(field)
    });
    let no_default = named(Flaw::NoTextDefault, &|field| {
        let FieldKind::Text(text) = &field.kind else {
            return false;
        };
        let is_described = |default: &String| {
            let mut texts = field.description.iter().chain(&field.title);
            texts.any(|text| text.contains(default.as_str()))
        };
        drawing.no_text_defaults && text.default.as_ref().is_some_and(|it| !is_described(it))
    });
    let last = match drawing.sorted {
        true => fields.iter().max_by_key(|field| &field.name),
        false => fields.last(),
    };
    let is_stuck = |field: &&Field| {
        drawing.stuck_end && !field.required && matches!(field.kind, FieldKind::Text(_))
    };
    let stuck = last
        .filter(is_stuck)
        .map(|field| Flaw::StuckAtEnd.of_field(field));
    let of_shown = [first_option, no_default, stuck].into_iter().flatten();
    hidden.into_iter().chain(of_shown).collect()
}

/// Whether a client that selects the first option decides something for the user.
pub fn starts_on_first_option(field: &Field) -> bool {
    match &field.kind {
        FieldKind::Choice(choice) => choice.default.is_none() && choice.options.len() > 1,
        _ => false,
    }
}

/// The number of questions of each kind, such as `2 forms, 1 link`.
pub fn counted(modes: impl Iterator<Item = QuestionMode> + Clone) -> Words {
    let kinds = [
        (QuestionMode::Form, "form", "forms"),
        (QuestionMode::Url, "link", "links"),
        (QuestionMode::Sampling, "sampling", "sampling"),
    ];
    let parts = kinds.into_iter().filter_map(|(mode, one, many)| {
        match modes.clone().filter(|it| *it == mode).count() {
            0 => None,
            1 => Some(words!("1 {}", one)),
            count => Some(words!("{} {}", count, many)),
        }
    });
    let parts = Words::join(parts, ", ");
    match parts.is_empty() {
        true => "nothing".into(),
        false => parts,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A form with these fields, such as `n int, t text*`. A star marks a required field.
    fn form(fields: &str) -> QuestionRequest {
        let (mut properties, mut required) = (Vec::new(), Vec::new());
        for field in fields.split(", ") {
            let (name, kind) = field.split_once(' ').expect("a field");
            required.extend(kind.ends_with('*').then_some(name));
            let schema = match kind.trim_end_matches('*') {
                "int" => json!({"type": "integer"}),
                "bool" => json!({"type": "boolean"}),
                "text" => json!({"type": "string"}),
                "preset" => json!({"type": "string", "default": "Ada"}),
                "told" => json!({"type": "string", "default": "Ada", "description": "Else Ada."}),
                "one" => json!({"type": "string", "enum": ["a"]}),
                "choice" => json!({"type": "string", "enum": ["b", "a"]}),
                "chosen" => json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
                "list" => json!({"type": "array", "items": {"enum": ["a"]}}),
                other => panic!("{other} is no kind"),
            };
            properties.push(format!("\"{name}\": {schema}"));
        }
        // The text keeps the order of the fields.
        let properties = properties.join(", ");
        let required = json!(required);
        let schema = format!(
            r#"{{"type": "object", "properties": {{{properties}}}, "required": {required}}}"#
        );
        QuestionRequest::Form(serde_json::from_str(&schema).expect("a form"))
    }

    /// Judges a question, such as `degraded, StuckAtEnd t`.
    fn judged(client: &str, question: &QuestionRequest) -> String {
        let client = KnownClient::named(client).expect("it is known");
        let reasons = judge(question, client);
        let mut told = Verdict::of(&reasons).as_str().to_owned();
        for reason in reasons {
            let fields = reason.fields.iter().map(|field| format!(" {field}"));
            let fields: String = fields.collect();
            told = format!("{told}, {:?}{fields}", reason.flaw);
        }
        told
    }

    #[test]
    fn a_form_is_judged_by_its_fields() {
        const CASES: &str = "
            claude-code | n int, t text, m int     | drawn
            copilot-cli | n int, t text, m int     | drawn
            fast-agent  | n int, t text, m int     | drawn
            codex       | n int, t text, m int     | degraded, NumberHidesFields n m, StuckAtEnd t
            codex       | n int, l list            | degraded, NumberHidesFields n, ListHidesFields l
            codex       | room choice, seat chosen | degraded, FirstOptionSelected room
            codex       | only one                 | drawn
            codex       | name preset, z bool      | degraded, NoTextDefault name
            codex       | name told, z bool        | drawn
            claude-code | name preset              | drawn
            codex       | phone text, mail text*   | degraded, StuckAtEnd phone
            codex       | mail text, phone text*   | drawn
            gemini-cli  | n int                    | unreachable, FormsUndeclared
            cline       | n int                    | unreachable, FormsUndeclared
        ";
        for case in CASES.trim().lines() {
            let [client, fields, expected] = case.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("{case}");
            };
            assert_eq!(judged(client, &form(fields)), expected, "{case}");
        }
    }

    #[test]
    fn a_link_or_a_request_to_a_model_is_judged_by_the_client() {
        let link = |url: &str| QuestionRequest::Link(url.to_owned());
        let [https, http] = ["https://a.test/", "http://127.0.0.1/"].map(link);
        let [preferring, plain] =
            [true, false].map(|has_preferences| QuestionRequest::Sampling { has_preferences });
        for (client, question, expected) in [
            ("claude-code", &http, "drawn"),
            ("fast-agent", &https, "unseen, LinkAcceptedUnseen"),
            // The client's revision has no links, although the client declares them.
            ("codex", &https, "unreachable, NoLinksInRevision"),
            ("opencode", &https, "unreachable, LinksUndeclared"),
            ("copilot-cli", &preferring, "drawn"),
            ("fast-agent", &preferring, "degraded, PreferencesFail"),
            ("fast-agent", &plain, "drawn"),
            (
                "claude-code",
                &preferring,
                "unreachable, SamplingUndeclared",
            ),
        ] {
            assert_eq!(judged(client, question), expected, "{client}");
        }
    }

    #[test]
    fn an_http_link_may_be_declined_unseen() {
        let client = r#"{"name": "a", "revision": "2026-07-28", "asked": ["links"], "unseen_links": "http"}"#;
        let client: KnownClient = serde_json::from_str(client).expect("a client");
        for (url, verdict) in [
            ("https://a.test/", Verdict::Drawn),
            ("http://127.0.0.1/", Verdict::Unseen),
        ] {
            let link = QuestionRequest::Link(url.to_owned());
            assert_eq!(Verdict::of(&judge(&link, &client)), verdict, "{url}");
        }
    }

    #[test]
    fn questions_are_counted_by_kind() {
        use QuestionMode::*;

        for (modes, expected) in [
            (&[][..], "nothing"),
            (&[Form], "1 form"),
            (&[Url, Form, Form], "2 forms, 1 link"),
            (&[Sampling, Sampling], "2 sampling"),
        ] {
            assert_eq!(counted(modes.iter().copied()).as_str(), expected);
        }
    }
}
