//! The build time and the number of crates of a first server and the command, and the startup time of a first server.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, BufReader},
    path::Path,
    process::Command,
    time::Instant,
};

use super::{
    Peer, Sample,
    process::{cargo, piped},
    stdio,
};

const ASKBACK: &str = r#"
use askback::{Result, Server, Tool};

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let hello = Tool::new("hello", async || -> Result<&'static str> { Ok("Hello!") });
    let server = Server::new("hello", "1.0.0").tool(hello).build()?;
    Ok(server.serve_stdio().await?)
}
"#;

const RMCP: &str = r#"
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router, transport::stdio};

#[derive(Clone)]
struct Hello;

#[tool_router]
impl Hello {
    #[tool(description = "Says hello")]
    async fn hello(&self) -> String {
        "Hello!".into()
    }
}

#[tool_handler]
impl ServerHandler for Hello {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Hello.serve(stdio()).await?.waiting().await?;
    Ok(())
}
"#;

const STARTS: usize = 30;

const FIRST_SERVER: [(&str, &[&str]); 2] = [
    ("clean build of a first server", &[]),
    ("clean build of a first server, release", &["--release"]),
];

/// Builds everything from scratch: first servers in both modes, and the command as in the README.
pub(super) fn measure(root: &Path) -> io::Result<Vec<Sample>> {
    let place = root.join("target/hello");
    let askback = format!("askback = {{ path = {:?} }}", root.join("crates/askback"));
    let programs = [
        (Peer::Askback, askback, ASKBACK),
        (
            Peer::Rmcp,
            r#"rmcp = { version = "=3.11.0", features = ["transport-io"] }"#.to_owned(),
            RMCP,
        ),
    ];
    let mut samples = Vec::new();
    for (peer, dependency, code) in programs {
        super::report::tell(&format!("clean build, {}", peer.name()));
        let package = place.join(peer.name());
        fs::create_dir_all(package.join("src"))?;
        fs::write(package.join("src/main.rs"), code)?;
        fs::write(package.join("Cargo.toml"), manifest(&dependency))?;
        cargo(&package, &["fetch"])?;
        let target = package.join("target");
        let sample = |what: &str, unit, value| Sample {
            what: what.to_owned(),
            peer,
            unit,
            value,
        };
        for (what, arguments) in FIRST_SERVER {
            let seconds = clean_build(&package, &target, arguments)?;
            samples.push(sample(what, "s", seconds));
        }
        let program = target.join("release/hello");
        for _ in 0..STARTS {
            samples.push(sample("cold start", "ms", start(&program)?));
        }
        let crates = crates(&package, &[])? as f64;
        samples.push(sample("crates of a first server", "crates", crates));
    }
    samples.extend(command(root)?);
    Ok(samples)
}

/// Starts a server, and returns the milliseconds until it answers `initialize`.
fn start(program: &Path) -> io::Result<f64> {
    let begun = Instant::now();
    let (_server, mut input, output) = piped(Command::new(program))?;
    stdio::open(&mut input, &mut BufReader::new(output))?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

fn command(root: &Path) -> io::Result<[Sample; 3]> {
    super::report::tell("clean build, the command");
    let package = ["-p", "askback-cli"];
    let target = root.join("target/command");
    let arguments = ["--release", "--locked", package[0], package[1]];
    let seconds = clean_build(root, &target, &arguments)?;
    let size = fs::metadata(target.join("release/askback"))?.len() as f64 / f64::from(1 << 20);
    let sample = |what: &str, unit, value| Sample {
        what: what.to_owned(),
        peer: Peer::Askback,
        unit,
        value,
    };
    Ok([
        sample("clean build of the command", "s", seconds),
        sample(
            "crates of the command",
            "crates",
            crates(root, &package)? as f64,
        ),
        sample("size of the command", "MiB", size),
    ])
}

fn clean_build(package: &Path, target: &Path, arguments: &[&str]) -> io::Result<f64> {
    if target.exists() {
        fs::remove_dir_all(target)?;
    }
    let directory = target.display().to_string();
    let mut build = vec!["build", "--quiet", "--target-dir", &directory];
    build.extend(arguments);
    let begun = Instant::now();
    cargo(package, &build)?;
    Ok(begun.elapsed().as_secs_f64())
}

fn manifest(dependency: &str) -> String {
    format!(
        "[package]\nname = \"hello\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependency}\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n"
    )
}

fn crates(package: &Path, arguments: &[&str]) -> io::Result<usize> {
    let mut command = Command::new("cargo");
    command.args(["tree", "--prefix", "none", "--edges", "normal,build"]);
    command.args(arguments);
    let output = command.current_dir(package).output()?;
    let text = String::from_utf8(output.stdout).map_err(io::Error::other)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let crates: BTreeSet<&str> = lines.map(|line| line.trim_end_matches(" (*)")).collect();
    // The program itself is not counted.
    Ok(crates.len().saturating_sub(1))
}
