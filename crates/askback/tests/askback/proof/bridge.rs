//! The proof through a bridge: a client and a server of each era, with the bridge between them.

use std::time::Duration;

use askback::{
    Limits, Revision,
    bridge::Bridge,
    transport::{self, Receiver, Sender},
};
use serde_json::Value;

use super::{
    Case, Plan, World,
    client::{Habit, Link},
    program::Op,
    prove_with,
};

/// The number of programs in each of these tests. It is small because only the bridge is new.
const CASES: u32 = 150;

#[test]
fn between_two_sessions_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_11_25, Bridged::to_session);
    });
    prove_with(CASES, |case| {
        case.suspended_over(Revision::V2025_06_18, Bridged::to_older_session);
    });
}

#[test]
fn between_two_servers_without_sessions_programs_come_to_what_they_should() {
    prove_with(CASES, |case| {
        case.stateless_over(Habit::Plain, Bridged::to_rounds)
    });
    prove_with(CASES, |case| {
        case.stateless_over(Habit::Restart, Bridged::to_rounds)
    });
    prove_with(CASES, |case| {
        case.stateless_over(Habit::Twice, Bridged::to_rounds)
    });
    prove_with(CASES, |case| {
        case.stateless_over(Habit::Again, Bridged::to_rounds)
    });
}

#[test]
fn a_session_with_a_server_of_2026_07_28_comes_to_what_it_should() {
    prove_with(2 * CASES, |case| {
        // A client answers a round when it has all answers, so a question that is left open holds its call.
        if !case.program.body.iter().any(|op| op.any(is_left)) {
            case.suspended_over(Revision::V2025_11_25, Bridged::to_rounds);
        }
    });
}

/// Whether a case has no races and deadlines. The server runs on while its client is between two rounds: a round may
/// contain only the side of a race that the person leaves open, and the time for an answer begins before the client sees
/// the question.
fn is_parked_well(case: &Case) -> bool {
    !case.program.body.iter().any(|op| op.any(is_left))
}

fn is_left(op: &Op) -> bool {
    matches!(op, Op::AskWithin { .. } | Op::Race { .. })
}

#[test]
fn rounds_with_a_server_that_has_sessions_come_to_what_they_should() {
    prove_with(CASES, |case| {
        if is_parked_well(case) {
            case.stateless_over(Habit::Plain, Bridged::to_session);
        }
    });
}

#[test]
fn rounds_sent_twice_with_a_server_that_has_sessions_change_nothing() {
    prove_with(CASES, |case| {
        if is_parked_well(case) {
            case.stateless_over(Habit::Twice, Bridged::to_session);
        }
    });
}

#[test]
fn old_rounds_sent_again_with_a_server_that_has_sessions_change_nothing() {
    prove_with(CASES, |case| {
        if is_parked_well(case) {
            case.stateless_over(Habit::Again, Bridged::to_session);
        }
    });
}

/// A connection to a bridge. It can be opened again together with its server.
struct Bridged {
    plan: Plan,
    upstream: Revision,
    receiver: Receiver,
    sender: Sender,
}

impl Bridged {
    fn to_session(world: &World) -> Self {
        Self::new(world, Revision::V2025_11_25)
    }

    fn to_older_session(world: &World) -> Self {
        Self::new(world, Revision::V2025_06_18)
    }

    fn to_rounds(world: &World) -> Self {
        Self::new(world, Revision::V2026_07_28)
    }

    fn new(world: &World, upstream: Revision) -> Self {
        let plan = world.plan();
        let (receiver, sender) = Self::connect(&plan, upstream);
        Self {
            plan,
            upstream,
            receiver,
            sender,
        }
    }

    fn connect(plan: &Plan, upstream: Revision) -> (Receiver, Sender) {
        let server = plan.builder().revisions([upstream]).build();
        let server = server.expect("the server is whole");
        let mut limits = Limits::default();
        limits.asking.rounds = 1000;
        limits.asking.questions_per_round = 100;
        limits.client.asks = 10_000;
        let bridge = Bridge::new(move || {
            let server = server.clone();
            move || {
                let (near, far) = transport::memory();
                let server = server.clone();
                tokio::spawn(async move { server.serve(far).await });
                near
            }
        });
        let bridge = bridge.limits(limits);
        let (near, far) = transport::memory();
        tokio::spawn(async move { bridge.serve(far).await });
        near.split()
    }
}

impl Link for Bridged {
    async fn restart(&mut self) {
        (self.receiver, self.sender) = Self::connect(&self.plan, self.upstream);
    }

    async fn say(&mut self, message: Value) {
        let message = message.to_string().into_bytes();
        self.sender
            .send(message)
            .await
            .expect("the bridge is there");
    }

    async fn hear(&mut self) -> Value {
        let message = self.receiver.receive().await.expect("the bridge is there");
        let message = message.expect("the bridge is there");
        serde_json::from_slice(&message).expect("a message is JSON")
    }

    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}
