//! Saves a file in the client's folders or, for clients on other machines, in the operator's folder.

use std::{
    fmt::Write as _,
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use askback::{Ctx, Error, Form, Result, State, ctx::Roots, tool};
use sha2::{Digest, Sha256};
use tokio::{
    fs::{self, OpenOptions},
    sync::Mutex,
};

use crate::{bookings::Owner, files};

/// The maximum number of itineraries per owner in the operator's folder.
const MOST: usize = 100;

/// The tool's arguments.
#[derive(Form)]
pub(crate) struct Itinerary {
    /// The file: a path within the client's folders, or the whole path.
    #[form(min_length = 1, max_length = 1000)]
    file: String,
    /// What to write.
    text: String,
}

/// Writes an itinerary to a file in the folders that the client shares.
#[tool(
    title = "Save an itinerary",
    destructive,
    idempotent,
    open_world = false
)]
pub(crate) async fn save_itinerary(ctx: Ctx, itinerary: Itinerary) -> Result<String> {
    let roots = ctx.roots().await?;
    // `local` fails for a client on another machine, whose folders must not be opened here.
    let folders = roots.local()?;
    let file = Path::new(&itinerary.file);
    let Some(target) = find(&folders, file).await else {
        return Err(Error::new(refusal(&itinerary.file, &roots)));
    };
    let draft = target.with_added_extension(format!("{:016x}.draft", ctx.random()));
    // With the usual permissions, because the folder is the client's own.
    let mut options = OpenOptions::new();
    if let Err(error) = files::replace(&target, &draft, &mut options, &itinerary.text).await {
        return Err(Error::new(format!(
            "{} was not written: {error}",
            target.display()
        )));
    }
    Ok(format!("Saved to {}.", target.display()))
}

/// The tool's arguments if the operator named the folder.
#[derive(Form)]
pub(crate) struct NamedItinerary {
    /// The file's name without a path, of letters, digits, spaces, dashes,
    /// underscores and dots.
    #[form(min_length = 1, max_length = 64)]
    file: String,
    /// What to write.
    #[form(max_length = 100_000)]
    text: String,
}

#[derive(Clone)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Held while a file is written, so that the count of an owner's files is correct.
    writing: Arc<Mutex<()>>,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            writing: Arc::default(),
        }
    }

    /// Writes a file into the owner's subfolder. Only the agency can read it.
    ///
    /// # Errors
    ///
    /// The errors of the disk, which are only for the operator.
    async fn save(&self, owner: &Owner, name: &str, draft: &str, text: &str) -> io::Result<Saved> {
        let folder = self.path.join(name_of(owner)?);
        let target = folder.join(name);
        let _writing = self.writing.lock().await;
        files::make_private_folder(&folder).await?;
        let is_new = fs::symlink_metadata(&target).await.is_err();
        if is_new && count(&folder).await? >= MOST {
            return Ok(Saved::No);
        }
        let mut options = files::private();
        files::replace(&target, &folder.join(draft), &mut options, text).await?;
        Ok(Saved::Yes)
    }
}

enum Saved {
    Yes,
    No,
}

/// Writes an itinerary to a file that the agency keeps for this user.
#[tool(
    name = "save_itinerary",
    title = "Save an itinerary",
    destructive,
    idempotent,
    open_world = false
)]
pub(crate) async fn save_itinerary_with_us(
    ctx: Ctx,
    State(folder): State<Folder>,
    itinerary: NamedItinerary,
) -> Result<String> {
    let name = &itinerary.file;
    if !is_plain(name) {
        return Err(Error::invalid_params(format!(
            "`{name}` was not written: a name is made of letters, digits, spaces, dashes, \
             underscores and dots, 255 bytes at most, begins with a letter, a digit or an \
             underscore, and does not end in a space or a dot. Names that Windows keeps for devices, such as CON or COM1.md, are \
             none."
        )));
    }
    let draft = format!(".{:016x}.draft", ctx.random());
    let owner = Owner::of(ctx.principal());
    match folder.save(&owner, name, &draft, &itinerary.text).await {
        Ok(Saved::Yes) => Ok(format!("Saved as {name}.")),
        Ok(Saved::No) => Err(Error::new(format!(
            "`{name}` was not written: you have {MOST} itineraries; save it under the name of one \
             of them"
        ))),
        Err(error) => {
            tracing::error!(%error, "an itinerary could not be written");
            Err(Error::new(format!(
                "`{name}` was not written: the agency cannot keep it now"
            )))
        }
    }
}

/// The maximum length of a name on common file systems, in bytes.
const NAME_BYTES: usize = 255;

/// Whether this is a plain file name on any system, because operators copy files between systems. It cannot look like a
/// command-line option, either.
fn is_plain(name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    name.len() <= NAME_BYTES
        && name
            .chars()
            .all(|c| is_word(c) || matches!(c, ' ' | '-' | '.'))
        && name.starts_with(is_word)
        && !name.ends_with([' ', '.'])
        && !is_device(name)
}

/// Whether Windows treats a name as a device, regardless of its extension. Superscript digits count, too.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let stem = stem.trim_end().to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or(stem.strip_prefix("LPT"));
    let mut number = numbered.unwrap_or_default().chars();
    matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL")
        || matches!(
            (number.next(), number.next()),
            (Some('0'..='9' | '¹' | '²' | '³'), None)
        )
}

/// The folder name of an owner, which is unique.
fn name_of(owner: &Owner) -> io::Result<String> {
    let digest = Sha256::digest(serde_json::to_vec(owner)?);
    Ok(digest[..16].iter().fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    }))
}

async fn count(folder: &Path) -> io::Result<usize> {
    let mut entries = fs::read_dir(folder).await?;
    let mut count = 0;
    while entries.next_entry().await?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Returns the path to write to, if it is within the folders.
async fn find(folders: &[PathBuf], file: &Path) -> Option<PathBuf> {
    for folder in folders {
        // A folder that does not exist contains nothing.
        let Ok(folder) = fs::canonicalize(folder).await else {
            continue;
        };
        if let Some(target) = within(&folder, file).await {
            return Some(target);
        }
    }
    None
}

/// Returns the real path of the file, with links and `..` resolved, if it is inside the folder. The file need not
/// exist, but its parent must.
async fn within(folder: &Path, file: &Path) -> Option<PathBuf> {
    // Joining an absolute path returns that path.
    let path = folder.join(file);
    let Some(Component::Normal(name)) = path.components().next_back() else {
        return None;
    };
    let parent = fs::canonicalize(path.parent()?).await.ok()?;
    let target = parent.join(name);
    let target = match fs::symlink_metadata(&target).await {
        // A dangling link is refused, because its target is unknown.
        Ok(found) if found.is_symlink() => fs::canonicalize(&target).await.ok()?,
        _ => target,
    };
    let is_folder = fs::metadata(&target)
        .await
        .is_ok_and(|found| found.is_dir());
    (target.starts_with(folder) && !is_folder).then_some(target)
}

fn refusal(file: &str, roots: &Roots) -> String {
    let roots = roots.as_client_says();
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
