//! What a server gives its handlers of its own: a database, a client of some service.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
};

use super::{Extract, Extraction, Parameters};
use crate::{ctx::Ctx, error::Error};

/// Something of the server's own, such as a database or the client of another service: a parameter
/// of a handler.
///
/// ```
/// use askback::{BuildError, Result, Server, State, Tool};
///
/// #[derive(Clone)]
/// struct Rates(u32);
///
/// async fn price(State(rates): State<Rates>) -> Result<String> {
///     Ok(format!("{} a night", rates.0))
/// }
///
/// fn server() -> Result<Server, BuildError> {
///     let server = Server::builder("agency", "1.0.0").state(Rates(120));
///     server.tool(Tool::new("price", price)).build()
/// }
/// # server().unwrap();
/// ```
///
/// Each handler gets a clone. A server is not built while a handler takes a state that
/// [`ServerBuilder::state`](crate::ServerBuilder::state) was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State<T>(pub T);

/// The states of a server, one of each type.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

/// A state that a handler takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateType {
    id: TypeId,
    /// The name of the type, for messages.
    pub(crate) name: &'static str,
}

impl States {
    /// Adds a state; false where there is one of this type already.
    pub(crate) fn add<T: Send + Sync + 'static>(&mut self, state: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Box::new(state)).is_none()
    }

    pub(crate) fn has(&self, state: StateType) -> bool {
        self.0.contains_key(&state.id)
    }

    fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref().cloned()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> Extract for State<T> {
    fn describe(parameters: &mut Parameters) {
        parameters.states.push(StateType {
            id: TypeId::of::<T>(),
            name: type_name::<T>(),
        });
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        let state = ctx.states().get().map(Self);
        // A server is built only with all that its handlers take.
        let missing = || Error::new(format!("the server has no {}", type_name::<T>()));
        Extraction::Ready(state.ok_or_else(missing))
    }
}
