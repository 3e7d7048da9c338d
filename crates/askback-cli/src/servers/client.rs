//! Finds the configuration files of clients.

use std::{
    env,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::{known_clients::KnownClient, private_file};

use self::Base::{Applications, Config, Home, Project};

/// The maximum size of a client's configuration in bytes. It may contain more than servers.
const MOST: u64 = 16 << 20;

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    base: Base,
    /// The path relative to the base.
    path: &'static str,
    /// The path on Windows, if it differs.
    #[serde(default)]
    windows: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Base {
    /// The project folder: the current folder, or the nearest parent that has the file.
    Project,
    Home,
    /// The system's folder for application settings.
    Applications,
    /// The system's folder for application settings, but `~/.config` on macOS.
    Config,
}

impl ConfigFile {
    pub fn path(&self) -> &'static str {
        self.windows.filter(|_| cfg!(windows)).unwrap_or(self.path)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Folders {
    pub here: PathBuf,
    pub home: Option<PathBuf>,
    /// The system's folder for application settings.
    pub settings: Option<PathBuf>,
}

/// An existing file of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub client: &'static KnownClient,
    pub path: PathBuf,
    /// The project folder that it belongs to. `None` if it is the user's file for all projects.
    pub project: Option<PathBuf>,
}

impl Folders {
    pub fn of_user() -> io::Result<Self> {
        let home = env::home_dir().filter(|home| home.is_absolute());
        let variable = |name: &str| {
            let path = PathBuf::from(env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let below = |path: &str| home.as_ref().map(|home| home.join(path));
        let settings = match env::consts::OS {
            "macos" => below("Library/Application Support"),
            "windows" => variable("APPDATA"),
            _ => variable("XDG_CONFIG_HOME").or_else(|| below(".config")),
        };
        Ok(Self {
            here: env::current_dir()?,
            home,
            settings,
        })
    }

    fn base(&self, base: Base) -> Option<PathBuf> {
        match base {
            Project => Some(self.here.clone()),
            Home => self.home.clone(),
            Applications => self.settings.clone(),
            Config => match env::consts::OS {
                "macos" => self.home.as_ref().map(|home| home.join(".config")),
                _ => self.settings.clone(),
            },
        }
    }
}

impl Source {
    /// Returns the folder in which its servers are started: the project folder, or else the user's home, so that a
    /// relative path means the same program in every working directory. A server that the user's file defines for one
    /// project is started in that project.
    pub fn folder(&self, folders: &Folders, is_of_project: bool) -> PathBuf {
        if is_of_project {
            return folders.here.clone();
        }
        let home = || folders.home.clone();
        self.project
            .clone()
            .or_else(home)
            .unwrap_or_else(|| folders.here.clone())
    }
}

impl KnownClient {
    /// Project files are first.
    pub fn sources(&'static self, folders: &Folders) -> Vec<Source> {
        let mut sources: Vec<Source> = Vec::new();
        for file in &self.files {
            let base = folders.base(file.base);
            let found = match file.base {
                Project => {
                    let mut above = folders.here.ancestors();
                    above.find_map(|folder| {
                        let path = folder.join(file.path());
                        path.is_file().then(|| (path, Some(folder.to_owned())))
                    })
                }
                _ => base.map(|base| (base.join(file.path()), None)),
            };
            let Some((path, project)) = found.filter(|(path, _)| path.is_file()) else {
                continue;
            };
            // The home folder may be a parent of the current folder.
            if file.base == Project && Some(&path) == self.of_user(folders).as_ref() {
                continue;
            }
            sources.push(Source {
                client: self,
                path,
                project,
            });
        }
        sources
    }

    fn of_user(&self, folders: &Folders) -> Option<PathBuf> {
        let file = self.files.iter().find(|file| file.base != Project)?;
        Some(folders.base(file.base)?.join(file.path()))
    }
}

pub fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MOST.saturating_add(1))
        .read_to_string(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= MOST) {
        return Ok(text);
    }
    let why = "it is larger than 16 MiB";
    Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

pub fn read_at(path: &Path) -> io::Result<String> {
    read(File::open(path)?)
}

/// Replaces a file atomically. It keeps its permissions, and a symbolic link is kept.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let before = fs::metadata(&path)?;
    private_file::write(&path, text)?;
    fs::set_permissions(&path, before.permissions())
}
