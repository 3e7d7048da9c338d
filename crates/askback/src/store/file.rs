use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use askback_core::limits::Limits;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Claim, ClaimRequest, FlowId, MemoryStore, Millis, Owner, PutRequest, Store, StoreError,
    StoreFuture, failed, lease_end,
    memory::{Shelf, Slot},
    owner::half,
    process_lock::{self, ProcessId, ProcessLock},
    share::{self, OVERHEAD},
};
use crate::{
    clock::millis,
    mutex::Mutex,
    private_file::{self, Creation},
};

/// How long a process may take to write a file. An older draft is abandoned, and removed.
const DRAFT_TTL: Duration = Duration::from_secs(60 * 60);

/// If the clock jumps forward by more than this, no claim is removed for the same time.
const CLOCK_JUMP: Duration = Duration::from_secs(24 * 60 * 60);

/// How many times a claim is tried while other processes create and remove it at the same time.
const CLAIM_ATTEMPTS: u32 = 8;

/// A store that keeps each claim in its own file, in a folder shared by the processes of one machine. It is the default
/// if a server is given no store, in a folder next to its key file.
///
/// Claims survive a crash and a power failure, because they are on the disk before the effect begins. The folder and
/// its files are private to their owner (0700 and 0600), because the values of commits are not encrypted. The file
/// system must support hard links.
///
/// If a process ends in the middle of an effect, the claim is [abandoned](Claim::Abandoned) at once, because each
/// process holds a lock on a file in the folder. On a file system without locks, it is abandoned when its lease ends.
///
/// States that are too large for their clients stay in the memory of the process. If the process ends, the client gets
/// the error that its state has expired.
///
/// The store holds at most [`limits.asking.store_bytes`](crate::limits::AskingLimits::store_bytes) of claims, and as
/// many of states, unless it is opened with [another limit](Self::open_with). Each process counts its own claims, and
/// reads the others' claims in [`purge`](Store::purge), so several processes together may exceed the limit for a while.
/// On most file systems a claim takes at least 4 KiB of disk space.
#[derive(Debug)]
pub struct FileStore {
    claims: Arc<Claims>,
    states: MemoryStore,
}

struct Claims {
    folder: PathBuf,
    max_bytes: usize,
    process: ProcessLock,
    /// The known claims in the folder; read before the first claim. Locked while this process writes.
    shelf: Mutex<Option<Shelf<ClaimId, Finished>>>,
    clock: Mutex<ClockWatch>,
}

#[derive(Default)]
struct ClockWatch {
    last: Option<(Millis, Instant)>,
    jumped: Option<Instant>,
}

/// Whether a claim has its final value.
type Finished = bool;

/// The name of a claim's file: the flow and a digest of the commit's name.
type ClaimId = [u8; 32];

/// The first line of a file, before the value.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    lease_end: Millis,
    expires: Millis,
    owner: Option<[u8; 16]>,
    process: Option<ProcessId>,
    size: usize,
    value_bytes: usize,
    value: Option<usize>,
}

enum Content {
    Absent,
    Running(Header),
    Done(Header, Vec<u8>),
    /// The file was truncated or changed, so the outcome of the commit is unknown.
    Unreadable,
}

