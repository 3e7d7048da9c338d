//! `askback wrap --bundle FILE.mcpb -- SERVER` writes a bundle: a zip file with this command, the files of the server,
//! and a manifest that starts both. The format is <https://github.com/modelcontextprotocol/mcpb>, version 0.3.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use askback_host::{
    page::{Page, Style, out},
    text::{Words, given},
    words,
};
use rawzip::{ZipArchiveWriter, time::UtcDateTime};
use serde_json::{Value, json};

use crate::{
    error::Error,
    own_files,
    secret::{is_in, is_name, is_setting},
    servers::conceal_args,
    target::{Reach, Target},
};

const MAX_BUNDLE_BYTES: u64 = 512 << 20;

const MAX_BUNDLE_FILES: usize = 10_000;

/// The maximum depth of packed folders.
const MAX_BUNDLE_DEPTH: usize = 32;

/// How many bytes at the start of a file are searched for a private key.
const KEY_SEARCH_BYTES: usize = 4096;

/// The folder of the server's files in a bundle.
const FILES: &str = "files";

/// Suffixes of files that hold keys or passwords.
const KEY_ENDS: [&str; 9] = [
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".ppk",
];

/// Beginnings of the names of SSH keys.
const KEY_BEGINNINGS: [&str; 4] = ["id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];

/// Suffixes of files with settings. A file with one of them, or without a suffix, is refused if its name suggests a
/// secret. Source files such as `token.py` are packed.
const SETTING_ENDS: [&str; 9] = [
    ".cfg",
    ".conf",
    ".ini",
    ".json",
    ".properties",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
];

/// Texts that mark a private key in a file.
const KEY_MARKS: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];

pub(super) struct Bundle<'a> {
    /// The file to write. It must not exist.
    pub path: &'a Path,
    /// The folder with the server's files.
    pub folder: Option<&'a Path>,
    /// The running `askback`, which is copied into the bundle.
    pub program: &'a Path,
    pub target: &'a Target,
    /// The options of `askback wrap`.
    pub options: Vec<String>,
}

struct PackedFile {
    /// The name in the bundle, with `/` between folders.
    name: String,
    path: PathBuf,
    bytes: u64,
    is_program: bool,
}

pub(super) fn write(bundle: &Bundle<'_>) -> Result<(), Error> {
    let mut page = build(bundle)?;
    Ok(out::print(&page.take())?)
}

/// Returns what is in it.
fn build(bundle: &Bundle<'_>) -> Result<Page, Error> {
    let Reach::Start(command) = &bundle.target.reach else {
        return Err(Error::usage("a bundle starts a server, and a URL is none")
            .hint("Write the command of the server after --."));
    };
    if command.cwd.is_some() {
        return Err(
            Error::usage("a bundle has no folder in which the server starts")
                .hint("Write the command of the server after --, without its entry in a file."),
        );
    }
    check_words(
        &bundle.target.name,
        &command.program,
        &command.args,
        &command.env,
    )?;
    let files = files(bundle)?;
    let packed = |word: &String| packed_word(word, &files, bundle.folder);
    let mut server = vec![packed(&command.program)?];
    for word in &command.args {
        server.push(packed(word)?);
    }
    let manifest = manifest(bundle, &server, &command.env);
    let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    let unwritten = |error: &io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::usage(words!(
            "{} exists, and a bundle never replaces a file",
            given(bundle.path.display())
        )),
        _ => Error::unwritten(bundle.path, error),
    };
    let file = own_files::create_new(bundle.path).map_err(|error| unwritten(&error))?;
    if let Err(error) = pack(file, &text, &files) {
        // This call created the file, and it is incomplete.
        let _ = fs::remove_file(bundle.path);
        return Err(unwritten(&error));
    }
    let mut page = out::stdout_page();
    put(&mut page, bundle, &files, &server, &command.env);
    Ok(page)
}

