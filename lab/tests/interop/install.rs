//! Installs the peers into the user's cache: from npm with a recent Node, from PyPI into virtual environments, and rmcp
//! with cargo.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use lab::install;

use crate::{
    Result,
    plan::{Peer, Side},
    program::Program,
};

/// The npm packages, pinned by a lock file.
const PACKAGE: &str = include_str!("../../interop/typescript/package.json");
const LOCK: &str = include_str!("../../interop/typescript/package-lock.json");

/// The PyPI packages, one virtual environment per list.
const PYTHON_2: &str = include_str!("../../interop/python/requirements-2.txt");
const PYTHON_1: &str = include_str!("../../interop/python/requirements-1.txt");

/// rmcp's target directory. It is separate from the workspace's because it is just as large.
const RMCP: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/interop-rmcp");

const PROGRAMS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/interop-npm");

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/interop");

/// The installed packages. Missing ones are reported and skipped.
pub(crate) struct Installed {
    npm: Option<PathBuf>,
    python_2: Option<PathBuf>,
    python_1: Option<PathBuf>,
    rmcp: Option<PathBuf>,
    pub(crate) left_out: Vec<String>,
}

impl Installed {
    pub(crate) fn install() -> Result<Self> {
        let mut left_out = Vec::new();
        let mut or_left_out = |installed: Result<Option<PathBuf>>, what: &str, needs: &str| {
            let installed = installed.map_err(|error| format!("{what}: {error}"))?;
            if installed.is_none() {
                left_out.push(format!("{what}: it needs {needs}, which is not there"));
            }
            Ok::<_, String>(installed)
        };
        let npm = or_left_out(npm(), "what is on npm", "npm")?;
        let needs = "a Python of at least 3.10 with venv";
        let python_2 = or_left_out(
            install::python("interop/python-2", PYTHON_2),
            "mcp 2 and FastMCP",
            needs,
        )?;
        let python_1 = or_left_out(
            install::python("interop/python-1", PYTHON_1),
            "mcp 1",
            needs,
        )?;
        Ok(Self {
            npm,
            python_2,
            python_1,
            rmcp: Some(install::rmcp(Path::new(RMCP))?),
            left_out,
        })
    }

    pub(crate) fn program(&self, peer: Peer, side: Side) -> Option<Program> {
        let name = match side {
            Side::Client | Side::Wrapped(_) => "client",
            Side::Server => "server",
        };
        let node = |file: &str| Some(self.node()?.arg(Path::new(PROGRAMS).join(file)));
        let python = |environment: &Option<PathBuf>, file: &str| {
            let python = environment.as_ref()?.join("bin/python");
            let program = Program::new(python).arg(Path::new(SOURCES).join("python").join(file));
            // Python must not write its cache into the sources.
            Some(program.env("PYTHONDONTWRITEBYTECODE", "1"))
        };
        match peer {
            Peer::TypeScript2 => node(&format!("{name}-2.mjs")),
            Peer::TypeScript1 => node(&format!("{name}-1.mjs")),
            Peer::Python2 => python(&self.python_2, &format!("{name}_2.py")),
            Peer::FastMcp => python(&self.python_2, &format!("{name}_fastmcp.py")),
            Peer::Python1 => python(&self.python_1, &format!("{name}_1.py")),
            Peer::Rmcp => Some(Program::new(self.rmcp.as_ref()?).arg(name)),
        }
    }

    fn node(&self) -> Option<Program> {
        let npm = self.npm.as_ref()?;
        Some(Program::new(npm.join(install::NODE)))
    }

    /// Returns the program of an npm package, by the file that starts it.
    pub(crate) fn package(&self, file: &str) -> Option<Program> {
        let modules = self.npm.as_ref()?.join("node_modules");
        Some(self.node()?.arg(modules.join(file)))
    }
}

/// Installs the npm packages, and copies the programs next to them.
fn npm() -> Result<Option<PathBuf>> {
    let Some(directory) = install::npm("interop/npm", PACKAGE, LOCK)? else {
        return Ok(None);
    };
    // Node looks for modules next to a program. The programs cannot be in the cache, because another checkout would
    // overwrite them.
    let programs = Path::new(PROGRAMS);
    let _ = fs::remove_dir_all(programs);
    fs::create_dir_all(programs)?;
    symlink(
        directory.join("node_modules"),
        programs.join("node_modules"),
    )?;
    for entry in fs::read_dir(Path::new(SOURCES).join("typescript"))? {
        let path = entry?.path();
        let is_program = path.extension().is_some_and(|extension| extension == "mjs");
        if let (true, Some(name)) = (is_program, path.file_name()) {
            fs::copy(&path, programs.join(name))?;
        }
    }
    let forms = Path::new(SOURCES).join("forms.json");
    fs::copy(forms, programs.join("forms.json"))?;
    Ok(Some(directory))
}
