//! Our secrets in the environment, which are never passed to a server.

use std::{env, ffi::OsString};
#[cfg(unix)]
use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::Path,
};

use askback::authorization::Secret;

/// Prefix of our own variables. All are kept from servers, including variables added later.
const OURS: &str = "ASKBACK_";

/// Holds the secret of the client that `--client-id` names, if no file does.
pub const CLIENT_SECRET: &str = "ASKBACK_CLIENT_SECRET";

/// The secret in a variable. `None` if the variable is not set or is not text.
pub fn secret(name: &str) -> Option<Secret> {
    env::var(name).ok().map(Secret::new)
}

pub fn ours() -> impl Iterator<Item = OsString> {
    env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| is_ours(&name.to_string_lossy()))
}

/// Variables with which clients pay for their models. Some clients start servers with them (seen on 2026-11-26: Claude Code
/// and Qwen Code).
const MODEL_KEYS: [&str; 14] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_OPENAI_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "COPILOT_PROVIDER_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
];

pub fn is_model_key(name: &str) -> bool {
    MODEL_KEYS.contains(&name)
}

pub fn model_keys() -> impl Iterator<Item = &'static str> {
    MODEL_KEYS
        .into_iter()
        .filter(|name| env::var_os(name).is_some())
}

/// Returns the variables that a program needs to reach this user's desktop. Empty if they are set.
/// Some clients do not pass them to servers (seen on 2026-11-26: Codex and all Python clients).
#[cfg(unix)]
pub fn desktop() -> Vec<(&'static str, OsString)> {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    // A user who is connected over SSH does not see the display of this machine.
    if ["DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"]
        .into_iter()
        .any(is_set)
    {
        return Vec::new();
    }
    let user = rustix::process::geteuid().as_raw();
    desktop_in(Path::new("/"), user)
}

/// Finds a user's desktop by its sockets below `root`. Sockets of other users are ignored.
#[cfg(unix)]
fn desktop_in(root: &Path, user: u32) -> Vec<(&'static str, OsString)> {
    let is_own = |path: &Path| {
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|found| found.uid() == user && found.file_type().is_socket())
    };
    let runtime = root.join("run/user").join(user.to_string());
    let mut variables = Vec::new();
    if is_own(&runtime.join("wayland-0")) {
        variables.push(("WAYLAND_DISPLAY", "wayland-0".into()));
    }
    if is_own(&root.join("tmp/.X11-unix/X0")) {
        variables.push(("DISPLAY", ":0".into()));
    }
    if variables.is_empty() {
        return variables;
    }
    let bus = runtime.join("bus");
    if is_own(&bus) {
        let mut address = OsString::from("unix:path=");
        address.push(bus);
        variables.push(("DBUS_SESSION_BUS_ADDRESS", address));
    }
    variables.push(("XDG_RUNTIME_DIR", runtime.into()));
    variables
}

/// Some systems ignore case in names.
pub fn is_ours(name: &str) -> bool {
    name.get(..OURS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OURS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_desktop_of_the_user_is_found_by_its_sockets() {
        #[track_caller]
        fn check(sockets: &[&str], user: impl Fn(u32) -> u32, expected: &[&str]) {
            let root = tempfile::tempdir().expect("a folder");
            let this = rustix::process::geteuid().as_raw();
            for socket in sockets {
                let path = root
                    .path()
                    .join(socket.replace("UID", &user(this).to_string()));
                fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
                std::os::unix::net::UnixListener::bind(path).expect("it is made");
            }
            let found = desktop_in(root.path(), user(this));
            let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, expected, "{sockets:?}");
        }
        let own = |user| user;
        check(&[], own, &[]);
        check(&["run/user/UID/bus"], own, &[]);
        check(
            &["run/user/UID/wayland-0"],
            own,
            &["WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"],
        );
        check(
            &["run/user/UID/bus", "tmp/.X11-unix/X0"],
            own,
            &["DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"],
        );
        // A socket of another user.
        check(
            &["tmp/.X11-unix/X0", "run/user/UID/wayland-0"],
            |user| user + 1,
            &[],
        );
    }

    #[test]
    fn our_own_variables_are_recognized_by_name() {
        for (name, expected) in [
            (CLIENT_SECRET, true),
            ("ASKBACK_ANYTHING", true),
            ("askback_client_secret", true),
            ("ASKBACK", false),
            ("MY_ASKBACK_SECRET", false),
            ("ÄÄÄÄÄ", false),
            ("", false),
        ] {
            assert_eq!(is_ours(name), expected, "{name}");
        }
    }
}
