//! The command `askback`, built with the tests that run it.

use std::process::ExitCode;

fn main() -> ExitCode {
    askback_cli::main()
}
