//! The front end without a user: an answers file.

mod expand;
mod file;
mod offered;
mod read;
mod rule;
mod run;
mod value;
mod when;

pub use expand::{Surroundings, literal};
pub use file::{Script, UnusedRules};
pub use offered::rule_for;
pub use rule::{Accept, Act, AnswerRule, Rule, SampledPart, SamplingRule, Step};
pub use run::{Answer, Report, ScriptRun};
pub use value::Values;
pub use when::{Mode, TextMatch, When};
