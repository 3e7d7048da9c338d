//! Making a client.

use std::sync::Arc;

use askback_core::{
    engine::client::Profile, limits::Limits, protocol::Implementation, revision::Revision,
};

use super::{Client, ClientError, Host, driver, host::Nobody};
use crate::transport::Connect;

/// Which revisions a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// The newest the server speaks, whatever its era.
    #[default]
    Auto,
    /// This one alone.
    Only(Revision),
}

/// Makes a [`Client`].
pub struct ClientBuilder {
    info: Implementation,
    host: Arc<dyn Host>,
    limits: Limits,
    protocol: Protocol,
    principal: Option<String>,
    tasks: bool,
}

impl ClientBuilder {
    pub(super) fn new(name: String, version: String) -> Self {
        Self {
            info: Implementation::new(name, version),
            host: Arc::new(Nobody),
            limits: Limits::default(),
            protocol: Protocol::Auto,
            principal: None,
            tasks: true,
        }
    }

    /// What people should read instead of the name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Who answers what the server asks. Without one, the server can ask nothing.
    #[must_use]
    pub fn host(mut self, host: impl Host) -> Self {
        self.host = Arc::new(host);
        self
    }

    /// What the client bears; among it, how long a call may take ([`Limits::request`]).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Which revisions it speaks.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// For whom it asks, where the server tells people apart: what the server calls private is
    /// used again for the same principal only. A client that signs in by itself needs none for
    /// that: what was given for one sign-in is not used for another in any case.
    #[must_use]
    pub fn principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Whether the server may make a call a task, where it has the extension for that
    /// (`io.modelcontextprotocol/tasks`): it may unless told otherwise. Whoever calls notices
    /// nothing; the client asks after the task until it has ended.
    #[must_use]
    pub fn tasks(mut self, tasks: bool) -> Self {
        self.tasks = tasks;
        self
    }

    /// Connects to a server: starts it if it is a child process, finds out which revision it
    /// speaks and what it has. It must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Where the server cannot be reached, speaks nothing the client speaks, or does not answer.
    pub async fn connect(self, transport: impl Connect) -> Result<Client, ClientError> {
        let revisions = match self.protocol {
            Protocol::Auto => Revision::ALL.into(),
            Protocol::Only(revision) => vec![revision],
        };
        let mut capabilities = self.host.capabilities();
        if self.tasks {
            capabilities.declare_tasks_extension();
        }
        let profile = Profile {
            info: self.info,
            capabilities,
            revisions,
            principal: self.principal,
            limits: self.limits,
        };
        driver::start(profile, self.host, Box::new(transport)).await
    }
}
