//! Completes an argument while it is typed.

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
use crate::{
    ctx::{Parameters, States},
    error::Result,
    flow::BoxFuture,
    handler::{Extract, State},
};

/// An argument to complete.
#[derive(Debug, Clone)]
pub struct CompletionRequest {
    /// The text typed so far.
    pub value: String,
    /// The other arguments that the client sent.
    pub arguments: BTreeMap<String, String>,
    /// The principal, if the server's authentication identified one; see
    /// [`Ctx::principal`](crate::Ctx::principal).
    pub principal: Option<Arc<Principal>>,
}

/// An async function that completes an argument. It takes the [`CompletionRequest`], any number of
/// [`State`]s, or both in any order.
///
/// `Marker` distinguishes functions with different parameters and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not complete an argument",
    note = "a completer is an `async fn` that returns `askback::Result<Vec<String>>`; its parameters \
            are `CompletionRequest` or `State<_>`, of types that are written out"
)]
pub trait Completer<Marker>: Clone + Send + Sync + 'static {
    /// Declares the state that its parameters need.
    fn parameters() -> Parameters;

    /// Returns the completions.
    fn complete(&self, typed: &CompletionContext<'_>) -> BoxFuture<'static, Result<Vec<String>>>;
}

/// A parameter of a [`Completer`].
pub trait CompleterParameter: Sized + Send + 'static {
    /// Declares what it needs from the server.
    fn describe(parameters: &mut Parameters) {
        let _ = parameters;
    }

    /// Extracts the parameter.
    ///
    /// # Errors
    ///
    /// Fails if the server does not have it.
    fn extract(typed: &CompletionContext<'_>) -> Result<Self>;
}

/// The source of a completer's parameters.
pub struct CompletionContext<'a> {
    completing: CompletionRequest,
    states: &'a States,
}

impl CompleterParameter for CompletionRequest {
    fn extract(typed: &CompletionContext<'_>) -> Result<Self> {
        Ok(typed.completing.clone())
    }
}

impl<T: Clone + Send + Sync + 'static> CompleterParameter for State<T> {
    fn describe(parameters: &mut Parameters) {
        <Self as Extract>::describe(parameters);
    }

    fn extract(typed: &CompletionContext<'_>) -> Result<Self> {
        Self::among(typed.states)
    }
}

macro_rules! completer {
    ($($parameter:ident),*) => {
        impl<F, Fut, $($parameter),*> Completer<fn($($parameter),*)> for F
        where
            F: Fn($($parameter),*) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future<Output = Result<Vec<String>>> + Send + 'static,
            $($parameter: CompleterParameter),*
        {
            #[allow(unused_mut, reason = "a completer without parameters wants nothing")]
            fn parameters() -> Parameters {
                let mut parameters = Parameters::default();
                $($parameter::describe(&mut parameters);)*
                parameters
            }

            #[allow(unused_variables, reason = "a completer without parameters takes nothing")]
            fn complete(&self, typed: &CompletionContext<'_>) -> BoxFuture<'static, Result<Vec<String>>> {
                let begin = || -> Result<Fut> { Ok(self($($parameter::extract(typed)?),*)) };
                match begin() {
                    Ok(completing) => Box::pin(completing),
                    Err(error) => Box::pin(std::future::ready(Err(error))),
                }
            }
        }
    };
}

completer!();
completer!(A);
completer!(A, B);
completer!(A, B, C);
completer!(A, B, C, D);

type CompleteFn =
    dyn Fn(&CompletionContext<'_>) -> BoxFuture<'static, Result<Vec<String>>> + Send + Sync;

#[derive(Clone)]
struct ErasedCompleter {
    run: Arc<CompleteFn>,
    parameters: Arc<Parameters>,
}

#[derive(Clone, Default)]
pub(super) struct Completers {
    given: HashMap<String, ErasedCompleter>,
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

    pub(super) fn add<M, C: Completer<M>>(&mut self, argument: String, completer: C) {
        let given = ErasedCompleter {
            run: Arc::new(move |typed| completer.complete(typed)),
            parameters: Arc::new(C::parameters()),
        };
        self.given.insert(argument, given);
    }

    pub(super) fn parameters(&self) -> impl Iterator<Item = &Parameters> {
        self.given.values().map(|given| &*given.parameters)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty() && self.options.is_empty()
    }

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

    pub(super) async fn complete(
        &self,
        argument: &str,
        completing: CompletionRequest,
        states: &States,
        most: usize,
    ) -> Result<Completion> {
        let mut values = if let Some(given) = self.given.get(argument) {
            (given.run)(&CompletionContext { completing, states }).await?
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
