//! The front end without a person: an answers file.

mod file;
mod offered;
mod read;
mod report;
mod rule;
mod run;
mod when;

pub use file::{Script, Unused};
pub use offered::rule_for;
pub use report::{Finding, Place, Report};
pub use rule::{Accept, Act, Asked, Reply as SamplingReply, Rule, Step};
pub use run::{Answer, ScriptRun};
pub use when::{Mode, TextMatch, When};
