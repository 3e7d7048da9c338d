//! The file of a suite: YAML, and so JSON too.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use askback_core::revision::Revision;
use askback_host::{
    script::{RulesOf, Script, Surroundings, Unused},
    settings_file,
    text::{Words, given},
    words,
};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{
    expect::Expect,
    members::{self, Beside, member},
    server::Server,
};
use crate::session;

/// A suite.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The server, where the file names one.
    pub server: Option<Server>,
    /// The requests that are made first on each server that is started, in their order.
    pub before: Vec<Case>,
    /// The cases, in their order.
    pub cases: Vec<Case>,
    /// Where the file lies.
    pub folder: PathBuf,
}

/// A case: one request, and what is expected of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The name, which no other case of the suite has.
    pub name: String,
    /// The request.
    pub action: Action,
    /// The revisions in which it is made.
    pub revisions: Revisions,
    /// Whether it has a server of its own.
    pub is_fresh: bool,
    /// The rules of the case, then those of the suite.
    pub script: Script,
    /// Whether a rule of the suite calls tools in place of a model, which a client declares when it connects.
    pub calls_tools: bool,
    /// Which of its rules are its own.
    pub rules: RulesOf,
    /// The expectations.
    pub expect: Expect,
    /// The time in which it ends.
    pub under: Option<Duration>,
}

/// The request of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A call of a tool.
    Call(String, Map<String, Value>),
    /// A prompt, with its arguments.
    Prompt(String, Map<String, Value>),
    /// A resource that is read.
    Read(String),
    /// The suggestions for an argument, with those that are known already.
    Complete(Complete, Map<String, Value>),
    /// A list.
    List(Listed),
}

/// An argument that is completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complete {
    /// Whose it is.
    pub of: Completed,
    /// Its name.
    pub argument: String,
    /// The beginning of its value.
    pub start: String,
}

/// Something whose arguments a server completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completed {
    /// The prompt of this name.
    Prompt(String),
    /// The resource template with this URI.
    Template(String),
}

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Listed {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources.
    Resources,
    /// The resource templates.
    Templates,
}

/// The revisions in which a case is run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Revisions {
    /// The newest that both sides have.
    #[default]
    Newest,
    /// Each of these, in this order.
    Each(Vec<Revision>),
}

impl Suite {
    /// Reads the file of a suite.
    ///
    /// # Errors
    ///
    /// Says why it cannot be read, or shows the place where the file is not one of a suite.
    pub fn load(file: &Path) -> Result<Self, Words> {
        let shown = given(file.display());
        let whole = std::path::absolute(file);
        let read = settings_file::read_at(file).and_then(|text| Ok((text, whole?)));
        let (text, whole) =
            read.map_err(|error| words!("{} cannot be read: {}", shown.clone(), given(error)))?;
        let folder = whole.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).map_err(|why| words!("{}: {}", shown, why))
    }

    /// Reads the text of a suite that lies in `folder`.
    ///
    /// # Errors
    ///
    /// Shows the place where the text is not one of a suite.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, Words> {
        let text: SuiteText = settings_file::parse(text)?;
        let at = Surroundings::of_process(folder);
        let SuiteText { own, script } = text;
        let script = script.settled(&at)?;
        let revisions = own.revisions.unwrap_or_default();
        let is_fresh = own.fresh.unwrap_or_default();
        let cases = own.cases.unwrap_or_default().0;
        let before = own.before.unwrap_or_default().0;
        if before.iter().any(|case| {
            case.revisions.is_some() || case.fresh.is_some() || case.script.roots.is_some()
        }) {
            let why = "a request of `before` has no `revisions`, `fresh` or `roots`: it is made on each server";
            return Err(why.into());
        }
        let case = |mut case: CaseText| {
            let settled = case.script.settled(&at);
            case.script = settled.map_err(|why| words!("case {}: {}", given(&case.name), why))?;
            let rules = RulesOf::Suite {
                answers: case.script.answers.len(),
                sampling: case.script.sampling.len(),
            };
            if case.script.seed == 0 {
                case.script.seed = script.seed;
            }
            if case.script.unused == Unused::default() {
                case.script.unused = script.unused;
            }
            // The folders are told to a server once, so such a case has one of its own.
            let has_roots = case.script.roots.is_some();
            case.script.answers.extend(script.answers.iter().cloned());
            case.script.sampling.extend(script.sampling.iter().cloned());
            if !has_roots {
                case.script.roots.clone_from(&script.roots);
            }
            Ok(Case {
                name: case.name,
                action: case.action,
                revisions: case.revisions.unwrap_or_else(|| revisions.clone()),
                is_fresh: has_roots || case.fresh.unwrap_or(is_fresh),
                script: case.script,
                calls_tools: false,
                rules,
                under: case.expect.under,
                expect: case.expect,
            })
        };
        let mut before = before
            .into_iter()
            .map(&case)
            .collect::<Result<Vec<_>, Words>>()?;
        let mut cases = cases
            .into_iter()
            .map(&case)
            .collect::<Result<Vec<_>, Words>>()?;
        let calls_tools = before
            .iter()
            .chain(&cases)
            .any(|case| case.script.calls_tools());
        for case in before.iter_mut().chain(&mut cases) {
            case.calls_tools = calls_tools;
        }
        Ok(Self {
            server: own.server,
            before,
            cases,
            folder: folder.to_owned(),
        })
    }
}

