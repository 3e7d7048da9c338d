//! Folders of this machine as roots.

use std::{
    fs,
    path::{Path, PathBuf},
};

use askback::protocol::Root;
use url::Url;

use crate::{
    text::{Words, given},
    words,
};

/// A root for a folder: a `file://` URI of its path, with symlinks resolved.
/// Fails if the path is not a folder.
pub fn root(path: &Path) -> Result<Root, Words> {
    let shown = given(path.display());
    let real = fs::canonicalize(path).map_err(|error| words!("{}: {}", shown, given(error)))?;
    if !real.is_dir() {
        return Err(words!("{} is not a folder", shown));
    }
    let uri = Url::from_file_path(&real)
        .map_err(|()| words!("{} cannot be written as a file:// URI", shown))?;
    let name = real
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    Ok(Root {
        name,
        ..Root::new(uri)
    })
}

/// The path of a root, or its URI if it is not a file URI.
pub fn shown(uri: &str) -> Words {
    given(path(uri).map_or_else(|| uri.to_owned(), |path| path.display().to_string()))
}

pub fn is_there(root: &Root) -> bool {
    path(&root.uri).is_some_and(|path| path.is_dir())
}

fn path(uri: &str) -> Option<PathBuf> {
    Url::parse(uri).ok()?.to_file_path().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_a_file_uri() {
        let folder =
            std::env::temp_dir().join(format!("askback roots ü#?% {}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let found = root(
            &folder
                .join("..")
                .join(folder.file_name().unwrap_or_default()),
        );
        let file = folder.join("file");
        fs::write(&file, "").expect("the temporary folder can be written");
        let not_a_folder = root(&file);
        let not_there = root(&folder.join("absent"));
        let there = found.as_ref().is_ok_and(is_there);
        fs::remove_dir_all(&folder).expect("it was made above");

        let found = found.expect("it is a folder");
        assert!(there && !is_there(&found));
        assert!(found.uri.starts_with("file:///"), "{}", found.uri);
        assert!(
            found.uri.contains("/askback%20roots%20%C3%BC%23%3F%25%20"),
            "{}",
            found.uri
        );
        assert!(not_a_folder.is_err_and(|error| error.as_str().ends_with("is not a folder")));
        assert!(not_there.is_err());
    }
}
