//! Mounts one server on another.

use super::{
    Prompt, Resource, ResourceTemplate, ServerBuilder, Tool,
    catalog::Catalog,
    offer::Offer,
    registry::{Registry, ScopeId},
    roots,
};

impl ServerBuilder {
    /// Adds everything that another server offers: its tools and prompts as `{prefix}_{name}`, its
    /// resources and skills under their own URIs. With an empty prefix, names stay as they are. Conflicting
    /// names and URIs are reported when the server is built.
    ///
    /// The mounted server's handlers, completers and middleware keep their
    /// [states](ServerBuilder::state) and its [limits](ServerBuilder::limits) on asking, steps and
    /// tasks. Its middleware runs inside this server's. Its lists may
    /// [change](ServerBuilder::changing_tools) if they could before; offers that are added later
    /// belong to this server.
    ///
    /// Everything else is this server's: its name, revisions, pages, caches, keys, store, clock,
    /// and all other limits.
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
        #[cfg(feature = "skills")]
        self.catalog.skills.extend(catalog.skills);
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

    /// Takes another server's offers of a kind. Its handler scopes follow the existing ones.
    fn take<T: Offer>(&mut self, catalog: &Catalog, prefix: &str, first: usize) {
        let registry: &Registry<T> = T::registry(catalog);
        for entry in registry.entries() {
            let mut item = T::clone(&entry.item);
            if !prefix.is_empty() {
                item.prefix(prefix);
            }
            let added = self.catalog.add(item, ScopeId(first + entry.scope.0));
            self.note(added);
        }
    }
}
