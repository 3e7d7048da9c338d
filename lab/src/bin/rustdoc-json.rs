//! Runs `rustdoc` with unstable features allowed, for its JSON output. Cargo calls it instead of `rustdoc`, because
//! setting the variable for cargo would rebuild every crate whose build depends on it. Crates that are not in the
//! variable `DOCUMENTED` are skipped.

use std::{
    env,
    ffi::OsString,
    io,
    process::{Command, ExitCode},
};

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let mut named = arguments.iter().skip_while(|it| *it != "--crate-name");
    if let (Ok(documented), Some(name)) = (env::var("DOCUMENTED"), named.nth(1))
        && !documented.split(' ').any(|it| name == it)
    {
        return Ok(ExitCode::SUCCESS);
    }
    let mut rustdoc = Command::new("rustdoc");
    let ended = rustdoc
        .args(arguments)
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    Ok(if ended.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
