//! Finding out why a server cannot be used, or is hard to use (`askback doctor`).
//!
//! Each [`Step`] is one that a client takes as well; the first that fails says what to do, and those
//! after it are not tried. What a client could live with is a [`Warning`]. Nobody is signed in, and no
//! tool is called.

mod address;
mod authorization;
mod conversation;
mod era;
mod launcher;
mod lints;
pub mod report;
mod said;
mod schemas;
mod step;

use askback_host::{text::Words, words};

use self::{address::Reached, conversation::Greeted, said::Language};
use crate::probe::{Bounds, ENTRIES, Way};

pub use lints::Lists;
pub use step::{Diagnosis, State, Step, Warning};

/// The steps of a server that is started.
const STARTED: [&str; 4] = ["program", "start", "protocol", "lists"];

/// The steps of a server at an address.
const REACHED: [&str; 7] = [
    "name",
    "connection",
    "TLS",
    "endpoint",
    "authorization",
    "protocol",
    "lists",
];

/// Looks at a server.
pub async fn diagnose(way: &Way, bounds: &Bounds) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let steps: &[&'static str] = match way {
        Way::Start(program) => {
            if launcher::find(program, &mut diagnosis) {
                begin(way, bounds, &mut diagnosis, true).await;
            }
            &STARTED
        }
        Way::Address(address) => {
            let reached = address::reach(address, bounds, &mut diagnosis).await;
            let is_open = match reached {
                Reached::Open => true,
                Reached::Unauthorized(seen) if address.sends_credentials(&seen) => {
                    authorization::refused(&seen, &address.credentials(), &mut diagnosis);
                    false
                }
                Reached::Unauthorized(seen) => {
                    authorization::look(address, &seen, bounds, &mut diagnosis).await;
                    false
                }
                Reached::Nothing => false,
            };
            if is_open {
                diagnosis.skip("authorization", "the server wants none, or has it already");
                begin(way, bounds, &mut diagnosis, false).await;
            }
            &REACHED
        }
    };
    diagnosis.complete(steps);
    diagnosis
}

/// Begins a conversation, and looks at what the server offers.
async fn begin(way: &Way, bounds: &Bounds, diagnosis: &mut Diagnosis, is_started: bool) {
    let Some(greeted) = conversation::greet(way, bounds, diagnosis, is_started).await else {
        return;
    };
    let Greeted { talk, result } = greeted;
    let lists = conversation::lists(talk, &result, Language::of(way), bounds, diagnosis).await;
    if let Some(lists) = lists {
        diagnosis.warnings.extend(lints::warnings(&lists));
        let mut fields = words!(
            "tools {}, prompts {}, resources {}, templates {}",
            lists.tools.len(),
            lists.prompts.len(),
            lists.resources.len(),
            lists.templates.len()
        );
        if !lists.unread.is_empty() {
            let unread = Words::join(lists.unread.into_iter().map(Words::from), " and ");
            fields = words!(
                "{}; more than {} in {}, and the rest was not looked at",
                fields,
                ENTRIES,
                unread
            );
        }
        diagnosis.say("lists", fields);
    }
}
