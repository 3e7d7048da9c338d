//! Calls of `askback call --park`, which wait in files for an answer. A call of 2026-07-28 consists of its arguments,
//! the server's state and the answers. It can therefore wait without a process, for as long as the server accepts its
//! state.

use std::{
    collections::{BTreeMap, hash_map::RandomState},
    fs::{self, File, TryLockError},
    hash::{BuildHasher, Hasher},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use askback::{
    keys::state_dir,
    protocol::{CallToolResult, InputRequests, Outcome},
};
use askback_host::{
    page::{Style, out},
    text::{Words, given},
    words,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use crate::{error::Error, private_file};

/// The maximum time that a call is kept, even if its state is valid for longer.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum number of kept calls.
const MOST: usize = 256;

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParkedCall {
    /// The arguments of the `askback call` command that made the call.
    pub line: Vec<String>,
    pub folder: PathBuf,
    /// The server's local name.
    pub server: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
    /// The result with the questions, as received.
    pub asked: Box<RawValue>,
    /// The answers so far, by the keys of their questions.
    pub answers: BTreeMap<String, Value>,
    /// Whether the answers were sent. The server may have received them even if no result arrived.
    #[serde(default)]
    pub sent: bool,
    /// Whether a question of an earlier round was refused.
    #[serde(default)]
    pub refused: bool,
    /// When the result arrived, in seconds since 1970.
    pub since: u64,
}

pub struct Parking(PathBuf);

pub struct Turn {
    pub id: String,
    pub call: ParkedCall,
    path: PathBuf,
    _turn: File,
}

impl ParkedCall {
    /// When it expires, in seconds since 1970.
    pub fn until(&self) -> u64 {
        self.since.saturating_add(KEPT.as_secs())
    }

    /// The questions, and the server's state.
    pub fn asks(&self) -> Result<(InputRequests, Option<String>), Error> {
        match Outcome::<CallToolResult>::parse(&self.asked) {
            Ok(Outcome::NeedInput(asks)) => {
                Ok((asks.input_requests.unwrap_or_default(), asks.request_state))
            }
            _ => Err(Error::usage("the questions of the call cannot be read")),
        }
    }

    /// Whether every question has an answer, so that the answers only need to be sent.
    pub fn is_answered(&self) -> Result<bool, Error> {
        let (questions, _) = self.asks()?;
        Ok(questions.iter().all(|(key, _)| self.answer(key).is_some()))
    }

    pub fn answer(&self, key: &str) -> Option<&str> {
        self.answers.get(key)?["action"].as_str()
    }

    /// The state of the answer to a question, in words.
    pub fn delivery(&self, key: &str) -> Option<Words> {
        let delivery = match self.sent {
            true => "sent, but no result came",
            false => "not sent yet",
        };
        Some(words!(
            "answered: {}, {}",
            given(self.answer(key)?),
            delivery
        ))
    }

    /// Whether an answer of this or an earlier round refuses.
    pub fn refuses(&self) -> bool {
        self.refused || self.answers.values().any(|it| it["action"] != "accept")
    }

    /// The question meant by an answer without a key: the only question, or the only one without an answer.
    pub fn meant(&self, questions: &InputRequests) -> Option<String> {
        let all: Vec<_> = questions.iter().map(|(key, _)| key).collect();
        let mut open = all.clone();
        open.retain(|key| self.answer(key).is_none());
        match (&open[..], &all[..]) {
            ([key], _) | (_, [key]) => Some((*key).to_owned()),
            _ => None,
        }
    }
}

impl Parking {
    pub fn of_user() -> Result<Self, Error> {
        let state = state_dir().ok_or_else(|| {
            Error::usage("no folder to save the call in").hint("Set XDG_STATE_HOME or HOME.")
        })?;
        Ok(Self(state.join("askback").join("parked")))
    }

    /// Checks that there is room for another call.
    pub fn find_room(&self) -> Result<(), Error> {
        match self.all()?.len() {
            MOST.. => {
                let words = words!("{} calls wait already", MOST);
                Err(Error::usage(words).hint("askback answer lists them."))
            }
            _ => Ok(()),
        }
    }

    pub fn keep(&self, call: &ParkedCall) -> Result<String, Error> {
        let number = RandomState::new().build_hasher().finish();
        let id = format!("{:08x}", number & 0xffff_ffff);
        let path = self.path(&id);
        let _turn = private_file::lock(&path).map_err(failed)?;
        write(&path, call)?;
        Ok(id)
    }

    /// Locks a call for as long as the value lives.
    pub fn take(&self, id: &str) -> Result<Turn, Error> {
        let unknown = || {
            let words = words!("no waiting call has the id {}", given(id));
            Error::usage(words).hint("askback answer lists the calls that wait.")
        };
        let is_id = id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit());
        let path = self.path(id);
        if !is_id || !path.exists() {
            return Err(unknown());
        }
        let turn = private_file::open_lock(&path.with_extension("lock")).map_err(failed)?;
        match turn.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::usage("another askback answers this call now"));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // Another program may have ended it in the meantime.
        let call = read(&path).map_err(failed)?.ok_or_else(unknown)?;
        if !is_kept(&call) {
            forget(&path)?;
            return Err(unknown());
        }
        Ok(Turn {
            id: id.to_owned(),
            call,
            path,
            _turn: turn,
        })
    }

    /// The waiting calls, by id. Expired calls are removed. An unreadable file is reported on stderr and skipped.
    pub fn all(&self) -> Result<BTreeMap<String, ParkedCall>, Error> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut all = BTreeMap::new();
        let mut page = out::stderr_page();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str());
            let (Some(id), true) = (id, path.extension().is_some_and(|it| it == "json")) else {
                continue;
            };
            match read(&path) {
                Ok(Some(call)) if is_kept(&call) => {
                    all.insert(id.to_owned(), call);
                }
                Ok(Some(_)) => forget(&path)?,
                Ok(None) => {}
                Err(error) => {
                    let words = words!("A waiting call is left out: {}", given(error));
                    page.note(Style::Warning, words);
                }
            }
        }
        out::tell(&mut page);
        Ok(all)
    }

    fn path(&self, id: &str) -> PathBuf {
        self.0.join(id).with_extension("json")
    }
}

