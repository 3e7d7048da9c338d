//! Servers: their tools, prompts and resources, and how to serve them.

mod answer;
mod asks;
mod board;
mod budget;
mod call;
mod catalog;
mod checks;
mod complete;
mod connection;
mod described;
mod dispatch;
mod error;
#[cfg(feature = "http-server")]
pub(crate) mod fleet;
#[cfg(feature = "bridge")]
pub(crate) mod forward;
mod handler_scope;
#[cfg(feature = "http-server")]
pub mod http;
mod keys;
mod kinds;
mod live;
pub mod middleware;
mod mount;
mod offer;
mod offers;
mod page;
mod page_cache;
mod prompt;
mod rate;
mod registry;
mod rehearsal;
mod resource;
mod roots;
mod rounds;
mod rules;
mod run;
#[cfg(feature = "oauth-server")]
mod scopes;
mod shared;
#[cfg(feature = "skills")]
mod skill;
mod tasks;
mod tool;
mod trace;

use std::{future::Future, sync::Arc, time::Duration};

use askback_core::{
    ask::Principal,
    engine::server::Profile,
    limits::Limits,
    protocol::{self, CacheScope, Implementation, ServerCapabilities, Signature},
    revision::Revision,
};
use serde::Serialize;

pub use askback_core::engine::server::Change;
pub use complete::{Completer, CompleterParameter, CompletionContext, CompletionRequest};
pub use error::BuildError;
pub use offers::Offers;
pub use prompt::Prompt;
#[cfg(feature = "testing")]
pub(crate) use rehearsal::UNSAFE_REPLAY;
pub use resource::{Resource, ResourceTemplate};
pub use roots::RootsChanged;
pub use run::RunError;
pub(crate) use shared::Shared;
#[cfg(feature = "skills")]
pub use skill::Skill;
pub use tool::Tool;

use self::{
    board::Board,
    budget::Budget,
    catalog::Catalog,
    described::described,
    handler_scope::{HandlerScope, ScopeParts},
    keys::{DefaultStore, Keys},
    live::LiveCatalog,
    middleware::Middleware,
    offer::{Cache, ChangeableLists, Offer},
    page::Pages,
    rate::RateLimit,
    registry::ScopeId,
    shared::TraceParent,
};
#[cfg(feature = "witness")]
use crate::witness::{TrustedKeys, WitnessKey};
use crate::{
    clock::{Clock, SystemClock, millis},
    ctx::{Audience, Changes, RunningCommits},
    error::Result,
    extension::settings,
    keys::KeySource,
    store::Store,
    transport::Channel,
};

/// An MCP server: tools, prompts and resources, ready to be served over any transport to clients of
/// every revision. Cheap to clone.
///
/// ```no_run
/// use askback::{Ctx, Form, Result, RunError, Server, Tool};
///
/// #[derive(Form)]
/// struct Who {
///     /// What should I call you?
///     name: String,
/// }
///
/// async fn greet(ctx: Ctx) -> Result<String> {
///     let who: Who = ctx.elicit("Who are you?").await?.accepted()?;
///     Ok(format!("Hello, {}!", who.name))
/// }
///
/// # async fn serve() -> Result<(), RunError> {
/// Server::new("greeter", "1.0.0").tool(Tool::new("greet", greet)).run_stdio().await
/// # }
/// ```
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Shared>);

/// Builds a [`Server`].
#[must_use = "a builder makes a server when it is built or run"]
pub struct ServerBuilder {
    info: Implementation,
    instructions: Option<String>,
    catalog: Catalog,
    changing: ChangeableLists,
    own: ScopeParts,
    mounted: Vec<ScopeParts>,
    unlimited: bool,
    revisions: Vec<Revision>,
    pages: Pages,
    cache: Cache,
    service: Option<String>,
    keys: KeySource,
    store: Option<Arc<dyn Store>>,
    /// Whether large states go to the store: only if the author set one.
    spills: bool,
    clock: Arc<dyn Clock>,
    seed: Option<[u8; 32]>,
    checks_replay: bool,
    trace_parent: Option<TraceParent>,
    roots_changed: Option<roots::Handler>,
    logs: bool,
    declared: ServerCapabilities,
    #[cfg(feature = "http-server")]
    fleet: Option<fleet::Fleet>,
    #[cfg(feature = "bridge")]
    forward: Option<Arc<dyn forward::Forward>>,
    #[cfg(feature = "witness")]
    trusted_keys: Option<TrustedKeys>,
    wrong: Option<BuildError>,
}

