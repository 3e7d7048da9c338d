//! An authorization server that runs.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::Result;

/// An authorization server in a process of its own, which ends with this.
pub(crate) struct Issuer {
    /// Its name, and where it is.
    pub(crate) name: String,
    process: Child,
    /// Its other output is of no interest, but it must be able to write it.
    _stdout: Option<BufReader<ChildStdout>>,
}

impl Issuer {
    /// Starts one whose tokens for this resource last so many seconds. Where it asks for nonces,
    /// it does so in every proof of a key.
    pub(crate) fn start(
        mut command: Command,
        resource: &str,
        seconds: u64,
        nonces: bool,
    ) -> Result<Self> {
        let options = json!({"resource": resource, "accessTokenTTL": seconds, "nonces": nonces});
        let mut process = command
            .arg(options.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Both warn of being what they are here: for development.
            .stderr(Stdio::null())
            .spawn()?;
        let mut said = String::new();
        let mut stdout = process.stdout.take().map(BufReader::new);
        if let Some(stdout) = &mut stdout {
            stdout.read_line(&mut said)?;
        }
        let said: Value = serde_json::from_str(&said)
            .map_err(|_| format!("{command:?} did not say its issuer but {said:?}"))?;
        let name = said["issuer"].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            name,
            process,
            _stdout: stdout,
        })
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        // It may have ended by itself, which its clients will have noticed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
