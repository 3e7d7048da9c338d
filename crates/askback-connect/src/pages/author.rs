//! An author's own pages, bound to the user who was asked.

use std::sync::Arc;

use askback::Principal;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, Uri, request::Parts};

use super::browser::{Visit, is_own_form};
use super::link::asked_person;
use super::{PageError, settle};
use crate::connections::{Connections, Kit};
use crate::intents::{Intent, IntentId, Purpose, Stage};
use crate::vault::{AuditEvent, VaultError};
use askback_core::debug_only;

/// A visit of the user who was asked, on an author's page.
pub struct PageVisit {
    kit: Arc<Kit>,
    intent: Intent,
    visit: Visit,
}

/// The user's submission of an author's page, which no other request can submit meanwhile. Unless
/// [`done`](Self::done) or [`release`](Self::release) is called, the link is blocked until it expires.
#[must_use = "the call waits until it is done"]
pub struct PageClaim {
    kit: Arc<Kit>,
    intent: Intent,
}

/// Why an author's page must not be shown. Show the same page for each reason: it is not for this visitor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageRefusal {
    /// The link has expired or never existed.
    #[error("the link is over: the person goes back to their client and starts again there")]
    Over,
    /// The visitor is not the user who was asked, the form is from another page, or the request was for another host.
    #[error("the visitor is not the person who was asked")]
    Wrong,
    /// The vault failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl Connections {
    /// Checks a visit of an author's page ([`ConnectExt::ask_page`]) and returns the user who was asked. The request
    /// must have exactly the path and query that the handler passed. `parts` is the head of the request.
    ///
    /// As on the built-in pages, `Host` must be the host of the pages' URL. On one machine, a request is refused if its
    /// [`ConnectionEnds`](askback::http::ConnectionEnds) belong to another user.
    ///
    /// ```
    /// # use askback_connect::{Connections, PageRefusal};
    /// # async fn page(
    /// #     connections: Connections, parts: http::request::Parts,
    /// # ) -> Result<(), PageRefusal> {
    /// // GET: shows a form with the token in it, at the address of the page.
    /// let page = connections.asked(&parts).await?;
    /// let token = page.token().await?;
    ///
    /// // POST: takes what the person did, once.
    /// let page = connections.asked(&parts).await?;
    /// let claim = page.claim(&parts.headers, &token).await?;
    /// // The payment itself; `claim.release()` if it fails.
    /// claim.done().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`PageRefusal`]. Show the same page for each, without any user's name.
    ///
    /// [`ConnectExt::ask_page`]: crate::ConnectExt::ask_page
    pub async fn asked(&self, parts: &Parts) -> Result<PageVisit, PageRefusal> {
        let kit = &self.0;
        if kit.admit(parts).await.is_err() {
            return Err(PageRefusal::Wrong);
        }
        let (page, asked) = parted(&parts.uri).ok_or(PageRefusal::Over)?;
        let (id, visit) = asked.split_once('.').unwrap_or((asked, ""));
        let id = IntentId::read(id).ok_or(PageRefusal::Over)?;
        let visit = match kit.has_sign_in() {
            true => Visit::of(&kit.vault, &kit.place, &parts.headers).await?,
            false => match opened(kit, id, visit).await {
                Some(visit) => visit.unless_ended(&kit.vault).await?,
                None => None,
            },
        };
        let visit = visit.ok_or(PageRefusal::Wrong)?;
        let intent = asked_person(kit, id, &visit).await?;
        let is_here = matches!(&intent.purpose, Purpose::Page { path, .. } if *path == page);
        if !is_here {
            return Err(PageRefusal::Over);
        }
        // A page may take long. The sign-in was recent when the user was asked.
        if !visit.is_fresh(&kit.door, intent.asked_at()) {
            return Err(PageRefusal::Wrong);
        }
        Ok(PageVisit {
            kit: Arc::clone(kit),
            intent,
            visit,
        })
    }
}