impl Turn {
    pub fn keep(&self) -> Result<(), Error> {
        write(&self.path, &self.call)
    }

    pub fn end(self) -> Result<(), Error> {
        forget(&self.path)
    }
}

pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

fn is_kept(call: &ParkedCall) -> bool {
    now() < call.until()
}

/// Reads a call whose questions can be answered. Returns `None` if there is no file.
fn read(path: &Path) -> io::Result<Option<ParkedCall>> {
    let Some(text) = private_file::read(path)? else {
        return Ok(None);
    };
    let call: ParkedCall = private_file::parse(path, &text)?;
    match call.asks() {
        Ok(_) => Ok(Some(call)),
        Err(error) => Err(io::Error::other(format!("{}: {error}", path.display()))),
    }
}

fn write(path: &Path, call: &ParkedCall) -> Result<(), Error> {
    let text = serde_json::to_string(call).map_err(|error| failed(error.into()))?;
    private_file::write(path, &text).map_err(failed)
}

fn forget(path: &Path) -> Result<(), Error> {
    for path in [path.to_owned(), path.with_extension("lock")] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    Ok(())
}

fn failed(error: io::Error) -> Error {
    Error::usage(words!("cannot save the call in its file: {}", given(error)))
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn an_expired_call_is_deleted_when_it_is_taken() {
        let folder = env::temp_dir().join(format!("askback-parked-{}", std::process::id()));
        let parking = Parking(folder.clone());
        let asked = r#"{"resultType":"input_required","requestState":"s"}"#;
        let call = ParkedCall {
            line: Vec::new(),
            folder: PathBuf::new(),
            server: "s".to_owned(),
            tool: "t".to_owned(),
            arguments: Map::new(),
            asked: RawValue::from_string(asked.to_owned()).expect("it is JSON"),
            answers: BTreeMap::new(),
            sent: false,
            refused: false,
            since: 7,
        };
        let id = parking.keep(&call).expect("the folder can be written");
        let path = parking.path(&id);
        assert!(path.exists());
        assert!(parking.take(&id).is_err());
        let left = path.exists();
        let in_time = ParkedCall {
            since: now(),
            ..call
        };
        let id = parking.keep(&in_time).expect("the folder can be written");
        let is_taken = parking.take(&id).is_ok();
        let _ = fs::remove_dir_all(folder);
        assert_eq!((left, is_taken), (false, true));
    }
}
