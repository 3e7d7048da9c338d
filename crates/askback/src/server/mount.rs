//! Servers made of others.

use std::sync::Arc;

use askback_core::limits::Limits;

use super::{
    Prompt, Resource, ResourceTemplate, ServerBuilder, Tool,
    catalog::Catalog,
    middleware::Layer,
    offer::Offer,
    registry::{Home, Registry},
    roots,
};
use crate::{
    clock::Clock,
    ctx::{Backing, States},
    store::Store,
};

/// The parts that the handlers of one server have for themselves, before it is built: also where it
/// is mounted on another.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) states: States,
    pub(super) limits: Limits,
    pub(super) layers: Vec<Layer>,
}

/// The parts that the handlers of one server have for themselves.
pub(super) struct Household {
    pub(super) backing: Arc<Backing>,
    /// The middleware around their calls, the outermost first.
    pub(super) layers: Vec<Layer>,
}

impl Parts {
    /// The same with middleware of another server around its own.
    pub(super) fn inside(mut self, layers: &[Layer]) -> Self {
        self.layers.splice(0..0, layers.iter().cloned());
        self
    }
}

impl Household {
    pub(super) fn new(
        parts: Parts,
        clock: &Arc<dyn Clock>,
        store: &Arc<dyn Store>,
        logs: bool,
    ) -> Self {
        let (clock, store) = (Arc::clone(clock), Arc::clone(store));
        let backing = Backing::new(Arc::new(parts.limits), parts.states, clock, logs, store);
        Self {
            backing: Arc::new(backing),
            layers: parts.layers,
        }
    }
}

impl ServerBuilder {
    /// Adds all that another server offers: its tools and prompts as `{prefix}_{name}`, its resources
    /// under their own URIs. With an empty prefix, names stay as they are. Names and URIs that are
    /// taken are found when the server is built.
    ///
    /// Its handlers, completers and middleware keep what is theirs: they get its
    /// [states](ServerBuilder::state) and the bounds of its [limits](ServerBuilder::limits) on asking,
    /// steps and tasks, and its middleware runs inside of this server's. Its lists may
    /// [change](ServerBuilder::changing_tools) if they could before; what is added later belongs to
    /// this server.
    ///
    /// All that clients see of a server as a whole is this server's: what it is called, its revisions,
    /// pages, caches, keys, store, clock, and all other limits.
    ///
    /// ```
    /// use askback::{Result, Server, ServerBuilder, State, Tool, server::BuildError};
    ///
    /// #[derive(Clone)]
    /// struct Rates(u32);
    ///
    /// async fn price(State(rates): State<Rates>) -> Result<String> {
    ///     Ok(format!("{} a night", rates.0))
    /// }
    ///
    /// fn hotel(rate: u32) -> ServerBuilder {
    ///     let builder = Server::new("hotel", "1.0.0").state(Rates(rate));
    ///     builder.tool(Tool::new("price", price))
    /// }
    ///
    /// fn agency() -> Result<Server, BuildError> {
    ///     let builder = Server::new("agency", "1.0.0").mount("inn", hotel(90));
    ///     // Its tools are `inn_price` and `grand_price`.
    ///     builder.mount("grand", hotel(300)).build()
    /// }
    /// # agency().unwrap();
    /// ```
    pub fn mount(mut self, prefix: impl AsRef<str>, other: Self) -> Self {
        let prefix = prefix.as_ref();
        let first = self.mounted.len() + 1;
        let Self {
            catalog,
            changing,
            own,
            mounted,
            roots_changed,
            logs,
            wrong,
            ..
        } = other;
        self.take::<Tool>(&catalog, prefix, first);
        self.take::<Prompt>(&catalog, prefix, first);
        self.take::<Resource>(&catalog, prefix, first);
        self.take::<ResourceTemplate>(&catalog, prefix, first);
        self.catalog.listers.extend(catalog.listers);
        self.catalog.lists_of_each |= catalog.lists_of_each;
        self.changing = self.changing.or(changing);
        self.logs |= logs;
        self.roots_changed = roots::both(self.roots_changed, roots_changed);
        let layers = own.layers.clone();
        let mounted = mounted.into_iter().map(|parts| parts.inside(&layers));
        self.mounted.extend([own].into_iter().chain(mounted));
        if let Some(wrong) = wrong {
            self.note(Err(wrong));
        }
        self
    }

    /// Takes what another server offers of a kind. Its households come after those that are there.
    fn take<T: Offer>(&mut self, catalog: &Catalog, prefix: &str, first: usize) {
        let registry: &Registry<T> = T::registry(catalog);
        for entry in registry.entries() {
            let mut item = T::clone(&entry.item);
            if !prefix.is_empty() {
                item.prefix(prefix);
            }
            let added = self.catalog.add(item, Home(first + entry.home.0));
            self.note(added);
        }
    }
}
