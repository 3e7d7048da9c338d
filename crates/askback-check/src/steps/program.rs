//! The program that starts a server.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use askback::transport::Child;
use askback_host::{
    text::{Words, given},
    words,
};

use crate::report::Report;

/// A server that is started as a process.
#[derive(Clone)]
pub struct Program {
    /// The program.
    pub program: String,
    /// The folder in which it runs, if it is not the current one.
    pub folder: Option<PathBuf>,
    /// `PATH` of its environment, if it is not ours.
    pub path: Option<String>,
    /// How the program and its folder are named in reports, if one has the value of a variable, which may be a secret.
    pub shown: Option<(String, Option<PathBuf>)>,
    /// Makes a process that is not started yet.
    pub child: Arc<dyn Fn() -> Child + Send + Sync>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

/// Looks for the program of a command; says whether it is there.
pub(super) fn find(server: &Program, report: &mut Report) -> bool {
    let (name, shown_folder) = match &server.shown {
        Some((program, folder)) => (program, folder),
        None => (&server.program, &server.folder),
    };
    let folder = server.folder.as_deref();
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let folder = shown_folder.as_deref().unwrap_or(folder).display();
        let says = words!("the folder {} does not exist", given(folder));
        report.fail("program", says, None, "Make it, or change `cwd`.");
        return false;
    }
    // A file that was found with the value of a variable has that in its path.
    let file = |path: &Path| match server.shown {
        None => given(path.display()),
        Some(_) => given(name),
    };
    let (says, advice) = match found(&server.program, folder, server.path.as_deref()) {
        Found::Program(path) => {
            report.ok("program", None, words!("{}", file(&path)));
            return true;
        }
        Found::File(path) => (
            words!("{} is there, but may not be executed", file(&path)),
            "Allow that with chmod +x, or name the program that runs it, such as python3.".into(),
        ),
        Found::Folder => (
            words!("{} is a folder, and no program", given(name)),
            "Name the program in it.".into(),
        ),
        Found::Nothing => (
            words!("there is no program {}", given(name)),
            advice(&server.program),
        ),
    };
    report.fail("program", says, None, advice);
    false
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
    let is_path = program.contains(std::path::is_separator);
    let files: Vec<PathBuf> = if is_path {
        vec![folder.unwrap_or(Path::new("")).join(program)]
    } else {
        let path = path.map(Into::into).or_else(|| env::var_os("PATH"));
        env::split_paths(&path.unwrap_or_default())
            .flat_map(|folder| ENDINGS.map(|ending| folder.join(format!("{program}{ending}"))))
            .collect()
    };
    let first = |is_it: fn(&Path) -> bool| files.iter().find(|file| is_it(file)).cloned();
    match (first(is_program), first(Path::is_file)) {
        (Some(program), _) => Found::Program(program),
        (None, Some(file)) => Found::File(file),
        (None, None) if is_path && first(Path::is_dir).is_some() => Found::Folder,
        (None, None) => Found::Nothing,
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
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        if cfg!(unix) {
            let found = found(&manifest.to_string_lossy(), None, None);
            assert_eq!(found, Found::File(manifest));
        }
    }
}
