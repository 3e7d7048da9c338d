//! Access to the page. Only the first browser that opens the one-time link has it.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use http::{HeaderMap, header::COOKIE};
use tokio::time::Instant;

use super::LINK_TIME;

/// The page's secrets, known only to this process and one browser.
pub(super) struct Visit {
    port: u16,
    id: String,
    cookie: String,
    once: Mutex<Option<(String, Instant)>>,
}

impl Visit {
    pub(super) fn new(port: u16) -> io::Result<Self> {
        Ok(Self {
            port,
            id: random()?,
            cookie: random()?,
            once: Mutex::new(Some((random()?, Instant::now()))),
        })
    }

    pub(super) fn link(&self) -> Option<String> {
        let once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let once = once.as_ref();
        once.map(|(once, _)| format!("http://127.0.0.1:{}/o/{once}", self.port))
    }

    /// Makes a new one-time link.
    /// Fails if the system gives no random numbers.
    pub(super) fn renew(&self) -> io::Result<()> {
        let once = (random()?, Instant::now());
        *self.once.lock().unwrap_or_else(PoisonError::into_inner) = Some(once);
        Ok(())
    }

    /// Uses up the one-time link if `once` is its secret and it has not expired.
    pub(super) fn open(&self, once: &str) -> bool {
        let mut kept = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = kept
            .as_ref()
            .is_some_and(|(known, since)| is_same(known, once) && since.elapsed() < LINK_TIME);
        if is_it {
            *kept = None;
        }
        is_it
    }

    pub(super) fn path(&self) -> String {
        format!("/v/{}/", self.id)
    }

    pub(super) fn below<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (id, rest) = path.strip_prefix("/v/")?.split_once('/')?;
        is_same(&self.id, id).then_some(rest)
    }

    pub(super) fn set_cookie(&self) -> String {
        let (name, path) = (self.cookie_name(), self.path());
        let value = &self.cookie;
        format!("{name}={value}; Path={path}; HttpOnly; SameSite=Strict")
    }

    fn cookie_name(&self) -> String {
        format!("askback_{}", self.port)
    }

    pub(super) fn is_of(&self, headers: &HeaderMap) -> bool {
        let name = self.cookie_name();
        let sent = headers.get_all(COOKIE).iter();
        let pairs = sent
            .filter_map(|it| it.to_str().ok())
            .flat_map(|it| it.split(';'));
        let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(known, value)| known == name && is_same(&self.cookie, value))
    }

    /// Whether the `Host` header names this server.
    pub(super) fn is_host(&self, host: &[u8]) -> bool {
        self.hosts().iter().any(|known| known.as_bytes() == host)
    }

    pub(super) fn is_origin(&self, origin: &[u8]) -> bool {
        let host = origin.strip_prefix(b"http://");
        host.is_some_and(|host| self.is_host(host))
    }

    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port))
    }
}

/// Returns 128 random bits in hexadecimal.
pub(super) fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.map(|byte| format!("{byte:02x}")).concat())
}

/// Compares a secret in constant time. An empty secret matches nothing.
pub(super) fn is_same(secret: &str, sent: &str) -> bool {
    let pairs = secret.bytes().zip(sent.bytes());
    let differs = pairs.fold(0, |differs, (one, other)| differs | (one ^ other));
    !secret.is_empty() && secret.len() == sent.len() && differs == 0
}
