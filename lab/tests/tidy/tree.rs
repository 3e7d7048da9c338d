use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The directories of cargo, fuzzing and version control, which are skipped.
const LEFT_OUT: &[&str] = &["target", ".git", "corpus", "artifacts"];

/// The text files of a directory by relative path, with `/` as the separator.
pub(crate) struct Tree(BTreeMap<String, String>);

impl Tree {
    pub(crate) fn project() -> Self {
        let root = root();
        let mut files = BTreeMap::new();
        read(&root, &root, &mut files);
        Self(files)
    }

    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        let owned = |(path, text): (&str, &str)| (path.to_owned(), text.to_owned());
        Self(files.into_iter().map(owned).collect())
    }

    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(path, _)| {
            let published = path.starts_with("crates/") || path.starts_with("examples/");
            published && path.contains("/src/") && path.ends_with(".rs")
        })
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = format!("{path}/");
        self.0.contains_key(path) || self.0.keys().any(|file| file.starts_with(&inside))
    }
}

pub(crate) fn root() -> PathBuf {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    lab.parent().expect("lab is in the project").to_owned()
}

fn read(root: &Path, directory: &Path, files: &mut BTreeMap<String, String>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    for entry in entries {
        let path = entry.expect("an entry of a directory").path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_none_or(|name| LEFT_OUT.contains(&name)) {
            continue;
        }
        if path.is_dir() {
            read(root, &path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let inside = path.strip_prefix(root).expect("a path below the root");
            let names: Vec<_> = inside.iter().filter_map(|name| name.to_str()).collect();
            files.insert(names.join("/"), text);
        }
    }
}
