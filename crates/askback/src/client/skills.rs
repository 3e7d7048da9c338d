//! Skills of servers, whose files are checked against their entry (SEP-2640).

use askback_core::protocol::{
    ClientRequest, GetSkillParams, GetSkillResult, ListSkillsResult, OtherRequest,
    ReadResourceParams, ReadResourceResult, ResourceContents, ResultWithEntries, SKILLS_EXTENSION,
    Skill,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::value::to_raw_value;

use super::{
    Client, ClientError, List,
    received::{read, unreadable},
};
use crate::skill_file::{digest, front_matter};

/// A file of a skill cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The file could not be read.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server's entry of the skill breaks the rules of SEP-2640.
    #[error("the skill cannot be used: {0}")]
    Entry(String),
    /// The skill does not list the file, or a skill with dynamic resources has it outside of its folder. If the server has
    /// added the file, [get the skill](Client::skill) again, and have the user agree to it again.
    #[error("the skill does not list the file")]
    Unlisted,
    /// The file is not what the entry of the skill says. If the server has changed it, [get the skill](Client::skill)
    /// again, and have the user agree to it again.
    #[error("the file is not what the entry of its skill says: {0}")]
    Different(String),
}

impl Client {
    /// Returns all skills that the server lists; an empty list if it does not declare the extension. A server may serve
    /// skills that it does not list: see [`Client::skill`]. Invalid entries are [left out](List::left_out).
    ///
    /// A skill is text from the server for a model: untrusted input, which needs the consent of the user before a
    /// program acts on it (SEP-2640, Security Considerations). Identify it by its server and its URI, not its name.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn skills(&self) -> Result<List<Skill>, ClientError> {
        match self.has_skills() {
            true => self.pages::<ListSkillsResult>().await,
            false => Ok(List::default()),
        }
    }

    /// Whether the server declares the skills extension, in a revision that has extensions.
    #[must_use]
    pub fn has_skills(&self) -> bool {
        self.revision().facts().extensions && self.extension(SKILLS_EXTENSION).is_some()
    }

    /// Gets the skill with this URI of a `SKILL.md`, whether the server lists it or not.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unsupported`] if the server does not declare the extension, and [`ClientError::Server`] if it has
    /// no such skill; see [`ClientError`].
    pub async fn skill(&self, uri: &str) -> Result<Skill, ClientError> {
        let params = GetSkillParams {
            uri: uri.to_owned(),
            ..GetSkillParams::default()
        };
        let raw = self.request(ClientRequest::GetSkill(params)).await?;
        let skill = read::<GetSkillResult>(&raw)?.skill;
        match skill.uri == uri {
            true => Ok(skill),
            false => Err(ClientError::Protocol("it sent another skill".to_owned())),
        }
    }

    /// Reads a file of a skill, by the URI of the file, and [checks](check_skill_file) it. The client's cache is not
    /// used.
    ///
    /// ```
    /// # use askback::client::{Client, SkillError};
    /// # async fn load(client: Client) -> Result<(), SkillError> {
    /// let skill = client.skill("skill://refunds/SKILL.md").await?;
    /// let instructions = client.read_skill_file(&skill, &skill.uri).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// See [`SkillError`].
    pub async fn read_skill_file(&self, skill: &Skill, uri: &str) -> Result<Vec<u8>, SkillError> {
        check_listed(skill, uri)?;
        let params = ReadResourceParams {
            uri: uri.to_owned(),
            ..ReadResourceParams::default()
        };
        let request = to_raw_value(&params)
            .map_err(|error| error.to_string())
            .and_then(|params| {
                OtherRequest::new("resources/read", Some(&params)).map_err(|error| error.message)
            });
        let request = request.map_err(ClientError::Protocol)?;
        let raw = self.request(request.into()).await?;
        let result = ReadResourceResult::from_text(raw.get());
        check_skill_file(
            skill,
            uri,
            &result.map_err(|error| unreadable(&error, &raw))?,
        )
    }
}

/// Returns the content of a file of a skill that was read as a resource, if it is what the skill's entry says: its size,
/// its digest, and for the `SKILL.md` the front matter. The files of a skill with dynamic resources have no size and no
/// digest to check. This proves only that the entry and the file fit together; both come from the same server.
///
/// # Errors
///
/// See [`SkillError`].
pub fn check_skill_file(
    skill: &Skill,
    uri: &str,
    result: &ReadResourceResult,
) -> Result<Vec<u8>, SkillError> {
    check_listed(skill, uri)?;
    let different = |why: &str| SkillError::Different(why.to_owned());
    let [contents] = &result.contents[..] else {
        return Err(different("expected one content"));
    };
    if contents.uri() != uri || !result.left_out.is_empty() {
        return Err(different("expected the content of this file alone"));
    }
    let content = match contents {
        ResourceContents::Text(text) => text.text.clone().into_bytes(),
        ResourceContents::Blob(blob) => {
            let decoded = STANDARD.decode(&blob.blob);
            decoded.map_err(|_| different("its content is not base64"))?
        }
    };
    let listed = skill
        .resources
        .iter()
        .flatten()
        .find(|file| file.uri == uri);
    if let Some(file) = listed {
        if file.size != content.len() as u64 {
            let (size, len) = (file.size, content.len());
            return Err(different(&format!("expected {size} bytes, got {len}")));
        }
        if file.digest != digest(&content) {
            return Err(different("its digest differs"));
        }
    }
    if uri == skill.uri {
        let text = std::str::from_utf8(&content).map_err(|_| different("it is not UTF-8"))?;
        if front_matter(text).map_err(|why| different(&why))? != skill.frontmatter {
            return Err(different("its front matter differs"));
        }
    }
    Ok(content)
}

fn check_listed(skill: &Skill, uri: &str) -> Result<(), SkillError> {
    skill.check().map_err(SkillError::Entry)?;
    let is_listed = match &skill.resources {
        Some(files) => files.iter().any(|file| file.uri == uri),
        None => skill.is_below(uri),
    };
    is_listed.then_some(()).ok_or(SkillError::Unlisted)
}
