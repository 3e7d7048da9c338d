use std::{fs, path::Path, time::UNIX_EPOCH};

use askback::limits::Limits;
use askback_host::{
    model::Reply,
    script::{Answer, Script, ScriptRun, Surroundings, literal},
};
use proptest::prelude::*;
use serde_json::json;

use super::values::kinds;
use crate::safety;

/// Expands the text of a rule whose file is in this folder.
fn expanded(text: &str, folder: &Path) -> Result<String, String> {
    let file = format!("answers:\n  - cancel: true\n  - accept: {{text: {text}}}");
    let variable = |name: &str| match name {
        "NAME" => Some("Ada".to_owned()),
        "FILE" => Some("@notes.txt".to_owned()),
        "PATH" => Some("./windows.txt".to_owned()),
        "TAG" => Some("@@ada".to_owned()),
        "TWICE" => Some("${NAME}".to_owned()),
        _ => None,
    };
    let at = Surroundings {
        folder,
        variable: &variable,
    };
    let script = Script::parse(&file).expect("the file is one of answers");
    let mut script = script.settled(&at).map_err(|why| why.to_string())?;
    script.answers.remove(0);
    let mut run = ScriptRun::new(script, UNIX_EPOCH);
    match run.answer("travel", &kinds(), &Limits::default()) {
        Answer::Given(Reply::Form(content), _) => {
            Ok(content["text"].as_str().unwrap_or_default().to_owned())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_stand_for_variables_and_files() {
    let folder = tempfile::tempdir().expect("there is a folder for such");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it is written");
    };
    write("notes.txt", "two\nlines ${NAME} @notes.txt\n");
    write("windows.txt", "a line\r\n");
    write("long.txt", &" ".repeat((1 << 20) + 1));
    write("bytes.txt", "");
    fs::write(folder.path().join("bytes.txt"), [0xff, 0xfe]).expect("it is written");
    let check = |text: &str, sent: &str| {
        assert_eq!(expanded(text, folder.path()).as_deref(), Ok(sent), "{text}");
    };
    check("'${NAME}'", "Ada");
    check("'Dear ${NAME}, ${NAME}!'", "Dear Ada, Ada!");
    check("'$${NAME}'", "${NAME}");
    check("'$$${NAME}'", "$${NAME}");
    check("'$5 {a} $NAME'", "$5 {a} $NAME");
    check("'@notes.txt'", "two\nlines ${NAME} @notes.txt");
    check("'@./windows.txt'", "a line");
    check("'@@ada'", "@ada");
    check("'@'", "@");
    check("ada@example.com", "ada@example.com");
    // The value of a variable is not expanded again.
    check("'${FILE}'", "@notes.txt");
    check("'${TAG}'", "@@ada");
    check("'${TWICE}'", "${NAME}");
    check("'@${PATH}'", "a line");

    let refused = |text: &str, says: &str| {
        let why = expanded(text, folder.path()).expect_err("it is refused");
        assert!(why.starts_with("rule 2: ") && why.contains(says), "{why}");
    };
    refused("'${OTHER}'", "the variable OTHER is not set");
    refused("'${NAME'", "has no `}`");
    refused("'${}'", "is not the name of a variable");
    refused("'${a b}'", "`a b` is not the name");
    refused("'@absent.txt'", "absent.txt cannot be read");
    refused("'@long.txt'", "it is larger than 1 MiB");
    refused("'@bytes.txt'", "it is not UTF-8 text");
    refused("'@.'", "cannot be read");
}

#[test]
fn all_answers_are_expanded() {
    let file = "
answers:
  - {accept: {room: '${X}', extras: ['${X}']}, then: [{decline: true, reason: '${X}'}]}
sampling:
  - {reply: '${X}'}
";
    let at = Surroundings {
        folder: Path::new(""),
        variable: &|_| Some("city".to_owned()),
    };
    let script = Script::parse(file).and_then(|script| script.settled(&at));
    let shown = format!("{script:?}");
    assert_eq!(
        (shown.matches("city").count(), shown.contains('$')),
        (4, false),
        "{shown}"
    );
}

proptest! {
    #![proptest_config(safety::config())]

    #[test]
    fn a_text_can_stand_for_itself(text in "[@$\\{}Aa./ \\né字😀]{0,16}") {
        let written = json!(literal(&text)).to_string();
        prop_assert_eq!(expanded(&written, Path::new("")), Ok(text));
    }
}