/// Rejects words that look like secrets or hold `${`: every user of the bundle can read the manifest.
fn check_words(
    name: &str,
    program: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
) -> Result<(), Error> {
    let all = args.iter().map(String::as_str).chain([name, program]);
    for word in all.chain(env.iter().flat_map(|(name, value)| [&**name, &**value])) {
        if word.contains("${") {
            let error = words!("`{}` holds `${`, which clients replace", given(word));
            return Err(Error::usage(error));
        }
    }
    let concealed = conceal_args(args);
    for (arg, concealed) in args.iter().zip(&concealed) {
        if arg != concealed || is_in(arg, is_setting) {
            return Err(secret("an argument of the server looks like a secret"));
        }
    }
    for (name, value) in env {
        if is_setting(name) || is_in(value, is_setting) {
            let error = words!("the variable {} looks like a secret", given(name));
            return Err(secret(error));
        }
    }
    Ok(())
}

fn secret(error: impl Into<Words>) -> Error {
    Error::usage(error)
        .hint("Each user of the bundle can read it. Let the server read the secret from a file of its user.")
}

/// Returns the files to pack: this program and the files of the folder.
fn files(bundle: &Bundle<'_>) -> Result<Vec<PackedFile>, Error> {
    let program = bundle.program;
    let size = fs::metadata(program).map_err(|error| Error::unread(program, error))?;
    let mut files = vec![PackedFile {
        name: program_name().to_owned(),
        path: program.to_owned(),
        bytes: size.len(),
        is_program: true,
    }];
    if let Some(folder) = bundle.folder {
        add_folder(folder, FILES, 0, &mut files)?;
        if files.len() == 1 {
            let error = words!("{} has no files", given(folder.display()));
            return Err(Error::usage(error));
        }
    }
    let all: u64 = files
        .iter()
        .fold(0, |sum, file| sum.saturating_add(file.bytes));
    if all > MAX_BUNDLE_BYTES {
        let error = words!(
            "the bundle would hold {} MiB, and {} MiB is the most",
            all >> 20,
            MAX_BUNDLE_BYTES >> 20
        );
        return Err(Error::usage(error));
    }
    Ok(files)
}

fn add_folder(
    folder: &Path,
    inside: &str,
    depth: usize,
    files: &mut Vec<PackedFile>,
) -> Result<(), Error> {
    let refuse = |path: &Path, why: &'static str| {
        let error = words!("{} is not packed: {}", given(path.display()), why);
        Err(Error::usage(error).hint("Pack a folder that has the files of the server alone."))
    };
    if depth >= MAX_BUNDLE_DEPTH {
        return refuse(folder, "its folders are too deep");
    }
    let unread = |error| Error::unread(folder, error);
    let entries = fs::read_dir(folder).map_err(unread)?;
    let entries = entries.collect::<Result<Vec<_>, _>>().map_err(unread)?;
    let mut entries: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return refuse(&path, "its name is not valid UTF-8");
        };
        if let Some(why) = refused_name(name) {
            return refuse(&path, why);
        }
        let known = fs::symlink_metadata(&path).map_err(|error| Error::unread(&path, error))?;
        let name = format!("{inside}/{name}");
        if known.is_symlink() {
            return refuse(&path, "it is a link, which may lead out of the folder");
        } else if known.is_dir() {
            add_folder(&path, &name, depth.saturating_add(1), files)?;
        } else if !known.is_file() {
            return refuse(&path, "it is no file");
        } else if files.len() > MAX_BUNDLE_FILES {
            return refuse(&path, "there are too many files");
        } else if has_private_key(&path).map_err(|error| Error::unread(&path, error))? {
            return refuse(&path, "it holds a private key");
        } else {
            files.push(PackedFile {
                name,
                bytes: known.len(),
                is_program: is_executable(&known),
                path,
            });
        }
    }
    Ok(())
}

