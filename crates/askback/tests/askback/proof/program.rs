//! The language of the proof: small programs that ask.

use std::fmt;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

/// A random handler, as a tree of operations.
///
/// When a handler is run again, concurrent branches reach their questions in the same order only if
/// they wait for nothing but recorded events. A program obeys this rule, or gives every question
/// and step its own key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Program {
    /// Whether every question and step uses its place as its key.
    pub(super) keyed: bool,
    pub(super) body: Body,
}

pub(super) type Body = Vec<Op>;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Op {
    /// Asks a form. A no is noted, or ends the branch if an answer is required.
    Ask {
        form: Kind,
        key: Option<String>,
        must: bool,
    },
    /// Asks a form with a timeout.
    AskWithin { form: Kind, seconds: u64 },
    /// Asks two forms, of which the user answers only one.
    Race { first: Kind, second: Kind },
    /// Asks three forms in one round.
    AskAll,
    /// A recorded step that takes a while and returns a value or an error.
    Run { name: u8, millis: u64, ok: bool },
    /// A recorded step that times out.
    RunWithin { name: u8, millis: u64 },
    /// An effect that happens at most once, with its place as its name.
    Commit,
    /// A wait that is recorded.
    Sleep { millis: u64 },
    /// A wait that is not recorded, and starts again in every run of the handler.
    Pause,
    /// Draws a random number, which is part of the next question.
    Draw,
    /// Concurrent branches.
    Join(Vec<Body>),
    /// Concurrent branches, each in its own child.
    Spawn(Vec<Body>),
    /// Asks whether to continue. If yes, runs the body and asks again.
    While(Body),
    /// Asks which of two branches to run.
    If { yes: Body, no: Body },
}

impl Op {
    /// Whether this instruction, or one inside it, meets a condition.
    pub(super) fn any(&self, is: fn(&Self) -> bool) -> bool {
        let any = |body: &Body| body.iter().any(|op| op.any(is));
        is(self)
            || match self {
                Self::Join(branches) | Self::Spawn(branches) => branches.iter().any(any),
                Self::While(body) => any(body),
                Self::If { yes, no } => any(yes) || any(no),
                _ => false,
            }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Number,
    Flag,
    Word,
}

/// An instruction's place in its program, including the iterations of the loops around it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Path(pub(super) String);

impl Path {
    pub(super) fn root() -> Self {
        Self(String::new())
    }

    pub(super) fn at(&self, index: impl fmt::Display) -> Self {
        Self(format!("{}/{index}", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The largest number of a loop's iterations.
pub(super) const TURNS: u32 = 3;

pub(super) fn program() -> impl Strategy<Value = Program> {
    let op = leaf().prop_recursive(3, 24, 4, |op| {
        let branch = || prop::collection::vec(op.clone(), 0..4);
        let branches = || prop::collection::vec(branch(), 1..4);
        prop_oneof![
            3 => branches().prop_map(Op::Join),
            2 => branches().prop_map(Op::Spawn),
            1 => branch().prop_map(Op::While),
            1 => (branch(), branch()).prop_map(|(yes, no)| Op::If { yes, no }),
        ]
    });
    let body = prop::collection::vec(op, 1..6);
    (any::<bool>(), body).prop_map(|(keyed, body)| Program {
        keyed,
        body: lawful(body, keyed),
    })
}

/// Replaces the instructions that the program's key rule forbids by similar ones.
fn lawful(body: Body, keyed: bool) -> Body {
    let all = |bodies: Vec<Body>| bodies.into_iter().map(|body| lawful(body, keyed)).collect();
    let ops = body.into_iter().map(|op| match op {
        Op::Join(branches) => Op::Join(all(branches)),
        Op::Spawn(branches) => Op::Spawn(all(branches)),
        Op::While(body) => Op::While(lawful(body, keyed)),
        Op::If { yes, no } => Op::If {
            yes: lawful(yes, keyed),
            no: lawful(no, keyed),
        },
        Op::Pause if !keyed => Op::Sleep { millis: 5 },
        // Timers and random draws have no keys.
        Op::AskWithin { form, .. } if keyed => Op::Ask {
            form,
            key: None,
            must: false,
        },
        Op::RunWithin { name, millis } if keyed => Op::Run {
            name,
            millis,
            ok: true,
        },
        Op::Sleep { .. } | Op::Draw if keyed => Op::Pause,
        op => op,
    });
    ops.collect()
}

fn leaf() -> impl Strategy<Value = Op> {
    let within = (kind(), 10..60_u64);
    let run = (0..3_u8, millis(), any::<bool>());
    prop_oneof![
        6 => (kind(), key(), any::<bool>()).prop_map(|(form, key, must)| Op::Ask { form, key, must }),
        3 => within.prop_map(|(form, seconds)| Op::AskWithin { form, seconds }),
        1 => (kind(), kind()).prop_map(|(first, second)| Op::Race { first, second }),
        1 => Just(Op::AskAll),
        4 => run.prop_map(|(name, millis, ok)| Op::Run { name, millis, ok }),
        1 => (0..3_u8, 2..30_u64).prop_map(|(name, millis)| Op::RunWithin { name, millis }),
        2 => Just(Op::Commit),
        1 => millis().prop_map(|millis| Op::Sleep { millis }),
        1 => Just(Op::Pause),
        2 => Just(Op::Draw),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Number), Just(Kind::Flag), Just(Kind::Word)]
}

/// The form's own key in most cases, and otherwise a key that may clash.
fn key() -> impl Strategy<Value = Option<String>> {
    let chosen = prop_oneof![
        Just("number"),
        Just("number-2"),
        Just("flag-2"),
        Just("word-3")
    ];
    prop_oneof![4 => Just(None), 1 => chosen.prop_map(|key| Some(key.to_owned()))]
}

fn millis() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0), 1 => 1..40_u64]
}
