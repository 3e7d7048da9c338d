use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use askback_core::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

/// How names are resolved, and which addresses are allowed. Both are checked each time a connection is opened, because
/// a name may resolve differently each time.
#[derive(Clone)]
pub struct Names {
    lookup: Lookup,
    may_reach: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

#[derive(Clone)]
pub(crate) struct Resolver(pub(crate) Names);

type Lookup = Arc<dyn Fn(String) -> LookupFuture + Send + Sync>;

type LookupFuture = BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

impl Names {
    /// Uses the system's resolver, and allows any address.
    #[must_use]
    pub fn system() -> Self {
        Self::found_by(|name| {
            Box::pin(async move {
                let found = tokio::net::lookup_host((name, 0)).await?;
                Ok(found.collect())
            })
        })
    }

    /// Resolves names with this function, and allows any address. Ports are ignored.
    #[must_use]
    pub fn found_by(
        lookup: impl Fn(String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            lookup: Arc::new(lookup),
            may_reach: Arc::new(|_| true),
        }
    }

    /// Sets which addresses are allowed. A name's other addresses are skipped.
    #[must_use]
    pub fn only(mut self, may_reach: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        self.may_reach = Arc::new(may_reach);
        self
    }

    /// Returns the allowed addresses of a name.
    ///
    /// # Errors
    ///
    /// If the name cannot be resolved, or none of its addresses is allowed.
    pub fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let found = (self.lookup)(name.to_owned());
        let may_reach = Arc::clone(&self.may_reach);
        Box::pin(async move {
            let mut found = found.await?;
            found.retain(|address| may_reach(address.ip()));
            match found.is_empty() {
                true => Err(out_of_reach(
                    "the name leads to no address that may be reached",
                )),
                false => Ok(found),
            }
        })
    }

    pub(crate) fn check(&self, address: IpAddr) -> io::Result<()> {
        match (self.may_reach)(address) {
            true => Ok(()),
            false => Err(out_of_reach("the address is none that may be reached")),
        }
    }
}

fn out_of_reach(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let found = self.0.resolve(name.as_str());
        Box::pin(async { Ok(found.await?.into_iter()) })
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}
