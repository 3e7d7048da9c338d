use std::{collections::HashMap, future::pending, sync::Arc};

use askback_core::{
    engine::client::{HostQuestion, QuestionId},
    jsonrpc::ErrorObject,
    protocol::InputResponse,
};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::host::Host;

pub(super) type HostAnswer = Result<InputResponse, ErrorObject>;

#[derive(Default)]
pub(super) struct Questions {
    tasks: JoinSet<HostAnswer>,
    by_id: HashMap<QuestionId, AbortHandle>,
    by_task: HashMap<Id, QuestionId>,
}

impl Questions {
    pub(super) fn ask(&mut self, host: &Arc<Host>, id: QuestionId, question: HostQuestion) {
        let host = Arc::clone(host);
        let task = self.tasks.spawn(async move { host.answer(question).await });
        self.by_task.insert(task.id(), id);
        self.by_id.insert(id, task);
    }

    pub(super) fn withdraw(&mut self, id: QuestionId) {
        if let Some(task) = self.by_id.remove(&id) {
            self.by_task.remove(&task.id());
            task.abort();
        }
    }

    pub(super) fn finish(&mut self, task: Id) -> Option<QuestionId> {
        let question = self.by_task.remove(&task)?;
        self.by_id.remove(&question);
        Some(question)
    }

    pub(super) async fn end(&mut self) {
        self.tasks.shutdown().await;
    }

    pub(super) async fn next(&mut self) -> Result<(Id, HostAnswer), JoinError> {
        match self.tasks.join_next_with_id().await {
            Some(joined) => joined,
            None => pending().await,
        }
    }
}
