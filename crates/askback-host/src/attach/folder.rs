//! The folder of the sockets. Both sides compute its path and check that it is their user's.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, fstat, mkdirat, open, openat},
    io::Errno,
};

/// Opens a folder, but follows no symlink.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

const WRITERS: Mode = Mode::WGRP.union(Mode::WOTH);

/// Returns the folder of this user and creates it if necessary. Clients start servers with almost
/// no environment, so only `HOME` is read, and only if the user is not in `/etc/passwd`.
fn of_user() -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let runtime = PathBuf::from(format!("/run/user/{user}"));
    if let Ok(folder) = open(&runtime, FOLDER, Mode::empty())
        && check(&folder, &runtime, OTHERS).is_ok()
    {
        return within(folder.as_fd(), &runtime);
    }
    let home = home(user).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "no folder for questions: found neither /run/user nor a home folder",
        )
    })?;
    let state = home.join(".local").join("state");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&state)?;
    let folder = open(&state, FOLDER, Mode::empty())?;
    check(&folder, &state, WRITERS)?;
    within(folder.as_fd(), &state)
}

/// Returns the given folder, or by default the folder of this user.
/// Fails if other users can open it.
pub(super) fn given(folder: Option<PathBuf>) -> io::Result<PathBuf> {
    let folder = match folder {
        Some(folder) => folder,
        None => of_user()?,
    };
    check_own(&folder)?;
    Ok(folder)
}

fn within(folder: impl AsFd, path: &Path) -> io::Result<PathBuf> {
    let path = path.join("askback");
    let folder = make(folder, &path, WRITERS)?;
    let path = path.join("asks");
    make(folder, &path, OTHERS)?;
    Ok(path)
}

fn make(folder: impl AsFd, path: &Path, forbidden: Mode) -> io::Result<OwnedFd> {
    let name = path.file_name().unwrap_or_default();
    match mkdirat(&folder, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(about(path, error.into())),
    }
    let made = openat(&folder, name, FOLDER, Mode::empty());
    let made = made.map_err(|error| about(path, error.into()))?;
    check(&made, path, forbidden)?;
    Ok(made)
}

/// Checks that a path is a folder that only this user can open, and not a symlink.
fn check_own(path: &Path) -> io::Result<()> {
    let folder = open(path, FOLDER, Mode::empty()).map_err(|error| about(path, error.into()))?;
    check(&folder, path, OTHERS)
}

fn check(folder: &OwnedFd, path: &Path, forbidden: Mode) -> io::Result<()> {
    let stat = fstat(folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(about(
            path,
            io::Error::other("the folder belongs to another user"),
        ));
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(forbidden) {
        let error = "other users have access to the folder: run chmod 700 on it";
        return Err(about(path, io::Error::other(error)));
    }
    Ok(())
}

fn about(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The user's home folder according to `/etc/passwd`.
fn home(user: u32) -> Option<PathBuf> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = users.lines().find_map(|line| {
        let fields: Vec<_> = line.split(':').collect();
        let is_user = fields.get(2)?.parse() == Ok(user);
        is_user.then(|| fields.get(5).map(PathBuf::from))?
    });
    listed.or_else(std::env::home_dir)
}

pub(super) fn lock_of(socket: &Path) -> PathBuf {
    socket.with_extension("lock")
}

pub(super) fn open_lock(socket: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(lock_of(socket))
}

/// Removes a socket without a listener. If the lock is held, its board is only starting.
pub(super) fn remove_stale(socket: &Path) {
    let Ok(lock) = open_lock(socket) else {
        return;
    };
    if lock.try_lock().is_ok() {
        remove(socket);
    }
}

/// Removes a socket and its lock. The caller must hold the lock.
pub(super) fn remove(socket: &Path) {
    for path in [socket, &lock_of(socket)] {
        // If this fails, the next front end tries again.
        let _ = fs::remove_file(path);
    }
}

pub(super) fn sockets(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut sockets = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "sock") {
            sockets.push(path);
        }
    }
    sockets.sort();
    Ok(sockets)
}

/// The lock of the page that opens automatically. Held until the process exits.
#[derive(Debug)]
pub struct PageLock(
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")] File,
);

impl PageLock {
    /// Takes the lock. `None` if another page has it. `folder` is the folder of the sockets; `None`
    /// means the user's default.
    /// Fails if the folder is not the user's own, or the lock cannot be made.
    pub fn take(folder: Option<&Path>) -> io::Result<Option<Self>> {
        let folder = given(folder.map(PathBuf::from))?;
        let lock = open_lock(&folder.join("page"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self(lock))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
