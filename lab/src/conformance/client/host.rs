//! Who answers what the suite's servers ask.

use askback::{
    client::{Answering, Host, HostQuestion},
    protocol::{
        ClientCapabilities, CreateMessageResult, ElicitParams, ElicitResult, ElicitationCapability,
        InputRequest, InputResponse, ListRootsResult, Root, RootsCapability, SamplingCapability,
    },
};

/// Says yes to everything, and leaves every form as it was filled in beforehand.
pub(super) struct Yes;

impl Host for Yes {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation: Some(ElicitationCapability::default()),
            roots: Some(RootsCapability::default()),
            sampling: Some(SamplingCapability::default()),
            ..ClientCapabilities::default()
        }
    }

    fn answer(&self, question: HostQuestion) -> Answering<'_> {
        let answer = match question.request {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                let content = form.requested_schema.with_defaults(Default::default());
                InputResponse::Elicit(ElicitResult::accept(content))
            }
            InputRequest::Elicit(ElicitParams::Url(_)) => {
                InputResponse::Elicit(ElicitResult::agree())
            }
            InputRequest::Sample(_) => {
                InputResponse::Sample(Box::new(CreateMessageResult::text("parrot", "Yes.")))
            }
            InputRequest::Roots(_) => InputResponse::Roots(ListRootsResult {
                roots: vec![Root::new("file:///conformance")],
                ..ListRootsResult::default()
            }),
        };
        Box::pin(async { Ok(answer) })
    }
}
