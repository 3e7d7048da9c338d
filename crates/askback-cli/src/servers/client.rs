//! The clients of the field whose configurations are known: where those are, and how they are laid out.

use std::{
    env,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::ValueEnum;

use super::document::Layout;

use self::{
    Base::{Applications, Config, Home, Project},
    KnownClient::{ClaudeCode, ClaudeDesktop, Codex, Cursor, GeminiCli, Goose, VsCode},
};

/// The most bytes of a configuration of a client, which may keep more in it than servers.
const MOST: u64 = 16 << 20;

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KnownClient {
    /// Claude Code
    #[value(alias = "claude")]
    ClaudeCode,
    /// Claude Desktop
    ClaudeDesktop,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
    /// Gemini CLI
    #[value(alias = "gemini")]
    GeminiCli,
    /// Goose
    Goose,
    /// VS Code
    #[value(name = "vscode", alias = "code")]
    VsCode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The folder of a project: this one, or the next above that has the file.
    Project,
    Home,
    /// The folder in which applications keep their settings.
    Applications,
    /// The same for programs that keep them in `.config` on macOS, too.
    Config,
}

struct Place {
    client: KnownClient,
    base: Base,
    /// The path below the base. On Windows it may be another.
    path: &'static str,
    layout: Layout,
}

const fn place(client: KnownClient, base: Base, path: &'static str, layout: Layout) -> Place {
    Place {
        client,
        base,
        path,
        layout,
    }
}

/// The path of Goose's settings below the folder for those.
const GOOSE: &str = match cfg!(windows) {
    true => "Block/goose/config/config.yaml",
    false => "goose/config.yaml",
};

/// The files of clients, as of November 2026. The first file of a client that names a server counts.
///
/// | client | source |
/// |---|---|
/// | Claude Code | code.claude.com/docs/en/mcp |
/// | Claude Desktop | modelcontextprotocol.io/docs/develop/connect-local-servers |
/// | Codex | developers.openai.com/codex/mcp |
/// | Cursor | cursor.com/docs/mcp |
/// | Gemini CLI | docs/tools/mcp-server.md of google-gemini/gemini-cli |
/// | Goose | documentation/docs/guides/config-files.md of aaif-goose/goose |
/// | VS Code | code.visualstudio.com/docs/copilot/reference/mcp-configuration |
const PLACES: [Place; 12] = [
    place(ClaudeCode, Project, ".mcp.json", Layout::Settings),
    place(ClaudeCode, Home, ".claude.json", Layout::ClaudeCode),
    place(
        ClaudeDesktop,
        Applications,
        "Claude/claude_desktop_config.json",
        Layout::Settings,
    ),
    place(Codex, Project, ".codex/config.toml", Layout::Codex),
    place(Codex, Home, ".codex/config.toml", Layout::Codex),
    place(Cursor, Project, ".cursor/mcp.json", Layout::Settings),
    place(Cursor, Home, ".cursor/mcp.json", Layout::Settings),
    place(GeminiCli, Project, ".gemini/settings.json", Layout::Gemini),
    place(GeminiCli, Home, ".gemini/settings.json", Layout::Gemini),
    place(Goose, Config, GOOSE, Layout::Goose),
    place(VsCode, Project, ".vscode/mcp.json", Layout::Settings),
    place(VsCode, Applications, "Code/User/mcp.json", Layout::Settings),
];

#[derive(Debug, Clone, Default)]
pub struct Folders {
    pub here: PathBuf,
    pub home: Option<PathBuf>,
    /// The folder in which applications keep their settings.
    pub settings: Option<PathBuf>,
}

/// A file of a client that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub client: KnownClient,
    pub path: PathBuf,
    pub layout: Layout,
    /// The folder of the project that it belongs to; none where it is the user's for all projects.
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
    /// Returns the folder in which its servers are started: that of the project, otherwise that of the
    /// user, so that a path means the same program wherever the command is run. A server that a file of
    /// the user has for one project alone is started in that.
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

impl Layout {
    /// Returns the layout of a file that a person names, judged by its name.
    pub fn of(path: &Path) -> Self {
        let ends = |end: &str| path.ends_with(end);
        let is = |extension: &str| path.extension().is_some_and(|it| it == extension);
        match () {
            () if is("toml") => Self::Codex,
            () if is("yaml") || is("yml") => Self::Goose,
            () if ends(".claude.json") => Self::ClaudeCode,
            () if ends(".gemini/settings.json") => Self::Gemini,
            () => Self::Plain,
        }
    }
}

impl KnownClient {
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::GeminiCli => "gemini-cli",
            Self::Goose => "goose",
            Self::VsCode => "vscode",
        }
    }

    /// Returns its files that are there, those of a project first.
    pub fn sources(self, folders: &Folders) -> Vec<Source> {
        let places = PLACES.iter().filter(|place| place.client == self);
        let mut sources: Vec<Source> = Vec::new();
        for place in places {
            let base = folders.base(place.base);
            let found = match place.base {
                Project => {
                    let mut above = folders.here.ancestors();
                    above.find_map(|folder| {
                        let path = folder.join(place.path);
                        path.is_file().then(|| (path, Some(folder.to_owned())))
                    })
                }
                _ => base.map(|base| (base.join(place.path), None)),
            };
            let Some((path, project)) = found.filter(|(path, _)| path.is_file()) else {
                continue;
            };
            // The folder of the user may be above this one.
            if place.base == Project && Some(&path) == self.of_user(folders).as_ref() {
                continue;
            }
            sources.push(Source {
                client: self,
                path,
                layout: place.layout,
                project,
            });
        }
        sources
    }

    /// Returns the file of the user for all projects.
    fn of_user(self, folders: &Folders) -> Option<PathBuf> {
        let mut places = PLACES.iter();
        let place = places.find(|place| place.client == self && place.base != Project)?;
        Some(folders.base(place.base)?.join(place.path))
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
