//! `rustdoc`, whose JSON is not stable yet, with what is not stable allowed. Cargo is told to call this
//! instead: were the variable set for cargo, everything whose build looks at it would be built again.
//! Crates that the variable `DOCUMENTED` does not name are passed over.

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
