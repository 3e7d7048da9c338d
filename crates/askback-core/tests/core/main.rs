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
mod sampling;
mod seal;
mod server;
mod tasks;
mod text;
mod trace;
mod uri_template;
mod wire;

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
