//! Permissions that a user gave permanently, for models and a server.

use std::{collections::BTreeMap, io, path::PathBuf};

use askback::keys::state_dir;
use askback_host::model::Permission;

use crate::{private_file, target::Target};

#[derive(Debug, Clone)]
pub struct Permissions {
    /// `None` if the user has no folder for it.
    path: Option<PathBuf>,
    /// The server as the user configured it: its name, and how it is reached. The name that the server claims is
    /// ignored.
    server: String,
}

/// `always` or `never`, by server.
type All = BTreeMap<String, String>;

const ALWAYS: &str = "always";
const NEVER: &str = "never";

impl Permissions {
    pub fn of_user(target: &Target) -> Self {
        let path = state_dir().map(|state| state.join("askback").join("sampling.json"));
        Self::at(path, target)
    }

    fn at(path: Option<PathBuf>, target: &Target) -> Self {
        Self {
            path,
            server: target.digest(),
        }
    }

    pub fn get(&self) -> io::Result<Permission> {
        let path = self.path.as_deref();
        let all: All = path
            .map(private_file::load)
            .transpose()?
            .unwrap_or_default();
        Ok(match all.get(&self.server).map(String::as_str) {
            Some(ALWAYS) => Permission::Always,
            Some(NEVER) => Permission::Never,
            _ => Permission::Ask,
        })
    }

    /// Stores a permanent permission. Permissions for the session are not stored.
    pub fn keep(&self, permission: Permission) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Err(io::Error::other("no folder for it"));
        };
        private_file::change(path, |all: &mut All| {
            match permission {
                Permission::Always => all.insert(self.server.clone(), ALWAYS.to_owned()),
                Permission::Never => all.insert(self.server.clone(), NEVER.to_owned()),
                Permission::Ask | Permission::Session => all.remove(&self.server),
            };
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, program: &str) -> Target {
        Target {
            name: name.to_owned(),
            ..Target::child(program, &[])
        }
    }

    #[test]
    fn a_permission_belongs_to_one_server() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = Some(folder.path().join("sampling.json"));
        let of = |name, program| Permissions::at(path.clone(), &target(name, program));
        let zoo = of("zoo", "./zoo");
        assert_eq!(zoo.get().expect("there is none yet"), Permission::Ask);
        for permission in [Permission::Always, Permission::Never] {
            zoo.keep(permission).expect("the folder is ours");
            assert_eq!(zoo.get().expect("it was written"), permission);
            for other in [
                of("zoo", "./other"),
                of("other", "./zoo"),
                of("zoo.", "/zoo"),
            ] {
                assert_eq!(other.get().expect("it was written"), Permission::Ask);
            }
        }
        zoo.keep(Permission::Ask).expect("the folder is ours");
        assert_eq!(zoo.get().expect("it was written"), Permission::Ask);
        let homeless = Permissions::at(None, &target("zoo", "./zoo"));
        assert!(homeless.keep(Permission::Never).is_err());
    }
}
