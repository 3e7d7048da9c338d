//! The system's keyring: Keychain, Credential Manager or Secret Service.

use std::io;

use askback::authorization::Secret;
use keyring::{Entry, Error};

const SERVICE: &str = "askback";

pub(super) fn load(key: &str) -> io::Result<Option<Secret>> {
    match entry(key)?.get_password() {
        Ok(secret) => Ok(Some(Secret::new(secret))),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

pub(super) fn save(key: &str, secret: &Secret) -> io::Result<()> {
    entry(key)?
        .set_password(secret.expose())
        .map_err(|error| failed(&error))
}

pub(super) fn remove(key: &str) -> io::Result<()> {
    match entry(key)?.delete_credential() {
        Ok(()) | Err(Error::NoEntry) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

fn entry(key: &str) -> io::Result<Entry> {
    Entry::new(SERVICE, key).map_err(|error| failed(&error))
}

/// Leaves out the details, because a keyring's error may contain the secret.
fn failed(error: &Error) -> io::Error {
    let why = match error {
        Error::NoDefaultStore => "there is none",
        Error::NoStorageAccess(_) => "it is locked, or may not be used",
        Error::TooLong(..) => "the secret is too long for it",
        _ => "it failed",
    };
    io::Error::other(format!("the keyring cannot be used: {why}"))
}
