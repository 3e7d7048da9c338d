//! The description of a client that goes with each request, where each request stands alone: written
//! once for all of them (2026-07-28, basic/index, `_meta`).

use alloc::{borrow::ToOwned, string::String, sync::Arc};

use super::Profile;
use crate::{
    jsonrpc::RequestId,
    protocol::{HasMeta, LoggingLevel, Meta, RawJson, RequestParams},
    revision::Revision,
    wire,
};

/// The description of a client as it stands in the `_meta` of its requests.
#[derive(Debug)]
pub(super) struct Introduction {
    revision: Revision,
    log_level: Option<LoggingLevel>,
    members: String,
}

/// The `_meta` of a request that stands alone, as it is written.
#[derive(Debug, Clone)]
pub struct SentMeta {
    introduction: Arc<Introduction>,
    /// The name to tell of progress under.
    progress_token: Option<RequestId>,
    /// The members that the caller wrote there beside.
    own: String,
}

/// The introduction that was written last.
#[derive(Debug, Default)]
pub(super) struct LastIntroduction(Option<Arc<Introduction>>);

impl LastIntroduction {
    /// Returns what to say; written anew only where it is something else than before.
    pub(super) fn get(
        &mut self,
        profile: &Profile,
        revision: Revision,
        log_level: Option<LoggingLevel>,
    ) -> Arc<Introduction> {
        match &self.0 {
            Some(last) if (last.revision, last.log_level) == (revision, log_level) => {
                Arc::clone(last)
            }
            _ => {
                let new = Introduction::new(profile, revision, log_level);
                Arc::clone(self.0.insert(Arc::new(new)))
            }
        }
    }
}

impl Introduction {
    pub(super) fn new(
        profile: &Profile,
        revision: Revision,
        log_level: Option<LoggingLevel>,
    ) -> Self {
        let meta = Meta {
            protocol_version: Some(revision.as_str().to_owned()),
            client_info: Some(profile.info.clone()),
            client_capabilities: Some(profile.capabilities.clone()),
            log_level,
            ..Meta::default()
        };
        Self {
            revision,
            log_level,
            members: members(meta, revision),
        }
    }
}

impl SentMeta {
    /// The `_meta` of one request. Of what its caller wrote, nothing stands that the engine says itself.
    pub(super) fn new(
        introduction: Arc<Introduction>,
        progress_token: Option<RequestId>,
        own: Option<&Meta>,
    ) -> Self {
        let own = own.map(|own| Meta {
            progress_token: None,
            protocol_version: None,
            client_info: None,
            client_capabilities: None,
            log_level: None,
            ..own.clone()
        });
        let own = own.map(|own| members(own, introduction.revision));
        Self {
            introduction,
            progress_token,
            own: own.unwrap_or_default(),
        }
    }

    /// The same, but that nobody wants to be told of progress.
    pub(super) fn without_progress(&self) -> Self {
        Self {
            progress_token: None,
            ..self.clone()
        }
    }

    /// The revision it names.
    pub(super) fn revision(&self) -> Revision {
        self.introduction.revision
    }

    /// Its members, as text without the braces around them.
    pub(super) fn members(&self) -> String {
        // The name of the token, and a number.
        let around = 48;
        let known = &self.introduction.members;
        let mut members = String::with_capacity(around + known.len() + self.own.len());
        if let Some(token) = &self.progress_token {
            for part in [r#""progressToken":"#, &token.to_json(), ","] {
                members.push_str(part);
            }
        }
        members.push_str(known);
        if !self.own.is_empty() {
            members.push(',');
            members.push_str(&self.own);
        }
        members
    }
}

/// The members of a `_meta` in the words of a revision, as text without the braces around them.
fn members(meta: Meta, revision: Revision) -> String {
    let mut params = RequestParams { meta: meta.boxed() };
    wire::lower_in_place(&mut params, revision);
    let Some(meta) = params.meta() else {
        return String::new();
    };
    let json = RawJson::new(meta).expect("keys are texts");
    let text = json.as_str();
    text[1..text.len() - 1].to_owned()
}