impl FileStore {
    /// Opens the store in this folder, and creates the folder if it does not exist.
    ///
    /// Blocks on disk access, so do not call it in an async task.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created or written, does not support hard links, is a symbolic link, belongs to another
    /// user, or is open to other users.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with(folder, Limits::default().asking.store_bytes)
    }

    /// Like [`FileStore::open`], with another limit on the bytes of claims, and the same limit on the bytes of states.
    /// All processes that share the folder should use the same limit.
    ///
    /// # Errors
    ///
    /// As [`FileStore::open`].
    pub fn open_with(folder: impl Into<PathBuf>, max_bytes: usize) -> Result<Self, StoreError> {
        // Removes a trailing slash, with which the checks below would follow a symbolic link.
        let folder: PathBuf = folder.into().components().collect();
        private_file::create_folder(&folder)?;
        let metadata = folder.symlink_metadata()?;
        if !metadata.is_dir() {
            return Err(failed(io::Error::other(format!(
                "expected a directory at {}, got a symbolic link: name the directory that it leads to",
                folder.display()
            ))));
        }
        if let Some(mode) = private_file::open_to_others(&metadata) {
            return Err(failed(io::Error::other(format!(
                "the folder {path} is open to other users (mode {mode:03o}): run `chmod 700 {path}`",
                path = folder.display()
            ))));
        }
        // Fail now, rather than before the first effect.
        let process = ProcessLock::create(&folder)?;
        private_file::check_owner(&folder, &metadata, process.path())?;
        Ok(Self {
            claims: Arc::new(Claims {
                folder,
                max_bytes,
                process,
                shelf: Mutex::default(),
                clock: Mutex::default(),
            }),
            states: MemoryStore::new(max_bytes),
        })
    }

    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Claims) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let claims = Arc::clone(&self.claims);
        Box::pin(async move {
            let worked = tokio::task::spawn_blocking(move || work(&claims));
            worked.await.map_err(failed)?
        })
    }
}

impl Store for FileStore {
    fn claim<'a>(&'a self, commit: ClaimRequest<'a>) -> StoreFuture<'a, Claim> {
        let id = claim_id(commit.flow, commit.name);
        let header = Header {
            lease_end: lease_end(commit.now, commit.lease),
            expires: commit.expires,
            owner: commit.owner.map(|owner| owner.0),
            process: self.claims.process.id(),
            size: (OVERHEAD + commit.name.len()).saturating_add(commit.value_bytes),
            value_bytes: commit.value_bytes,
            value: None,
        };
        let now = commit.now;
        self.work(move |claims| claims.claim(id, &header, now))
    }

    fn finish<'a>(&'a self, flow: FlowId, name: &'a str, value: &'a [u8]) -> StoreFuture<'a, ()> {
        let (id, value) = (claim_id(flow, name), value.to_owned());
        self.work(move |claims| claims.finish(id, &value))
    }

    fn put<'a>(&'a self, state: PutRequest<'a>) -> StoreFuture<'a, ()> {
        self.states.put(state)
    }

    fn get(&self, id: [u8; 32]) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.states.get(id)
    }

    fn purge(&self, now: Millis) -> StoreFuture<'_, usize> {
        Box::pin(async move {
            let claims = self.work(move |claims| claims.purge(now)).await?;
            Ok(claims + self.states.purge(now).await?)
        })
    }
}

impl Claims {
    fn claim(&self, id: ClaimId, header: &Header, now: Millis) -> Result<Claim, StoreError> {
        let path = self.path(id);
        let mut shelf = self.shelf.lock();
        for _ in 0..CLAIM_ATTEMPTS {
            match read(&path)? {
                Content::Absent => {}
                Content::Done(_, value) => return Ok(Claim::Done(value)),
                Content::Running(header) if header.lease_end <= now => return Ok(Claim::Abandoned),
                Content::Running(header) if !self.is_left(&header) => return Ok(Claim::Busy),
                Content::Running(_) => {
                    // The process may have finished the claim just before it ended.
                    return Ok(match read(&path)? {
                        Content::Done(_, value) => Claim::Done(value),
                        _ => Claim::Abandoned,
                    });
                }
                Content::Unreadable => return Ok(Claim::Abandoned),
            }
            let shelf = match &mut *shelf {
                Some(shelf) => shelf,
                none => self.scan(none)?,
            };
            self.remove_expired(shelf, now);
            let held = shelf.held(header.owner.map(Owner));
            share::admit_claim(held, header.size, self.max_bytes)?;
            let content = header.with(&[])?;
            let created =
                private_file::create(&path, |draft| private_file::write_durably(draft, &content))?;
            if created == Creation::Created {
                private_file::sync_folder(&self.folder)?;
                keep(shelf, id, header.slot());
                return Ok(Claim::Granted);
            }
            // Another process created it first.
        }
        Err(failed(io::Error::other(format!(
            "{CLAIM_ATTEMPTS} attempts to create the claim {path} failed, as it was there and could not be read: look \
             for a process that removes files from the folder",
            path = path.display()
        ))))
    }

