//! The travel agency over HTTP.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use crate::{run::ASKBACK, scratch::Scratch};

/// A process of the agency, killed on drop.
pub(crate) struct Agency {
    process: Child,
    pub(crate) address: String,
    _scratch: Scratch,
}

impl Agency {
    pub(crate) fn start(name: &str, options: &[&str]) -> Self {
        let scratch = Scratch::new(name);
        let mut process = Command::new(ASKBACK)
            .args(["serve", "travel", "--http", "127.0.0.1:0"])
            .args(options)
            .env("XDG_STATE_HOME", scratch.path("state"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("it was built");
        let stderr = process.stderr.take().expect("it was asked for");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let rest = line.split("http://").nth(1)?.to_owned();
            rest.split('/').next().map(str::to_owned)
        });
        // Reads the rest of its output, so that it never blocks on a full pipe.
        std::thread::spawn(move || lines.count());
        Self {
            process,
            address: address.expect("it says where it is"),
            _scratch: scratch,
        }
    }
}

impl Drop for Agency {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
