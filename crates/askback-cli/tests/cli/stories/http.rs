//! A server over HTTP that exits during a call, and restarts.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use crate::{
    full::{CTRL_D, ENTER, REVIEW, Terminal},
    run::ASKBACK,
    scratch::Scratch,
};

/// A process of the travel agency, killed on drop, and its URL.
struct Agency(Child, String);

impl Agency {
    fn start(scratch: &Scratch, address: &str) -> Self {
        let mut child = Command::new(ASKBACK)
            .args(["serve", "travel", "--http", address, "--directory"])
            .arg(scratch.path("."))
            .env("XDG_STATE_HOME", scratch.path("state"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let said = BufReader::new(child.stderr.take().expect("it was asked for")).lines();
        let mut urls = said
            .map_while(Result::ok)
            .filter_map(|line| Some(line.split_once("http://")?.1.to_owned()));
        let url = urls.next().expect("it says where it is");
        Self(child, url)
    }
}

impl Drop for Agency {
    fn drop(&mut self) {
        // The agency has nothing to save.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_dies_at_the_second_form_costs_no_answer() {
    let scratch = Scratch::new("story-http");
    let agency = Agency::start(&scratch, "127.0.0.1:0");
    let url = format!("http://{}", agency.1);
    let address = agency.1.split('/').next().map(str::to_owned);
    let state = scratch.path("state").display().to_string();
    let words = ["open", "--url", &url, "--credentials", "nowhere"];
    let mut terminal = Terminal::open_with(&words, 80, &[("XDG_STATE_HOME", &state)]);
    terminal
        .until("> ")
        .press("/call book_holiday destination=Rome depart=2026-06-15")
        .until("depart=2026-06-15")
        .press(ENTER);
    terminal.until("Book it").press("y").press(REVIEW);
    terminal.until("[Enter] Send").press(ENTER);
    terminal
        .until("Full name")
        .press("Ada Lovelace\tada@example.com");
    terminal.press(REVIEW).until("[Enter] Send");
    drop(agency);
    terminal.press(ENTER).until("the server cannot be reached");
    // The next process has the same keys, so the user need not enter anything again.
    let _agency = Agency::start(&scratch, &address.expect("it has one"));
    terminal.press("/again").until("> /again").press(ENTER);
    terminal.until("TRV-").press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
    let bookings = fs::read_to_string(scratch.path("bookings.jsonl")).expect("they are kept");
    let booked = bookings.lines().filter(|line| !line.is_empty());
    assert_eq!(booked.count(), 1, "{bookings}");
}