/// Returns why a file with this name is not packed. `None` if it may be packed.
fn refused_name(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
    let stem = lower.split('.').next().unwrap_or_default();
    if name.starts_with('.') {
        Some("hidden files often hold secrets")
    } else if name.contains("${") {
        Some("clients replace `${` in a name")
    } else if name.contains(['\\', ':']) || name.chars().any(char::is_control) {
        Some("not every system has files of this name")
    } else if ends(&KEY_ENDS) || KEY_BEGINNINGS.iter().any(|key| lower.starts_with(key)) {
        Some("keys have such names")
    } else if (ends(&SETTING_ENDS) || !lower.contains('.')) && is_name(stem) {
        Some("secrets have such names")
    } else {
        None
    }
}

fn has_private_key(path: &Path) -> io::Result<bool> {
    let mut head = Vec::with_capacity(KEY_SEARCH_BYTES);
    let limit = u64::try_from(KEY_SEARCH_BYTES).unwrap_or(u64::MAX);
    open(path)?.take(limit).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    Ok(KEY_MARKS.iter().any(|mark| head.contains(mark)))
}

/// Opens a file. Does not follow a link or wait for a pipe that has replaced the file since it was checked.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn is_executable(file: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

fn program_name() -> &'static str {
    match cfg!(windows) {
        true => "askback.exe",
        false => "askback",
    }
}

/// Returns a word of the server's command as the manifest has it. The path of a packed file becomes its path in the bundle.
fn packed_word(word: &str, files: &[PackedFile], folder: Option<&Path>) -> Result<String, Error> {
    let path = Path::new(word);
    // A word names a packed file by a path that begins with the folder, or is relative to it.
    let inside = folder.and_then(|folder| {
        let relative = path.strip_prefix(folder).unwrap_or(path);
        let name = format!("{FILES}/{}", relative.to_str()?.replace('\\', "/"));
        let name = name.replace("/./", "/");
        files.iter().find(|file| file.name == name)
    });
    match inside {
        Some(file) => Ok(format!("${{__dirname}}/{}", file.name)),
        None if path.components().count() > 0 && path.is_relative() && path.exists() => {
            let error = words!("{} would not be in the bundle", given(word));
            Err(Error::usage(error).hint("--folder FOLDER packs the files of the server."))
        }
        None => Ok(word.to_owned()),
    }
}

fn manifest(bundle: &Bundle<'_>, server: &[String], env: &BTreeMap<String, String>) -> Value {
    let name = &bundle.target.name;
    let program = format!("${{__dirname}}/{}", program_name());
    let mut args = vec!["wrap".to_owned(), "--name".to_owned(), name.clone()];
    args.extend(bundle.options.iter().cloned());
    args.push("--".to_owned());
    args.extend(server.iter().cloned());
    let mut config = json!({"command": program, "args": args});
    if !env.is_empty() {
        config["env"] = json!(env);
    }
    let platform = match env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        _ => "linux",
    };
    json!({
        "manifest_version": "0.3",
        "name": name,
        "version": env!("CARGO_PKG_VERSION"),
        "description": "A server whose questions askback shows to the user.",
        "author": {"name": "askback wrap"},
        "server": {"type": "binary", "entry_point": program_name(), "mcp_config": config},
        "tools_generated": true,
        "compatibility": {"platforms": [platform]},
    })
}

/// Writes the zip file, without compression.
fn pack(file: impl Write, manifest: &str, files: &[PackedFile]) -> io::Result<()> {
    let mut zip = ZipArchiveWriter::new(file);
    add(&mut zip, "manifest.json", false, manifest.as_bytes())?;
    for packed in files {
        // The path of the running program may be a link, which is followed.
        let source = match packed.name == program_name() {
            true => File::open(&packed.path)?,
            false => open(&packed.path)?,
        };
        // Pack no more than the size that was checked, even if the file grows.
        let source = source.take(packed.bytes);
        add(&mut zip, &packed.name, packed.is_program, source)?;
    }
    zip.finish().map_err(io::Error::other)?.flush()
}

