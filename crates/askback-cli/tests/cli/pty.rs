//! A program in a pseudoterminal.

use std::{
    fs::File,
    io::Read,
    os::fd::AsFd,
    process::Child,
    sync::mpsc::{self, Receiver},
    thread,
};

use pty_process::{
    Size,
    blocking::{Command, Pty},
};

/// Starts a program in a terminal of this size. Returns its process, its terminal and its output.
/// The output ends when the program exits.
pub(crate) fn start(command: Command, rows: u16, columns: u16) -> (Child, Pty, Receiver<Vec<u8>>) {
    let (pty, pts) = pty_process::blocking::open().expect("there are terminals");
    pty.resize(Size::new(rows, columns)).expect("it has a size");
    let child = command.spawn(pts).expect("the command was built");
    let reading = pty.as_fd().try_clone_to_owned().expect("it can be read");
    let (sender, output) = mpsc::channel();
    thread::spawn(move || {
        let mut reading = File::from(reading);
        let mut bytes = [0; 4096];
        // When the program exits, reading from its terminal fails.
        while let Ok(many @ 1..) = reading.read(&mut bytes) {
            if sender.send(bytes[..many].to_vec()).is_err() {
                return;
            }
        }
    });
    (child, pty, output)
}
