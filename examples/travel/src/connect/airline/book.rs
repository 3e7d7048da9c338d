//! What the airline has granted: digests of tokens, in memory or in a file that outlives the process.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use askback::Clock;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::{
    fs,
    sync::{Mutex, MutexGuard},
    task::spawn_blocking,
};

use super::{Refusal, after};
use crate::files;

/// How long an access token is good.
const ACCESS: Duration = Duration::from_secs(300);
/// The most grants that are kept; the oldest goes first.
const MOST: usize = 64;
/// The longest file that is read, in bytes.
const FILE: u64 = 1 << 20;

const FAILED: Refusal = "server_error";
const REFUSED: Refusal = "invalid_grant";

/// The grants, whichever process of this machine they are of.
pub(super) struct Book {
    file: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    grants: Mutex<Vec<Family>>,
}

/// A grant, and all tokens that come of it.
#[derive(Serialize, Deserialize)]
struct Family {
    name: String,
    /// The digest of the one refresh token that is good.
    refresh: String,
    access: Vec<Access>,
}

#[derive(Serialize, Deserialize)]
struct Access {
    digest: String,
    ends: u64,
}

/// Tokens, as they are handed out once.
pub(super) struct Granted {
    pub(super) access: String,
    pub(super) refresh: String,
    /// How long the first is good.
    pub(super) seconds: u64,
}

impl Book {
    pub(super) fn new(file: Option<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self {
            file,
            clock,
            grants: Mutex::default(),
        }
    }

    /// Makes a grant of this name, and its first tokens.
    pub(super) async fn grant(&self, name: String) -> Result<Granted, Refusal> {
        self.change(|grants, now| {
            let mut family = Family {
                name,
                refresh: String::new(),
                access: Vec::new(),
            };
            let granted = family.renew(now)?;
            if grants.len() >= MOST {
                grants.remove(0);
            }
            grants.push(family);
            Ok(granted)
        })
        .await
    }

    /// Gives new tokens for a refresh token, which is no longer good then. Where one comes that is no longer good,
    /// somebody else has it too: the grant ends.
    pub(super) async fn renew(&self, refresh: &str) -> Result<Granted, Refusal> {
        let name = family(refresh).ok_or(REFUSED)?;
        self.change(|grants, now| {
            let at = grants.iter().position(|it| it.name == name);
            let at = at.ok_or(REFUSED)?;
            if grants[at].refresh != digest(refresh) {
                grants.remove(at);
                return Ok(None);
            }
            grants[at].renew(now).map(Some)
        })
        .await?
        .ok_or(REFUSED)
    }

    /// Ends a grant, if there is such a one.
    pub(super) async fn revoke(&self, name: &str) -> Result<(), Refusal> {
        self.change(|grants, _| {
            grants.retain(|it| it.name != name);
            Ok(())
        })
        .await
    }

    /// Whether an access token is good.
    pub(super) async fn knows(&self, access: &str) -> bool {
        let Some(name) = family(access) else {
            return false;
        };
        let Ok((grants, _turn)) = self.opened().await else {
            return false;
        };
        let (digest, now) = (digest(access), self.clock.now());
        let family = grants.iter().find(|it| it.name == name);
        let mut all = family.into_iter().flat_map(|it| &it.access);
        all.any(|it| it.digest == digest && now < it.ends)
    }

    /// Changes the grants as they are by now, in one turn. Nothing is written where the change refuses.
    async fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Family>, u64) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (mut grants, _turn) = self.opened().await?;
        let changed = change(&mut grants, self.clock.now())?;
        if let Some(file) = &self.file {
            write(file, &grants).await.map_err(unusable)?;
        }
        Ok(changed)
    }

    /// The grants as they are by now, and the turn in which nobody else changes them.
    async fn opened(&self) -> Result<(MutexGuard<'_, Vec<Family>>, Option<File>), Refusal> {
        let mut grants = self.grants.lock().await;
        let Some(file) = &self.file else {
            return Ok((grants, None));
        };
        let turn = turn(file).await.map_err(unusable)?;
        *grants = read(file).await.map_err(unusable)?;
        Ok((grants, Some(turn)))
    }
}

/// Says to the operator alone what is wrong with the file.
fn unusable(error: io::Error) -> Refusal {
    tracing::error!(%error, "the book of the airline cannot be used");
    FAILED
}

impl Family {
    /// Makes new tokens. Earlier access tokens are good until they end.
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

/// The name of the grant that a token is of. It cannot be guessed, and by itself it gives nothing.
pub(super) fn family(token: &str) -> Option<&str> {
    let (name, _) = token.split_once('.')?;
    let kinds = ["fake-airline-access-", "fake-airline-refresh-"];
    kinds.iter().find_map(|kind| name.strip_prefix(kind))
}

/// Something that nobody guesses.
pub(super) fn random() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| FAILED)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn digest(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(token))
}

/// Waits until no other process changes the file, and keeps them from it until the value is dropped.
async fn turn(file: &Path) -> io::Result<File> {
    let mut options = files::private();
    let lock = options.write(true).create(true).truncate(false);
    let lock = lock.open(file.with_added_extension("lock")).await?;
    let lock = lock.into_std().await;
    let locked = spawn_blocking(move || lock.lock().map(|()| lock)).await;
    locked.map_err(io::Error::other)?
}

async fn read(file: &Path) -> io::Result<Vec<Family>> {
    match fs::metadata(file).await {
        Ok(metadata) if metadata.len() > FILE => {
            Err(io::Error::other("it is longer than the airline writes it"))
        }
        Ok(_) => Ok(serde_json::from_slice(&fs::read(file).await?)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn write(file: &Path, grants: &[Family]) -> io::Result<()> {
    let text = serde_json::to_string(grants)?;
    let draft = file.with_added_extension("draft");
    // A process that was killed may have left one.
    let _ = fs::remove_file(&draft).await;
    files::replace(file, &draft, &mut files::private(), &text).await
}
