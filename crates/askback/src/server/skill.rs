//! Skills: instructions for an agent in files (SEP-2640).

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use askback_core::protocol::{self, JsonObject, ResourceContents, SkillResource};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    BuildError, Resource,
    offer::{Needs, Visibility},
};
use crate::skill_file::{self, digest};

/// The characters of a file name that are encoded in a URI: all except the unreserved ones of RFC 3986.
const ENCODED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

const MAIN_FILE: &str = "SKILL.md";

const MAX_FOLDERS: usize = 512;

/// The maximum length of a name, in characters (Agent Skills).
const NAME_MAX_LEN: usize = 64;

/// The maximum length of a description, in characters (Agent Skills).
const DESCRIPTION_MAX_LEN: usize = 1024;

/// A skill: instructions for an agent, in a `SKILL.md` with front matter and any number of other files (SEP-2640).
///
/// Each file is a resource under `skill://`, which clients of every revision can read. Clients of 2026-07-28 can also
/// list the skills, with the digests of their files. The files are read once, when the skill is made.
///
/// A skill has at most [`Skill::MAX_FILES`](protocol::Skill::MAX_FILES) files with
/// [`Skill::MAX_BYTES`](protocol::Skill::MAX_BYTES) bytes in all, because no client has to accept more.
///
/// ```
/// use askback::{Server, Skill};
///
/// let refunds = Skill::new("---\nname: refunds\ndescription: Refunds an order.\n---\nRead [the rules](rules.md).\n")
///     .file("rules.md", "At most 30 days after the purchase.\n");
/// let server = Server::new("shop", "1.0.0").skill(refunds);
/// assert!(server.build().is_ok());
/// ```
#[derive(Clone)]
pub struct Skill {
    files: Result<BTreeMap<String, Arc<[u8]>>, String>,
    /// The folder, whose name must be the skill's.
    folder: Option<PathBuf>,
    prefix: String,
    pub(super) needs: Needs,
    pub(super) visibility: Visibility,
}

#[derive(Clone)]
pub(super) struct OfferedSkill {
    pub(super) description: protocol::Skill,
    pub(super) visibility: Visibility,
}

impl Skill {
    /// Makes a skill from the text of its `SKILL.md`. The text begins with YAML between two lines `---`, with at least
    /// `name` and `description`. Mistakes are reported when the server is built.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into().into_bytes();
        Self::of(
            Ok(BTreeMap::from([(MAIN_FILE.to_owned(), text.into())])),
            None,
        )
    }

    /// Makes a skill from a folder with a `SKILL.md`, and reads all its files now. The folder must have the name of the
    /// skill. Files and folders whose name begins with a dot are left out.
    ///
    /// Symbolic links and files that are not plain ones are mistakes, so that nothing outside of the folder is served.
    /// Mistakes are reported when the server is built.
    pub fn folder(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        match fs::canonicalize(path) {
            Ok(folder) => Self::of(read_folder(&folder), Some(folder)),
            Err(error) => Self::of(Err(format!("{}: {error}", path.display())), None),
        }
    }

    fn of(files: Result<BTreeMap<String, Arc<[u8]>>, String>, folder: Option<PathBuf>) -> Self {
        Self {
            files,
            folder,
            prefix: String::new(),
            needs: Needs::default(),
            visibility: Visibility::default(),
        }
    }

    /// Adds a file. The path is relative to the `SKILL.md`, with `/` between its parts.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let path = path.into();
        if let Ok(files) = &mut self.files {
            let is_path = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
            if !is_path || path.contains('\\') {
                self.files = Err(format!("`{path}` is not a path below its folder"));
            } else if files.insert(path.clone(), content.into().into()).is_some() {
                self.files = Err(format!("it has two files `{path}`"));
            }
        }
        self
    }

    /// Sets the path before the name in its URIs, such as `acme/billing` for `skill://acme/billing/refunds/SKILL.md`.
    /// The default is no prefix.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    pub(super) fn offer(self) -> Result<(OfferedSkill, Vec<Resource>), BuildError> {
        let place = self
            .folder
            .as_ref()
            .map_or_else(String::new, |it| it.display().to_string());
        let wrong = |name: &str, why: String| BuildError::Skill {
            name: name.to_owned(),
            why,
        };
        let files = self
            .files
            .as_ref()
            .map_err(|why| wrong(&place, why.clone()))?;
        let frontmatter = front_matter(files).map_err(|why| wrong(&place, why))?;
        let mut skill = protocol::Skill {
            uri: String::new(),
            frontmatter,
            resources: None,
        };
        let name = skill.name().to_owned();
        self.check(&skill).map_err(|why| wrong(&name, why))?;
        let mut root = "skill://".to_owned();
        for part in self
            .prefix
            .split('/')
            .filter(|part| !part.is_empty())
            .chain([&*name])
        {
            root.extend([part, "/"]);
        }
        let uri = |path: &str| {
            let parts = path
                .split('/')
                .map(|part| utf8_percent_encode(part, &ENCODED).to_string());
            root.clone() + &parts.collect::<Vec<_>>().join("/")
        };
        skill.uri = uri(MAIN_FILE);
        let listed = files.iter().map(|(path, content)| SkillResource {
            uri: uri(path),
            digest: digest(content),
            size: content.len() as u64,
        });
        skill.resources = Some(listed.collect());
        skill.check().map_err(|why| wrong(&name, why))?;
        let resources = files.iter().map(|(path, content)| {
            let mut resource = resource(uri(path), path, content);
            if path == MAIN_FILE {
                resource.description.name.clone_from(&name);
                resource.description.description = Some(skill.description().to_owned());
            }
            resource.needs = self.needs.clone();
            resource.visibility = self.visibility.clone();
            resource
        });
        let resources = resources.collect();
        Ok((
            OfferedSkill {
                description: skill,
                visibility: self.visibility,
            },
            resources,
        ))
    }

    fn check(&self, skill: &protocol::Skill) -> Result<(), String> {
        let name = skill.name();
        if !is_name(name) {
            return Err(format!(
                "its name must have 1 to {NAME_MAX_LEN} lower-case letters, digits and single hyphens between them"
            ));
        }
        let len = skill.description().chars().count();
        if len == 0 || len > DESCRIPTION_MAX_LEN {
            return Err(format!(
                "its description must have 1 to {DESCRIPTION_MAX_LEN} characters"
            ));
        }
        if let Some(folder) = &self.folder
            && folder.file_name().is_none_or(|it| it != name)
        {
            return Err(format!(
                "its folder {} must be called `{name}`",
                folder.display()
            ));
        }
        let is_segment = |part: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            part.bytes().all(is_plain) && !matches!(part, "" | "." | "..")
        };
        if !self.prefix.is_empty() && !self.prefix.split('/').all(is_segment) {
            return Err(format!(
                "its prefix `{}` must be words of letters, digits, `-`, `.`, `_` and `~`, with slashes between them",
                self.prefix
            ));
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    name.len() <= NAME_MAX_LEN && name.split('-').all(is_word)
}

