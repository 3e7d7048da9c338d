//! Opens links in the system's browser.

use std::{env, ffi::OsString};

use crate::page::{Page, Style};

#[derive(Debug)]
pub(crate) enum NoBrowser {
    NoDisplay,
    /// There is no browser, or it could not be started.
    Failed(std::io::Error),
}

/// Opens a link in a browser. If a browser starts but fails later, that is not noticed.
pub(crate) fn open(url: &str) -> Result<(), NoBrowser> {
    let is_page = ["http://", "https://"].iter().any(|it| url.starts_with(it));
    match is_page {
        true => start(url),
        false => Err(NoBrowser::Failed(std::io::Error::other(
            "the link does not lead to a page of askback",
        ))),
    }
}

fn start(url: &str) -> Result<(), NoBrowser> {
    if !is_seen(&[]) {
        return Err(NoBrowser::NoDisplay);
    }
    webbrowser::open(url).map_err(NoBrowser::Failed)
}

/// Opens a link that contains a secret. All users of a machine can read the arguments of a process,
/// so the link is passed in a file that only the user can read. The file is removed after a minute.
#[cfg(feature = "web")]
pub(crate) fn open_by_file(link: &str) -> Result<(), NoBrowser> {
    use std::io::Write as _;

    const READ: std::time::Duration = std::time::Duration::from_secs(60);

    let folder = env::var_os("XDG_RUNTIME_DIR").filter(|it| !it.is_empty());
    let folder = folder.map_or_else(env::temp_dir, Into::into);
    let mut file = tempfile::Builder::new()
        .prefix("askback-")
        .suffix(".html")
        .tempfile_in(folder)
        .map_err(NoBrowser::Failed)?;
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>askback</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\"><a href=\"{link}\">Go on to the page</a>"
    );
    file.write_all(html.as_bytes()).map_err(NoBrowser::Failed)?;
    let url = url::Url::from_file_path(file.path());
    let url = url.map_err(|()| NoBrowser::Failed(std::io::Error::other("the file has no URL")))?;
    start(url.as_str())?;
    tokio::spawn(async move {
        tokio::time::sleep(READ).await;
        drop(file);
    });
    Ok(())
}

/// Whether the user is connected over SSH.
pub(crate) fn is_elsewhere() -> bool {
    env::var_os("SSH_CONNECTION").is_some_and(|value| !value.is_empty())
}

/// Whether the user would see a browser that is started with these variables added to the environment.
#[must_use]
pub fn is_seen(variables: &[(&'static str, OsString)]) -> bool {
    let variable = |name: &'static str| {
        let added = variables.iter().find(|(known, _)| *known == name);
        added
            .map(|(_, value)| value.clone())
            .or_else(|| env::var_os(name))
    };
    cfg!(not(unix))
        || cfg!(any(target_vendor = "apple", target_os = "android"))
        || has_display(variable)
}

/// Whether the user would see a browser: there is a display, WSL, or a program in `BROWSER`. Other
/// browsers would start without a display and fail silently.
fn has_display(variable: impl Fn(&'static str) -> Option<OsString>) -> bool {
    let displays = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"];
    let mut set = displays.into_iter().filter_map(variable);
    set.any(|value| !value.is_empty())
}

impl NoBrowser {
    pub(crate) fn put(&self, page: &mut Page) {
        match self {
            Self::NoDisplay => {
                let words = "cannot open a browser: this machine has no display";
                page.item("× ", Style::Error, words);
            }
            Self::Failed(error) => {
                page.item("× ", Style::Error, "cannot open a browser:");
                // The message may contain the link.
                page.quote_at("  ", error.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_started_where_it_is_seen() {
        #[track_caller]
        fn check(variables: &[(&str, &str)], seen: bool) {
            let variable = |name: &'static str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(has_display(variable), seen);
        }
        check(&[], false);
        check(&[("DISPLAY", ":0")], true);
        check(&[("DISPLAY", "")], false);
        check(&[("WAYLAND_DISPLAY", "wayland-0")], true);
        check(&[("WSL_DISTRO_NAME", "Debian")], true);
        check(&[("BROWSER", "lynx")], true);
    }
}
