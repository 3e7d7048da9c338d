//! The functions that answer a server's questions, and the capabilities they imply.

use std::{future::Future, sync::Arc};

use askback_core::{
    engine::client::{Event, HostQuestion},
    future::BoxFuture,
    jsonrpc::ErrorObject,
    protocol::{
        ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitFormParams,
        ElicitParams, ElicitResult, ElicitUrlParams, ElicitationCapability, InputRequest,
        InputResponse, JsonObject, ListRootsResult, RequestParams, Root, RootsCapability,
        SamplingCapability,
    },
};

use crate::{
    error::{Error, Result},
    transport::Observer,
};

type Answerer<Q, A> = Arc<dyn Fn(HostQuestion<Q>) -> BoxFuture<'static, Result<A>> + Send + Sync>;

/// The host's functions, one for each kind of question. A kind without a function is not declared, so no server asks
/// it.
#[derive(Clone, Default)]
pub(super) struct Host {
    pub(super) elicit: Option<Answerer<ElicitFormParams, ElicitResult>>,
    pub(super) elicit_url: Option<Answerer<ElicitUrlParams, ElicitResult>>,
    pub(super) sample: Option<Answerer<CreateMessageParams, CreateMessageResult>>,
    pub(super) roots: Option<Answerer<RequestParams, Vec<Root>>>,
    pub(super) event: Option<Arc<dyn Fn(Event) + Send + Sync>>,
    pub(super) wire: Option<Observer>,
    pub(super) sampling: SamplingCapability,
}

pub(super) fn answerer<Q, A, Fut>(
    answer: impl Fn(HostQuestion<Q>) -> Fut + Send + Sync + 'static,
) -> Option<Answerer<Q, A>>
where
    Fut: Future<Output = Result<A>> + Send + 'static,
{
    Some(Arc::new(move |question| Box::pin(answer(question))))
}

impl Host {
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        let mode = |is_there: bool| is_there.then(JsonObject::new);
        let elicits = self.elicit.is_some() || self.elicit_url.is_some();
        ClientCapabilities {
            elicitation: elicits.then(|| ElicitationCapability {
                form: mode(self.elicit.is_some()),
                url: mode(self.elicit_url.is_some()),
            }),
            sampling: self.sample.as_ref().map(|_| self.sampling.clone()),
            roots: self.roots.as_ref().map(|_| RootsCapability {
                list_changed: Some(true),
            }),
            ..ClientCapabilities::default()
        }
    }

    pub(super) async fn answer(
        &self,
        question: HostQuestion,
    ) -> std::result::Result<InputResponse, ErrorObject> {
        let request = question.request.clone();
        let answer = match request {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                let (answer, question) = (self.elicit.as_ref(), question.with(form));
                put(answer, question, InputResponse::Elicit).await
            }
            InputRequest::Elicit(ElicitParams::Url(link)) => {
                let (answer, question) = (self.elicit_url.as_ref(), question.with(link));
                put(answer, question, InputResponse::Elicit).await
            }
            InputRequest::Sample(params) => {
                let sampled = |message| InputResponse::Sample(Box::new(message));
                put(self.sample.as_ref(), question.with(*params), sampled).await
            }
            InputRequest::Roots(params) => {
                let listed = |roots| InputResponse::Roots(ListRootsResult { roots, meta: None });
                put(self.roots.as_ref(), question.with(params), listed).await
            }
        };
        answer.map_err(Error::into_answer)
    }

    pub(super) fn event(&self, event: Event) {
        if let Some(hear) = &self.event {
            hear(event);
        }
    }
}

async fn put<Q, A>(
    answer: Option<&Answerer<Q, A>>,
    question: HostQuestion<Q>,
    response: impl FnOnce(A) -> InputResponse,
) -> Result<InputResponse> {
    match answer {
        Some(answer) => answer(question).await.map(response),
        None => Err(Error::new("the client answers no such question")),
    }
}