fn front_matter(files: &BTreeMap<String, Arc<[u8]>>) -> Result<JsonObject, String> {
    let main = files.get(MAIN_FILE).ok_or("it has no `SKILL.md`")?;
    let text = std::str::from_utf8(main).map_err(|_| "its `SKILL.md` is not UTF-8")?;
    skill_file::front_matter(text)
}

fn resource(uri: String, path: &str, content: &Arc<[u8]>) -> Resource {
    let contents = {
        let content = Arc::clone(content);
        move || match std::str::from_utf8(&content) {
            Ok(text) => ResourceContents::text("", text),
            Err(_) => ResourceContents::bytes("", &content),
        }
    };
    let is_text = std::str::from_utf8(content).is_ok();
    let mut resource = Resource::new(uri, path, move || {
        let contents = contents();
        async move { contents }
    });
    resource.description.size = Some(content.len() as u64);
    resource.mime_type(media_type(path, is_text))
}

fn media_type(path: &str, is_text: bool) -> &'static str {
    match (
        path.rsplit_once('.').map(|(_, extension)| extension),
        is_text,
    ) {
        (Some("md"), true) => "text/markdown",
        (Some("json"), true) => "application/json",
        (Some("yaml" | "yml"), true) => "application/yaml",
        (Some("html"), true) => "text/html",
        (Some("csv"), true) => "text/csv",
        (Some("svg"), true) => "image/svg+xml",
        (Some("py"), true) => "text/x-python",
        (Some("png"), false) => "image/png",
        (Some("jpg" | "jpeg"), false) => "image/jpeg",
        (Some("pdf"), false) => "application/pdf",
        (_, true) => "text/plain",
        (_, false) => "application/octet-stream",
    }
}

fn read_folder(root: &Path) -> Result<BTreeMap<String, Arc<[u8]>>, String> {
    let mut files = BTreeMap::new();
    let mut bytes_left = protocol::Skill::MAX_BYTES;
    let mut folders = vec![(root.to_owned(), String::new())];
    let mut folders_left = MAX_FOLDERS;
    while let Some((folder, above)) = folders.pop() {
        folders_left = folders_left
            .checked_sub(1)
            .ok_or("it has too many folders")?;
        let at_folder = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(at_folder)? {
            let entry = entry.map_err(at_folder)?;
            let path = entry.path();
            let wrong = |why: &str| format!("{}: {why}", path.display());
            let name = entry.file_name().into_string();
            let name = name.map_err(|_| wrong("its name is not UTF-8"))?;
            if name.starts_with('.') {
                continue;
            }
            // Does not follow a symbolic link, which is neither a folder nor a file.
            let kind = entry.file_type().map_err(at_folder)?;
            if kind.is_dir() {
                folders.push((path, format!("{above}{name}/")));
            } else if kind.is_file() {
                if files.len() == protocol::Skill::MAX_FILES {
                    return Err(format!("it has more than {} files", files.len()));
                }
                let mut content = Vec::new();
                let file = File::open(&path).map_err(|error| wrong(&error.to_string()))?;
                let read = file.take(bytes_left + 1).read_to_end(&mut content);
                let read = read.map_err(|error| wrong(&error.to_string()))? as u64;
                bytes_left = bytes_left.checked_sub(read).ok_or_else(|| {
                    format!(
                        "its files have more than {} bytes",
                        protocol::Skill::MAX_BYTES
                    )
                })?;
                files.insert(above.clone() + &name, content.into());
            } else {
                return Err(wrong("a skill has no symbolic links or special files"));
            }
        }
    }
    Ok(files)
}
