//! Checks of the project's structure that no compiler makes.
//!
//! Each rule is a function from a [`Tree`](tree::Tree) of files (or cargo's metadata) to a list of problems. Each rule
//! must find no problems in the project, and must find the mistakes in a bad sample, because a rule that cannot fail
//! checks nothing.

mod code;
mod documents;
mod features;
mod layout;
mod limits;
mod lists;
mod messages;
mod modules;
mod packages;
mod packaging;
mod reference;
mod requirements;
mod sources;
mod tree;

/// A violation of a rule, and its location.
type Problem = String;

#[track_caller]
fn assert_none(problems: Vec<Problem>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Asserts that a rule finds exactly these problems in a bad sample, in this order.
#[track_caller]
fn assert_found(problems: &[Problem], wanted: &[&str]) {
    let found = problems.len() == wanted.len()
        && problems
            .iter()
            .zip(wanted)
            .all(|(problem, wanted)| problem.contains(wanted));
    assert!(found, "found {problems:#?}, wanted {wanted:#?}");
}
