//! The client as the server sees it: its folders, models and log level.

use std::{
    fs,
    path::{Path, PathBuf},
};

use askback::protocol::{LoggingLevel, Root};
use askback_host::{
    folder,
    model::{Folders, Permission},
    page::Style,
    remarks,
    text::Words,
    words,
};
use url::Url;

use super::{Repl, attend, grammar::RootsAction};
use crate::{error::Error, session::Session};

fn choose(
    folders: &mut Folders,
    set: &[String],
    action: Option<&RootsAction>,
) -> Result<(), Words> {
    match action {
        None => *folders = Folders::of(all(set)?),
        Some(RootsAction::Clear) => *folders = Folders::default(),
        Some(RootsAction::Add { folders: paths }) => {
            all(paths)?.into_iter().for_each(|path| folders.add(path));
        }
        Some(RootsAction::Remove { folders: paths }) => {
            for path in paths {
                // A folder that no longer exists can be removed, too.
                let path = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
                folders.remove(&path)?;
            }
        }
    }
    Ok(())
}

fn all(paths: &[String]) -> Result<Vec<PathBuf>, Words> {
    let roots = paths.iter().map(|path| folder::root(Path::new(path)));
    let roots = roots.collect::<Result<Vec<Root>, _>>()?;
    Ok(roots.iter().filter_map(path_of).collect())
}

fn path_of(root: &Root) -> Option<PathBuf> {
    Url::parse(&root.uri).ok()?.to_file_path().ok()
}

impl Repl<'_> {
    pub(super) fn roots(
        &mut self,
        set: &[String],
        action: Option<&RootsAction>,
    ) -> Result<(), Error> {
        if !set.is_empty() || action.is_some() {
            let server = self.session.host.server();
            let mut folders = match server.desk().shared() {
                // The user chose them by answering yes.
                Some(shared) => Folders::of(paths(shared)),
                None => server.folders().clone(),
            };
            choose(&mut folders, set, action).map_err(Error::usage)?;
            let roots = folders.chosen().iter().map(|path| folder::root(path));
            let roots = roots.collect::<Result<_, _>>().map_err(Error::usage)?;
            self.session.host.share(folders, roots);
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

fn paths(roots: &[Root]) -> Vec<PathBuf> {
    roots.iter().filter_map(path_of).collect()
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
            host.log(level);
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

    #[test]
    fn folders_are_added_and_removed() {
        let base = std::env::temp_dir().join(format!("askback-folders-{}", std::process::id()));
        for folder in ["home/a", "other"] {
            fs::create_dir_all(base.join(folder)).expect("it is ours");
        }
        let base = fs::canonicalize(&base).expect("it was made");
        let words = |names: &str| -> Vec<String> {
            let names = names.split_whitespace();
            names
                .map(|name| base.join(name).display().to_string())
                .collect()
        };
        let mut folders = Folders::default();
        let mut check = |set: &str, action: Option<RootsAction>, expected: Result<&str, &str>| {
            let changed = choose(&mut folders, &words(set), action.as_ref());
            let changed = changed.map_err(|error| error.as_str().to_owned());
            match expected {
                Ok(expected) => {
                    let expected: Vec<_> = words(expected).into_iter().map(PathBuf::from).collect();
                    assert_eq!(changed, Ok(()), "{action:?}");
                    assert_eq!(folders.chosen(), expected, "{action:?}");
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
        fs::remove_dir_all(&base).expect("it is ours");
    }
}
