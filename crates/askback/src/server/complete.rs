//! Completing an argument while it is typed.

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    sync::Arc,
};

use askback_core::{
    ask::Principal,
    forms::{FieldKind, FormSchema},
    protocol::Completion,
};

use super::BuildError;
use crate::{error::Result, flow::BoxFuture};

/// What is to be completed.
#[derive(Debug, Clone)]
pub struct Completing {
    /// What was typed so far.
    pub value: String,
    /// The other arguments, as far as they are known.
    pub arguments: BTreeMap<String, String>,
    /// Who types, where the server has found out; see [`Ctx::principal`](crate::Ctx::principal).
    pub principal: Option<Arc<Principal>>,
}

/// Completes one argument.
type Completer = Arc<dyn Fn(Completing) -> BoxFuture<'static, Result<Vec<String>>> + Send + Sync>;

/// The completers of a prompt or a resource template, by argument.
#[derive(Clone, Default)]
pub(super) struct Completers {
    given: HashMap<String, Completer>,
    /// The options of choices complete themselves.
    options: HashMap<String, Vec<String>>,
}

impl Completers {
    pub(super) fn of(form: Option<&FormSchema>) -> Self {
        let fields = form.into_iter().flat_map(|form| &form.fields);
        let options = fields.filter_map(|field| {
            let options = match &field.kind {
                FieldKind::Choice(choice) => &choice.options,
                _ => return None,
            };
            let values = options.iter().map(|option| option.value.clone()).collect();
            Some((field.name.clone(), values))
        });
        Self {
            given: HashMap::new(),
            options: options.collect(),
        }
    }

    pub(super) fn add<F, Fut>(&mut self, argument: String, completer: F)
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>>> + Send + 'static,
    {
        self.given.insert(
            argument,
            Arc::new(move |completing| Box::pin(completer(completing))),
        );
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty() && self.options.is_empty()
    }

    /// Checks that what is completed is an argument of the thing of this name.
    pub(super) fn check(
        &self,
        name: &str,
        is_argument: impl Fn(&str) -> bool,
    ) -> Result<(), BuildError> {
        match self.given.keys().find(|argument| !is_argument(argument)) {
            Some(argument) => Err(BuildError::Completer {
                name: name.to_owned(),
                argument: argument.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Completes an argument; one without a completer has no completions.
    pub(super) async fn complete(
        &self,
        argument: &str,
        completing: Completing,
        most: usize,
    ) -> Result<Completion> {
        let mut values = if let Some(completer) = self.given.get(argument) {
            completer(completing).await?
        } else {
            let options = self.options.get(argument).into_iter().flatten();
            let typed = completing.value.to_lowercase();
            options
                .filter(|option| option.to_lowercase().starts_with(&typed))
                .cloned()
                .collect()
        };
        let total = values.len();
        values.truncate(most);
        Ok(Completion {
            values,
            total: u64::try_from(total).ok(),
            has_more: Some(total > most),
        })
    }
}
