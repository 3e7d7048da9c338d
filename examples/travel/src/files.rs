use std::{io, path::Path};

use tokio::{
    fs::{self, DirBuilder, OpenOptions},
    io::AsyncWriteExt,
};

/// Returns options that create a file only for the agency's own user, because others must not see who travels where.
pub(crate) fn private() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "there are no modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    options.mode(0o600);
    options
}

/// Creates a private folder and its missing parents.
///
/// # Errors
///
/// The errors of the disk.
pub(crate) async fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(path).await
}

/// Writes a draft next to the file and renames it over the file. If another process creates a symbolic link there in
/// the meantime, the link is replaced, not followed.
///
/// # Errors
///
/// The errors of the disk, also if the draft already exists.
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
        // The draft may not exist.
        let _ = fs::remove_file(draft).await;
    }
    written
}
