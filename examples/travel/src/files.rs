//! How files are written.

use std::{io, path::Path};

use tokio::{
    fs::{self, DirBuilder, OpenOptions},
    io::AsyncWriteExt,
};

/// How a file is opened that only the user whom the agency runs as may read: who travels where is
/// nobody else's business.
pub(crate) fn private() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "there are no modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    options.mode(0o600);
    options
}

/// Makes a folder that only that user may look into, and those above it, where there are none.
///
/// # Errors
///
/// Those of the disk.
pub(crate) async fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(path).await
}

/// Writes a draft beside the file and then takes its place, so that a link which somebody puts there
/// meanwhile is replaced and not followed.
///
/// # Errors
///
/// Those of the disk, among them that there is a draft already.
pub(crate) async fn replace(
    target: &Path,
    draft: &Path,
    options: &mut OpenOptions,
    text: &str,
) -> io::Result<()> {
    let written = async {
        let mut file = options.write(true).create_new(true).open(draft).await?;
        file.write_all(text.as_bytes()).await?;
        file.sync_all().await?;
        fs::rename(draft, target).await
    };
    let written = written.await;
    if written.is_err() {
        // There may be none; then there is nothing to remove.
        let _ = fs::remove_file(draft).await;
    }
    written
}