    fn is_left(&self, header: &Header) -> bool {
        let process = header.process.as_ref();
        process.is_some_and(|id| process_lock::has_ended(&self.folder, id))
    }

    fn finish(&self, id: ClaimId, value: &[u8]) -> Result<(), StoreError> {
        let path = self.path(id);
        let mut shelf = self.shelf.lock();
        let mut header = match read(&path)? {
            Content::Absent => return Err(StoreError::Unclaimed),
            Content::Done(_, first) if first == value => return Ok(()),
            Content::Done(..) => return Err(StoreError::Finished),
            Content::Unreadable => {
                let error = format!("the claim {} cannot be read", path.display());
                return Err(failed(io::Error::other(error)));
            }
            Content::Running(header) => header,
        };
        let max_bytes = header.value_bytes;
        let left = max_bytes
            .checked_sub(value.len())
            .ok_or(StoreError::TooLong { max_bytes })?;
        header.size -= left;
        header.value = Some(value.len());
        let content = header.with(value)?;
        private_file::replace(&path, |draft| private_file::write_durably(draft, &content))?;
        private_file::sync_folder(&self.folder)?;
        if let Some(shelf) = &mut *shelf {
            keep(shelf, id, header.slot());
        }
        Ok(())
    }

    fn purge(&self, now: Millis) -> Result<usize, StoreError> {
        let mut shelf = self.shelf.lock();
        let shelf = self.scan(&mut shelf)?;
        Ok(self.remove_expired(shelf, now))
    }

    fn remove_expired(&self, shelf: &mut Shelf<ClaimId, Finished>, now: Millis) -> usize {
        let mut clock = self.clock.lock();
        if clock.has_jumped(now) {
            return 0;
        }
        let expired = shelf.purge(now).into_iter();
        // If another process has removed it, the next scan notices.
        let removed = expired.filter(|id| fs::remove_file(self.path(*id)).is_ok());
        removed.count()
    }

    /// Updates the shelf from the folder. If that fails, the shelf is unchanged.
    fn scan<'a>(
        &self,
        shelf: &'a mut Option<Shelf<ClaimId, Finished>>,
    ) -> io::Result<&'a mut Shelf<ClaimId, Finished>> {
        let mut found = HashMap::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let Some(id) = entry.file_name().to_str().and_then(parse_hex) else {
                self.remove_leftover(&entry);
                continue;
            };
            let known = shelf.as_ref().and_then(|shelf| shelf.slots.get(&id));
            let is_final = known.is_some_and(|slot| slot.value);
            found.insert(id, (!is_final).then(|| self.slot(id)).flatten());
        }
        let shelf = shelf.get_or_insert_default();
        let known: Vec<_> = shelf.slots.keys().copied().collect();
        for id in known.iter().filter(|id| !found.contains_key(*id)) {
            shelf.remove(id);
        }
        for (id, slot) in found {
            if let Some(slot) = slot {
                keep(shelf, id, slot);
            }
        }
        Ok(shelf)
    }

    /// Removes the lock of a process that has ended, and abandoned drafts. A draft's age is measured with the file
    /// system's time, not with the caller's clock.
    fn remove_leftover(&self, entry: &fs::DirEntry) {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        let is_leftover = match process_lock::parse_name(name) {
            Some(process) => process_lock::has_ended(&self.folder, &process),
            None => is_draft(name) && age.is_some_and(|age| age > DRAFT_TTL),
        };
        if is_leftover {
            // If this fails, the next scan tries again.
            let _ = fs::remove_file(entry.path());
        }
    }

    fn slot(&self, id: ClaimId) -> Option<Slot<Finished>> {
        match read(&self.path(id)) {
            Ok(Content::Absent) => None,
            Ok(Content::Running(header) | Content::Done(header, _)) => Some(header.slot()),
            // The file stays until the operator removes it, because its expiry is unknown. The next scan reads it
            // again.
            Ok(Content::Unreadable) | Err(_) => Some(Slot {
                value: false,
                owner: None,
                size: OVERHEAD,
                expires: Millis::MAX,
            }),
        }
    }

    fn path(&self, id: ClaimId) -> PathBuf {
        self.folder.join(hex(&id))
    }
}

