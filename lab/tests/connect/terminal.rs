use std::{
    fs::File,
    io::{Read as _, Write as _},
    num::NonZero,
    os::fd::AsFd as _,
    process::Child,
    thread,
    time::Duration,
};

use pty_process::{
    Size,
    blocking::{Command, Pty},
};
use tokio::{sync::mpsc, time::timeout};

use crate::Result;

const ROWS: NonZero<u16> = NonZero::new(40).expect("it has rows");
const COLUMNS: NonZero<u16> = NonZero::new(120).expect("it has columns");

/// The line below a question that does not accept keys yet.
const SETTLING: &str = "One moment…";

/// Start and end of a frame (a synchronized update).
const FRAME: [&[u8]; 2] = [b"\x1b[?2026h", b"\x1b[?2026l"];

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const ENTER: &str = "\r";
pub(crate) const CTRL_D: &str = "\x04";

pub(crate) struct Terminal {
    child: Child,
    pty: Pty,
    output: mpsc::UnboundedReceiver<Vec<u8>>,
    screen: vt100::Parser,
    pub(crate) wrote: Vec<u8>,
    /// The number of bytes in `wrote` that the screen has processed.
    shown: usize,
}

impl Terminal {
    pub(crate) fn start(command: Command) -> Result<Self> {
        let (pty, program_side) = pty_process::blocking::open()?;
        pty.resize(Size::new(ROWS.get(), COLUMNS.get()))?;
        let child = command.env("TERM", "xterm-256color").spawn(program_side)?;
        let mut reading = File::from(pty.as_fd().try_clone_to_owned()?);
        let (sender, output) = mpsc::unbounded_channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when the program exits.
            while let Ok(many @ 1..) = reading.read(&mut bytes) {
                if sender.send(bytes[..many].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            pty,
            output,
            screen: vt100::Parser::new(ROWS, COLUMNS, 0),
            wrote: Vec::new(),
            shown: 0,
        })
    }

    /// Waits until the text is visible and a question accepts keys.
    pub(crate) async fn until(&mut self, seen: &str) -> Result<()> {
        self.until_is(seen, |contents| contents.contains(seen))
            .await
    }

    /// Waits until this text is the last on the screen.
    pub(crate) async fn until_at_end(&mut self, seen: &str) -> Result<()> {
        let is_last = |contents: &str| contents.trim_end().ends_with(seen);
        self.until_is(seen, is_last).await
    }

    async fn until_is(&mut self, seen: &str, is_there: impl Fn(&str) -> bool) -> Result<()> {
        while !is_there(&self.contents()) || self.contents().contains(SETTLING) {
            if !self.take().await? {
                return Err(format!("{seen:?} is not seen in\n{}", self.contents()).into());
            }
        }
        Ok(())
    }

    pub(crate) fn press(&mut self, keys: &str) -> Result<()> {
        Ok(self.pty.write_all(keys.as_bytes())?)
    }

    pub(crate) async fn end(&mut self) -> Result<Option<i32>> {
        while self.take().await? {}
        Ok(self.child.wait()?.code())
    }

    pub(crate) fn contents(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits for the program's next output; false after its end.
    async fn take(&mut self) -> Result<bool> {
        let bytes = timeout(PATIENCE, self.output.recv()).await;
        let bytes =
            bytes.map_err(|_| format!("nothing more is written to\n{}", self.contents()))?;
        let Some(bytes) = bytes else {
            return Ok(false);
        };
        self.wrote.extend(bytes);
        self.show();
        Ok(true)
    }

    /// Shows the new output. Like a terminal, shows a frame only when it is complete: in a part of a frame, a new
    /// question may be visible without the row that says that it does not accept keys yet.
    fn show(&mut self) {
        let searched = self.shown.saturating_sub(FRAME[0].len());
        let [begin, end] = FRAME.map(|code| {
            let mut places = self.wrote[searched..].windows(code.len());
            places.rposition(|bytes| bytes == code)
        });
        let until = match begin.filter(|_| begin > end) {
            Some(begin) => self.shown.max(searched + begin),
            None => self.wrote.len(),
        };
        self.screen.process(&self.wrote[self.shown..until]);
        self.shown = until;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may already have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