impl Server {
    /// Starts a builder with the server's name and version. The builder takes tools, prompts and
    /// resources, and then runs the server ([`ServerBuilder::run_stdio`]) or builds it
    /// ([`ServerBuilder::build`]).
    #[expect(
        clippy::new_ret_no_self,
        reason = "a server begins with its name, and there is nothing to serve before it is built"
    )]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder {
            info: Implementation::new(name, version),
            instructions: None,
            catalog: Catalog::default(),
            changing: ChangeableLists::default(),
            own: ScopeParts::default(),
            mounted: Vec::new(),
            unlimited: false,
            revisions: Revision::ALL.into_iter().rev().collect(),
            pages: Pages::default(),
            cache: Cache {
                ttl: Duration::ZERO,
                scope: CacheScope::Private,
            },
            service: None,
            keys: KeySource::default(),
            store: None,
            spills: false,
            clock: Arc::new(SystemClock),
            seed: None,
            checks_replay: false,
            trace_parent: None,
            roots_changed: None,
            logs: false,
            declared: ServerCapabilities::default(),
            #[cfg(feature = "http-server")]
            fleet: None,
            #[cfg(feature = "bridge")]
            forward: None,
            #[cfg(feature = "witness")]
            trusted_keys: None,
            wrong: None,
        }
    }

    /// Serves one client over standard input and output, until its input ends.
    ///
    /// On Unix, whatever the program prints meanwhile goes to standard error, where logs belong. On
    /// other systems nothing may print to standard output ([`stdio`](crate::transport::stdio)).
    ///
    /// # Errors
    ///
    /// Fails if standard input or output fails, or if this process has called it before.
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self) -> std::io::Result<()> {
        self.serve_stdio_until(std::future::pending()).await
    }

    /// Like [`Server::serve_stdio`], but [stops](Server::serve_until) when the signal comes.
    ///
    /// # Errors
    ///
    /// As [`Server::serve_stdio`].
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio_until(
        &self,
        signal: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        let channel = crate::transport::stdio(self.0.limits().wire.message_bytes)?;
        connection::serve_apart(Arc::clone(&self.0), channel, signal).await
    }

    /// Serves one client over a channel of messages, until it ends.
    ///
    /// # Errors
    ///
    /// Fails if the channel fails.
    pub async fn serve(&self, channel: Channel) -> std::io::Result<()> {
        self.serve_until(channel, std::future::pending()).await
    }

    /// Serves one client over a channel of messages, until the channel ends or the signal arrives.
    /// After the signal, new calls are refused. Running calls, with their questions, may continue
    /// for [`limits.server.shutdown`](crate::limits::ServerLimits::shutdown); after that they end
    /// with an error that gives the reason. Subscriptions end with their result, and then the
    /// channel ends.
    ///
    /// # Errors
    ///
    /// Fails if the channel fails.
    pub async fn serve_until(
        &self,
        channel: Channel,
        signal: impl Future<Output = ()> + Send,
    ) -> std::io::Result<()> {
        connection::serve(Arc::clone(&self.0), channel, Vec::new(), signal).await
    }

    /// Tells the subscribed clients of all principals that something in the catalog has changed.
    /// For a change that concerns one principal, use [`Server::changed_for`].
    ///
    /// Changes through [`Offers`] are announced automatically. A change to a list is announced only
    /// if the list was declared to change, for example with [`ServerBuilder::changing_tools`].
    pub fn changed(&self, changed: Change) {
        self.0.changed(&changed, Audience::All);
    }

    /// Tells one principal's clients that its list of resources, or the content of one of its
    /// resources, has changed. Clients of other principals are not told, even if they watch the
    /// same URI. The tenant, the issuer and the subject identify the principal.
    ///
    /// ```
    /// # use askback::{Change, Principal, Server};
    /// fn mail_came(server: &Server, to: &Principal) {
    ///     server.changed_for(to, Change::Resource("mail://inbox".to_owned()));
    /// }
    /// ```
    pub fn changed_for(&self, principal: &Principal, changed: Change) {
        self.0.changed(&changed, Audience::only(Some(principal)));
    }

    /// Returns how many bytes the server keeps for its clients now: at most
    /// [`limits.server.kept_bytes`](crate::limits::ServerLimits::kept_bytes). Small data is counted
    /// in steps of 4 KiB.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.0.kept.used()
    }

    /// Returns the capabilities that clients see.
    #[must_use]
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.0.profile.capabilities
    }
}

impl ServerBuilder {
    /// Sets the instructions: how a model should use the server.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool.
    pub fn tool(self, tool: impl Into<Tool>) -> Self {
        self.offer(tool.into())
    }

