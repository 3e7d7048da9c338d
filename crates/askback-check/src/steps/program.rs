use std::{
    env, fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use askback::transport::Child;
use askback_host::{text::given, words};

use crate::report::Report;

#[derive(Clone)]
pub struct Program {
    pub program: String,
    /// `None` is the current one.
    pub folder: Option<PathBuf>,
    /// The `PATH` of its environment, if not ours.
    pub path: Option<String>,
    /// How reports name the program and its folder. Set if one of them contains the value of a
    /// variable, which may be a secret.
    pub shown: Option<(String, Option<PathBuf>)>,
    /// Does not start the process.
    pub child: Arc<dyn Fn() -> Child + Send + Sync>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

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
    // The path contains the value of the variable.
    let file = |path: &Path| match server.shown {
        None => given(path.display()),
        Some(_) => given(name),
    };
    let (says, advice) = match found(&server.program, folder, server.path.as_deref()) {
        Ok(path) => {
            report.ok("program", None, words!("{}", file(&path)));
            return true;
        }
        Err(Some(path)) if path.is_dir() => (
            words!("{} is a folder, not a program", given(name)),
            "Name the program in it.",
        ),
        Err(Some(path)) => (
            words!("{} is there, but may not be executed", file(&path)),
            "Allow that with chmod +x, or name the program that runs it, such as python3.",
        ),
        Err(None) => (
            words!("found no program {}", given(name)),
            "Install it, write its whole path, or add its folder to PATH.",
        ),
    };
    report.fail("program", says, None, advice);
    false
}

/// Finds a program by its path, or as a shell does.
pub fn find_program(name: &str) -> Option<PathBuf> {
    found(name, None, None).ok()
}

/// Finds a program's file. The error is a folder, or a file that is not executable.
fn found(
    program: &str,
    folder: Option<&Path>,
    path: Option<&str>,
) -> Result<PathBuf, Option<PathBuf>> {
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
    let other = || first(Path::is_file).or_else(|| first(Path::is_dir).filter(|_| is_path));
    first(is_program).ok_or_else(other)
}

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

/// Error texts of runtimes, with advice.
const KNOWN: &str = "\
is not a package => A file of the script's own has the name of a package, and Python takes it for that: give it another name.
No module named => Python does not find a module: install it for the Python that is started, or start the server with the Python of its virtual environment, such as uv run.
cannot import name => A package has another version than the server is written for: see which one the Python that is started has.
can't open file => Check the path of the script: it begins at the folder in which the command is run.
SyntaxError => The script has a syntax error: see the line, and whether the program that is started is new enough.
IndentationError => The script has a syntax error: see the line that is named.
Already running asyncio in this thread => The script runs an event loop in another: call mcp.run() outside of async functions, or await mcp.run_async() in them.
Failed to spawn => uv does not find the program: check its name, or --directory for the folder of the project.
ERR_MODULE_NOT_FOUND => Node.js does not find a file or a package: check the path, and run npm install.
Cannot find module => Node.js does not find a file or a package: check the path, and run npm install or the build.
npm error 404 => The package was not found: check its name.
No solution found when resolving => uv does not find such a package, or none that fits: check its name.
Uvicorn running on => It serves HTTP: reach it with --url, or have it use standard streams (FastMCP: mcp.run() without a transport).
ddress already in use => It serves HTTP at a port that another process has: stop that process, or reach it with --url.
KeyError => A key is missing, which is often a variable of the environment: set it before the command, or in the `env` of its entry.";

/// The first line of a Python traceback. The error comes after the stack.
const TRACEBACK: &str = "Traceback (most recent call last):";

/// Returns advice for the last line that is known. A runtime's last lines say why it ended.
pub(super) fn advice(lines: &[String]) -> Option<&'static str> {
    // Output before an uncaught error did not end the process.
    let error = lines.iter().rposition(|line| line.contains(TRACEBACK));
    let lines = error.map_or(lines, |at| &lines[at..]);
    let is_code = |line: &&String| line.starts_with(char::is_whitespace);
    let mut lines = lines.iter().rev().filter(|line| !is_code(line));
    lines.find_map(|line| {
        let mut known = KNOWN.lines().filter_map(|known| known.split_once(" => "));
        let (_, advice) = known.find(|(words, _)| line.contains(words))?;
        Some(advice)
    })
}

/// Advice for a program that exits at once without an error or output.
pub(super) const ON_SILENCE: &str = "It said nothing: start it by hand to see more. A script has to run the server at its \
    end, as mcp.run() does in Python, or connect it to its standard streams.";

/// Advice for a program whose output has lines that are not messages.
pub(super) const ON_NOISE: &str = "Logs belong to standard error, as print(…, file=sys.stderr) in Python and console.error \
    in JavaScript write them: clients take every line of the output for a message.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_searched_for_in_the_folder_in_which_it_starts() {
        let this = env::current_exe().expect("it runs");
        let (folder, name) = (this.parent().expect("a folder"), this.file_name());
        let name = name.expect("a name").to_string_lossy().into_owned();
        let whole = this.to_string_lossy();
        assert_eq!(found(&whole, None, None), Ok(this.clone()));
        assert_eq!(found(&name, None, folder.to_str()), Ok(this.clone()));
        assert_eq!(found(&name, None, Some("")), Err(None));
        let here = found(&format!("./{name}"), Some(folder), None);
        assert_eq!(here, Ok(folder.join("./").join(&name)));
        assert_eq!(found("/dev/null/x", None, None), Err(None));
        let is_folder = found(&folder.to_string_lossy(), None, None);
        assert_eq!(is_folder, Err(Some(folder.to_owned())));
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        if cfg!(unix) {
            let found = found(&manifest.to_string_lossy(), None, None);
            assert_eq!(found, Err(Some(manifest)));
        }
    }
}
