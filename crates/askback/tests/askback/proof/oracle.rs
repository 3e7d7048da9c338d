//! A program's result when it is read from top to bottom, without suspension, replay or time.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    program::{Body, Kind, Op, Path, Program, TURNS},
    script::{Said, Script},
};

#[derive(Debug, Default)]
pub(super) struct Expected {
    pub(super) text: String,
    /// The questions as [`question`] writes them, without random numbers.
    pub(super) questions: BTreeSet<String>,
    pub(super) effects: BTreeSet<String>,
    /// The effects that happen at most once, whatever the client does.
    pub(super) commits: BTreeSet<String>,
}

/// A branch while it is read.
pub(super) struct Branch {
    pub(super) notes: Vec<Value>,
    /// Its last note, which is part of its next question.
    pub(super) last: String,
}

impl Branch {
    pub(super) fn new() -> Self {
        Self {
            notes: Vec::new(),
            last: "-".to_owned(),
        }
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.last = note.into();
        self.notes.push(self.last.clone().into());
    }
}

/// A question's text: its place, its form, its timeout in seconds (0 for none), and its branch's
/// last note.
pub(super) fn question(path: &Path, form: Kind, seconds: u64, last: &str) -> String {
    format!("{path}|{form:?}|{seconds}|{last}|")
}

/// The note that a branch leaves in its parent.
pub(super) fn ended(branch: Branch, result: Result<(), String>) -> Value {
    let mut notes = branch.notes;
    if let Err(why) = result {
        notes.push(json!({"ended": why}));
    }
    notes.into()
}

pub(super) fn expect(program: &Program, script: Script) -> Expected {
    let mut oracle = Oracle {
        script,
        expected: Expected::default(),
    };
    let mut branch = Branch::new();
    let result = oracle.read(&program.body, &Path::root(), &mut branch);
    oracle.expected.text = match result {
        Ok(()) => Value::from(branch.notes).to_string(),
        Err(why) => why,
    };
    oracle.expected
}

struct Oracle {
    script: Script,
    expected: Expected,
}

impl Oracle {
    fn read(&mut self, body: &Body, path: &Path, branch: &mut Branch) -> Result<(), String> {
        for (index, op) in body.iter().enumerate() {
            self.step(op, &path.at(index), branch)?;
        }
        Ok(())
    }

    fn step(&mut self, op: &Op, path: &Path, branch: &mut Branch) -> Result<(), String> {
        match op {
            Op::Ask { form, must, .. } => {
                let said = self.ask(path, *form, 0, branch);
                if *must {
                    accepted(said)?;
                }
                branch.note(said.note(*form));
            }
            Op::AskWithin { form, seconds } => {
                let said = self.ask(path, *form, *seconds, branch);
                let late = self.script.is_late(path);
                branch.note(if late {
                    "late".to_owned()
                } else {
                    said.note(*form)
                });
            }
            Op::Race { first, second } => {
                let said = [
                    self.ask(&path.at("first"), *first, 0, branch).note(*first),
                    self.ask(&path.at("second"), *second, 0, branch)
                        .note(*second),
                ];
                branch.note(&*said[usize::from(!self.script.prefers_first(path))]);
            }
            Op::AskAll => {
                let mut said = Vec::new();
                for (index, form) in [Kind::Word, Kind::Number, Kind::Word]
                    .into_iter()
                    .enumerate()
                {
                    said.push(self.ask(&path.at(index), form, 0, branch).note(form));
                }
                branch.note(said.join(" "));
            }
            Op::Run { ok, .. } => {
                self.expected.effects.insert(path.to_string());
                branch.note(if *ok {
                    format!("ran {path}")
                } else {
                    format!("failed {path}")
                });
            }
            Op::RunWithin { .. } => {
                self.expected.effects.insert(path.to_string());
                branch.note("too slow");
            }
            Op::Commit => {
                self.expected.effects.insert(path.to_string());
                self.expected.commits.insert(path.to_string());
                branch.note(format!("committed {path}"));
            }
            Op::Sleep { .. } | Op::Pause | Op::Draw => {}
            Op::Join(branches) | Op::Spawn(branches) => {
                for (index, body) in branches.iter().enumerate() {
                    let mut inner = Branch::new();
                    let result = self.read(body, &path.at(index), &mut inner);
                    branch.notes.push(ended(inner, result));
                }
            }
            Op::While(body) => {
                for turn in 0..TURNS {
                    let path = path.at(format_args!("turn{turn}"));
                    if !self.ask(&path, Kind::Flag, 0, branch).is_yes() {
                        break;
                    }
                    self.read(body, &path, branch)?;
                }
            }
            Op::If { yes, no } => {
                if self.ask(path, Kind::Flag, 0, branch).is_yes() {
                    self.read(yes, &path.at("yes"), branch)?;
                } else {
                    self.read(no, &path.at("no"), branch)?;
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, path: &Path, form: Kind, seconds: u64, branch: &Branch) -> Said {
        let question = question(path, form, seconds, &branch.last);
        self.expected.questions.insert(question);
        self.script.says(path)
    }
}

fn accepted(said: Said) -> Result<(), String> {
    match said {
        Said::Yes(_) => Ok(()),
        Said::No => Err("Nothing was done: the person declined.".to_owned()),
        Said::Neither => Err("Nothing was done: the person cancelled.".to_owned()),
    }
}
