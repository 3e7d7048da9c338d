//! The proof over HTTP: each message is its own request, and messages arrive on any response. In
//! the stateless era, each request reaches another server.

use std::time::Duration;

use askback::Revision;
use serde_json::Value;

use super::{
    Plan, World,
    client::{Habit, Link},
    prove_with,
};
use crate::http::client::{Client, HttpWire};

/// How many programs each of these tests runs. Only the transport is new here.
const CASES: u32 = 100;

#[test]
fn in_2025_06_18_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_06_18, Http::new);
    });
}

#[test]
fn in_2025_11_25_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_11_25, Http::new);
    });
}

#[test]
fn in_2026_07_28_programs_come_to_what_they_should() {
    prove_with(CASES, |case| case.stateless_over(Habit::Plain, Http::new));
}

#[test]
fn a_round_sent_twice_changes_nothing() {
    prove_with(CASES, |case| case.stateless_over(Habit::Twice, Http::new));
}

struct Http {
    plan: Plan,
    wire: HttpWire,
}

impl Http {
    fn new(world: &World) -> Self {
        let plan = world.plan();
        let wire = HttpWire::connect(&plan.server());
        Self { plan, wire }
    }
}

impl Link for Http {
    /// Each request reaches another server anyway.
    async fn restart(&mut self) {}

    async fn say(&mut self, message: Value) {
        self.wire.client = Client::of(&self.plan.server());
        self.wire.say(&message).await;
    }

    async fn hear(&mut self) -> Value {
        self.wire.hear().await
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}
