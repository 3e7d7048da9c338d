//! Derives a name for a server from its script or package, never from its launcher.

use std::path::{Component, Path};

/// Programs that start servers. The server is named after their arguments.
const LAUNCHERS: &[&str] = &[
    "bun", "bunx", "cargo", "deno", "docker", "dotnet", "env", "go", "java", "node", "npm", "npx",
    "php", "pipx", "pnpm", "podman", "poetry", "python", "ruby", "ts-node", "tsx", "uv", "uvx",
    "yarn",
];

/// Subcommands of launchers. They are not names.
const COMMANDS: &[&str] = &["container", "dlx", "exec", "run", "tool", "x"];

/// Options followed by the name.
const NAMING: &[&str] = &[
    "-jar",
    "-m",
    "-p",
    "--bin",
    "--example",
    "--from",
    "--module",
    "--package",
    "--spec",
];

/// Options of interpreters and package runners that take a value.
const VALUED: &[&str] = &[
    "-C",
    "-W",
    "-X",
    "-c",
    "-classpath",
    "-cp",
    "-e",
    "-r",
    "--cwd",
    "--directory",
    "--env-file",
    "--features",
    "--import",
    "--loader",
    "--manifest-path",
    "--project",
    "--python",
    "--require",
    "--with",
];

/// Options of container runtimes that take a value.
const OF_CONTAINERS: &[&str] = &[
    "-e",
    "-p",
    "-u",
    "-v",
    "-w",
    "--env",
    "--env-file",
    "--mount",
    "--name",
    "--network",
    "--publish",
    "--user",
    "--volume",
    "--workdir",
];

/// Extensions of files that are not packages.
const EXTENSIONS: &[&str] = &[
    "cjs", "cs", "dll", "go", "jar", "js", "mjs", "php", "py", "rb", "sh", "ts",
];

/// Script names that are too generic to name a server.
const SCRIPTS: &[&str] = &["__main__", "app", "cli", "index", "main", "mod", "server"];

/// Folder names that are too generic.
const FOLDERS: &[&str] = &["bin", "build", "dist", "lib", "out", "src"];

pub fn of_command(program: &str, args: &[String]) -> String {
    if let ("askback", [serve, demo, ..]) = (&*stem(program), args)
        && serve == "serve"
    {
        return demo.clone();
    }
    match launched(program, args) {
        // A launcher may start another launcher.
        Some((word, rest)) if launcher(word).is_some() => of_command(word, rest),
        Some((word, _)) => of_word(word),
        None => stem(program),
    }
}

fn launcher(program: &str) -> Option<String> {
    let name = stem(program);
    // The name of a Python interpreter may have a version.
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    LAUNCHERS.contains(&name).then(|| name.to_owned())
}

/// The argument that names what a launcher starts, and the arguments after it.
fn launched<'a>(program: &str, args: &'a [String]) -> Option<(&'a str, &'a [String])> {
    let (valued, naming) = match &*launcher(program)? {
        "docker" | "podman" => (OF_CONTAINERS, &[][..]),
        _ => (VALUED, NAMING),
    };
    let mut args = args;
    while let Some((word, rest)) = args.split_first() {
        let word = word.as_str();
        if naming.contains(&word) {
            return rest.split_first().map(|(name, rest)| (&**name, rest));
        }
        let is_valued = valued.contains(&word);
        let is_name = !word.starts_with('-') && !word.contains('=') && !COMMANDS.contains(&word);
        if is_name && !is_valued {
            return Some((word, rest));
        }
        args = rest.get(usize::from(is_valued)..).unwrap_or_default();
    }
    None
}

fn of_word(word: &str) -> String {
    let extension = Path::new(word)
        .extension()
        .and_then(|extension| extension.to_str());
    if extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        || word.starts_with(['.', '/', '~'])
    {
        return of_script(Path::new(word));
    }
    // A package may have a version, a scope or a registry.
    let word = word.trim_end_matches('/');
    let last = word.rsplit('/').next().unwrap_or(word);
    let name = last.split(['@', ':']).next().unwrap_or(last);
    if name.is_empty() {
        word.to_owned()
    } else {
        name.to_owned()
    }
}

/// The name of a script's file, or of its folder if the file name is too generic.
fn of_script(script: &Path) -> String {
    let file = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    if !SCRIPTS.contains(&stem(&script.to_string_lossy()).as_str()) {
        return file(script);
    }
    let folders = script.parent().into_iter().flat_map(Path::components).rev();
    let mut names = folders.filter_map(|folder| match folder {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let says = names.find(|name| !FOLDERS.contains(&&**name));
    says.map_or_else(|| file(script), |name| name.into_owned())
}

fn stem(program: &str) -> String {
    let stem = Path::new(program).file_stem();
    stem.map_or_else(
        || program.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_by_their_scripts_and_packages() {
        #[track_caller]
        fn check(command: &str, name: &str) {
            let mut words = command.split(' ').map(str::to_owned);
            let program = words.next().unwrap();
            let args: Vec<_> = words.collect();
            assert_eq!(of_command(&program, &args), name);
        }
        check("my-server", "my-server");
        check("/opt/bin/my-server --port 7", "my-server");
        check("./target/release/zoo.exe", "zoo");
        check("python3 zoo.py --verbose", "zoo.py");
        check("/usr/bin/python3.12 -u zoo.py", "zoo.py");
        check("python3 -m mcp_server_fetch", "mcp_server_fetch");
        check("python3 -c pass", "python3");
        check("python3 -W ignore -X dev zoo.py", "zoo.py");
        check(
            "npx -y @modelcontextprotocol/server-everything",
            "server-everything",
        );
        check(
            "npx -y @modelcontextprotocol/server-everything@2026.1 stdio",
            "server-everything",
        );
        check("npx -p @scope/tools serve", "tools");
        check("npx server-filesystem@latest .", "server-filesystem");
        check("uvx --from git+https://example.com/zoo zoo", "zoo");
        check("uv run --directory /srv zoo.py", "zoo.py");
        check("uv tool run zoo", "zoo");
        check("uv run python zoo.py", "zoo.py");
        check("env TOKEN=x node dist/index.js", "index.js");
        check("node /home/ada/weather/dist/index.js", "weather");
        check("node ./weather/build/index.js", "weather");
        check("node -e 1", "node");
        check(
            "docker run -i --rm -e TOKEN -v /a:/b ghcr.io/acme/fetch:1.2",
            "fetch",
        );
        check("cargo run -q -p zoo", "zoo");
        check("cargo run", "cargo");
        check("java -jar /opt/zoo.jar", "zoo.jar");
        check("deno run -A zoo.ts", "zoo.ts");
        check("npx", "npx");
        check("askback serve travel", "travel");
        check("/usr/bin/askback serve travel --http 127.0.0.1:0", "travel");
        check("askback serve", "askback");
        check("", "");
    }
}
