use super::{Extract, Extraction};
use crate::{
    ctx::{Ctx, Parameters, StateType, States},
    error::Result,
};

/// A handler parameter: shared state of the server, such as a database or the client of another service.
///
/// ```
/// use askback::{Result, Server, State, Tool, server::BuildError};
///
/// #[derive(Clone)]
/// struct Rates(u32);
///
/// async fn price(State(rates): State<Rates>) -> Result<String> {
///     Ok(format!("{} a night", rates.0))
/// }
///
/// fn server() -> Result<Server, BuildError> {
///     let server = Server::new("agency", "1.0.0").state(Rates(120));
///     server.tool(Tool::new("price", price)).build()
/// }
/// # server().unwrap();
/// ```
///
/// Each handler gets a clone. Building the server fails if a handler takes a type that was not passed to
/// [`ServerBuilder::state`](crate::ServerBuilder::state).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State<T>(pub T);

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> Extract for State<T> {
    fn describe(parameters: &mut Parameters) {
        parameters.states.push(StateType::of::<T>());
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Ready(Self::among(ctx.states()))
    }
}

impl<T: Clone + 'static> State<T> {
    pub(crate) fn among(states: &States) -> Result<Self> {
        // The server is not built if a state is missing.
        states.require().map(Self)
    }
}
