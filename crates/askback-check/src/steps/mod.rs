//! The steps that a client takes to use a server. The first that fails says what to do.
//!
//! Never signs in, and calls no tool.

pub(crate) mod address;
mod authorization;
mod conversation;
pub(crate) mod program;
mod said;

use askback::Revision;

use self::address::Reached;
use crate::{
    probe::{Bounds, Way},
    report::Report,
};

/// The steps to a server that is started.
const TO_PROGRAM: [&str; 4] = ["program", "start", "protocol", "lists"];

/// The steps to a server at an address.
const TO_ADDRESS: [&str; 7] = [
    "name",
    "connection",
    "TLS",
    "endpoint",
    "authorization",
    "protocol",
    "lists",
];

/// Takes the steps, in the revision `only` if it is given.
pub(crate) async fn take(way: &Way, bounds: &Bounds, only: Option<Revision>, report: &mut Report) {
    match way {
        Way::Start(program) => {
            if program::find(program, report) {
                conversation::begin(way, bounds, only, report).await;
            }
            report.complete(&TO_PROGRAM);
        }
        Way::Address(address) => {
            match address::reach(address, bounds, report).await {
                Reached::Open => {
                    report.skip("authorization", "the server wants none, or has it already");
                    conversation::begin(way, bounds, only, report).await;
                }
                Reached::Unauthorized(seen) if address.sends_credentials(&seen) => {
                    authorization::refused(&seen, &address.credentials(), report);
                }
                Reached::Unauthorized(seen) => {
                    authorization::look(address, &seen, bounds, report).await;
                }
                Reached::Nothing => {}
            }
            report.complete(&TO_ADDRESS);
        }
    }
}
