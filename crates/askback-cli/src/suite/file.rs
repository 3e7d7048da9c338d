//! The file format of suites: YAML, and therefore JSON too.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askback::Revision;
use askback_host::{
    script::{AnswerRule, SamplingRule, Script, Surroundings, UnusedRules},
    text::{Words, given},
    text_file, words,
    yaml::{self, Shape},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny},
};
use serde_json::{Map, Value};

use super::{
    expect::{self, Expect},
    server::{self, Server},
};
use crate::session;

#[derive(Debug, Clone)]
pub struct Suite {
    pub server: Option<Server>,
    /// Requests made in order on each server right after it starts.
    pub before: Vec<Case>,
    pub cases: Vec<Case>,
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "CaseText")]
pub struct Case {
    pub name: String,
    pub action: Action,
    pub revisions: Revisions,
    fresh: Option<bool>,
    /// The rules of the case, followed by the suite's.
    pub script: Script,
    /// Whether a rule of the suite plays a model that calls tools. A client declares this when it
    /// connects.
    pub calls_tools: bool,
    pub expect: Expect,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Call(String, Map<String, Value>),
    Prompt(String, Map<String, Value>),
    Read(String),
    List(ListKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "Shape<IgnoredAny, RevisionName>")]
pub enum Revisions {
    /// The newest that both sides support.
    #[default]
    Newest,
    /// Each of these, in order.
    Each(Vec<Revision>),
}

impl Suite {
    pub fn load(file: &Path) -> Result<Self, Words> {
        let shown = given(file.display());
        let whole = std::path::absolute(file);
        let read = text_file::read_at(file).and_then(|text| Ok((text, whole?)));
        let (text, whole) =
            read.map_err(|error| words!("{} cannot be read: {}", shown.clone(), given(error)))?;
        let folder = whole.parent().unwrap_or(Path::new(""));
        Self::parse(&text, folder).map_err(|why| words!("{}: {}", shown, why))
    }

    pub fn parse(text: &str, folder: &Path) -> Result<Self, Words> {
        let SuiteText {
            server,
            revisions,
            fresh,
            mut before,
            mut cases,
            answers,
            sampling,
            roots,
            unused,
        } = yaml::parse(text)?;
        let at = Surroundings::of_process(folder);
        let shared = Script {
            answers,
            sampling,
            roots,
            unused,
        };
        let shared = shared.settled(&at)?;
        for case in before.iter_mut().chain(&mut cases) {
            let own = std::mem::take(&mut case.script).settled(&at);
            let own = own.map_err(|why| words!("case {}: {}", given(&case.name), why))?;
            // A client announces its folders once per server, so a case with its own folders needs its own server.
            case.fresh = Some(own.roots.is_some() || case.fresh.unwrap_or(fresh));
            case.script = own.with_shared(&shared);
            if case.revisions == Revisions::Newest {
                case.revisions.clone_from(&revisions);
            }
        }
        let mut all = before.iter().chain(&cases);
        let calls_tools = all.any(|case| case.script.calls_tools());
        for case in before.iter_mut().chain(&mut cases) {
            case.calls_tools = calls_tools;
        }
        Ok(Self {
            server,
            before,
            cases,
            folder: folder.to_owned(),
        })
    }
}

impl Case {
    pub fn is_fresh(&self) -> bool {
        self.fresh == Some(true)
    }
}

/// The text of a suite, with the members of an answers file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteText {
    #[serde(default, deserialize_with = "server::read")]
    server: Option<Server>,
    #[serde(default)]
    revisions: Revisions,
    #[serde(default)]
    fresh: bool,
    #[serde(default, deserialize_with = "before")]
    before: Vec<Case>,
    #[serde(deserialize_with = "cases")]
    cases: Vec<Case>,
    #[serde(default)]
    answers: Vec<AnswerRule>,
    #[serde(default)]
    sampling: Vec<SamplingRule>,
    roots: Option<Vec<PathBuf>>,
    #[serde(default)]
    unused: UnusedRules,
}

/// Reads cases and rejects duplicate names.
fn unlike<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Case>, D::Error> {
    let cases = Vec::<Case>::deserialize(deserializer)?;
    let mut numbers = BTreeMap::new();
    for (number, Case { name, .. }) in (1..).zip(&cases) {
        if let Some(first) = numbers.insert(name, number) {
            let why = format_args!("cases {first} and {number} are both called `{name}`");
            return Err(D::Error::custom(why));
        }
    }
    Ok(cases)
}

fn cases<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Case>, D::Error> {
    let cases = unlike(deserializer)?;
    match cases.is_empty() {
        true => Err(D::Error::custom("a suite needs at least one case")),
        false => Ok(cases),
    }
}

