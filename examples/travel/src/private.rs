//! Files and folders that only the user whom the agency runs as may read: who travels where is
//! nobody else's business.

use std::{io, path::Path};

use tokio::fs::{DirBuilder, OpenOptions};

/// How such a file is opened; what else is wanted is to be added.
pub(crate) fn options() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "there are no modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    options.mode(0o600);
    options
}

/// Makes such a folder, and those above it, where there are none.
///
/// # Errors
///
/// Those of the disk.
pub(crate) async fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(path).await
}