    /// Adds a prompt.
    pub fn prompt(self, prompt: impl Into<Prompt>) -> Self {
        self.offer(prompt.into())
    }

    /// Adds a resource.
    pub fn resource(self, resource: impl Into<Resource>) -> Self {
        self.offer(resource.into())
    }

    /// Adds a resource template.
    pub fn resource_template(self, template: impl Into<ResourceTemplate>) -> Self {
        self.offer(template.into())
    }

    /// Adds a skill, and its files as resources (SEP-2640). The server then declares the skills extension.
    #[cfg(feature = "skills")]
    pub fn skill(mut self, skill: Skill) -> Self {
        match skill.offer() {
            Ok((skill, files)) => {
                self.catalog.skills.push(Arc::new(skill));
                files.into_iter().fold(self, Self::offer)
            }
            Err(wrong) => {
                self.note(Err(wrong));
                self
            }
        }
    }

    fn offer<T: Offer>(mut self, item: T) -> Self {
        let added = self.catalog.add(item, ScopeId::default());
        self.note(added);
        self
    }

    /// Sets a function that lists dynamic resources. They come after the fixed ones. Announce
    /// changes with [`Server::changed`] or [`Ctx::changed`](crate::Ctx::changed).
    pub fn list_resources<F, Fut>(mut self, lister: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<protocol::Resource>>> + Send + 'static,
    {
        self.catalog
            .listers
            .push(Arc::new(move |_| Box::pin(lister())));
        self
    }

    /// Sets a function that lists dynamic resources for a caller. The caller is known if the server
    /// authenticates it ([`Ctx::principal`](crate::Ctx::principal)). Announce changes to one
    /// principal's list with [`Server::changed_for`] or
    /// [`Ctx::changed_for_caller`](crate::Ctx::changed_for_caller), so that other principals are
    /// not told. This list is never cached for all callers ([`ServerBuilder::cache`]).
    pub fn list_resources_for<F, Fut>(mut self, lister: F) -> Self
    where
        F: Fn(Option<Arc<Principal>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<protocol::Resource>>> + Send + 'static,
    {
        self.catalog
            .listers
            .push(Arc::new(move |principal| Box::pin(lister(principal))));
        self.catalog.lists_of_each = true;
        self
    }

    /// Adds code that runs around each call, inside the middleware that was added before: see
    /// [`middleware`].
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.own.layers.push(Arc::new(middleware));
        self
    }

    /// Removes the rate limit. By default each caller may call each tool and prompt
    /// [`limits.server.calls`](crate::limits::ServerLimits::calls) times within
    /// [`limits.server.calls_window`](crate::limits::ServerLimits::calls_window), and read
    /// resources and complete arguments as often. All unauthenticated callers together may do so
    /// [`limits.server.unknown_calls`](crate::limits::ServerLimits::unknown_calls) times. Servers
    /// must limit calls (2026-07-28, server/tools, Security Considerations), so use this only if
    /// something in front of the server does.
    pub fn without_rate_limit(mut self) -> Self {
        self.unlimited = true;
        self
    }

    /// Declares an extension, by its name and its settings: an object, or `()` for none
    /// (2026-07-28, basic/versioning, Extension Negotiation). Clients of older revisions are not
    /// told.
    ///
    /// [`Ctx::extension`](crate::Ctx::extension) returns whether the client declares it too.
    ///
    /// ```
    /// use askback::Server;
    /// use serde_json::json;
    ///
    /// let server = Server::new("atlas", "1.0.0")
    ///     .extension("com.example/maps", json!({"layers": ["roads", "rivers"]}));
    /// assert!(server.build().is_ok());
    /// ```
    pub fn extension(mut self, name: &str, of: impl Serialize) -> Self {
        let declared = settings(&of).and_then(|of| {
            let declared = self.declared.declare_extension(name, of);
            declared.map_err(|why| why.to_string())
        });
        self.note(declared.map_err(|why| BuildError::Extension {
            name: name.to_owned(),
            why,
        }));
        self
    }

    /// Sets a handler for when a client of a handshake revision says that its roots changed. Use it
    /// to drop cached roots, so that the next call asks again with
    /// [`Ctx::roots`](crate::Ctx::roots).
    ///
    /// Each connection runs it once at a time; notices that come meanwhile run it once more. It may
    /// take [`limits.wire.request`](crate::limits::WireLimits::request). Clients of 2026-07-28 do
    /// not send this notice: there, each call asks.
    pub fn on_roots_changed<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(RootsChanged) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.roots_changed = Some(Arc::new(move |changed| Box::pin(handler(changed))));
        self
    }

