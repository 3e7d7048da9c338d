//! The project that `askback new` creates compiles, and passes its own tests and suite.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::run::{ASKBACK, Run};

/// All files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let below = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    entries.flat_map(|entry| below(entry.path())).collect()
}

/// Runs a command that must succeed, and returns its stdout.
#[track_caller]
fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}\n{stdout}{stderr}");
    stdout
}

#[test]
fn a_new_server_builds_and_passes_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checkout = root.display().to_string();
    let run = Run::new("new", &["new", "my-server", "--path", &checkout]);
    let ran = run.run().expect(0);
    let folder = ran.scratch.path("my-server");
    for file in files(&folder) {
        let text = fs::read_to_string(&file).expect("a text");
        assert!(!text.contains("{{name}}"), "{}", file.display());
    }

    // The new package is inside this workspace but not a member of it.
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a text");
    fs::write(&manifest, text + "\n[workspace]\n").expect("a file");
    // Uses the local versions.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-server");
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("a file");
    let with = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&folder)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", &target)
            .env("XDG_STATE_HOME", ran.scratch.path("state"));
        command
    };
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_owned());
    succeeds(&mut with(&cargo, &["fmt", "--check"]));
    succeeds(&mut with(&cargo, &["test"]));
    succeeds(&mut with(&cargo, &["build"]));
    succeeds(&mut with(ASKBACK, &["test", "suite.yaml"]));
    // The commands in its README and its CI.
    let server = ["--", &cargo, "run", "--quiet"];
    let words = ["call", "book_table", "restaurant=Noma", "--answers"];
    let words = [&words[..], &["answers.yaml"], &server].concat();
    let called = succeeds(&mut with(ASKBACK, &words));
    assert_eq!(called, "Booked: Noma, 4 guests, outside.\n");
    let words = [&["check", "--quick", "--json"][..], &server].concat();
    let report: Value = serde_json::from_str(&succeeds(&mut with(ASKBACK, &words))).expect("JSON");
    assert_eq!(report["findings"], json!([]), "{report:#}");
}

#[test]
fn nothing_is_written_over() {
    let run = Run::new("new-over", &["new", "mine"]);
    let folder = run.scratch.path("mine");
    fs::create_dir(&folder).expect("a folder");
    let ran = run
        .run()
        .expect(2)
        .says("askback: mine exists already, and is not overwritten\n");
    assert_eq!(files(&ran.scratch.path("mine")), [""; 0].map(PathBuf::from));
    let ran = Run::new("new-name", &["new", "../mine"]).run().expect(2);
    ran.says("a name has small letters, digits and dashes");
    let ran = Run::new("new-path", &["new", "mine", "--path", "."])
        .run()
        .expect(2);
    let ran = ran.says("askback: . is not a checkout of askback\n");
    assert!(!ran.scratch.path("mine").exists());
}
