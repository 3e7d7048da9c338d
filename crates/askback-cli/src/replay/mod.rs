//! The replay of a recording: the server's messages are played back, and the client's are compared
//! with those that were recorded.
//!
//! The replay goes call by call, and without a clock: a message of the server follows once the client
//! has sent all that it sent before it in the same call. Calls that are not made again are left out.

mod compare;
mod play;
mod recording;

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use askback::transport::{Channel, memory};
use askback_core::revision::Revision;
use askback_host::text::Words;

pub use self::{compare::Difference, recording::EXTENSION};
use self::{play::Play, recording::Recording};

/// A recording that is played in the place of its server. Clones play the same one.
#[derive(Clone)]
pub struct Replay(Arc<Mutex<Play>>);

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").finish_non_exhaustive()
    }
}

impl Replay {
    /// Reads the file of a recording.
    ///
    /// # Errors
    ///
    /// Says why it cannot be read, or which of its lines is no message.
    pub fn load(file: &Path) -> Result<Self, Words> {
        let recording = Recording::load(file)?;
        Ok(Self(Arc::new(Mutex::new(Play::new(recording)))))
    }

    /// Returns the revisions that were spoken, in their order.
    pub fn revisions(&self) -> Vec<Revision> {
        self.lock().revisions().to_vec()
    }

    /// Opens a connection to the server that is played, from within the runtime.
    pub fn connect(&self) -> Channel {
        let (here, there) = memory();
        let play = self.clone();
        play.lock().connected();
        tokio::spawn(async move {
            let (mut from, mut to) = there.split();
            // Either side of a channel in memory ends without an error.
            while let Ok(Some(message)) = from.receive().await {
                let played = play.lock().sent(&message);
                for message in played {
                    if to.send(message.to_string().into_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        });
        here
    }

    /// Takes the differences that were found since the last time.
    pub fn differences(&self) -> Vec<Difference> {
        self.lock().differences()
    }

    fn lock(&self) -> MutexGuard<'_, Play> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