fn before<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Case>, D::Error> {
    let before = unlike(deserializer)?;
    let has_own = |case: &Case| {
        case.revisions != Revisions::Newest || case.fresh.is_some() || case.script.roots.is_some()
    };
    match before.iter().any(has_own) {
        true => Err(D::Error::custom(
            "a request of `before` has no `revisions`, `fresh` or `roots`: it is made on each server",
        )),
        false => Ok(before),
    }
}

/// The text of a case, with the members of an answers file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    call: Option<String>,
    prompt: Option<String>,
    read: Option<String>,
    list: Option<ListKind>,
    arguments: Option<Map<String, Value>>,
    #[serde(default)]
    revisions: Revisions,
    fresh: Option<bool>,
    #[serde(default)]
    answers: Vec<AnswerRule>,
    #[serde(default)]
    sampling: Vec<SamplingRule>,
    roots: Option<Vec<PathBuf>>,
    #[serde(default)]
    unused: UnusedRules,
    #[serde(default, deserialize_with = "expect::read")]
    expect: Expect,
}

impl TryFrom<CaseText> for Case {
    type Error = &'static str;

    fn try_from(text: CaseText) -> Result<Self, Self::Error> {
        if text.name.trim().is_empty() {
            return Err("a case needs a `name`");
        }
        let has_arguments = text.arguments.is_some();
        let arguments = text.arguments.unwrap_or_default();
        let action = match (text.call, text.prompt, text.read, text.list) {
            (Some(tool), None, None, None) => Action::Call(tool, arguments),
            (None, Some(name), None, None) => Action::Prompt(name, arguments),
            (None, None, Some(_), None) | (None, None, None, Some(_)) if has_arguments => {
                return Err("`arguments` go with `call` and `prompt`");
            }
            (None, None, Some(uri), None) => Action::Read(uri),
            (None, None, None, Some(listed)) => Action::List(listed),
            _ => return Err("a case needs exactly one of `call`, `prompt`, `read` and `list`"),
        };
        Ok(Self {
            name: text.name,
            action,
            revisions: text.revisions,
            fresh: text.fresh,
            script: Script {
                answers: text.answers,
                sampling: text.sampling,
                roots: text.roots,
                unused: text.unused,
            },
            calls_tools: false,
            expect: text.expect,
        })
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct RevisionName(Revision);

impl TryFrom<String> for RevisionName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        session::revision(&name).map(Self)
    }
}

impl TryFrom<Shape<IgnoredAny, RevisionName>> for Revisions {
    type Error = String;

