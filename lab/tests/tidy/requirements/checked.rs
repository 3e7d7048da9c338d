//! Checks the rules of `askback check` against the rows they name.

use askback_check::rules::{self, Row};

use super::rows::{FOLDER, Group, Level, Party, read};
use crate::{Problem, assert_found, assert_none, tree::Tree};

/// Finds rules without a row, and rules that require more than their row.
fn problems<'a>(rules: impl IntoIterator<Item = &'a Row>, groups: &[Group]) -> Vec<Problem> {
    let mut problems = Vec::new();
    // Our own rules have lowercase names.
    let is_ours = |id: &str| id.starts_with(|first: char| first.is_ascii_lowercase());
    for rule in rules.into_iter().filter(|row| !is_ours(row.id)) {
        let mut wrong = |what: &str| problems.push(format!("`askback check`: {} {what}", rule.id));
        let rows = groups.iter().flat_map(|group| &group.rows);
        let Some(row) = rows.into_iter().find(|row| row.id == rule.id) else {
            wrong("is no row");
            continue;
        };
        let is_strong = matches!(row.level, Level::Must | Level::MustNot);
        if is_strong != (rule.level == rules::Level::Must) {
            wrong("has another level in its row");
        }
        if !row.parties().contains(&Party::Server) {
            wrong("does not bind servers");
        }
        let revisions: Vec<_> = row.revisions.iter().map(ToString::to_string).collect();
        let tried = askback_core::revision::Revision::ALL;
        let mut tried = tried
            .iter()
            .filter(|it| (rule.since..=rule.until).contains(it));
        if tried.any(|revision| !revisions.contains(&revision.to_string())) {
            wrong("is not in all of these revisions");
        }
    }
    problems
}

#[test]
fn each_rule_of_a_check_is_a_row() {
    let (groups, faults) = read(&Tree::project());
    assert_none(faults);
    assert_none(problems(
        rules::ALL.iter().flat_map(|rule| rule.rows),
        &groups,
    ));
}

#[test]
fn a_rule_that_says_something_else_than_its_row_is_found() {
    let rows = r#"{"title": "T", "page": "p", "rows": [
        {"id": "A-1", "level": "SHOULD", "party": "client", "revisions": ["2026-07-28"], "section": "s", "statement": "It SHOULD."}
    ]}"#;
    let path = format!("{FOLDER}a.json");
    let tree = Tree::of([(path.as_str(), rows)]);
    let groups = read(&tree).0;
    let row = rules::ALL[0].rows[0];
    assert_found(&problems([&row], &groups), &["is no row"]);
    let row = Row { id: "A-1", ..row };
    let wanted = [
        "A-1 has another level in its row",
        "A-1 does not bind servers",
        "A-1 is not in all of these revisions",
    ];
    assert_found(&problems([&row], &groups), &wanted);
}
