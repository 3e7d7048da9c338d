//! Checks that no other user can have written a file, or can replace it.
//!
//! The owner check is git's check for a repository (`safe.directory`). The check for write
//! permission is ssh's check for its files (`StrictModes`).

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};

use askback_host::{
    text::{Words, given},
    words,
};

/// The mode bits that let the group and others write.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// In a folder with this bit, such as `/tmp`, users can only replace or remove their own files.
const STICKY: u32 = 0o1000;

#[derive(Debug, Clone, Copy)]
struct User(u32);

#[derive(Debug, Clone, Copy)]
struct Facts {
    owner: u32,
    group: u32,
    mode: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It belongs to this user, who is not trusted.
    Owner(u32),
    Writable,
}

/// Checks that only the user or the system can have written the open file at this absolute path.
/// The error is a sentence.
pub(super) fn check(path: &Path, file: &File) -> Result<(), Words> {
    let user = User::current();
    let unknown = |error: io::Error| {
        words!(
            "whose {} is cannot be told: {}",
            given(path.display()),
            given(error)
        )
    };
    // Also check a symbolic link, because its owner chose the file.
    let link = fs::symlink_metadata(path).map_err(unknown)?;
    let real = fs::canonicalize(path).map_err(unknown)?;
    let file = Facts::of(&file.metadata().map_err(unknown)?);
    let fault = user.owns(Facts::of(&link)).or(user.trusts_file(file));
    if let Some(fault) = fault {
        return Err(fault.told(path, file.mode, None));
    }
    let folders = path.ancestors().skip(1);
    let folders = folders.chain(real.ancestors().skip(1).filter(|_| link.is_symlink()));
    for folder in folders {
        let facts = Facts::of(&fs::metadata(folder).map_err(unknown)?);
        if let Some(fault) = user.trusts_folder(facts) {
            return Err(fault.told(folder, facts.mode, Some(path)));
        }
    }
    Ok(())
}

impl User {
    fn current() -> Self {
        Self(rustix::process::geteuid().as_raw())
    }

    fn owns(self, facts: Facts) -> Option<Fault> {
        (facts.owner != self.0).then_some(Fault::Owner(facts.owner))
    }

    fn trusts_file(self, facts: Facts) -> Option<Fault> {
        let writable = facts.others_write().then_some(Fault::Writable);
        self.owns(facts).or(writable)
    }

    /// Unlike a file, a folder may belong to the system.
    fn trusts_folder(self, facts: Facts) -> Option<Fault> {
        let owner = self.owns(facts).filter(|_| facts.owner != 0);
        let is_open = facts.others_write() && facts.mode & STICKY == 0;
        owner.or(is_open.then_some(Fault::Writable))
    }
}

impl Facts {
    fn of(metadata: &Metadata) -> Self {
        Self {
            owner: metadata.uid(),
            group: metadata.gid(),
            mode: metadata.mode() & 0o7777,
        }
    }

    /// Whether anyone but the owner can write. Most systems give each user a private group with the
    /// same number, which may write.
    fn others_write(self) -> bool {
        let group_writes = self.mode & GROUP_WRITES != 0 && self.group != self.owner;
        group_writes || self.mode & OTHERS_WRITE != 0
    }
}

impl Fault {
    fn told(self, place: &Path, mode: u32, found: Option<&Path>) -> Words {
        let found = found.map_or_else(Words::default, |found| {
            words!(", so that {} may be anybody's", given(found.display()))
        });
        let place = given(place.display());
        match self {
            Self::Owner(owner) => {
                words!("{} belongs to another user (uid {}){}", place, owner, found)
            }
            Self::Writable => {
                let mode = given(format_args!("{mode:o}"));
                words!(
                    "{} can be changed by others (mode {}){}",
                    place,
                    mode,
                    found
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: User = User(1000);
    const ROOT: User = User(0);

    #[test]
    fn a_file_is_trusted_if_only_the_user_can_write_it() {
        #[track_caller]
        fn check(user: User, owner: u32, group: u32, mode: u32, fault: Option<Fault>) {
            let facts = Facts { owner, group, mode };
            assert_eq!(user.trusts_file(facts), fault, "{facts:?}");
        }
        check(ADA, 1000, 1000, 0o644, None);
        check(ADA, 1000, 100, 0o600, None);
        check(ADA, 1001, 1000, 0o644, Some(Fault::Owner(1001)));
        check(ADA, 1001, 1000, 0o666, Some(Fault::Owner(1001)));
        // Ada does not trust a file of root, though root can change any file.
        check(ADA, 0, 0, 0o644, Some(Fault::Owner(0)));
        check(ROOT, 0, 0, 0o644, None);
        check(ROOT, 1000, 1000, 0o644, Some(Fault::Owner(1000)));
        // Her private group, and a shared group.
        check(ADA, 1000, 1000, 0o664, None);
        check(ADA, 1000, 100, 0o664, Some(Fault::Writable));
        check(ADA, 1000, 1000, 0o646, Some(Fault::Writable));
        // The sticky bit only matters for folders.
        check(ADA, 1000, 1000, 0o1666, Some(Fault::Writable));
    }

    #[test]
    fn a_folder_is_trusted_if_only_the_user_or_the_system_can_write_it() {
        #[track_caller]
        fn check(user: User, owner: u32, group: u32, mode: u32, fault: Option<Fault>) {
            let facts = Facts { owner, group, mode };
            assert_eq!(user.trusts_folder(facts), fault, "{facts:?}");
        }
        check(ADA, 1000, 1000, 0o755, None);
        check(ADA, 0, 0, 0o755, None);
        check(ADA, 1001, 1001, 0o755, Some(Fault::Owner(1001)));
        check(ADA, 1001, 1001, 0o1777, Some(Fault::Owner(1001)));
        check(ADA, 0, 0, 0o1777, None);
        check(ADA, 0, 0, 0o777, Some(Fault::Writable));
        check(ADA, 0, 50, 0o775, Some(Fault::Writable));
        check(ADA, 1000, 1000, 0o775, None);
        check(ADA, 1000, 100, 0o775, Some(Fault::Writable));
        check(ROOT, 1000, 1000, 0o755, Some(Fault::Owner(1000)));
    }
}
