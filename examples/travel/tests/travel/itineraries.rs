//! `save_itinerary` in the operator's folder.

use std::{fs, path::Path};

use askback_travel::Itineraries;
use serde_json::{Value, json};

use crate::client::{Client, agency_with, text};

async fn save(folder: &Path, file: &str) -> Value {
    let agency = agency_with(None, Itineraries::Folder(folder.to_owned()));
    let mut client = Client::connect(&agency, "2025-11-25").await;
    let arguments = json!({"file": file, "text": "Monday: the beach"});
    client.call("save_itinerary", arguments, &[]).await
}

fn entries(folder: &Path) -> Vec<fs::DirEntry> {
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(Result::unwrap);
    let folders: Vec<_> = entries(folder).collect();
    let files = folders.iter().flat_map(|folder| entries(&folder.path()));
    let files: Vec<_> = files.collect();
    folders.into_iter().chain(files).collect()
}

#[cfg(unix)]
#[tokio::test]
async fn no_other_user_of_the_machine_can_read_an_itinerary() {
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

#[tokio::test]
async fn a_name_is_a_file_on_any_system() {
    let folder = tempfile::tempdir().unwrap();
    let refused = [
        " ",
        " a",
        "a ",
        "-rf",
        "--help",
        ".",
        "..",
        ".a",
        "a.",
        "a. ",
        "a/b",
        "a\\b",
        "C:a",
        "a*",
        "a\u{0}b",
        "a\nb",
        "CON",
        "con",
        "Con.md",
        "CON.tar.gz",
        "CON .md",
        "nul",
        "AUX.txt",
        "prn.",
        "COM1",
        "com9.md",
        "COM0",
        "LPT¹.md",
        "lpt³",
    ];
    let long = "é".repeat(65);
    // No file system has names of this length.
    let wide = "𐌰".repeat(64);
    for file in refused.into_iter().chain([&*long, &wide]) {
        let saved = save(folder.path(), file).await;
        assert_eq!(saved["isError"], true, "{file:?}: {saved}");
        let told = text(&saved);
        let names_the_rule = told.contains("letters, digits") || told.contains("too long");
        assert!(names_the_rule && told.len() < 600, "{told}");
    }
    assert_eq!(entries(folder.path()).len(), 0);
    let taken = [
        "Plan 1.md",
        "_",
        "a",
        "1",
        "a-b_c.d",
        "a-",
        "console",
        "con 1.md",
        "COM",
        "COM10.md",
        "LPT",
        "nullen",
        "Zürich",
        "京都.md",
    ];
    let long = "é".repeat(64);
    for file in taken.into_iter().chain([&*long]) {
        let saved = save(folder.path(), file).await;
        assert_eq!(text(&saved), format!("Saved as {file}."));
    }
    // Including their folder.
    assert_eq!(entries(folder.path()).len(), taken.len() + 2);
}
