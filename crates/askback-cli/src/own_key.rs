//! Keys of servers that only this user may call.
//!
//! `askback serve` draws one for a server over HTTP on this machine, and keeps it in a file of this user's while it serves.
//! The command finds it by the address, so that no token is typed. It is sent to that very address of this machine, and
//! never through a proxy.
//!
//! An address of this machine is one of every machine, and a home may be shared by several. So the file is in the folder
//! of this user's sessions (`XDG_RUNTIME_DIR`), which is of one machine and goes with it; in the home where there is none.

use std::{
    env,
    fs::{self, File},
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

use askback::{authorization::Secret, keys::state_dir};
use url::{Host, Url};
use zeroize::Zeroizing;

use crate::private_file;

/// The header that is in a file, so that other programs can take it from there.
const HEADER: &str = "Authorization: Bearer ";

/// The file of a key. It is removed with its value: the server that takes the key has ended. Where that was killed, the
/// file stays, and its lock is gone.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    held: File,
}

impl KeyFile {
    /// Keeps the key of the server at this address.
    ///
    /// # Errors
    ///
    /// Those of the file, or that this user has no folder to keep it in.
    pub fn write(address: SocketAddr, key: &Secret) -> io::Result<Self> {
        let folder = folders().next().ok_or_else(|| {
            io::Error::other("there is no folder to keep a key in: set HOME, or XDG_STATE_HOME")
        })?;
        private_file::make_folder(&folder)?;
        Self::at(folder.join(name(address)), key)
    }

    fn at(path: PathBuf, key: &Secret) -> io::Result<Self> {
        let text = Zeroizing::new(format!("{HEADER}{}\n", key.expose()));
        private_file::write(&path, &text)?;
        let held = File::open(&path)?;
        // Who reads it holds it for a moment. Where files cannot be locked, one of a server that was killed counts, too.
        let _ = held.lock();
        Ok(Self { path, held })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        // Another server may have taken the address, and have a key of its own there.
        if is_same(&self.held, &self.path) {
            // One that stays opens nothing any more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether a file is still the one at its path.
fn is_same(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (held, there) = (file.metadata(), fs::metadata(path));
        matches!((held, there), (Ok(held), Ok(there)) if (held.dev(), held.ino()) == (there.dev(), there.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

/// Returns the key of the server at a URL, if this user serves one there.
///
/// # Errors
///
/// Those of the file, among them that it is not this user's alone.
pub fn of(url: &str) -> io::Result<Option<Secret>> {
    let Some(address) = address(url) else {
        return Ok(None);
    };
    for folder in folders() {
        if let Some(key) = read(&folder.join(name(address)))? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// The folders of keys, in the order in which they are looked at. A server keeps its key in the first.
fn folders() -> impl Iterator<Item = PathBuf> {
    let sessions = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // The XDG base directory specification has a relative path ignored, and the folder be this user's alone.
    let sessions = sessions.filter(|folder| folder.is_absolute() && is_private(folder));
    let folders = sessions.into_iter().chain(state_dir());
    folders.map(|folder| folder.join("askback").join("served"))
}

/// Whether a folder is this user's, and nobody else can look into it.
fn is_private(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        let is_ours = |it: fs::Metadata| it.is_dir() && it.uid() == user && it.mode() & 0o077 == 0;
        fs::metadata(folder).is_ok_and(is_ours)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        false
    }
}

/// The address in a URL, where it is one of this machine itself. A name could become any other.
fn address(url: &str) -> Option<SocketAddr> {
    let url = Url::parse(url).ok().filter(|url| url.scheme() == "http")?;
    let address: IpAddr = match url.host()? {
        Host::Ipv4(address) => address.into(),
        Host::Ipv6(address) => address.into(),
        Host::Domain(_) => return None,
    };
    let is_plain = address.is_loopback() && url.username().is_empty() && url.password().is_none();
    let port = url.port_or_known_default()?;
    is_plain.then(|| SocketAddr::new(address, port))
}

/// The name of the file for the server at an address.
fn name(address: SocketAddr) -> String {
    let host = address.ip().to_string().replace(':', "_");
    format!("{host}-{}.key", address.port())
}

fn read(path: &Path) -> io::Result<Option<Secret>> {
    let Some(text) = private_file::read(path)? else {
        return Ok(None);
    };
    let file = File::open(path)?;
    check_owner(path, &file)?;
    // Whoever serves with it holds it.
    if file.try_lock().is_ok() {
        return Ok(None);
    }
    let key = text.strip_prefix(HEADER).map(str::trim_end);
    let key = key.filter(|key| !key.is_empty()).ok_or_else(|| {
        let shown = path.display();
        io::Error::other(format!("{shown} holds no key: remove it, and serve again"))
    })?;
    Ok(Some(Secret::new(key)))
}

/// Checks that a file belongs to this user: root reads those of all.
fn check_owner(path: &Path, file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        let owner = std::os::unix::fs::MetadataExt::uid(&file.metadata()?);
        if owner != rustix::process::geteuid().as_raw() {
            let shown = path.display();
            return Err(io::Error::other(format!("{shown} belongs to another user")));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, file);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_there_while_its_server_is() {
        let folder = std::env::temp_dir().join(format!("askback-own-key-{}", std::process::id()));
        private_file::make_folder(&folder).expect("it is ours");
        let path = folder.join("a.key");
        let key = |path: &Path| {
            let key = read(path).expect("it can be read");
            key.map(|key| key.expose().to_owned())
        };
        assert_eq!(key(&path), None);
        let first = KeyFile::at(path.clone(), &Secret::new("k-1")).expect("it is ours");
        assert_eq!(key(&path).as_deref(), Some("k-1"));
        // The next server at the address, while the one before still ends.
        let second = KeyFile::at(path.clone(), &Secret::new("k-2")).expect("it is ours");
        drop(first);
        assert_eq!(key(&path).as_deref(), Some("k-2"));
        drop(second);
        assert!(!path.exists());
        // One that was killed removed nothing, and holds nothing.
        let killed = KeyFile::at(path.clone(), &Secret::new("k-3")).expect("it is ours");
        let kept = fs::read_to_string(&path).expect("it is there");
        drop(killed);
        private_file::write(&path, &kept).expect("it is ours");
        assert_eq!(key(&path), None);
        fs::remove_dir_all(folder).expect("it is ours");
    }

    #[test]
    fn a_key_is_for_an_address_of_this_machine() {
        for (url, expected) in [
            ("http://127.0.0.1:4100/mcp", Some("127.0.0.1:4100")),
            ("http://127.0.0.1/", Some("127.0.0.1:80")),
            ("http://[::1]:4100/mcp", Some("[::1]:4100")),
            ("http://127.1:4100/mcp", Some("127.0.0.1:4100")),
            ("http://localhost:4100/mcp", None),
            ("https://127.0.0.1:4100/mcp", None),
            ("http://10.0.0.1:4100/mcp", None),
            ("http://127.0.0.1.evil.test:4100/mcp", None),
            ("http://127.0.0.1:4100@evil.test/mcp", None),
            ("http://evil@127.0.0.1:4100/mcp", None),
            ("127.0.0.1:4100", None),
        ] {
            let found = address(url).map(|address| address.to_string());
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
