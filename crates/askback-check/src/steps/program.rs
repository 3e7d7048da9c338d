//! The program that starts a server.

use std::{
    env,
    path::{Path, PathBuf},
};

use askback_host::{
    text::{Words, given},
    words,
};

use crate::Program;
use crate::report::Report;

/// Looks for the program of a command; says whether it is there.
pub(super) fn find(server: &Program, report: &mut Report) -> bool {
    let folder = server.folder.as_deref();
    if let Some(missing) = server.missing_folder() {
        let says = words!("the folder {} does not exist", given(missing.display()));
        report.fail("program", says, None, "Make it, or change `cwd`.");
        return false;
    }
    let program = &server.program;
    // A file that was found with the value of a variable has that in its path.
    let is_written = server.shown.is_none();
    match found(program, folder, server.path.as_deref()) {
        Found::Program(path) => {
            let words = match is_written {
                true => words!("{}", given(path.display())),
                false => words!("{}", given(server.name())),
            };
            report.ok("program", None, words);
            true
        }
        Found::File(path) => {
            let file = match is_written {
                true => given(path.display()),
                false => given(server.name()),
            };
            let says = words!("{} is there, but may not be executed", file);
            let advice =
                "Allow that with chmod +x, or name the program that runs it, such as python3.";
            report.fail("program", says, None, advice);
            false
        }
        Found::Folder => {
            let says = words!("{} is a folder, and no program", given(server.name()));
            report.fail("program", says, None, "Name the program in it.");
            false
        }
        Found::Nothing => {
            let says = words!("there is no program {}", given(server.name()));
            report.fail("program", says, None, advice(program));
            false
        }
    }
}

/// A thing that is found under the name of a program.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Program(PathBuf),
    /// A file that may not be executed.
    File(PathBuf),
    Folder,
    Nothing,
}

/// The file of a program.
fn found(program: &str, folder: Option<&Path>, path: Option<&str>) -> Found {
    let here = folder.unwrap_or(Path::new(""));
    if program.contains(std::path::is_separator) {
        let file = here.join(program);
        return match () {
            () if is_program(&file) => Found::Program(file),
            () if file.is_file() => Found::File(file),
            () if file.is_dir() => Found::Folder,
            () => Found::Nothing,
        };
    }
    let path = path.map(Into::into).or_else(|| env::var_os("PATH"));
    let path = path.unwrap_or_default();
    let folders = env::split_paths(&path);
    let files: Vec<_> = folders
        .flat_map(|folder| ENDINGS.map(|ending| folder.join(format!("{program}{ending}"))))
        .collect();
    let program = files.iter().find(|file| is_program(file)).cloned();
    let file = || files.iter().find(|file| file.is_file()).cloned();
    match (program, file) {
        (Some(program), _) => Found::Program(program),
        (None, file) => file().map_or(Found::Nothing, Found::File),
    }
}

/// The endings of files of programs.
#[cfg(windows)]
const ENDINGS: [&str; 4] = ["", ".exe", ".cmd", ".bat"];
#[cfg(not(windows))]
const ENDINGS: [&str; 1] = [""];

fn is_program(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = std::fs::metadata(file);
        metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    file.is_file()
}

/// The advice on a program that is missing.
fn advice(program: &str) -> Words {
    let name = Path::new(program).file_name().unwrap_or_default();
    let brings: Option<&'static str> = match &*name.to_string_lossy() {
        "npx" | "npm" | "node" => Some("Node.js"),
        "uvx" | "uv" => Some("uv"),
        "python" | "python3" | "pip" | "pipx" => Some("Python"),
        "bunx" | "bun" => Some("Bun"),
        "deno" => Some("Deno"),
        "docker" => Some("Docker"),
        "dotnet" => Some("the .NET SDK"),
        "java" => Some("Java"),
        "cargo" => Some("Rust"),
        _ => None,
    };
    match brings {
        Some(brings) => words!(
            "Install {}, or write the whole path of the program.",
            brings
        ),
        None if program.contains(std::path::is_separator) => {
            "Check the path, and whether the file may be executed.".into()
        }
        None => "Write the whole path of the program, or add its folder to PATH.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_install_is_said() {
        for (program, says) in [
            ("npx", "Install Node.js"),
            ("/opt/bin/uvx", "Install uv,"),
            ("python3", "Install Python"),
            ("./server", "Check the path"),
            ("my-server", "add its folder to PATH"),
        ] {
            let advice = advice(program);
            assert!(advice.as_str().contains(says), "{advice}");
        }
    }

    #[test]
    fn a_program_is_looked_for_where_it_is_started() {
        let this = env::current_exe().expect("it runs");
        let (folder, name) = (this.parent().expect("a folder"), this.file_name());
        let name = name.expect("a name").to_string_lossy().into_owned();
        let path = folder.to_str();
        let whole = this.to_string_lossy();
        let program = |path: &Path| Found::Program(path.to_owned());
        assert_eq!(found(&whole, None, None), program(&this));
        assert_eq!(found(&name, None, path), program(&this));
        assert_eq!(found(&name, None, Some("")), Found::Nothing);
        assert_eq!(
            found(&format!("./{name}"), Some(folder), None),
            program(&folder.join("./").join(&name))
        );
        assert_eq!(found("/dev/null/x", None, None), Found::Nothing);
        assert_eq!(found(&folder.to_string_lossy(), None, None), Found::Folder);
        // A file that is no program.
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        if cfg!(unix) {
            let file = || Found::File(manifest.clone());
            assert_eq!(found(&manifest.to_string_lossy(), None, None), file());
            let path = manifest.parent().and_then(Path::to_str);
            assert_eq!(found("Cargo.toml", None, path), file());
        }
    }
}
