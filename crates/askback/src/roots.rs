use std::path::{Path, PathBuf};

use askback_core::{engine::server::ClientLocation, protocol::Root};
use percent_encoding::percent_decode_str;

/// The roots of a client, which must be opened explicitly: see [`Ctx::roots`](crate::Ctx::roots).
///
/// A root is a `file://` URI of a folder on the *client's* machine. Its path is only valid for the server if both share
/// a machine: if the client started the server's process (stdio) or lives in it (memory). Otherwise, such as over HTTP,
/// the path would name a folder of the *server*, and a client that lists `file:///` would get access to everything.
///
/// ```
/// use askback::{Ctx, Result};
///
/// async fn folders(ctx: Ctx) -> Result<String> {
///     let roots = ctx.roots().await?;
///     let folders = roots.local()?;
///     Ok(format!("{} folders to work in", folders.len()))
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Roots {
    listed: Vec<Root>,
    place: ClientLocation,
}

/// The client's roots are on another machine than the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the client's roots are folders of its own machine, which this server does not share; to use \
     them, let the client start the server itself, over stdio"
)]
pub struct RemoteRoots;

impl Roots {
    pub(crate) fn new(listed: Vec<Root>, place: ClientLocation) -> Self {
        Self { listed, place }
    }

    /// Returns the folders as absolute paths on this machine, in the client's order. Roots without such a path, for
    /// example because the URI names another host, are left out.
    ///
    /// Roots are not an access check: before you write, resolve links and `..`, and check that the result is still
    /// inside a root (2025-11-25, client/roots, Security Considerations). A folder need not exist.
    ///
    /// # Errors
    ///
    /// [`RemoteRoots`] if the client did not start this process and does not live in it.
    pub fn local(&self) -> Result<Vec<PathBuf>, RemoteRoots> {
        match self.place {
            ClientLocation::Here => Ok(self.listed.iter().filter_map(folder).collect()),
            ClientLocation::Elsewhere => Err(RemoteRoots),
        }
    }

    /// Returns the roots as the client lists them, on any machine, to display them or to pass them to a program on the
    /// client's machine. Do not open them as files on this machine; use [`local`](Self::local) for that.
    #[must_use]
    pub fn as_client_says(&self) -> &[Root] {
        &self.listed
    }
}

fn folder(root: &Root) -> Option<PathBuf> {
    let path = root.uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = path.starts_with('/').then_some(path)?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let usable = Path::new(&*path).is_absolute() && !path.contains('\0');
    usable.then(|| PathBuf::from(&*path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(uris: &[&str], place: ClientLocation) -> Roots {
        let listed = uris.iter().map(|uri| Root {
            uri: (*uri).to_owned(),
            name: None,
            meta: None,
        });
        Roots::new(listed.collect(), place)
    }

    #[test]
    fn a_root_is_a_folder_only_if_client_and_server_share_a_machine() {
        let cases: &[(&str, Option<&str>)] = &[
            ("file:///home/ada", Some("/home/ada")),
            ("file://localhost/home/ada", Some("/home/ada")),
            ("file:///new%20york", Some("/new york")),
            ("file:///%2525", Some("/%25")),
            ("file:///", Some("/")),
            ("file://elsewhere/home", None),
            ("file://localhost.example/home", None),
            ("file://%2Fhome", None),
            ("file://relative", None),
            ("file:///a%00b", None),
            ("file:///%FF", None),
            ("https://a.example/", None),
            ("", None),
        ];
        for (uri, folder) in cases {
            let expected: Vec<_> = folder.iter().map(PathBuf::from).collect();
            assert_eq!(
                roots(&[uri], ClientLocation::Here).local(),
                Ok(expected),
                "{uri}"
            );
            let remote = roots(&[uri], ClientLocation::Elsewhere);
            assert_eq!(remote.local(), Err(RemoteRoots), "{uri}");
            assert_eq!(remote.as_client_says()[0].uri, *uri);
        }
    }
}
