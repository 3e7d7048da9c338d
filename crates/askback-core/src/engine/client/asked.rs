//! A question that the host is asked for a call.

use alloc::{boxed::Box, format, string::String};

use super::{CallId, CallTarget, Greeting, HostQuestion, QuestionId, question::check_answer};
use crate::{
    limits::Limits,
    protocol::{ElicitParams, ElicitUrlParams, InputRequest, InputResponse},
};

/// A question of a round.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: QuestionId,
    pub(super) key: Option<String>,
    pub(super) request: InputRequest,
    /// How much it takes.
    pub(super) bytes: usize,
    pub(super) answer: Option<InputResponse>,
}

impl Asked {
    pub(super) fn link(id: QuestionId, link: ElicitUrlParams) -> Self {
        let bytes = link_bytes(&link);
        Self {
            id,
            key: None,
            request: InputRequest::Elicit(ElicitParams::Url(link)),
            bytes,
            answer: None,
        }
    }

    /// The question as the host is asked it.
    pub(super) fn question(
        &self,
        greeting: &Greeting,
        call: CallId,
        target: Option<CallTarget>,
        retried: bool,
    ) -> Box<HostQuestion> {
        Box::new(HostQuestion {
            server: greeting.server.clone(),
            call: Some(call),
            target,
            key: self.key.clone(),
            request: self.request.clone(),
            retried,
        })
    }

    pub(super) fn check(
        &self,
        answer: InputResponse,
        limits: &Limits,
    ) -> Result<InputResponse, String> {
        check_answer(&self.request, answer, limits).map_err(|why| match &self.key {
            Some(key) => format!("its answer to {key:?} cannot be sent: {why}"),
            None => format!("its answer cannot be sent: {why}"),
        })
    }
}

pub(super) fn link_bytes(link: &ElicitUrlParams) -> usize {
    let id = link.elicitation_id.as_ref().map_or(0, String::len);
    link.url.len() + link.message.len() + id
}
