//! The handle that changes a server's offers while it runs.

use std::{marker::PhantomData, sync::Arc};

use super::{
    BuildError, Prompt, Resource, ResourceTemplate, Server, ServerBuilder, Shared, Tool,
    offer::{Offer, Visibility},
    registry::ScopeId,
};
use crate::ctx::{Audience, Ctx};

/// The tools, prompts, resources or resource templates of a server that runs: they are added,
/// removed, enabled and disabled while clients are connected. Cheap to clone.
///
/// Clients that care are told of each change. A call that is under way keeps what it began with; a
/// call that asked a person and is made again finds what there is by then.
///
/// ```
/// use askback::{Ctx, Result, Server, Tool, server::BuildError};
///
/// // From now on, every client has the report.
/// async fn publish(ctx: Ctx) -> Result<&'static str> {
///     ctx.server().tools()?.enable("report");
///     Ok("The report is out.")
/// }
///
/// fn server() -> Result<Server, BuildError> {
///     let server = Server::new("agency", "1.0.0")
///         .tool(Tool::new("publish", publish))
///         .tool(Tool::new("report", async || Ok("All is well.")))
///         .changing_tools()
///         .build()?;
///     server.tools()?.disable("report");
///     Ok(server)
/// }
/// # server().unwrap();
/// ```
#[derive(Clone)]
pub struct Offers<T> {
    shared: Arc<Shared>,
    kind: PhantomData<fn() -> T>,
}

impl ServerBuilder {
    /// Declares that the tools change while the server runs: through [`Server::tools`], or in who
    /// finds them, where that is told with [`Server::changed`]. Tools with
    /// [`Tool::visible_to`] declare it by themselves.
    ///
    /// The server then says that it tells of changes, and that calls may become tasks, whatever
    /// tools it begins with.
    pub fn changing_tools(mut self) -> Self {
        self.changing.tools = true;
        self
    }

    /// Declares that the prompts change while the server runs: through [`Server::prompts`], or in
    /// who finds them, where that is told with [`Server::changed`]. Prompts with
    /// [`Prompt::visible_to`] declare it by themselves.
    ///
    /// The server then says that it tells of changes, and that it completes arguments, whatever
    /// prompts it begins with.
    pub fn changing_prompts(mut self) -> Self {
        self.changing.prompts = true;
        self
    }

    /// Declares that the resources change while the server runs: through [`Server::resources`] and
    /// [`Server::resource_templates`], or in who finds them, where that is told with
    /// [`Server::changed`]. Resources with [`Resource::visible_to`], and
    /// [`ServerBuilder::list_resources`], declare it by themselves.
    ///
    /// The server then says that it tells of changes, and that it completes variables, whatever
    /// resources it begins with.
    pub fn changing_resources(mut self) -> Self {
        self.changing.resources = true;
        self
    }
}

impl Server {
    /// Returns the tools, to be changed.
    ///
    /// # Errors
    ///
    /// [`BuildError::Fixed`] without [`ServerBuilder::changing_tools`].
    pub fn tools(&self) -> Result<Offers<Tool>, BuildError> {
        self.offers()
    }

    /// Returns the prompts, to be changed.
    ///
    /// # Errors
    ///
    /// [`BuildError::Fixed`] without [`ServerBuilder::changing_prompts`].
    pub fn prompts(&self) -> Result<Offers<Prompt>, BuildError> {
        self.offers()
    }

    /// Returns the resources that have a URI of their own, to be changed.
    ///
    /// # Errors
    ///
    /// [`BuildError::Fixed`] without [`ServerBuilder::changing_resources`].
    pub fn resources(&self) -> Result<Offers<Resource>, BuildError> {
        self.offers()
    }

    /// Returns the families of resources, to be changed.
    ///
    /// # Errors
    ///
    /// [`BuildError::Fixed`] without [`ServerBuilder::changing_resources`].
    pub fn resource_templates(&self) -> Result<Offers<ResourceTemplate>, BuildError> {
        self.offers()
    }

    fn offers<T: Offer>(&self) -> Result<Offers<T>, BuildError> {
        if !T::changes(self.0.changing) {
            return Err(BuildError::Fixed { kind: T::KIND });
        }
        Ok(Offers {
            shared: Arc::clone(&self.0),
            kind: PhantomData,
        })
    }
}

impl Ctx {
    /// Returns the server that handles this call, to change what it offers.
    ///
    /// A handler that asks is run again: do in a [`Ctx::run`] or [`Ctx::commit`] what must not happen
    /// twice.
    ///
    /// In a [mounted](ServerBuilder::mount) server this is the whole server: names are those that
    /// clients see, with their prefix, and what is added is outside of the mounted server's middleware.
    #[must_use]
    pub fn server(&self) -> Server {
        Server(Shared::behind(self))
    }
}

#[expect(private_bounds, reason = "there are these four kinds and no others")]
impl<T: Offer> Offers<T> {
    /// Adds one at the end of the list.
    ///
    /// # Errors
    ///
    /// As [`ServerBuilder::build`]: nothing is added that a server could not be built with.
    pub fn add(&self, item: impl Into<T>) -> Result<(), BuildError> {
        let mut item = item.into();
        self.shared.rules().check(&mut item)?;
        let visibility = item.visibility().clone();
        let catalog = &self.shared.catalog;
        catalog.change(|catalog| catalog.add(item, ScopeId::default()))?;
        self.tell(&visibility);
        Ok(())
    }

    /// Removes the one of this name or URI; returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self
            .shared
            .catalog
            .change(|catalog| T::registry_mut(catalog).remove(name).ok_or(()));
        self.tell_of(removed)
    }

    /// Enables the one of this name or URI, so that clients find it again; returns whether it was
    /// disabled.
    pub fn enable(&self, name: &str) -> bool {
        self.switch(name, true)
    }

    /// Disables the one of this name or URI until it is enabled: clients do not find it, as if there
    /// were none, but its name is taken. Returns whether it was enabled.
    pub fn disable(&self, name: &str) -> bool {
        self.switch(name, false)
    }

    fn switch(&self, name: &str, enabled: bool) -> bool {
        let switched = self.shared.catalog.change(|catalog| {
            let switched = T::registry_mut(catalog).enable(name, enabled);
            switched.map(Arc::clone).ok_or(())
        });
        self.tell_of(switched)
    }

    fn tell_of(&self, changed: Result<Arc<T>, ()>) -> bool {
        if let Ok(item) = &changed {
            self.tell(item.visibility());
        }
        changed.is_ok()
    }

    /// Tells whoever finds the thing that the list has changed.
    fn tell(&self, visibility: &Visibility) {
        let to = if visibility.differs() {
            let visibility = visibility.clone();
            Audience::Those(Arc::new(move |caller| visibility.is_for(caller)))
        } else {
            Audience::All
        };
        self.shared.changed(&T::changed(), to);
    }
}
