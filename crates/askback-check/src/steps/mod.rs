//! The steps of a client that wants to use a server. The first failure says what to do.
//!
//! Never signs in, and calls no tool.

mod address;
mod authorization;
mod conversation;
pub(crate) mod program;

use askback::Revision;

use crate::{
    probe::{Bounds, Way},
    report::Report,
};

const TO_PROGRAM: &str = "program start protocol lists";

const TO_ADDRESS: &str = "connection endpoint authorization protocol lists";

pub(crate) async fn take(way: &Way, bounds: &Bounds, only: Option<Revision>, report: &mut Report) {
    match way {
        Way::Start(program) => {
            if program::find(program, report) {
                conversation::begin(way, bounds, only, report).await;
            }
            report.complete(TO_PROGRAM);
        }
        Way::Address(address) => {
            match address::reach(way, address, bounds, report).await {
                Some(seen) if !seen.has_status(401) => {
                    report.skip("authorization", "the server wants none, or has it already");
                    conversation::begin(way, bounds, only, report).await;
                }
                Some(seen) => match address.authorizer(&seen) {
                    Some(authorizer) => {
                        if authorization::look(authorizer, address, &seen, report).await {
                            conversation::begin(way, bounds, only, report).await;
                        }
                    }
                    None => authorization::refused(&seen, &address.credentials, report),
                },
                None => {}
            }
            report.complete(TO_ADDRESS);
        }
    }
}
