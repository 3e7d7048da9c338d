//! The usual ways in which a process fails, by the words it leaves behind.

use std::path::Path;

/// Words of a runtime, and what to do about them.
const KNOWN: &str = "\
is not a package => A file of the script's own has the name of a package, and Python takes it for that: give it another name.
No module named => Python does not find a module: install it for the Python that is started, or start the server with the Python of its virtual environment, such as uv run.
cannot import name => A package has another version than the server is written for: see which one the Python that is started has.
can't open file => Check the path of the script: it begins at the folder in which the command is run.
SyntaxError => The script cannot be read: see the line, and whether the program that is started is new enough.
IndentationError => The script cannot be read: see the line that is named.
Already running asyncio in this thread => The script runs an event loop in another: call mcp.run() outside of async functions, or await mcp.run_async() in them.
Failed to spawn => uv does not find the program: check its name, or --directory for the folder of the project.
ERR_MODULE_NOT_FOUND => Node.js does not find a file or a package: check the path, and run npm install.
Cannot find module => Node.js does not find a file or a package: check the path, and run npm install or the build.
npm error 404 => There is no such package: check its name.
No solution found when resolving => uv does not find such a package, or none that fits: check its name.
Uvicorn running on => It serves HTTP: reach it with --url, or have it use standard streams (FastMCP: mcp.run() without a transport).
ddress already in use => It serves HTTP at a port that another process has: end that one, and reach it with --url.
KeyError => A key is missing, which is often a variable of the environment: set it before the command, or in the `env` of its entry.";

/// The beginning of what Python says of an error that nothing caught. The error is behind the rows of its places.
const TRACEBACK: &str = "Traceback (most recent call last):";

/// The advice where a package is there, and a module of it is not.
const LACKS_PART: &str = "What is before the last dot is there, and has no such module. If it is yours, see the names of its \
     files and folders; else which version of the package the Python that is started has.";

/// Advice on what a process wrote, if it is known.
pub(super) fn advice(lines: &[String]) -> Option<&'static str> {
    // What was said before an error that nothing caught did not end it.
    let error = lines.iter().rposition(|line| line.contains(TRACEBACK));
    let lines = error.map_or(lines, |at| &lines[at..]);
    let is_place = |line: &&String| error.is_some() && line.starts_with(char::is_whitespace);
    // The last words of a runtime say what ended it.
    let mut lines = lines.iter().rev().filter(|line| !is_place(line));
    lines.find_map(|line| {
        let mut known = KNOWN.lines().filter_map(|known| known.split_once(" => "));
        let (_, advice) = known.find(|(words, _)| line.contains(words))?;
        Some(match lacks_part(line) {
            true => LACKS_PART,
            false => advice,
        })
    })
}

/// Whether Python did not find a module within a package. It names the package alone where that is not there.
fn lacks_part(line: &str) -> bool {
    let named = line.split_once("ModuleNotFoundError: No module named '");
    let named = named.and_then(|(_, rest)| rest.split_once('\''));
    named.is_some_and(|(name, rest)| name.contains('.') && rest.trim().is_empty())
}

/// Advice on a program that says nothing and ends well, at once.
pub(super) fn on_silence(program: &str) -> &'static str {
    match language(program) {
        "Python" => {
            "It said nothing: a script has to run the server at its end, as mcp.run() does."
        }
        "JavaScript" => {
            "It said nothing: a script has to connect the server to its standard streams at its end."
        }
        _ => "It said nothing: start it by hand to see more.",
    }
}

/// Advice on a program whose output has lines that are no messages.
pub(super) fn on_noise(program: &str) -> &'static str {
    match language(program) {
        "Python" => {
            "Logs belong to standard error, in Python print(…, file=sys.stderr): clients take every line \
             of the output for a message."
        }
        "JavaScript" => {
            "Logs belong to standard error, as console.error writes them: clients take every line of the \
             output for a message."
        }
        _ => "Logs belong to standard error: clients take every line of the output for a message.",
    }
}

/// The language of a server, as far as its program tells; empty if it does not.
fn language(program: &str) -> &'static str {
    let name = Path::new(program).file_stem().unwrap_or_default();
    let name = name.to_string_lossy().to_ascii_lowercase();
    match &*name {
        "uv" | "uvx" | "pipx" | "poetry" | "fastmcp" | "mcp" => "Python",
        name if name.starts_with("python") => "Python",
        "node" | "npx" | "npm" | "pnpm" | "yarn" | "tsx" | "bun" | "bunx" | "deno" => "JavaScript",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_failures_are_known_by_their_words() {
        let import = "Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\n    from mcp.server.fastmcp \
                      import FastMCP\nModuleNotFoundError: No module named 'mcp.server.fastmcp'";
        for (lines, expected) in [
            (
                "Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\n    import fastmcp\n\
                 ModuleNotFoundError: No module named 'fastmcp'",
                "does not find a module",
            ),
            (
                "/usr/bin/python3: No module named my_server",
                "does not find a module",
            ),
            (
                "python3: can't open file '/a/s.py': [Errno 2] No such file or directory",
                "path of the script",
            ),
            (
                "    def f(:\n          ^\nSyntaxError: invalid syntax",
                "cannot be read",
            ),
            (
                "INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)",
                "--url",
            ),
            (
                "node:internal/modules/cjs/loader:1228\nError: Cannot find module '/a/dist/index.js'\n    at a",
                "Node.js does not find",
            ),
            // What ended it is said last.
            (
                "No module named 'colorama', so there are no colours\nKeyError: 'API_TOKEN'",
                "variable of the environment",
            ),
            // A module that a package had in another version, and a file in the place of the package.
            (import, "has no such module"),
            (
                &format!("{import}; 'mcp.server' is not a package"),
                "has the name of a package",
            ),
            // An error of its own, whatever was said before, and whatever stands in its rows.
            (
                "No module named 'colorama', so there are no colours\nTraceback (most recent call last):\n  File \"s.py\", \
                 line 3, in <module>\n    raise Sorry('KeyError')\nSorry: out of luck",
                "",
            ),
            ("out of luck", ""),
        ] {
            let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
            let advice = advice(&lines).unwrap_or_default();
            assert_eq!(
                advice.is_empty(),
                expected.is_empty(),
                "{lines:?}: {advice}"
            );
            assert!(advice.contains(expected), "{lines:?}: {advice}");
        }
    }

    #[test]
    fn a_language_is_told_by_the_program() {
        for (program, expected) in [
            ("python3", "Python"),
            ("/opt/venv/bin/python3.12", "Python"),
            ("uvx", "Python"),
            ("npx", "JavaScript"),
            ("./my-server", ""),
            ("", ""),
        ] {
            assert_eq!(language(program), expected, "{program}");
        }
    }
}
