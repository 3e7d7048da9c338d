//! The file of bookings, with a line per booking. Several processes may write to it.

use std::{fmt::Write as _, io, path::Path};

use askback::Result;
use serde::{Deserialize, Serialize};
use tokio::{
    fs::{self, File},
    io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader},
    task::spawn_blocking,
};

use super::{Book, Made};
use crate::files;

/// The number of bytes at the start that identify a file.
pub(super) const HEAD: u64 = 32;

/// The first line of a rewritten file. It begins differently each time.
#[derive(Serialize, Deserialize)]
struct Rewritten {
    rewritten: u64,
}

impl Book {
    /// Locks the file against changes by other processes until the value is dropped, and reads what they added.
    pub(super) async fn read_locked(&mut self, path: &Path) -> Result<std::fs::File> {
        let mut options = files::private();
        let file = options.write(true).create(true).truncate(false);
        let file = file.open(path.with_added_extension("lock")).await?;
        let file = file.into_std().await;
        let locked = spawn_blocking(move || file.lock().map(|()| file)).await;
        let locked = locked.map_err(io::Error::other)??;
        self.read_on(path).await?;
        Ok(locked)
    }

    /// Reads what was added to the file. If the file is shorter or begins differently, reads all of it.
    pub(super) async fn read_on(&mut self, path: &Path) -> Result<()> {
        let mut file = match File::open(path).await {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *self = Self::default();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head).await?;
        let length = file.metadata().await?.len();
        if length < self.read || !head.starts_with(&self.head) {
            *self = Self::default();
        }
        self.head = head;
        if length == self.read {
            return Ok(());
        }
        file.seek(io::SeekFrom::Start(self.read)).await?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        // A line without its end is still being written, or was cut off by a crash. In the second case the next line
        // ends it, and it is not a booking.
        while lines.read_until(b'\n', &mut line).await? > 0 && line.ends_with(b"\n") {
            self.read += line.len() as u64;
            self.lines += usize::from(line != b"\n");
            if let Ok(made) = serde_json::from_slice(&line) {
                self.add(made);
            } else if let Ok(paid) = serde_json::from_slice(&line) {
                self.pay(&paid);
            }
            line.clear();
        }
        Ok(())
    }

    /// Rewrites the file without removed bookings. Requires the lock.
    pub(super) async fn rewrite(&self, path: &Path) -> Result<()> {
        let first = self.head.split(|byte| *byte == b'\n').next();
        let before = first.and_then(|first| serde_json::from_slice::<Rewritten>(first).ok());
        let rewritten = before.map_or(1, |before| before.rewritten.saturating_add(1));
        let mut text = serde_json::to_string(&Rewritten { rewritten })? + "\n";
        for (owner, bookings) in &self.by_owner {
            for booking in bookings {
                let (owner, booking) = (owner.clone(), booking.clone());
                let line = serde_json::to_string(&Made { owner, booking })?;
                let _ = writeln!(text, "{line}");
            }
        }
        let draft = path.with_added_extension("draft");
        // A killed process may have left a draft.
        let _ = fs::remove_file(&draft).await;
        files::replace(path, &draft, &mut files::private(), &text).await?;
        Ok(())
    }
}

/// Appends a booking as a line. It also begins with a line break, so that it does not continue a line that was cut off.
pub(super) async fn append(path: &Path, line: &str) -> Result<()> {
    let line = format!("\n{line}\n");
    let mut options = files::private();
    let mut file = options.append(true).create(true).open(path).await?;
    file.write_all(line.as_bytes()).await?;
    file.sync_all().await?;
    Ok(())
}