    fn try_from(text: Shape<IgnoredAny, RevisionName>) -> Result<Self, String> {
        match text {
            Shape::Scalar(Value::String(name)) if name == "all" => {
                Ok(Self::Each(Revision::ALL.into()))
            }
            Shape::Scalar(Value::String(name)) => session::revision(&name)
                .map(|revision| Self::Each(vec![revision]))
                .map_err(|why| format!("{why}; or write `all`")),
            Shape::List(names) => {
                let mut revisions = Vec::new();
                for RevisionName(revision) in names {
                    if revisions.contains(&revision) {
                        return Err("a revision is named twice".to_owned());
                    }
                    revisions.push(revision);
                }
                match revisions.is_empty() {
                    true => Err("`revisions` names none".to_owned()),
                    false => Ok(Self::Each(revisions)),
                }
            }
            other => Err(other.refuse("`all`, a revision, or a list of revisions")),
        }
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
",
        )
        .expect("a suite");
        let [one, two, three] = &read.cases[..] else {
            panic!("{read:?}");
        };
        let arguments = serde_json::json!({"day": "2026-06-15", "n": 2});
        let Action::Call(tool, given) = &one.action else {
            panic!("{one:?}");
        };
        assert_eq!((&**tool, Value::Object(given.clone())), ("book", arguments));
        assert_eq!(one.expect.under(), Some(std::time::Duration::from_secs(2)));
        let keys: Vec<_> = one
            .script
            .answers
            .iter()
            .map(|rule| rule.when.key.as_deref())
            .collect();
        assert_eq!(keys, [Some("own"), Some("shared")]);
        assert_eq!(one.script.roots, Some(vec![PathBuf::from("/suites/all")]));
        assert!(!one.is_fresh());
        assert_eq!(two.script.roots, Some(vec![PathBuf::from("/suites/mine")]));
        assert!(two.is_fresh(), "its folders are its own");
        assert_eq!(two.revisions, Revisions::Each(Revision::ALL.into()));
        assert!(three.is_fresh() && three.action == Action::List(ListKind::Tools));
    }

    #[test]
    fn an_unknown_member_is_told_with_a_near_one_or_all() {
        #[track_caller]
        fn check(member: &str, told: &str) {
            let file = format!("cases:\n  - name: a\n    {member}: x\n");
            let error = suite(&file).expect_err("a mistake").to_string();
            assert!(error.contains(told), "{error}");
        }
        check(
            "cal",
            "cases[0]: `cal` is not known here: did you mean `call`? at line 3 column 5",
        );
        check("anwsers", ": did you mean `answers`?");
        check("argument", ": did you mean `arguments`?");
        check("tool", "`tool` is not known here; known: `name`, ");
        check("x", "`sampling`, ");
    }

    #[test]
    fn the_guide_names_every_member() {
        const GUIDE: &str = include_str!("../../../../docs/guide/testing-a-server.md");
        const ANSWERS: &str = include_str!("../../../../docs/guide/answers.md");
        let case = |of: &str| format!("cases: [{{name: a, call: b, {of}}}]");
        for at in [
            "odd: 1".to_owned(),
            "server: {odd: 1}".to_owned(),
            case("odd: 1"),
            case("list: odd"),
            case("expect: {odd: 1}"),
            case("expect: {text: {odd: 1}}"),
            case("expect: {error: {odd: 1}}"),
            case("expect: {questions: [{odd: 1}]}"),
            case("expect: {questions: [{mode: odd}]}"),
            case("expect: {questions: [{reply: odd}]}"),
        ] {
            let told = suite(&at).expect_err("there is no such member").to_string();
            let (_, members) = told.split_once("known: ").expect(&at);
            let members: Vec<_> = members.split('`').skip(1).step_by(2).collect();
            assert!(members.len() > 1, "{told}");
            for member in members {
                let written = [format!("`{member}`"), format!("{member}: ")];
                let is_named = |page: &str| written.iter().any(|written| page.contains(written));
                assert!(is_named(GUIDE) || is_named(ANSWERS), "{at}: {member}");
            }
        }
    }

    #[test]
    fn a_mistake_is_told_with_its_place() {
        // The members of a case, or a whole suite.
        const MISTAKES: &str = "
            cases: [] => cases: a suite needs at least one case
            cases: [{call: x}] => cases[0]: `name` is missing
            cases: [{name: ' ', call: x}] => cases[0]: a case needs a `name`
            cases: [{name: a, call: x}, {name: a, call: y}] => cases: cases 1 and 2 are both called `a`
            fresh: true => cases[0]: a case needs exactly one of `call`, `prompt`, `read` and `list`
            call: x, read: y => cases[0]: a case needs exactly one of `call`, `prompt`, `read` and `list`
            call: x, call: y => cases[0]: `call` is given twice
            read: x, arguments: {} => cases[0]: `arguments` go with `call` and `prompt`
            call: x, arguments: {n: 1, n: 2} => cases[0].arguments: `n` is given twice
            call: x, answers: [{when: {}}] => cases[0].answers[0]: a rule needs exactly one of `accept: {field: value}`, `decline: true` and `cancel: true`
            call: x, expect: {error: {}, text: a} => cases[0].expect: `error` is expected in place of a result: without `text`, `result`, `structured` and `failed`
            call: x, expect: {structured: {total: 1}} => cases[0].expect.structured.total: `total` is not a place in JSON: write a pointer such as /total
            call: x, expect: {text: {matches: '('}} => cases[0].expect.text.matches: `(` is not a regular expression
            call: x, expect: {under: 2h} => cases[0].expect.under: expected at most `60m`
            call: x, expect: {text: {not: {length: x}}} => cases[0].expect.text.not.length: expected a whole number from 0 on, got a text
            call: x, expect: {questions: {key: a}} => cases[0].expect.questions: expected a number of questions, or a list of them, got an object
            call: x, revisions: 2025 => cases[0].revisions: expected `all`, a revision, or a list of revisions, got a number
            call: x, revisions: [2025-06-19] => cases[0].revisions[0]: the revisions are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
            before: [{name: b, list: tools, fresh: true}] => before: a request of `before` has no `revisions`, `fresh` or `roots`: it is made on each server
            server: {} => server: a server needs a `command`, a `url`, or the `name` of one of mcp.json
            server: {url: 'http://x', cwd: y} => server: `env` and `cwd` go with a `command`
        ";
        for mistake in MISTAKES.trim().lines() {
            let (text, told) = mistake.trim().split_once(" => ").expect("a row");
            let text = match text.split_once(':').expect("a member").0 {
                "cases" => text.to_owned(),
                "before" | "server" => format!("{text}\ncases: [{{name: a, call: x}}]"),
                _ => format!("cases: [{{name: a, {text}}}]"),
            };
            let error = suite(&text).expect_err("a mistake").to_string();
            let place = error.strip_prefix(told).unwrap_or_default();
            let place = place.strip_prefix(", in the list or map").unwrap_or(place);
            assert!(place.starts_with(" at line 1"), "{error}");
        }
        let below = "cases: [{name: a, call: x}]\n\nrevisions: 2025";
        let error = suite(below).expect_err("a mistake").to_string();
        assert!(error.ends_with(", in the list or map at line 1"), "{error}");
        let error = suite("{}").expect_err("a mistake").to_string();
        assert_eq!(error, "`cases` is missing at line 1");
    }
}
