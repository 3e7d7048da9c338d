use std::any::type_name;

use super::{Extract, Extraction};
use crate::{
    ctx::{Ctx, Parameters},
    error::{Error, Result},
};

/// A handler parameter: a value that a tower layer in front of the endpoint inserted into the extensions of the HTTP
/// request, such as a tenant (feature `http-server`).
///
/// ```
/// use askback::{Server, handler::Extension, tool};
///
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// #[tool]
/// async fn rooms(Extension(tenant): Extension<Tenant>) -> String {
///     format!("The rooms of {}.", tenant.0)
/// }
///
/// # Server::new("hotel", "1.0").tool(rooms).build().unwrap();
/// ```
///
/// `Extension<http::HeaderMap>` has the request's headers except those with credentials: `Authorization`,
/// `Proxy-Authorization`, `Cookie`, `DPoP`, `Mcp-Session-Id`, and those that a layer marked as sensitive.
///
/// The request is the one that began the call or, in 2026-07-28, the current round, so a replay may see another value.
/// Over stdio there is no request: the call fails without running the handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<T>(pub T);

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> Extract for Extension<T> {
    fn describe(parameters: &mut Parameters) {
        parameters.extensions = true;
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Ready(find(ctx).map(Self))
    }
}

fn find<T: Clone + Send + Sync + 'static>(ctx: &Ctx) -> Result<T> {
    let attachment = ctx.incoming().origin.attachment.as_deref();
    let extensions = attachment.and_then(|any| any.downcast_ref::<http::Extensions>());
    let value = extensions.and_then(|extensions| extensions.get::<T>());
    value.cloned().ok_or_else(|| {
        Error::internal(format!(
            "no layer in front of the endpoint inserted `{}`, which a handler takes as an `Extension`",
            type_name::<T>()
        ))
    })
}
