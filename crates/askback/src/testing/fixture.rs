use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Trial,
    bench::{EffectCounter, Stage},
};
use crate::server::ServerBuilder;

type CountFn<F> = Arc<dyn Fn(&F) -> usize + Send + Sync>;

/// Calls a tool. `server` builds the server each time it is started.
///
/// The trial sets the clock, the keys and, if the server has none, the store.
pub fn call<S>(server: S, tool: &str, arguments: Value) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    plain(server).call(tool, arguments)
}

/// Gets a prompt, like [`call`] for a tool.
pub fn prompt<S>(server: S, name: &str, arguments: Value) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    plain(server).prompt(name, arguments)
}

/// Reads a resource, like [`call`] for a tool.
pub fn read<S>(server: S, uri: &str) -> Trial
where
    S: Fn() -> ServerBuilder + Send + Sync + 'static,
{
    plain(server).read(uri)
}

fn plain(server: impl Fn() -> ServerBuilder + Send + Sync + 'static) -> Fixture<()> {
    Fixture::new(|| (), move |()| server())
}

/// The start of each run of a trial, such as an empty database, and the server that uses it. All server processes of a
/// run get the same fixture.
///
/// With [`effects`](Fixture::effects), a trial detects an effect that happened twice even if all results are the same.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering::Relaxed}};
/// use askback::{Ctx, Result, Server, ServerBuilder, State, Tool, testing::{Fixture, Person}};
/// use serde_json::json;
///
/// type Sent = Arc<AtomicUsize>;
///
/// async fn invite(ctx: Ctx, State(sent): State<Sent>) -> Result<&'static str> {
///     if !ctx.confirm("Send the invitation?").await? {
///         return Ok("Nothing was sent.");
///     }
///     // In a `ctx.run`, or in none, it would be sent twice where the client repeats its answer.
///     ctx.commit("send", async move || Ok(sent.fetch_add(1, Relaxed))).await?;
///     Ok("It is sent.")
/// }
///
/// fn office(sent: &Sent) -> ServerBuilder {
///     Server::new("office", "1.0.0").state(Arc::clone(sent)).tool(Tool::new("invite", invite))
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let trial = Fixture::new(Sent::default, office)
///     .effects(|sent| sent.load(Relaxed))
///     .call("invite", json!({}))
///     .with(Person::new().answer("confirm", json!({"confirm": true})));
/// let report = trial.in_every_revision().await;
/// assert_eq!(report.assert_same().effects, Some(1));
/// # }
/// ```
#[must_use = "a fixture is for a trial"]
pub struct Fixture<F> {
    make: Arc<dyn Fn() -> F + Send + Sync>,
    server: Arc<dyn Fn(&F) -> ServerBuilder + Send + Sync>,
    effects: Option<CountFn<F>>,
}

impl<F: Send + Sync + 'static> Fixture<F> {
    /// Creates a fixture. `make` is called once per run, and `server` each time the server is started.
    pub fn new(
        make: impl Fn() -> F + Send + Sync + 'static,
        server: impl Fn(&F) -> ServerBuilder + Send + Sync + 'static,
    ) -> Self {
        Self {
            make: Arc::new(make),
            server: Arc::new(server),
            effects: None,
        }
    }

    /// Sets how to count a run's effects when it has ended, such as the rows of a table or the mails sent. All runs
    /// must have the same number.
    pub fn effects(mut self, count: impl Fn(&F) -> usize + Send + Sync + 'static) -> Self {
        self.effects = Some(Arc::new(count));
        self
    }

    /// Calls a tool, like [`call`](super::call).
    pub fn call(&self, tool: &str, arguments: Value) -> Trial {
        self.trial("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Gets a prompt, like [`prompt`](super::prompt).
    pub fn prompt(&self, name: &str, arguments: Value) -> Trial {
        self.trial("prompts/get", json!({"name": name, "arguments": arguments}))
    }

    /// Reads a resource, like [`read`](super::read).
    pub fn read(&self, uri: &str) -> Trial {
        self.trial("resources/read", json!({"uri": uri}))
    }

    fn trial(&self, method: &'static str, params: Value) -> Trial {
        let Self {
            make,
            server,
            effects,
        } = self.clone();
        let stage = move || {
            let fixture = Arc::new(make());
            let counted = Arc::clone(&fixture);
            let server = Arc::clone(&server);
            Stage {
                server: Box::new(move || server(&fixture)),
                effects: effects
                    .clone()
                    .map(|count| -> EffectCounter { Box::new(move || count(&counted)) }),
            }
        };
        Trial::new(stage, method, params)
    }
}

impl<F> Clone for Fixture<F> {
    fn clone(&self) -> Self {
        Self {
            make: Arc::clone(&self.make),
            server: Arc::clone(&self.server),
            effects: self.effects.clone(),
        }
    }
}