/// A suite as it is written.
struct SuiteText {
    own: SuiteMembers,
    script: Script,
}

#[derive(Default)]
struct SuiteMembers {
    server: Option<Server>,
    revisions: Option<Revisions>,
    fresh: Option<bool>,
    before: Option<Cases>,
    cases: Option<Cases>,
}

impl<'de> Beside<'de> for SuiteMembers {
    const NAMES: &'static [&'static str] = &["server", "revisions", "fresh", "before", "cases"];

    fn read<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "server" => member(&mut self.server, name, map),
            "revisions" => member(&mut self.revisions, name, map),
            "fresh" => member(&mut self.fresh, name, map),
            "before" => member(&mut self.before, name, map),
            _ => member(&mut self.cases, name, map),
        }
    }
}

impl<'de> Deserialize<'de> for SuiteText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        members::with_script(deserializer, |own: SuiteMembers, script| {
            match own.cases.as_ref().is_none_or(|cases| cases.0.is_empty()) {
                true => Err("a suite needs `cases`"),
                false => Ok(Self { own, script }),
            }
        })
    }
}

/// The cases as they are written, no two of one name.
#[derive(Default)]
struct Cases(Vec<CaseText>);

impl<'de> Deserialize<'de> for Cases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Cases;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of cases")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cases, A::Error> {
                let mut cases = Vec::new();
                let mut names = BTreeSet::new();
                while let Some(case) = list.next_element_seed(Unlike(&mut names))? {
                    cases.push(case);
                }
                Ok(Cases(cases))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

/// Reads a case with a name unlike those before.
struct Unlike<'a>(&'a mut BTreeSet<String>);

impl<'de> de::DeserializeSeed<'de> for Unlike<'_> {
    type Value = CaseText;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<CaseText, D::Error> {
        members::with_script(deserializer, |own, script| {
            let case = CaseText::new(own, script)?;
            match self.0.insert(case.name.clone()) {
                true => Ok(case),
                false => Err(format!("two cases are called `{}`", case.name)),
            }
        })
    }
}

struct CaseText {
    name: String,
    action: Action,
    revisions: Option<Revisions>,
    fresh: Option<bool>,
    script: Script,
    expect: Expect,
}

#[derive(Default)]
struct CaseMembers {
    name: Option<String>,
    call: Option<String>,
    prompt: Option<String>,
    read: Option<String>,
    complete: Option<Complete>,
    list: Option<Listed>,
    arguments: Option<Map<String, Value>>,
    revisions: Option<Revisions>,
    fresh: Option<bool>,
    expect: Option<Expect>,
}

impl<'de> Beside<'de> for CaseMembers {
    const NAMES: &'static [&'static str] = &[
        "name",
        "call",
        "prompt",
        "read",
        "complete",
        "list",
        "arguments",
        "revisions",
        "fresh",
        "expect",
    ];

    fn read<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => member(&mut self.name, name, map),
            "call" => member(&mut self.call, name, map),
            "prompt" => member(&mut self.prompt, name, map),
            "read" => member(&mut self.read, name, map),
            "complete" => member(&mut self.complete, name, map),
            "list" => member(&mut self.list, name, map),
            "arguments" => member(&mut self.arguments, name, map),
            "revisions" => member(&mut self.revisions, name, map),
            "fresh" => member(&mut self.fresh, name, map),
            _ => member(&mut self.expect, name, map),
        }
    }
}