    /// Gives handlers shared state, such as a database. A handler that takes a
    /// [`State`](crate::State) of this type gets a clone.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, state: T) -> Self {
        if !self.own.states.add(state) {
            self.note(Err(BuildError::Twice {
                kind: "states",
                name: std::any::type_name::<T>().to_owned(),
            }));
        }
        self
    }

    /// Limits the server to these revisions. By default it supports all of them.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = revisions.into_iter().collect();
        self.revisions.sort_unstable_by(|a, b| b.cmp(a));
        self.revisions.dedup();
        if self.revisions.is_empty() {
            self.note(Err(BuildError::NoRevision));
        }
        self
    }

    /// Sets the [`Limits`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.own.limits = limits;
        self
    }

    /// Lets the server send log messages, which handlers write with [`Ctx::log`](crate::Ctx::log).
    /// By default they are dropped: the feature is deprecated (2026-07-28,
    /// server/utilities/logging), and a server's logs are rarely meant for its clients.
    pub fn logging(mut self) -> Self {
        self.logs = true;
        self
    }

    /// Sets how the span of a request becomes a child of the client's trace. The function gets the
    /// span before it is entered, and the trace context of the request; for OpenTelemetry, use
    /// `set_parent` of `tracing-opentelemetry`. It is not called if the spans have no subscriber.
    pub fn trace_parent(
        mut self,
        parent: impl Fn(&tracing::Span, &protocol::TraceContext) + Send + Sync + 'static,
    ) -> Self {
        self.trace_parent = Some(Arc::new(parent));
        self
    }

    /// Splits lists into pages of this many items.
    pub fn page_size(mut self, size: usize) -> Self {
        self.pages.size = Some(size.max(1));
        self
    }

    /// Lets clients cache lists for this long, and says whether the lists are the same for all
    /// callers (2026-07-28, server/utilities/caching). By default lists are not cached.
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.cache = Cache { ttl, scope };
        self
    }

    /// Sets the name of this service. Processes with the same name and [keys](ServerBuilder::keys)
    /// can open each other's sealed states, and so continue each other's flows. The default is the
    /// server's name.
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Sets the keys of the seal. By default they come from a key file for this service, which is
    /// made on first use. A server that has only served clients in memory, as in tests, makes no
    /// file.
    ///
    /// Processes on several machines with the same keys also need a shared [store](Self::store).
    pub fn keys(mut self, keys: KeySource) -> Self {
        self.keys = keys;
        self
    }

    /// Sets the store for claims of commits, and for states too large for their clients. Without
    /// one, claims are kept in a folder next to the key file
    /// ([`FileStore`](crate::store::FileStore)), and a commit happens at most once on this machine.
    /// If that folder cannot be used, claims and keys are kept in memory, and no call continues
    /// after the process ends.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self.spills = true;
        self
    }

    /// Sets the clock. The default is the system's clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Decides which receipts count for tools that [require a witness](Tool::requires_witness). The
    /// function gets the key of a receipt, and the principal of the call, if the server's
    /// authentication identified one. Trust only keys that you know: any program can make a key.
    #[cfg(feature = "witness")]
    pub fn trust_witness(
        mut self,
        trust: impl Fn(&WitnessKey, Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.trusted_keys = Some(TrustedKeys::new(trust));
        self
    }

    /// Replays each handler before its questions are asked, and fails if it asks something else.
    /// Use it in tests and staging, because effects outside of steps are repeated once more.
    /// [`testing`](crate::testing) always does this.
    pub fn check_replay(mut self, check: bool) -> Self {
        self.checks_replay = check;
        self
    }

    #[cfg(feature = "testing")]
    pub(crate) fn map_store(
        mut self,
        store: impl FnOnce(Option<Arc<dyn Store>>) -> Arc<dyn Store>,
    ) -> Self {
        self.store = Some(store(self.store));
        self
    }

    /// Draws the random values of every flow from this seed, so that tests are repeatable.
    #[cfg(feature = "testing")]
    pub(crate) fn seed(mut self, seed: [u8; 32]) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    ///
    /// Returns the first mistake among the offers and settings.
    pub fn build(mut self) -> Result<Server, BuildError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let layers = self.own.layers.clone();
        let limits = Arc::new(self.own.limits.clone());
        let mounted = self.mounted.into_iter();
        let mounted = mounted.map(|parts| parts.inside(&layers));
        let parts: Vec<_> = [self.own].into_iter().chain(mounted).collect();
        self.catalog.check(self.cache, &parts)?;
        #[cfg(feature = "witness")]
        if self.trusted_keys.is_none()
            && let Some(tool) = self
                .catalog
                .tools
                .entries()
                .iter()
                .find(|it| it.item.requires_witness)
        {
            return Err(BuildError::Witness(tool.item.description.name.clone()));
        }
        let capabilities = self
            .catalog
            .capabilities(self.changing, self.logs, self.declared);
        #[cfg(feature = "bridge")]
        let has_own = !self.catalog.is_empty() || parts.len() > 1 || !parts[0].layers.is_empty();
        #[cfg(feature = "bridge")]
        let capabilities = match &self.forward {
            None => capabilities,
            Some(_) if has_own => return Err(BuildError::Forward),
            Some(to) => to.capabilities(),
        };
        let logs = capabilities.logging.is_some();
        let profile = Profile {
            info: self.info,
            capabilities,
            instructions: self.instructions,
            revisions: self.revisions,
            ttl_ms: i64::try_from(millis(self.cache.ttl)).unwrap_or(i64::MAX),
            limits: Arc::clone(&limits),
            #[cfg(feature = "bridge")]
            forwards: self.forward.is_some(),
            #[cfg(not(feature = "bridge"))]
            forwards: false,
        };
        #[cfg(feature = "http-server")]
        let fleet = match self.fleet {
            None => None,
            Some(_) if matches!(self.keys, KeySource::StateFile) => {
                return Err(BuildError::Fleet(
                    "it needs keys that all its processes share: `ServerBuilder::keys`",
                ));
            }
            Some(_) if self.service.is_none() => {
                return Err(BuildError::Fleet(
                    "it needs a name of its own: `ServerBuilder::service`",
                ));
            }
            Some(_) if self.store.is_none() => {
                return Err(BuildError::Fleet(
                    "it needs a store that all its processes share: `ServerBuilder::store`",
                ));
            }
            Some(fleet) => {
                let node = fleet::Node::new(fleet);
                Some(Arc::new(node.map_err(|_| {
                    BuildError::Fleet("the operating system gives no random numbers")
                })?))
            }
        };
        let service = self.service.unwrap_or_else(|| profile.info.name.clone());
        let (given, store_bytes) = (self.store.clone(), limits.asking.store_bytes);
        let keys = Arc::new(Keys::new(service.clone(), self.keys, given, store_bytes));
        if self.seed.is_none() {
            keys.warn();
        }
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(DefaultStore(Arc::clone(&keys))));
        let clock = self.clock;
        let commits = RunningCommits::default();
        let handler_scopes = parts.into_iter();
        let handler_scopes: Vec<_> = handler_scopes
            .map(|parts| HandlerScope::new(parts, &clock, &store, &commits, logs))
            .collect();
        Ok(Server(Arc::new(Shared {
            signature: Signature::new(&profile.info),
            service,
            profile: Arc::new(profile),
            catalog: LiveCatalog::new(self.catalog),
            changing: self.changing,
            changes: Changes::new(limits.server.change_delay),
            pages: self.pages,
            cache: self.cache,
            keys,
            commits,
            spills: self.spills,
            seed: self.seed,
            checks_replay: self.checks_replay,
            trace_parent: self.trace_parent,
            roots_changed: self.roots_changed,
            backing: Arc::clone(&handler_scopes[0].backing),
            handler_scopes,
            rate: (!self.unlimited).then(|| RateLimit::new(&limits)),
            tasks: Board::new(&limits),
            kept: Budget::of_bytes(&limits),
            #[cfg(feature = "http-server")]
            fleet,
            #[cfg(feature = "bridge")]
            forward: self.forward,
            #[cfg(feature = "witness")]
            trusted_keys: self.trusted_keys,
        })))
    }

    /// Makes the server one process of a fleet, over HTTP: see [`Fleet`](fleet::Fleet).
    ///
    /// It needs [keys](Self::keys), a [service](Self::service) and a [store](Self::store) that all processes share.
    #[cfg(feature = "http-server")]
    pub fn fleet(mut self, fleet: fleet::Fleet) -> Self {
        self.fleet = Some(fleet);
        // The first question then shows whether a handler can be replayed.
        self.checks_replay |= cfg!(debug_assertions);
        self
    }

    fn note(&mut self, result: Result<(), BuildError>) {
        if let Err(wrong) = result {
            self.wrong.get_or_insert(wrong);
        }
    }
}

described!(ServerBuilder.info: "Sets the description of what it is.");
