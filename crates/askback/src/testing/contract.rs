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

    pub(super) fn check(&mut self, rule: &'static str, kept: CheckResult) {
        self.note(rule, kept.map_err(|Failure(how)| how));
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

/// Why a rule is broken. Any other error becomes one with `?`.
pub(super) struct Failure(pub(super) String);

impl<E: fmt::Debug> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(format!("failed with {error:?}"))
    }
}

pub(super) type CheckResult<T = ()> = Result<T, Failure>;

pub(super) type CheckFuture = Pin<Box<dyn Future<Output = CheckResult> + Send>>;

/// A rule's text, the room that it needs in bytes, and its check.
pub(super) type Rule<T> = (&'static str, usize, fn(T) -> CheckFuture);

/// Checks each rule with what `create` creates for it, opened twice.
pub(super) async fn check_rules<T, O: AsyncFn() -> T>(
    rules: &[Rule<[T; 2]>],
    create: impl AsyncFn(usize) -> O,
) -> Result<(), BrokenContract> {
    let mut broken = BrokenContract::default();
    for (rule, max_bytes, check) in rules {
        let open = create(*max_bytes).await;
        let opened = [open().await, open().await];
        broken.check(rule, check(opened).await);
    }
    broken.into_result()
}

pub(super) fn fail<T>(how: impl Into<String>) -> CheckResult<T> {
    Err(Failure(how.into()))
}

pub(super) fn expect<T: PartialEq + fmt::Debug>(what: &str, got: T, want: T) -> CheckResult {
    if got == want {
        return Ok(());
    }
    fail(format!("{what}: {got:?}, not {want:?}"))
}

/// Defines the rules of a contract, each with its text, its check and, if it matters, the room that it needs.
macro_rules! rules {
    ($of:ty; $($rule:literal $(in $room:expr)? => $check:ident;)*) => {
        const RULES: &[super::contract::Rule<$of>] =
            &[$(($rule, [$($room,)? 0][0], |of| Box::pin($check(of)))),*];
    };
}

pub(super) use rules;