impl CaseText {
    fn new(own: CaseMembers, script: Script) -> Result<Self, String> {
        const ONE: &str = "a case needs one of `call`, `prompt`, `read`, `complete` and `list`";
        let Some(name) = own.name.filter(|name| !name.trim().is_empty()) else {
            return Err("a case needs a `name`".to_owned());
        };
        let has_arguments = own.arguments.is_some();
        let arguments = own.arguments.unwrap_or_default();
        let action = match (own.call, own.prompt, own.read, own.complete, own.list) {
            (Some(tool), None, None, None, None) => Action::Call(tool, arguments),
            (None, Some(name), None, None, None) => Action::Prompt(name, arguments),
            (None, None, None, Some(complete), None) => Action::Complete(complete, arguments),
            (None, None, Some(_), None, None) | (None, None, None, None, Some(_))
                if has_arguments =>
            {
                return Err("`arguments` go with `call`, `prompt` and `complete`".to_owned());
            }
            (None, None, Some(uri), None, None) => Action::Read(uri),
            (None, None, None, None, Some(listed)) => Action::List(listed),
            _ => return Err(ONE.to_owned()),
        };
        Ok(Self {
            name,
            action,
            revisions: own.revisions,
            fresh: own.fresh,
            script,
            expect: own.expect.unwrap_or_default(),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompleteText {
    prompt: Option<String>,
    template: Option<String>,
    argument: String,
    #[serde(default)]
    start: String,
}

impl TryFrom<CompleteText> for Complete {
    type Error = &'static str;

    fn try_from(text: CompleteText) -> Result<Self, Self::Error> {
        let of = match (text.prompt, text.template) {
            (Some(prompt), None) => Completed::Prompt(prompt),
            (None, Some(template)) => Completed::Template(template),
            _ => return Err("`complete` names a `prompt` or a `template`"),
        };
        Ok(Self {
            of,
            argument: text.argument,
            start: text.start,
        })
    }
}

impl<'de> Deserialize<'de> for Complete {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        members::map::<_, CompleteText, _>(deserializer)
    }
}

/// The name of a revision.
struct RevisionName(Revision);

impl FromStr for RevisionName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        session::revision(name).map(Self)
    }
}

impl<'de> Deserialize<'de> for RevisionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        members::word(deserializer)
    }
}

