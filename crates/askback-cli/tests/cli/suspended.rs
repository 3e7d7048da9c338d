//! Ctrl-Z, in a shell that resumes the program.

use std::{fs::File, io::Write};

use crate::{
    full::{ASKBACK, CTRL_D, ENTER, Terminal},
    scratch::Scratch,
};

const CTRL_Z: &str = "\x1a";

#[test]
fn ctrl_z_stops_the_program_and_it_continues_later() {
    let script =
        r#"set -m; "$0" call book_holiday -- "$0" serve travel; echo now stopped; read -r _; fg"#;
    let mut terminal = Terminal::run("sh", &["-c", script, ASKBACK], 80, &[]);
    terminal.until("destination*").press("Rome").until("Rome");
    assert!(terminal.is_raw());
    terminal.press(CTRL_Z).until("now stopped");
    assert!(!terminal.is_raw() && !terminal.shows("destination*"));
    terminal.press(ENTER).until("destination* Rome");
    assert!(terminal.is_raw());
    terminal.press("!").until("destination* Rome!");
    terminal.press("\x1b").until("Press it again").press("\x1b");
    assert_eq!(terminal.end(), Some(3));
}

/// The shell continues after a line in a pipe, not in the terminal: the program may have stopped a moment before its
/// pager, which would then still read a line that was typed for the shell.
#[test]
fn ctrl_z_in_the_pager_stops_the_program_and_both_go_on() {
    let scratch = Scratch::new("suspended-pager");
    scratch.pipe("pipe");
    let pipe = scratch.path("pipe").display().to_string();
    let script = r#"set -m; "$0" open -- "$0" serve travel; echo now stopped; read -r _ <"$1"; fg"#;
    let mut terminal = Terminal::run("sh", &["-c", script, ASKBACK, &pipe], 80, &[]);
    terminal
        .until("Type to filter")
        .press("/read travel://destinations");
    terminal
        .press(ENTER)
        .until("/more shows")
        .press("/more")
        .press(ENTER);
    terminal.until("in-the-pager");
    terminal.press(CTRL_Z).until("now stopped");
    // A pipe that is open for both does not wait for its reader.
    let pipe = File::options().read(true).write(true).open(pipe);
    let mut pipe = pipe.expect("it is a pipe");
    pipe.write_all(b"\n").expect("it is open");
    terminal.until("open -- ").press(ENTER);
    terminal
        .until("> /more")
        .until("Type to filter")
        .press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_prompt_in_lines_is_written_again_after_ctrl_z() {
    let script = r#"set -m; "$0" open --plain --name zoo -- "$0" serve travel; echo now stopped; read -r _; fg"#;
    let mut terminal = Terminal::run("sh", &["-c", script, ASKBACK], 80, &[]);
    terminal.until_wanted("zoo>").press("/he").until("zoo> /he");
    terminal.press(CTRL_Z).until("now stopped");
    // The terminal has discarded the partly typed line.
    terminal.press(ENTER).until_wanted("zoo>").press("/stderr");
    terminal.press(ENTER).until_wanted("zoo>").press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}
