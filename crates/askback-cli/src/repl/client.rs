//! The client as the server sees it: its folders, models and log level.

use std::{
    collections::BTreeMap,
    fs,
    future::pending,
    path::{Path, PathBuf},
    time::Duration,
};

use askback::protocol::{LoggingLevel, Root};
use askback_host::{
    folder,
    model::{Change, Permission},
    page::Style,
    remarks,
    text::{Words, given},
    words,
};
use tokio::{task::spawn_blocking, time::sleep};
use url::Url;

use super::{Repl, attend, grammar::RootsAction};
use crate::{error::Error, session::Session};

/// The interval between checks of the shared folders.
const EVERY: Duration = Duration::from_secs(1);

fn choose(
    shared: &mut Vec<Root>,
    set: &[String],
    action: Option<&RootsAction>,
) -> Result<(), Words> {
    let roots = |paths: &[String]| {
        let roots = paths.iter().map(|path| folder::root(Path::new(path)));
        roots.collect::<Result<Vec<_>, _>>()
    };
    match action {
        None => *shared = roots(set)?,
        Some(RootsAction::Clear) => shared.clear(),
        Some(RootsAction::Add { folders }) => {
            for root in roots(folders)? {
                if !shared.iter().any(|known| known.uri == root.uri) {
                    shared.push(root);
                }
            }
        }
        Some(RootsAction::Remove { folders }) => {
            for path in folders {
                // A folder that no longer exists can be removed, too.
                let path = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
                let uri = Url::from_file_path(&path).map(String::from).ok();
                let at = shared
                    .iter()
                    .position(|root| Some(&root.uri) == uri.as_ref());
                let at = at.ok_or_else(|| words!("{} is not shared", given(path.display())))?;
                shared.remove(at);
            }
        }
    }
    Ok(())
}

/// Waits until a shared folder disappears or appears again (2026-07-28, client/roots, implementation guidelines).
/// `there` holds the last known state.
pub(super) async fn folders_changed(
    shared: Vec<Root>,
    there: &mut BTreeMap<String, bool>,
) -> Vec<(Root, bool)> {
    if shared.is_empty() {
        return pending().await;
    }
    there.retain(|uri, _| shared.iter().any(|root| root.uri == *uri));
    loop {
        let roots = shared.clone();
        let looking = spawn_blocking(move || {
            let look = |root: Root| (folder::is_there(&root), root);
            roots.into_iter().map(look).collect::<Vec<_>>()
        });
        // The check does not panic.
        let mut seen = looking.await.unwrap_or_default();
        seen.retain(|(is_there, root)| {
            // Folders existed when they were shared.
            let before = there.insert(root.uri.clone(), *is_there);
            before.unwrap_or(true) != *is_there
        });
        if !seen.is_empty() {
            let changed = seen.into_iter().map(|(is_there, root)| (root, is_there));
            return changed.collect();
        }
        sleep(EVERY).await;
    }
}

impl Repl<'_> {
    /// Tells the server that its list of folders changed, because some disappeared or appeared again.
    pub(super) fn folders_changed(&mut self, changed: &[(Root, bool)]) {
        self.session.client.roots_changed();
        let page = self.page();
        for (root, is_there) in changed {
            let shown = folder::shown(&root.uri);
            page.note(
                Style::Plain,
                match is_there {
                    true => words!("{} is there again, and shared as before.", shown),
                    false => words!(
                        "{} is gone: the server is told that its folders changed.",
                        shown
                    ),
                },
            );
        }
    }

    pub(super) fn roots(
        &mut self,
        set: &[String],
        action: Option<&RootsAction>,
    ) -> Result<(), Error> {
        if !set.is_empty() || action.is_some() {
            let shared = self.session.host.desk().shared();
            let mut roots = shared.unwrap_or_default().to_vec();
            choose(&mut roots, set, action).map_err(Error::usage)?;
            let host = &mut self.session.host;
            host.change(Change::Shared(host.chosen(), roots));
            self.session.client.roots_changed();
        }
        let shared = self.session.host.desk().shared().map(<[_]>::to_vec);
        let page = self.page();
        match shared.as_deref() {
            None => page.say(
                Style::Plain,
                "None yet; you are asked when the server wants to know.",
            ),
            Some([]) => page.say(Style::Plain, "The server may work in no folder."),
            Some(roots) => {
                for root in roots {
                    page.note(Style::Plain, folder::shown(&root.uri));
                }
            }
        }
        if shared.is_some_and(|shared| !shared.is_empty()) {
            page.say(
                Style::Dim,
                "The list tells the server where to work. It does not keep it from other folders.",
            );
        }
        Ok(())
    }
}