impl ClockWatch {
    /// Whether the clock is ahead of the process's monotonic time by more than [`CLOCK_JUMP`], now or within the last
    /// `CLOCK_JUMP`.
    fn has_jumped(&mut self, now: Millis) -> bool {
        let at = Instant::now();
        if let Some((last, since)) = self.last.replace((now, at)) {
            let passed = at.duration_since(since).saturating_add(CLOCK_JUMP);
            if now > last.saturating_add(millis(passed)) {
                self.jumped = Some(at);
                tracing::warn!(
                    "the clock jumped forward by more than a day: no expired claims are removed for a day, in case it \
                     is wrong"
                );
            }
        }
        self.jumped
            .is_some_and(|jumped| at.duration_since(jumped) < CLOCK_JUMP)
    }
}

askback_core::debug_only!(Claims { folder });

impl Header {
    fn slot(&self) -> Slot<Finished> {
        Slot {
            value: self.value.is_some(),
            owner: self.owner.map(Owner),
            size: self.size,
            expires: self.expires,
        }
    }

    fn with(&self, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut content = serde_json::to_vec(self).map_err(failed)?;
        content.push(b'\n');
        content.extend_from_slice(value);
        Ok(content)
    }
}

fn keep(shelf: &mut Shelf<ClaimId, Finished>, id: ClaimId, slot: Slot<Finished>) {
    shelf.remove(&id);
    shelf.insert(id, slot);
}

fn read(path: &Path) -> io::Result<Content> {
    let read = fs::symlink_metadata(path).and_then(|metadata| {
        // Opening a FIFO would block.
        let is_file = metadata.is_file();
        is_file.then(|| fs::read(path)).transpose()
    });
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Content::Absent),
        Err(error) => Err(error),
        Ok(content) => Ok(content
            .and_then(|content| parse(&content))
            .unwrap_or(Content::Unreadable)),
    }
}

fn parse(content: &[u8]) -> Option<Content> {
    let end = content.iter().position(|byte| *byte == b'\n')?;
    let (header, value) = (&content[..end], &content[end + 1..]);
    let header: Header = serde_json::from_slice(header).ok()?;
    match header.value {
        Some(length) if length == value.len() => Some(Content::Done(header, value.to_owned())),
        None if value.is_empty() => Some(Content::Running(header)),
        _ => None,
    }
}

fn is_draft(name: &str) -> bool {
    let drafted = name.strip_prefix('.').and_then(|name| {
        let (drafted, suffix) = name.rsplit_once('.')?;
        parse_hex::<8>(suffix).map(|_| drafted)
    });
    drafted.is_some_and(|name| {
        parse_hex::<32>(name).is_some() || process_lock::parse_name(name).is_some()
    })
}

fn claim_id(flow: FlowId, name: &str) -> ClaimId {
    let mut id = [0; 32];
    id[..16].copy_from_slice(&flow.0);
    id[16..].copy_from_slice(&half(Sha256::new_with_prefix(name)));
    id
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| {
        let is_digit = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        char::from(byte).to_digit(16).filter(|_| is_digit)
    };
    let text = text.as_bytes();
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.chunks(2)) {
        *byte = u8::try_from(digit(digits[0])? << 4 | digit(digits[1])?).ok()?;
    }
    Some(bytes)
}
