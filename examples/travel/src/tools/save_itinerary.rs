//! A file in one of the client's folders, and in none other.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use askback::{Ctx, Error, Form, Result, protocol::Root, tool};
use percent_encoding::percent_decode_str;
use tokio::{
    fs::{self, OpenOptions},
    io::AsyncWriteExt,
};

/// The tool's arguments.
#[derive(Form)]
pub(crate) struct Itinerary {
    /// The file: a path within one of the client's folders, or the whole path.
    #[form(min_length = 1, max_length = 1000)]
    file: String,
    /// What to write.
    text: String,
}

/// Writes an itinerary to a file in one of the folders the client shares.
#[tool(
    title = "Save an itinerary",
    destructive,
    idempotent,
    open_world = false
)]
pub(crate) async fn save_itinerary(ctx: Ctx, itinerary: Itinerary) -> Result<String> {
    let roots = ctx.roots().await?;
    let file = Path::new(&itinerary.file);
    let Some(target) = find(&roots, file).await else {
        return Err(Error::new(refusal(&itinerary.file, &roots)));
    };
    let draft = target.with_added_extension(format!("{:016x}.draft", ctx.random()));
    if let Err(error) = write(&target, &draft, &itinerary.text).await {
        // There may be none; then there is nothing to remove.
        let _ = fs::remove_file(&draft).await;
        return Err(Error::new(format!(
            "{} was not written: {error}",
            target.display()
        )));
    }
    Ok(format!("Saved to {}.", target.display()))
}

/// Where the file is to be written, if that is within one of the roots.
async fn find(roots: &[Root], file: &Path) -> Option<PathBuf> {
    for root in roots {
        // A root that is not there, or is no folder of this machine, holds nothing.
        let Some(folder) = folder(root) else { continue };
        let Ok(folder) = fs::canonicalize(folder).await else {
            continue;
        };
        if let Some(target) = within(&folder, file).await {
            return Some(target);
        }
    }
    None
}

/// The real place of the file, with every link followed and every `..` gone, if it is in the
/// folder. The file need not be there, but where it would be must.
async fn within(folder: &Path, file: &Path) -> Option<PathBuf> {
    // Joining an absolute path gives that path.
    let path = folder.join(file);
    let Some(Component::Normal(name)) = path.components().next_back() else {
        return None;
    };
    let parent = fs::canonicalize(path.parent()?).await.ok()?;
    let target = parent.join(name);
    let target = match fs::symlink_metadata(&target).await {
        // Where a link points to nothing, nobody can say whether that is within.
        Ok(found) if found.is_symlink() => fs::canonicalize(&target).await.ok()?,
        _ => target,
    };
    let is_folder = fs::metadata(&target)
        .await
        .is_ok_and(|found| found.is_dir());
    (target.starts_with(folder) && !is_folder).then_some(target)
}

/// Writes beside the file and then takes its place, so that a link which somebody puts there
/// meanwhile is replaced and not followed.
async fn write(target: &Path, draft: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(draft).await?;
    file.write_all(text.as_bytes()).await?;
    file.sync_all().await?;
    fs::rename(draft, target).await
}

/// The folder a root stands for, if it is one of this machine.
fn folder(root: &Root) -> Option<PathBuf> {
    let path = root.uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(&*path))
}

fn refusal(file: &str, roots: &[Root]) -> String {
    if roots.is_empty() {
        return format!("`{file}` was not written: you share no folder.");
    }
    let roots: Vec<_> = roots.iter().map(|root| root.uri.as_str()).collect();
    format!(
        "`{file}` was not written: it must be a file within a folder you share, and in a folder \
         that is there. You share {}.",
        roots.join(", ")
    )
}
