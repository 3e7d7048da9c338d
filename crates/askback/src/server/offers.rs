//! Changes a server's offers while it runs.

use std::{marker::PhantomData, sync::Arc};

use super::{
    BuildError, Prompt, Resource, ResourceTemplate, Server, ServerBuilder, Shared, Tool,
    offer::{Offer, Visibility},
    registry::ScopeId,
};
use crate::ctx::{Audience, Ctx};

/// The tools, prompts, resources or resource templates of a running server. They can be added,
/// removed, enabled and disabled while clients are connected. Cheap to clone.
///
/// Clients that subscribed are told of each change. A running call keeps the offers it started
/// with; the next round of a call that asked a user sees the current ones.
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
    /// Declares that the tools may change while the server runs: through [`Server::tools`], or in
    /// their visibility, which you announce with [`Server::changed`]. A tool with
    /// [`Tool::visible_to`] declares this by itself.
    ///
    /// The server then declares that its tools change and that calls may become tasks, whatever
    /// tools it starts with.
    pub fn changing_tools(mut self) -> Self {
        self.changing.tools = true;
        self
    }

    /// Declares that the prompts may change while the server runs: through [`Server::prompts`], or
    /// in their visibility, which you announce with [`Server::changed`]. A prompt with
    /// [`Prompt::visible_to`] declares this by itself.
    ///
    /// The server then declares that its prompts change and that it completes arguments, whatever
    /// prompts it starts with.
    pub fn changing_prompts(mut self) -> Self {
        self.changing.prompts = true;
        self
    }

    /// Declares that the resources may change while the server runs: through [`Server::resources`]
    /// and [`Server::resource_templates`], or in their visibility, which you announce with
    /// [`Server::changed`]. A resource with [`Resource::visible_to`], and
    /// [`ServerBuilder::list_resources`], declare this by themselves.
    ///
    /// The server then declares that its resources change and that it completes variables, whatever
    /// resources it starts with.
    pub fn changing_resources(mut self) -> Self {
        self.changing.resources = true;
        self
    }
}

impl Server {
    /// Returns a handle to change the tools.
    ///
    /// # Errors
    ///
    /// [`BuildError::Fixed`] without [`ServerBuilder::changing_tools`].
    pub fn tools(&self) -> Result<Offers<Tool>, BuildError> {
        self.offers()
    }

    /// Returns a handle to change the prompts.
    ///
    /// # Errors
    ///
    /// [`BuildError::Fixed`] without [`ServerBuilder::changing_prompts`].
    pub fn prompts(&self) -> Result<Offers<Prompt>, BuildError> {
        self.offers()
    }

    /// Returns a handle to change the resources with a fixed URI.
    ///
    /// # Errors
    ///
    /// [`BuildError::Fixed`] without [`ServerBuilder::changing_resources`].
    pub fn resources(&self) -> Result<Offers<Resource>, BuildError> {
        self.offers()
    }

    /// Returns a handle to change the resource templates.
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
    /// A handler that asks is run again, so use [`Ctx::run`] or [`Ctx::commit`] for changes that
    /// must not happen twice.
    ///
    /// In a [mounted](ServerBuilder::mount) server this returns the outer server: names have their
    /// prefix, as clients see them, and new offers do not pass the mounted server's middleware.
    #[must_use]
    pub fn server(&self) -> Server {
        Server(Shared::behind(self))
    }
}

#[expect(private_bounds, reason = "there are these four kinds and no others")]
impl<T: Offer> Offers<T> {
    /// Adds an item at the end of the list.
    ///
    /// # Errors
    ///
    /// As [`ServerBuilder::build`]. On an error nothing is added.
    pub fn add(&self, item: impl Into<T>) -> Result<(), BuildError> {
        let mut item = item.into();
        self.shared.rules().check(&mut item)?;
        let visibility = item.visibility().clone();
        let catalog = &self.shared.catalog;
        catalog.change(|catalog| catalog.add(item, ScopeId::default()))?;
        self.tell(&visibility);
        Ok(())
    }

    /// Removes the item with this name or URI. Returns whether it existed.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self
            .shared
            .catalog
            .change(|catalog| T::registry_mut(catalog).remove(name).ok_or(()));
        self.tell_of(removed)
    }

    /// Enables the item with this name or URI, so that clients find it again. Returns whether it
    /// was disabled.
    pub fn enable(&self, name: &str) -> bool {
        self.switch(name, true)
    }

    /// Disables the item with this name or URI until it is enabled. Clients do not find it, but its
    /// name stays taken. Returns whether it was enabled.
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
