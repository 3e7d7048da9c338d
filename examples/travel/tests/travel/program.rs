//! The agency as a program.

use std::process::{Command, Output};

fn help(log: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_travel-connect"));
    let program = program.arg("--help").env("RUST_LOG", log);
    program.output().expect("it runs")
}

#[test]
fn the_environment_chooses_what_is_logged() {
    for log in ["", "debug", "info,askback=trace,askback::metrics=off"] {
        let ended = help(log);
        assert!(ended.status.success(), "{log}: {ended:?}");
    }
    let ended = help("askback=loud");
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(error.starts_with("error: RUST_LOG: expected"), "{error}");
}
