//! Skills: instructions for an agent, in files that are resources (SEP-2640).

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::{CacheScope, JsonObject, Resource, lenient, messages::messages};

/// The name of the skills extension among the capabilities.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

messages! {
    /// A skill.
    #[derive(Deserialize)]
    struct Skill {
        /// The URI of its `SKILL.md`, which can be read as a resource. Another server may use the same URI for another
        /// skill.
        uri: String;
        /// The front matter of the `SKILL.md`. It has a `name` and a `description`.
        #[serde(deserialize_with = "front_matter")]
        frontmatter: JsonObject;
        /// All its files, including the `SKILL.md`; `None` if the server generates them (`"dynamic"`).
        #[serde(with = "resources")]
        resources: Option<Vec<SkillResource>>;
    }

    /// A file of a skill.
    #[derive(Eq, Deserialize)]
    struct SkillResource {
        /// The URI, which can be read as a resource.
        uri: String;
        /// `sha256:` and the SHA-256 of the content in lower-case hexadecimal digits.
        digest: String;
        /// The size of the content in bytes.
        size: u64;
    }
}

lenient::page! {
    /// The result of `skills/list`.
    ListSkillsResult as SkillsPage;
    /// The skills of this page.
    skills: Skill, "skill";
}

messages! {
    /// The parameters of `skills/get`.
    #[derive(Default, Deserialize)]
    struct GetSkillParams {
        /// The URI of the `SKILL.md`.
        uri: String;
        meta;
    }

    /// The parameters of `resources/directory/read`.
    #[derive(Default, Deserialize)]
    struct ReadResourceDirectoryParams {
        /// The URI of the folder, without a slash at its end.
        uri: String;
        /// The cursor of the page.
        cursor?: String;
        meta;
    }

    /// The result of `resources/directory/read`.
    #[derive(Default, Deserialize)]
    struct ReadResourceDirectoryResult {
        /// The files and folders, but not those in its folders.
        resources: Vec<Resource>;
        /// The cursor of the next page.
        next_cursor?: String;
        meta = "super::meta::lenient";
    }

    /// The result of `skills/get`.
    #[derive(Deserialize)]
    struct GetSkillResult {
        /// The skill.
        skill: Skill;
        /// How long it may be cached, in milliseconds.
        ttl_ms?: i64 = "lenient::scalar";
        /// The caches that may store it.
        cache_scope?: CacheScope = "lenient::scalar";
        meta = "super::meta::lenient";
    }
}

impl Skill {
    /// The maximum number of files that every host accepts (SEP-2640, Limits).
    pub const MAX_FILES: usize = 512;

    /// The maximum size of all files together that every host accepts, in bytes (SEP-2640, Limits).
    pub const MAX_BYTES: u64 = 16 << 20;

    /// Returns the name. Skills of one server may have the same name; the URI tells them apart.
    #[must_use]
    pub fn name(&self) -> &str {
        text(&self.frontmatter, "name")
    }

    /// Returns the description: what the skill does, and when to use it.
    #[must_use]
    pub fn description(&self) -> &str {
        text(&self.frontmatter, "description")
    }

    /// Checks the rules that can be judged without reading a file: the URI ends in the name and `SKILL.md`, every file
    /// is listed once and lies in the skill's folder, and the limits are kept.
    ///
    /// # Errors
    ///
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.folder().and_then(|folder| folder.rsplit('/').next()) != Some(self.name()) {
            return Err("its URI does not end in its name and `SKILL.md`".into());
        }
        let Some(files) = &self.resources else {
            return Ok(());
        };
        if files.len() > Self::MAX_FILES {
            let most = Self::MAX_FILES;
            return Err(format!("it has {} files, and may have {most}", files.len()));
        }
        let bytes = files
            .iter()
            .fold(0u64, |sum, file| sum.saturating_add(file.size));
        if bytes > Self::MAX_BYTES {
            let most = Self::MAX_BYTES;
            return Err(format!("its files have {bytes} bytes, and may have {most}"));
        }
        let mut seen = BTreeSet::new();
        for file in files {
            if !self.is_below(&file.uri) {
                return Err("a file is not in its folder".into());
            }
            if !seen.insert(&file.uri) {
                return Err("a file is listed twice".into());
            }
        }
        match seen.contains(&self.uri) {
            true => Ok(()),
            false => Err("its `SKILL.md` is not among its files".into()),
        }
    }

    /// Whether a URI lies in the folder of the `SKILL.md`.
    #[must_use]
    pub fn is_below(&self, uri: &str) -> bool {
        let path = self
            .folder()
            .and_then(|folder| uri.strip_prefix(folder)?.strip_prefix('/'));
        path.is_some_and(|path| {
            let is_name = |part: &str| !matches!(part, "" | "." | "..");
            path.split('/').all(is_name) && !path.contains(['\\', '?', '#'])
        })
    }

    fn folder(&self) -> Option<&str> {
        self.uri.strip_suffix("/SKILL.md")
    }
}

fn text<'a>(object: &'a JsonObject, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Reads front matter, which must have a name and a description.
fn front_matter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<JsonObject, D::Error> {
    let read = JsonObject::deserialize(deserializer)?;
    for name in ["name", "description"] {
        if text(&read, name).is_empty() {
            return Err(de::Error::custom(format!(
                "its front matter has no `{name}`"
            )));
        }
    }
    Ok(read)
}

/// The files of a skill, or `"dynamic"`.
mod resources {
    use alloc::vec::Vec;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SkillResource;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged, expecting = "expected a list of files or \"dynamic\"")]
    enum Written<T> {
        Files(T),
        Generated(Generated),
    }

    #[derive(Serialize, Deserialize)]
    enum Generated {
        #[serde(rename = "dynamic")]
        Dynamic,
    }

    pub(super) fn serialize<S: Serializer>(
        files: &Option<Vec<SkillResource>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let written = files
            .as_ref()
            .map_or(Written::Generated(Generated::Dynamic), Written::Files);
        written.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<SkillResource>>, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Files(files) => Some(files),
            Written::Generated(Generated::Dynamic) => None,
        })
    }
}
