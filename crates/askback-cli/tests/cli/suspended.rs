//! Ctrl-Z, in a shell that resumes the program.

use crate::full::{ASKBACK, CTRL_D, ENTER, Terminal};

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
    terminal
        .press("\x1b")
        .until("Press Esc again")
        .press("\x1b");
    assert_eq!(terminal.end(), Some(3));
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