impl<'de> Deserialize<'de> for Revisions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = Revisions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, a revision, or a list of revisions")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Revisions, E> {
                match name {
                    "all" => Ok(Revisions::Each(Revision::ALL.into())),
                    _ => session::revision(name)
                        .map(|revision| Revisions::Each(vec![revision]))
                        .map_err(|why| E::custom(format_args!("{why}; or write `all`"))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Revisions, A::Error> {
                let mut revisions = Vec::new();
                while let Some(RevisionName(revision)) = list.next_element()? {
                    if revisions.contains(&revision) {
                        return Err(de::Error::custom("a revision is named twice"));
                    }
                    revisions.push(revision);
                }
                match revisions.is_empty() {
                    true => Err(de::Error::custom("`revisions` names none")),
                    false => Ok(Revisions::Each(revisions)),
                }
            }
        }

        deserializer.deserialize_any(Names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(text: &str) -> Result<Suite, Words> {
        Suite::parse(text, Path::new("/suites"))
    }

    #[test]
    fn a_suite_is_read() {
        let read = suite(
            "server: {command: [a, b], env: {X: y}, cwd: sub}
revisions: [2025-06-18, 2026-07-28]
answers: [{when: {key: shared}, cancel: true}]
roots: [all]
cases:
  - name: one
    call: book
    arguments: {day: 2026-06-15, n: 2}
    answers: [{when: {key: own}, decline: true}]
    expect: {under: 2s}
  - {name: two, read: 'a://b', revisions: all, roots: [mine]}
  - {name: three, list: tools, revisions: 2025-11-25, fresh: true}
  - {name: four, complete: {template: 'a://{b}', argument: b}, arguments: {c: d}}
",
        )
        .expect("a suite");
        let [one, two, three, four] = &read.cases[..] else {
            panic!("{read:?}");
        };
        let arguments = serde_json::json!({"day": "2026-06-15", "n": 2});
        let Action::Call(tool, given) = &one.action else {
            panic!("{one:?}");
        };
        assert_eq!((&**tool, Value::Object(given.clone())), ("book", arguments));
        assert_eq!(one.under, Some(Duration::from_secs(2)));
        let keys: Vec<_> = one
            .script
            .answers
            .iter()
            .map(|rule| rule.when.key.as_deref())
            .collect();
        assert_eq!(keys, [Some("own"), Some("shared")]);
        assert_eq!(one.script.roots, Some(vec![PathBuf::from("/suites/all")]));
        assert!(!one.is_fresh);
        assert_eq!(two.script.roots, Some(vec![PathBuf::from("/suites/mine")]));
        assert!(two.is_fresh, "its folders are its own");
        assert_eq!(two.revisions, Revisions::Each(Revision::ALL.into()));
        assert!(three.is_fresh && three.action == Action::List(Listed::Tools));
        assert!(matches!(&four.action, Action::Complete(..)), "{four:?}");
    }

    #[test]
    fn an_unknown_member_is_told_with_those_of_both() {
        let error = suite("cases:\n  - name: a\n    cal: x\n").expect_err("a mistake");
        let error = error.to_string();
        let begins = error.starts_with("cases[0]: `cal` is not known here; known: `name`, ");
        let ends = error.ends_with(" at line 3 column 5");
        assert!(begins && ends && error.contains("`answers`"), "{error}");
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        #[track_caller]
        fn check(text: &str, told: &str) {
            let error = suite(text).expect_err("a mistake").to_string();
            assert_eq!(error, told);
        }
        let case = |of: &str| format!("cases:\n  - name: a\n{of}");
        let one = "a case needs one of `call`, `prompt`, `read`, `complete` and `list`";
        check("{}", "a suite needs `cases` at line 1");
        check("cases: []", "a suite needs `cases` at line 1");
        check(
            "cases:\n  - call: x\n",
            "cases[0]: a case needs a `name` at line 2 column 5",
        );
        check(&case(""), &format!("cases[0]: {one} at line 2 column 5"));
        check(
            &case("    call: x\n    read: y\n"),
            &format!("cases[0]: {one} at line 2 column 5"),
        );
        check(
            &case("    call: x\n    call: y\n"),
            "cases[0]: `call` is given twice at line 2 column 5",
        );
        check(
            &case("    call: x\n  - name: a\n    call: x\n"),
            "cases[1]: two cases are called `a` at line 4 column 5",
        );
        check(
            &case("    read: x\n    arguments: {}\n"),
            "cases[0]: `arguments` go with `call`, `prompt` and `complete` at line 2 column 5",
        );
        check(
            &case("    call: x\n    answers:\n      - when: {}\n"),
            "cases[0].answers[0]: a rule needs one of `accept: {field: value}`, `decline: true` and `cancel: true` \
             at line 5 column 9",
        );
        check(
            &case("    call: x\n    expect:\n      error: {}\n      text: a\n"),
            "cases[0].expect: `error` is expected in place of a result: without `text`, `result`, `structured`, \
             `schema` and `failed` at line 5 column 7",
        );
        check(
            &case("    call: x\n    expect:\n      structured: {total: 1}\n"),
            "cases[0].expect.structured: `total` is no place in JSON: it begins with a slash, as in /total, or as a path, \
             with $ at line 5 column 20",
        );
        check(
            &case("    call: x\n    expect:\n      structured: {'$.a[': 1}\n"),
            "cases[0].expect.structured: `$.a[` is no JSON path: it is read as far as its character 3 at line 5 column 20",
        );
        check(
            &case("    call: x\n    expect: {text: {matches: '('}}\n"),
            "cases[0].expect.text.matches: `(` is no regular expression at line 4 column 30",
        );
        check(
            &case("    call: x\n    expect: {under: 2h}\n"),
            "cases[0].expect.under: `2h` is no time: write 500ms, 2s or 5m at line 4 column 21",
        );
        check(
            &case("    call: x\n    revisions: [2025-06-19]\n"),
            "cases[0].revisions[0]: the revisions are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28 \
             at line 4 column 17",
        );
        check(
            &case("    complete: {argument: b}\n"),
            "cases[0].complete: `complete` names a `prompt` or a `template` at line 3 column 15",
        );
        check(
            &format!("server: {{}}\n{}", case("    call: x\n")),
            "server: a server needs a `command`, a `url`, or the `name` of one of mcp.json \
             at line 1 column 9",
        );
        check(
            &format!(
                "server: {{url: 'http://x', cwd: y}}\n{}",
                case("    call: x\n")
            ),
            "server: `env` and `cwd` go with a `command` at line 1 column 9",
        );
    }
}
