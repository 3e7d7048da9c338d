//! The airline's grants, as digests of tokens in memory.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::Clock;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::{Refusal, after, locked};

const ACCESS: Duration = Duration::from_secs(300);
/// The maximum number of grants; the oldest is removed first.
const MOST: usize = 64;

const FAILED: Refusal = "server_error";
const REFUSED: Refusal = "invalid_grant";

pub(super) struct Book {
    clock: Arc<dyn Clock>,
    grants: Mutex<Vec<Family>>,
}

/// A grant, and all tokens derived from it.
struct Family {
    name: String,
    /// The digest of the only valid refresh token.
    refresh: String,
    access: Vec<Access>,
}

struct Access {
    digest: String,
    ends: u64,
}

pub(super) struct Granted {
    pub(super) access: String,
    pub(super) refresh: String,
    pub(super) seconds: u64,
}

impl Book {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            grants: Mutex::default(),
        }
    }

    pub(super) fn grant(&self, name: String) -> Result<Granted, Refusal> {
        let mut family = Family {
            name,
            refresh: String::new(),
            access: Vec::new(),
        };
        let granted = family.renew(self.clock.now())?;
        let mut grants = locked(&self.grants);
        if grants.len() >= MOST {
            grants.remove(0);
        }
        grants.push(family);
        Ok(granted)
    }

    /// Returns new tokens for a refresh token, which is then used up. Using it again ends the grant, because it may
    /// have been stolen.
    pub(super) fn renew(&self, refresh: &str) -> Result<Granted, Refusal> {
        let name = family(refresh).ok_or(REFUSED)?;
        let mut grants = locked(&self.grants);
        let at = grants.iter().position(|it| it.name == name);
        let at = at.ok_or(REFUSED)?;
        if grants[at].refresh != digest(refresh) {
            grants.remove(at);
            return Err(REFUSED);
        }
        grants[at].renew(self.clock.now())
    }

    pub(super) fn revoke(&self, name: &str) {
        locked(&self.grants).retain(|it| it.name != name);
    }

    pub(super) fn knows(&self, access: &str) -> bool {
        let (digest, now) = (digest(access), self.clock.now());
        let grants = locked(&self.grants);
        let family = grants.iter().find(|it| family(access) == Some(&*it.name));
        let mut all = family.into_iter().flat_map(|it| &it.access);
        all.any(|it| it.digest == digest && now < it.ends)
    }
}

impl Family {
    /// Creates new tokens. Earlier access tokens stay valid until they expire.
    fn renew(&mut self, now: u64) -> Result<Granted, Refusal> {
        let name = &self.name;
        let granted = Granted {
            access: format!("fake-airline-access-{name}.{}", random()?),
            refresh: format!("fake-airline-refresh-{name}.{}", random()?),
            seconds: ACCESS.as_secs(),
        };
        self.refresh = digest(&granted.refresh);
        self.access.retain(|access| now < access.ends);
        self.access.push(Access {
            digest: digest(&granted.access),
            ends: after(now, ACCESS),
        });
        Ok(granted)
    }
}

/// The name of a token's grant, which is random but not secret.
pub(super) fn family(token: &str) -> Option<&str> {
    let (name, _) = token.split_once('.')?;
    let kinds = ["fake-airline-access-", "fake-airline-refresh-"];
    kinds.iter().find_map(|kind| name.strip_prefix(kind))
}

pub(super) fn random() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| FAILED)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn digest(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token))
}