fn permitted(permission: Permission) -> &'static str {
    match permission {
        Permission::Ask => "Each of its requests to a model is shown to you first.",
        Permission::Session => {
            "Its requests to a model run without asking, until the conversation ends."
        }
        Permission::Always => {
            "Its requests to a model run without asking, also in later conversations."
        }
        Permission::Never => "Its requests to a model are declined, also in later conversations.",
    }
}

impl Repl<'_> {
    pub(super) fn sampling(&mut self, permission: Option<Permission>) -> Result<(), Error> {
        if let Some(permission) = permission {
            self.session.host.permit(permission).map_err(Error::usage)?;
        }
        self.tell(permitted(self.session.host.desk().permission()));
        Ok(())
    }

    pub(super) async fn log(&mut self, level: Option<LoggingLevel>) -> Result<(), Error> {
        if let Some(level) = level {
            let Session { client, host, .. } = &mut *self.session;
            attend(host, client.set_log_level(level)).await?;
            host.change(Change::Log(host.chosen(), level));
        }
        self.tell(match self.session.host.server().log() {
            Some(level) => words!("Log lines from {} on are asked for.", remarks::level(level)),
            None => "No level of log lines was asked for; /log LEVEL does.".into(),
        });
        Ok(())
    }

    /// Lets the questions of muted servers come to the user again.
    pub(super) fn unmute(&mut self) {
        let words = match self.session.host.unmute() {
            true => "You are asked again.",
            false => "No server is muted.",
        };
        self.tell(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Shows RO-14.
    #[tokio::test(start_paused = true)]
    async fn a_shared_folder_that_goes_and_comes_is_noticed() {
        let base = tempfile::tempdir().expect("there is room");
        let folders = ["one", "two"].map(|name| base.path().join(name));
        for folder in &folders {
            fs::create_dir_all(folder).expect("it is ours");
        }
        let roots = folders.each_ref().map(|path| folder::root(path));
        let [one, two] = roots.map(|root| root.expect("it was made"));
        let mut there = BTreeMap::new();
        let shared = vec![one, two.clone()];
        // The first look is not a change.
        let first = tokio::time::timeout(EVERY / 4, folders_changed(shared.clone(), &mut there));
        assert!(first.await.is_err());
        fs::remove_dir(&folders[1]).expect("it is ours");
        let seen = folders_changed(shared.clone(), &mut there).await;
        assert_eq!(seen, [(two.clone(), false)]);
        fs::create_dir(&folders[1]).expect("it is ours");
        let seen = folders_changed(shared, &mut there).await;
        assert_eq!(seen, [(two, true)]);
    }

    #[test]
    fn folders_are_added_and_removed() {
        let temporary = tempfile::tempdir().expect("there is room");
        let base = fs::canonicalize(temporary.path()).expect("it was made");
        for folder in ["home/a", "other"] {
            fs::create_dir_all(base.join(folder)).expect("it is ours");
        }
        let words = |names: &str| -> Vec<String> {
            let names = names.split_whitespace();
            names
                .map(|name| base.join(name).display().to_string())
                .collect()
        };
        let mut folders = Vec::new();
        let mut check = |set: &str, action: Option<RootsAction>, expected: Result<&str, &str>| {
            let changed = choose(&mut folders, &words(set), action.as_ref());
            let changed = changed.map_err(|error| error.as_str().to_owned());
            match expected {
                Ok(expected) => {
                    let uris = words(expected).into_iter().map(Url::from_file_path);
                    let uris: Vec<String> = uris.map(|uri| uri.expect("a path").into()).collect();
                    assert_eq!(changed, Ok(()), "{action:?}");
                    let shared: Vec<String> =
                        folders.iter().map(|it: &Root| it.uri.clone()).collect();
                    assert_eq!(shared, uris, "{action:?}");
                }
                Err(why) => assert!(changed.is_err_and(|error| error.contains(why)), "{why}"),
            }
        };
        let add = |names| {
            Some(RootsAction::Add {
                folders: words(names),
            })
        };
        let remove = |names| {
            Some(RootsAction::Remove {
                folders: words(names),
            })
        };
        check("home", None, Ok("home"));
        check("", add("other home"), Ok("home other"));
        check("", remove("home/a"), Err("is not shared"));
        check("", add("nowhere"), Err("No such file"));
        check("", remove("home"), Ok("other"));
        check("", Some(RootsAction::Clear), Ok(""));
    }
}
