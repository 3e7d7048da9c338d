//! `save_itinerary` in the operator's folder.

use std::{fs, path::Path};

use askback_travel::Itineraries;
use serde_json::{Value, json};

use crate::client::{Client, agency_with, text};

/// Saves an itinerary, and gives the result.
async fn save(folder: &Path, file: &str) -> Value {
    let agency = agency_with(None, Itineraries::Folder(folder.to_owned()));
    let mut client = Client::connect(&agency, "2025-11-25").await;
    let arguments = json!({"file": file, "text": "Monday: the beach"});
    client.call("save_itinerary", arguments, &[]).await
}

/// The folders of the owners, and the files within.
fn entries(folder: &Path) -> Vec<fs::DirEntry> {
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(Result::unwrap);
    let folders: Vec<_> = entries(folder).collect();
    let files = folders.iter().flat_map(|folder| entries(&folder.path()));
    let files: Vec<_> = files.collect();
    folders.into_iter().chain(files).collect()
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_on_the_machine_reads_an_itinerary() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let saved = save(folder.path(), "plan.md").await;
        assert_eq!(text(&saved), "Saved as plan.md.");
        let modes = entries(folder.path()).into_iter().map(|entry| {
            let mode = entry.metadata().unwrap().permissions().mode();
            (entry.path().is_dir(), mode & 0o777)
        });
        assert_eq!(Vec::from_iter(modes), [(true, 0o700), (false, 0o600)]);
    }
}
