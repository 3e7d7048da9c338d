//! The shortest server is short, is in the documents, and asks in every revision.

use std::{fs, future::ready, path::Path};

use askback::{
    Revision,
    client::{Client, Protocol},
    protocol::ElicitResult,
    transport::Child,
};
use serde_json::{Value, json};

const PROGRAM: &str = include_str!("../../src/main.rs");

const BEFORE_FORMS: [Revision; 2] = [Revision::V2024_11_05, Revision::V2025_03_26];

fn ticks(box_is_ticked: bool) -> ElicitResult {
    ElicitResult::accept([("confirm", box_is_ticked)])
}

/// Returns the program's result for this answer, and whether the file still exists.
async fn delete(revision: Revision, answer: ElicitResult) -> (Value, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.txt");
    fs::write(&file, "Buy milk.").expect("a file");
    // Its keys are created here instead of in the user's folder.
    let program = Child::command(env!("CARGO_BIN_EXE_delete"))
        .env("HOME", folder.path())
        .env("LOCALAPPDATA", folder.path())
        .env("XDG_STATE_HOME", folder.path());
    let client = Client::builder("test", "1")
        .protocol(Protocol::Only(revision))
        .on_elicit(move |_| ready(Ok(answer.clone())))
        .connect(program)
        .await
        .expect("the program serves");
    let result = client.call_tool("delete", json!({"path": file})).await;
    let result = result.expect("a result");
    let result = serde_json::from_str(result.raw.get()).expect("JSON");
    client.close().await;
    (result, file.exists())
}

async fn check(
    revisions: &[Revision],
    answer: ElicitResult,
    told: &str,
    is_error: bool,
    kept: bool,
) {
    for revision in revisions {
        let (result, is_there) = delete(*revision, answer.clone()).await;
        assert_eq!(result["content"][0]["text"], told, "{revision}: {result}");
        assert_eq!(result["isError"] == true, is_error, "{revision}: {result}");
        assert_eq!(is_there, kept, "{revision}: {result}");
    }
}

fn with_forms() -> Vec<Revision> {
    let all = Revision::ALL.into_iter();
    all.filter(|revision| !BEFORE_FORMS.contains(revision))
        .collect()
}

#[tokio::test]
async fn it_deletes_if_the_box_was_ticked() {
    check(&with_forms(), ticks(true), "Deleted.", false, false).await;
}

#[tokio::test]
async fn it_deletes_nothing_on_a_no() {
    for no in [
        ticks(false),
        ElicitResult::decline(),
        ElicitResult::cancel(),
    ] {
        check(&with_forms(), no, "Nothing was deleted.", false, true).await;
    }
}

#[tokio::test]
async fn it_reports_that_a_client_cannot_ask() {
    let told = "this client cannot be asked: it does not support forms (elicitation)";
    check(&BEFORE_FORMS, ticks(true), told, true, true).await;
}

#[test]
fn it_has_thirteen_lines() {
    let lines = PROGRAM.lines().filter(|line| !line.trim().is_empty());
    assert!(lines.count() <= 13);
}

#[test]
fn the_documents_begin_with_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for document in [
        "README.md",
        "docs/guide/README.md",
        "docs/guide/tutorial.md",
        "crates/askback/src/lib.rs",
    ] {
        let text = fs::read_to_string(root.join(document)).expect("a document");
        // The crate page is a comment.
        let text = text.replace("//! ", "").replace("//!\n", "\n");
        let first = text.split("no_run\n").nth(1).expect("code");
        let first = first.split("```").next();
        assert_eq!(first, Some(PROGRAM), "{document}");
    }
}