impl PageVisit {
    /// Returns the user, with the client that asked them.
    #[must_use]
    pub fn person(&self) -> Principal {
        self.visit.principal(self.intent.client.clone())
    }

    /// Returns the name of the user, to be shown to them.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.visit.name
    }

    /// Returns the token for the page's form, which prevents other pages from submitting it.
    ///
    /// # Errors
    ///
    /// If the vault fails.
    pub async fn token(&self) -> Result<String, VaultError> {
        let about = self.intent.id.to_string();
        self.visit.token(&self.kit.vault, &about).await
    }

    /// Accepts the user's submission, once. Call this before any effect, such as a payment. `headers` and `token` are
    /// from the request with the form.
    ///
    /// # Errors
    ///
    /// [`PageRefusal::Wrong`] if the form is not from this page, and [`PageRefusal::Over`] if it was submitted before.
    pub async fn claim(
        mut self,
        headers: &HeaderMap,
        token: &str,
    ) -> Result<PageClaim, PageRefusal> {
        let (kit, about) = (&self.kit, self.intent.id.to_string());
        let is_own = is_own_form(headers, &kit.place);
        if !is_own || !self.visit.has_token(&kit.vault, &about, token).await {
            return Err(PageRefusal::Wrong);
        }
        let (vault, event) = (&kit.vault, AuditEvent::Consented);
        let claimed = self.intent.step(vault, event, |it| it.claim(vault.now()));
        if !claimed.await? {
            return Err(PageRefusal::Over);
        }
        Ok(PageClaim {
            kit: self.kit,
            intent: self.intent,
        })
    }
}

impl PageClaim {
    /// Records success, so that the call continues.
    ///
    /// # Errors
    ///
    /// If the vault fails.
    pub async fn done(mut self) -> Result<(), PageRefusal> {
        let (vault, event) = (&self.kit.vault, AuditEvent::Connected);
        settle(vault, &mut self.intent, Stage::Done, None, event).await?;
        self.kit.notify();
        Ok(())
    }

    /// Records a failure, so that the user may try again.
    ///
    /// # Errors
    ///
    /// If the vault fails.
    pub async fn release(mut self) -> Result<(), PageRefusal> {
        let (vault, event) = (&self.kit.vault, AuditEvent::NotGranted);
        Ok(settle(vault, &mut self.intent, Stage::Open, None, event).await?)
    }
}

impl From<PageError> for PageRefusal {
    fn from(refused: PageError) -> Self {
        match refused {
            PageError::Unknown | PageError::Over | PageError::CutOff => Self::Over,
            PageError::Wrong => Self::Wrong,
            PageError::Failed(error) => Self::Vault(error),
        }
    }
}

/// The parameter in the URL of an author's page. It identifies the browser of this machine's user, because the link's
/// cookie is not sent to other paths.
pub(super) async fn written(kit: &Kit, id: IntentId, visit: &Visit) -> Result<String, VaultError> {
    if kit.has_sign_in() {
        return Ok(id.to_string());
    }
    let visit = serde_json::to_vec(visit).map_err(VaultError::store)?;
    let sealed = kit.vault.seal_cookie(&name(id), &visit).await?;
    Ok(format!("{id}.{}", URL_SAFE_NO_PAD.encode(sealed)))
}

async fn opened(kit: &Kit, id: IntentId, written: &str) -> Option<Visit> {
    let sealed = URL_SAFE_NO_PAD.decode(written).ok()?;
    let opened = kit.vault.open_cookie(&name(id), &sealed).await.ok()?;
    serde_json::from_slice(&opened).ok()
}

/// Splits the handler's path and query from the parameter that was appended.
fn parted(uri: &Uri) -> Option<(&str, &str)> {
    let whole = uri.path_and_query()?.as_str();
    let (page, asked) = whole.rsplit_once("asked=")?;
    let page = page.strip_suffix('&').or_else(|| page.strip_suffix('?'))?;
    Some((page, asked))
}

fn name(id: IntentId) -> String {
    format!("page {id}")
}

debug_only! {
    PageClaim {}
    PageVisit {}
}
