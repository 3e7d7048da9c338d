//! The `askback` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    askback_cli::main()
}