fn add(
    zip: &mut ZipArchiveWriter<impl Write>,
    name: &str,
    is_program: bool,
    mut source: impl Read,
) -> io::Result<()> {
    let mode = if is_program { 0o755 } else { 0o644 };
    let mut file = zip.new_file(name).unix_permissions(mode);
    // The earliest time in a zip file, so that equal files make equal bundles.
    if let Some(day) = UtcDateTime::from_components(1980, 1, 1, 0, 0, 0, 0) {
        file = file.last_modified(day);
    }
    let started = file.start();
    let (mut entry, config) = started.map_err(io::Error::other)?;
    let mut writer = config.wrap(&mut entry);
    io::copy(&mut source, &mut writer)?;
    let (_, end) = writer.finish().map_err(io::Error::other)?;
    entry.finish(end).map_err(io::Error::other)?;
    Ok(())
}

fn put(
    page: &mut Page,
    bundle: &Bundle<'_>,
    files: &[PackedFile],
    server: &[String],
    env: &BTreeMap<String, String>,
) {
    page.say(Style::Strong, words!("{}:", given(bundle.path.display())));
    page.note(Style::Plain, "manifest.json");
    for file in files {
        let size = file.bytes.div_ceil(1024);
        page.note(Style::Plain, words!("{}, {} KiB", given(&file.name), size));
    }
    let words = server.iter().map(given);
    page.say(
        Style::Plain,
        words!("It starts: askback wrap -- {}", Words::join(words, " ")),
    );
    if !env.is_empty() {
        let names = env.keys().map(given);
        page.say(
            Style::Plain,
            words!("With these variables: {}", Words::join(names, ", ")),
        );
    }
    page.say(
        Style::Dim,
        "Open the file in the client. It runs on systems like this one, and has a copy of this command.",
    );
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A folder with a program and the files of a server.
    fn folder() -> TempDir {
        let temporary = tempfile::tempdir().expect("there is room");
        let folder = temporary.path();
        fs::create_dir_all(folder.join("app/lib")).expect("it can be written");
        fs::write(folder.join("program"), "#!").expect("it can be written");
        fs::write(folder.join("app/server.py"), "print()").expect("it can be written");
        fs::write(folder.join("app/lib/helper.py"), "pass").expect("it can be written");
        temporary
    }

    fn written(folder: &Path, words: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
        let args: Vec<_> = words[1..].iter().map(|word| (*word).to_owned()).collect();
        let mut target = Target::child(words[0], &args);
        "travel".clone_into(&mut target.name);
        if let Reach::Start(command) = &mut target.reach {
            let env = env.iter();
            command.env = env
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
        }
        let bundle = Bundle {
            path: &folder.join("travel.mcpb"),
            folder: Some(&folder.join("app")),
            program: &folder.join("program"),
            target: &target,
            options: vec!["--show=none".to_owned()],
        };
        let built = build(&bundle).map(drop);
        built.map_err(|error| error.message.to_string())
    }

    fn read(folder: &Path) -> BTreeMap<String, String> {
        let bytes = fs::read(folder.join("travel.mcpb")).expect("it was written");
        let archive = rawzip::ZipArchive::from_slice(&bytes).expect("a zip file");
        let mut entries = archive.entries();
        let mut files = BTreeMap::new();
        while let Some(entry) = entries.next_entry().expect("an entry") {
            let name = entry
                .file_path()
                .try_normalize()
                .expect("a path")
                .as_ref()
                .to_owned();
            let local = archive.get_entry(entry.wayfinder()).expect("its data");
            let mut text = String::new();
            let mut reader = local.verifying_reader(local.data());
            reader.read_to_string(&mut text).expect("a text");
            files.insert(name, text);
        }
        files
    }

    #[test]
    fn a_bundle_starts_the_packed_server_behind_this_command() {
        let temporary = folder();
        let folder = temporary.path();
        written(
            folder,
            &["python3", "server.py", "--loud"],
            &[("MODE", "test")],
        )
        .expect("it is packed");
        let files = read(folder);
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        let expected = [
            program_name(),
            "files/lib/helper.py",
            "files/server.py",
            "manifest.json",
        ];
        assert_eq!(names, expected);
        assert_eq!(files["files/server.py"], "print()");
        let manifest: Value = serde_json::from_str(&files["manifest.json"]).expect("JSON");
        let config = &manifest["server"]["mcp_config"];
        let words = [
            "wrap",
            "--name",
            "travel",
            "--show=none",
            "--",
            "python3",
            "${__dirname}/files/server.py",
            "--loud",
        ];
        assert_eq!(config["args"], json!(words));
        assert_eq!(config["env"], json!({"MODE": "test"}));
        // A bundle is never overwritten.
        let again = written(folder, &["python3"], &[]).expect_err("it exists");
        assert!(
            again.ends_with("exists, and a bundle never replaces a file"),
            "{again}"
        );
    }

    #[test]
    fn the_manifest_fits_its_schema() {
        const SCHEMA: &str = include_str!("../../../tests/mcpb-manifest-v0.3.schema.json");
        let temporary = folder();
        let folder = temporary.path();
        written(folder, &["python3", "server.py"], &[("MODE", "test")]).expect("it is packed");
        let schema: Value = serde_json::from_str(SCHEMA).expect("a schema");
        let manifest: Value = serde_json::from_str(&read(folder)["manifest.json"]).expect("JSON");
        let schema = jsonschema::draft7::new(&schema).expect("a schema");
        let errors: Vec<_> = schema
            .iter_errors(&manifest)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        let mut wrong = manifest;
        wrong["author"] = json!("askback");
        assert!(!schema.is_valid(&wrong));
    }

    #[test]
    fn a_file_that_may_hold_a_secret_is_not_packed() {
        let temporary = folder();
        let folder = temporary.path();
        for (name, text, why) in [
            (".env", "A=b", "hidden files often hold secrets"),
            ("server.pem", "", "keys have such names"),
            ("id_rsa.old", "", "keys have such names"),
            ("secrets.yaml", "", "secrets have such names"),
            (
                "notes",
                "-----BEGIN RSA PRIVATE KEY-----",
                "it holds a private key",
            ),
            ("a${b}", "", "clients replace `${` in a name"),
        ] {
            let path = folder.join("app/lib").join(name);
            fs::write(&path, text).expect("it can be written");
            let told = written(folder, &["python3"], &[]).expect_err(name);
            assert!(told.ends_with(&format!(" is not packed: {why}")), "{told}");
            assert!(!folder.join("travel.mcpb").exists(), "{name}");
            fs::remove_file(path).expect("it is there");
        }
        for (name, text) in [
            ("auth.py", ""),
            ("tokenizer.json", ""),
            ("keys.py", "PUBLIC KEY-----"),
        ] {
            fs::write(folder.join("app").join(name), text).expect("it can be written");
        }
        written(folder, &["python3"], &[]).expect("these are programs");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_packed() {
        let temporary = folder();
        let folder = temporary.path();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("app/users"))
            .expect("it can be written");
        let told = written(folder, &["python3"], &[]).expect_err("it is a link");
        assert!(told.contains("it is a link"), "{told}");
    }

    #[test]
    fn words_that_look_like_secrets_are_refused() {
        let temporary = folder();
        let folder = temporary.path();
        let check = |words: &[&str], env: &[(&str, &str)], why: &str| {
            assert_eq!(written(folder, words, env), Err(why.to_owned()));
        };
        let argument = "an argument of the server looks like a secret";
        check(&["x", "--api-key", "hunter2hunter2"], &[], argument);
        check(&["x", "ghp_0123456789abcdefghij"], &[], argument);
        let variable = "the variable API_TOKEN looks like a secret";
        check(&["x"], &[("API_TOKEN", "x")], variable);
        let url = "the variable URL looks like a secret";
        check(&["x"], &[("URL", "https://ada:hush@a.test")], url);
        let replaced = "`${HOME}/y` holds `${`, which clients replace";
        check(&["x", "${HOME}/y"], &[], replaced);
    }
}
