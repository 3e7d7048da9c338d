//! The structure of the project: what must hold for the whole of it and no compiler checks.
//!
//! Each rule is a function from a [`Tree`](tree::Tree) of files (or what cargo says of the
//! packages) to a list of problems. It is run over the project, where it must find none, and over
//! a bad sample, where it must find what is wrong: a rule that cannot fail checks nothing.

mod code;
mod documents;
mod features;
mod layout;
mod limits;
mod lists;
mod modules;
mod packages;
mod packaging;
mod reference;
mod requirements;
mod sources;
mod tree;

/// Something that breaks a rule, and where.
type Problem = String;

#[track_caller]
fn assert_none(problems: Vec<Problem>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// That a rule finds each of these in a bad sample, in this order, and nothing else.
#[track_caller]
fn assert_found(problems: &[Problem], wanted: &[&str]) {
    let found = problems.len() == wanted.len()
        && problems
            .iter()
            .zip(wanted)
            .all(|(problem, wanted)| problem.contains(wanted));
    assert!(found, "found {problems:#?}, wanted {wanted:#?}");
}
