//! The tests of `askback-core`, in one binary.

mod address;
mod auth;
mod canonical;
mod client;
mod forms;
mod forwarding;
mod http;
mod journal;
mod json;
mod jsonrpc;
mod keys;
mod lenient;
mod limits;
mod long;
mod protocol;
mod question;
mod received;
mod refusal;
mod response;
mod revision;
mod rfc3339;
mod sampling;
mod seal;
mod server;
mod tasks;
mod text;
mod trace;
mod uri_template;
mod wire;

use askback_core::jsonrpc::{
    Message, write_error, write_notification, write_request, write_result,
};
use proptest::test_runner::{Config, RngSeed};

/// Tests the same cases in every run. Set `PROPTEST_RNG_SEED` or `PROPTEST_CASES` for others or
/// more.
fn proptest_config() -> Config {
    let mut config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(0);
    }
    config
}

/// Writes a message as it was read.
fn written(message: &Message) -> Vec<u8> {
    match message {
        Message::Request(request) => {
            write_request(&request.id, &request.method, request.params.as_deref())
        }
        Message::Notification(notification) => {
            write_notification(&notification.method, notification.params.as_deref())
        }
        Message::Response(response) => match (&response.id, &response.outcome) {
            (Some(id), Ok(result)) => write_result(id, result),
            (id, Err(error)) => write_error(id.as_ref(), error),
            (None, Ok(_)) => panic!("a result without an id"),
        },
    }
}
