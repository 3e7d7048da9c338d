//! Contracts: the rules of a trait, as tests for its implementations.

use std::{fmt, future::Future, pin::Pin};

/// The rules of a contract that an implementation breaks, and how.
#[derive(Debug, Default, Clone, PartialEq, Eq, thiserror::Error)]
pub struct BrokenContract(Vec<RuleFailure>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct RuleFailure {
    rule: &'static str,
    how: String,
}

impl BrokenContract {
    /// Returns the broken rules as messages.
    pub fn rules(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|broken| broken.rule)
    }

    /// Records the result of a rule. An error says what happened instead.
    pub fn note(&mut self, rule: &'static str, kept: Result<(), String>) {
        if let Err(how) = kept {
            self.0.push(RuleFailure { rule, how });
        }
    }

    /// Returns itself as an error if any rule is broken.
    ///
    /// # Errors
    ///
    /// All rules that are broken.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(self)
    }
}

impl fmt::Display for BrokenContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, RuleFailure { rule, how }) in self.0.iter().enumerate() {
            let separator = if at > 0 { "\n" } else { "" };
            write!(f, "{separator}broken: {rule} ({how})")?;
        }
        Ok(())
    }
}

pub(super) type CheckResult = Result<(), String>;

pub(super) type CheckFuture = Pin<Box<dyn Future<Output = CheckResult> + Send>>;

pub(super) fn expect<T: PartialEq + fmt::Debug>(what: &str, got: T, want: T) -> CheckResult {
    if got == want {
        return Ok(());
    }
    Err(format!("{what}: {got:?}, not {want:?}"))
}

/// Defines the rules of a contract, each with its text, its check and, if it matters, the room that it needs.
macro_rules! rules {
    ($of:ty; $($rule:literal $(in $room:expr)? => $check:ident;)*) => {
        const RULES: &[(&str, usize, fn($of) -> super::contract::CheckFuture)] =
            &[$(($rule, [$($room,)? 0][0], |of| Box::pin($check(of)))),*];
    };
}

pub(super) use rules;
