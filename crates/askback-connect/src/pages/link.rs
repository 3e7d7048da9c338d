use std::borrow::Cow;

use askback_oauth::Secret;
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};

use super::browser::{Cookie, Next, Visit, is_own_form};
use super::html::{
    Answer, ConsentPage, Frame, KeyPage, LeavePage, ShownScope, leave, page, see_other,
};
use super::{PageError, PageRequest, PageResult, author, settle};
use crate::connections::Kit;
use crate::hidden::is_hidden;
use crate::intents::{Intent, IntentId, OWN_SECRET, Purpose, Stage, TRIES, Visitor};
use crate::providers::{ApiKey, ConnectError, ConnectionRequest, ThirdParty};
use crate::vault::{AuditEvent, Grant, VaultError};

#[derive(Serialize, Deserialize)]
pub(super) struct PendingConsent {
    pub(super) link: String,
    pub(super) pending: ConnectionRequest,
    /// The user, for pages that are identified by the secret in their path.
    pub(super) visitor: Visit,
}

impl PageRequest<'_> {
    pub(super) async fn show_link(&self, id: IntentId) -> PageResult {
        let Kit { vault, place, .. } = &**self.kit;
        if !self.kit.has_sign_in() {
            let (intent, visit) = self.opened(id).await?;
            let mut answer = self.link_page(&intent, &visit).await?;
            let cookie = Cookie::Link(id).set(vault, place, &visit).await?;
            answer.headers_mut().append(header::SET_COOKIE, cookie);
            return Ok(answer);
        }
        let Some(visit) = self.visit().await? else {
            return self.sign_in_first(Next::Link(id), false).await;
        };
        let intent = self.asked(id, &visit).await?;
        if !visit.is_fresh(&self.kit.door, vault.now()) {
            return self.sign_in_first(Next::Link(id), true).await;
        }
        self.link_page(&intent, &visit).await
    }

    /// Opens a link without a sign-in, if this is the first browser or the one that has it.
    async fn opened(&self, id: IntentId) -> Result<(Intent, Visit), PageError> {
        let vault = &self.kit.vault;
        let visit = match self.visit_of(id).await? {
            Some(visit) => visit,
            None => Visit::new(&Kit::user(), None, vault.now())?,
        };
        let mut intent = self.asked(id, &visit).await?;
        if intent.bind(visit.id) && !intent.write(vault, AuditEvent::Opened).await? {
            // Another browser was first, or the client has withdrawn the link.
            self.asked(id, &visit).await?;
            return Err(PageError::Over);
        }
        Ok((intent, visit))
    }

    async fn link_page(&self, intent: &Intent, visit: &Visit) -> PageResult {
        match &intent.purpose {
            Purpose::Account { .. } => {
                let party = self.party(intent)?;
                match party.key_page() {
                    Some(key) => {
                        let form = KeyForm::of(party, key);
                        Ok(self.key_page(intent, visit, form, None).await?)
                    }
                    None => self.consent_page(intent, visit, party).await,
                }
            }
            Purpose::Secret { title, .. } => {
                let form = KeyForm {
                    title: title.into(),
                    ..KeyForm::default()
                };
                Ok(self.key_page(intent, visit, form, None).await?)
            }
            Purpose::Page { path, .. } => {
                let separator = if path.contains('?') { '&' } else { '?' };
                let asked = author::written(self.kit, intent.id, visit).await?;
                Ok(see_other(&format!("{path}{separator}asked={asked}"))?)
            }
            Purpose::Accounts => {
                let action = Next::Link(intent.id).path(&self.kit.place);
                self.accounts_page(visit, &action).await
            }
        }
    }

    pub(super) async fn answer_link(&self, id: IntentId) -> PageResult {
        let Kit { vault, place, .. } = &**self.kit;
        let visit = self.visit_of(id).await?.ok_or(PageError::Wrong)?;
        if self.field("answer") == Some("disconnect") {
            return self.disconnect_at(id, &visit).await;
        }
        let token = self.field("token").unwrap_or_default();
        let about = id.to_string();
        if !is_own_form(self.headers, place) || !visit.has_token(vault, &about, token).await {
            return Err(PageError::Wrong);
        }
        let mut intent = self.asked(id, &visit).await?;
        match self.field("answer") {
            Some("yes") => {}
            Some("no") => return self.decline(&mut intent, &visit).await,
            _ => return Err(PageError::Wrong),
        }
        match &intent.purpose {
            Purpose::Account { .. } => {
                let party = self.party(&intent)?.clone();
                match party.key_page() {
                    Some(key) => self.take_key(intent, &visit, &party, key).await,
                    None => self.go_to_provider(intent, &visit, &party).await,
                }
            }
            Purpose::Secret { name, title } => {
                let (name, title) = (name.clone(), title.clone());
                self.take_secret(intent, &visit, &name, &title).await
            }
            Purpose::Page { .. } | Purpose::Accounts => Err(PageError::Wrong),
        }
    }

    pub(super) async fn asked(&self, id: IntentId, visit: &Visit) -> Result<Intent, PageError> {
        asked_person(self.kit, id, visit).await
    }

    fn party(&self, intent: &Intent) -> Result<&ThirdParty, PageError> {
        let name = intent.purpose.name();
        let party = self.kit.providers.get(name);
        // Another process of this server may have other settings.
        party.ok_or_else(|| {
            let missing = format!("this process has no provider called `{name}`");
            PageError::Failed(VaultError::store(missing))
        })
    }

    async fn consent_page(&self, intent: &Intent, visit: &Visit, party: &ThirdParty) -> PageResult {
        let purpose = &intent.purpose;
        let (scopes, had) = purpose.scopes();
        let mut shown: Vec<_> = scopes.iter().collect();
        for scope in party.default_scopes().iter().chain(had.iter()) {
            if !shown.contains(&scope) {
                shown.push(scope);
            }
        }
        let id = intent.id.to_string();
        let consent = ConsentPage {
            frame: Frame::new(self.kit, Some(visit)).await?,
            provider: party.display_title(),
            user: &visit.name,
            client: shown_client(intent),
            account: purpose.account(),
            scopes: ShownScope::all(Some(party), shown.into_iter()),
            token: visit.token(&self.kit.vault, &id).await?,
            id,
        };
        Ok(page(StatusCode::OK, &consent)?)
    }

    async fn key_page(
        &self,
        intent: &Intent,
        visit: &Visit,
        form: KeyForm<'_>,
        problem: Option<&str>,
    ) -> Result<Answer, PageError> {
        let id = intent.id.to_string();
        let key = KeyPage {
            frame: Frame::new(self.kit, Some(visit)).await?,
            title: &form.title,
            user: &visit.name,
            client: shown_client(intent),
            account: intent.purpose.account(),
            hint: form.hint,
            help: form.help,
            problem,
            token: visit.token(&self.kit.vault, &id).await?,
            id,
        };
        let status = match problem {
            None => StatusCode::OK,
            Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Ok(page(status, &key)?)
    }

    async fn decline(&self, intent: &mut Intent, visit: &Visit) -> PageResult {
        let declined = intent.step(&self.kit.vault, AuditEvent::Declined, Intent::decline);
        if !declined.await? {
            return Err(PageError::Over);
        }
        self.kit.notify();
        let words = "Declined\n\
            Nothing was connected. You can close this page and go back to your client.";
        self.say(StatusCode::OK, Some(visit), words).await
    }

    async fn go_to_provider(
        &self,
        mut intent: Intent,
        visit: &Visit,
        party: &ThirdParty,
    ) -> PageResult {
        let Kit { vault, place, .. } = &**self.kit;
        let redirect_uri = self.kit.redirect_uri(party.name());
        let (scopes, kept) = intent.purpose.scopes();
        let begun = party.begin_keeping(&scopes, &kept, &redirect_uri);
        let (url, pending) = begun.map_err(VaultError::store)?;
        let consented = PendingConsent {
            link: intent.id.to_string(),
            pending: pending.0,
            visitor: visit.clone(),
        };
        let cookie = Cookie::Consent(consented.pending.pending.state());
        let cookie = cookie.set(vault, place, &consented).await?;
        let redirected = intent.step(vault, AuditEvent::Consented, |intent| {
            intent.redirect(consented.pending.pending.state(), visit.id)
        });
        if !redirected.await? {
            return Err(PageError::Over);
        }
        let leaving = LeavePage {
            frame: Frame::new(self.kit, Some(visit)).await?,
            title: format!("You are going to {}", party.display_title()),
            place: party.display_title(),
            url: url.as_str(),
        };
        let mut answer = leave(&leaving, &url)?;
        answer.headers_mut().append(header::SET_COOKIE, cookie);
        Ok(answer)
    }

    async fn take_key(
        &self,
        intent: Intent,
        visit: &Visit,
        party: &ThirdParty,
        key: &ApiKey,
    ) -> PageResult {
        let entered = Secret::new(self.field("secret").unwrap_or_default());
        let form = KeyForm::of(party, key);
        let problem = if entered.expose().trim().is_empty() {
            "Enter the key."
        } else {
            match party.accept_key(self.kit.fetcher(), &entered).await {
                Ok(connected) => {
                    let account = connected.account;
                    return self
                        .keep(intent, visit, party.name(), &account, connected.granted)
                        .await;
                }
                Err(ConnectError::KeyRefused { .. }) => {
                    "The provider does not take this key. Check that it was copied whole."
                }
                Err(error) if error.is_of_setting() => {
                    let mut intent = intent;
                    self.claim(&mut intent).await?;
                    return self.misconfigured(intent, visit, party, &error).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "a key could not be checked");
                    "The key could not be checked. Try again later."
                }
            }
        };
        self.key_page(&intent, visit, form, Some(problem)).await
    }

    /// Ends a link, and its call, because the operator has to fix a setting first.
    pub(super) async fn misconfigured(
        &self,
        mut intent: Intent,
        visit: &Visit,
        party: &ThirdParty,
        error: &ConnectError,
    ) -> PageResult {
        let provider = party.name();
        tracing::error!(provider, %error, "no account can be connected before a setting is corrected");
        let event = AuditEvent::NotGranted;
        let vault = &self.kit.vault;
        settle(vault, &mut intent, Stage::Misconfigured, None, event).await?;
        self.kit.notify();
        let title = party.display_title();
        let is_unknown = matches!(error, ConnectError::Authorization(_));
        let line = match is_unknown {
            true => format!("{title} does not know this server by what it says of itself"),
            false => {
                format!(
                    "This server looks for the name of your {title} account in a place where it is not"
                )
            }
        };
        let words = format!(
            "Not connected\n{line}: its setup is wrong, and its operator has to correct it.\n\
             Neither you nor the provider did anything wrong. Nothing was kept. You can close this page."
        );
        self.say(StatusCode::INTERNAL_SERVER_ERROR, Some(visit), &words)
            .await
    }

    async fn take_secret(
        &self,
        intent: Intent,
        visit: &Visit,
        name: &str,
        title: &str,
    ) -> PageResult {
        let entered = self.field("secret").unwrap_or_default().trim();
        let form = KeyForm {
            title: title.into(),
            ..KeyForm::default()
        };
        if entered.is_empty() {
            return self.key_page(&intent, visit, form, Some("Enter it.")).await;
        }
        let granted = Grant::api_key(Secret::new(entered));
        self.keep(intent, visit, name, OWN_SECRET, granted).await
    }

    pub(super) async fn not_kept(&self, visit: &Visit, error: VaultError) -> PageResult {
        let VaultError::Refused { what, why } = error else {
            return Err(error.into());
        };
        let words = format!(
            "Not kept\nIt cannot be kept: {what} {why}.\n\
             Once that is put right, open the link in your client again."
        );
        self.say(StatusCode::UNPROCESSABLE_ENTITY, Some(visit), &words)
            .await
    }

    /// Accepts the user's input. From here on, no other request can answer the link.
    async fn claim(&self, intent: &mut Intent) -> Result<(), PageError> {
        let (vault, event) = (&self.kit.vault, AuditEvent::Consented);
        let claimed = intent.step(vault, event, |intent| intent.claim(vault.now()));
        match claimed.await? {
            true => Ok(()),
            false => Err(PageError::Over),
        }
    }

    async fn keep(
        &self,
        mut intent: Intent,
        visit: &Visit,
        provider: &str,
        account: &str,
        granted: Grant,
    ) -> PageResult {
        let vault = &self.kit.vault;
        self.claim(&mut intent).await?;
        let caller = visit.principal(intent.client.clone());
        if let Err(error) = vault.put(&caller, provider, account, granted).await {
            let event = AuditEvent::NotGranted;
            settle(vault, &mut intent, Stage::Open, None, event).await?;
            return self.not_kept(visit, error).await;
        }
        let event = AuditEvent::Connected;
        settle(vault, &mut intent, Stage::Done, Some(account), event).await?;
        self.kit.notify();
        let words = "Saved\n\
            It is kept encrypted, for you alone. You can close this page and go back to your client.";
        self.say(StatusCode::OK, Some(visit), words).await
    }
}

/// Returns the intent if it is open and the visitor is the user who was asked. Records any other visitor.
pub(super) async fn asked_person(
    kit: &Kit,
    id: IntentId,
    visit: &Visit,
) -> Result<Intent, PageError> {
    let vault = &kit.vault;
    let now = vault.now();
    let visitor = &visit.holder;
    for _ in 0..TRIES {
        let mut intent = match Intent::find(vault, id).await? {
            Some(intent) if !intent.is_over(now) => intent,
            Some(intent) if intent.is_cut_off(now) && intent.holder == *visitor => {
                return Err(PageError::CutOff);
            }
            _ => return Err(PageError::Over),
        };
        let is_person = intent.holder == *visitor;
        let event = match intent.opened_by(visitor, visit.id) {
            Visitor::Asked => return Ok(intent),
            Visitor::Other if is_person => AuditEvent::WrongBrowser,
            Visitor::Other => AuditEvent::WrongPerson,
            Visitor::OtherAgain => AuditEvent::Burned,
        };
        if !intent.write(vault, event).await? {
            // Concurrent visits of other users each count.
            continue;
        }
        kit.notify();
        if !is_person {
            // The visitor's own audit also gets an entry.
            let provider = intent.purpose.name();
            let line = vault.line(visitor, provider, AuditEvent::WrongPerson);
            vault.append(&line).await?;
        }
        break;
    }
    Err(PageError::Wrong)
}

const CLIENT_MAX_LEN: usize = 200;

fn shown_client(intent: &Intent) -> Option<String> {
    let client = intent.client.as_deref()?;
    let seen = client.chars().filter(|char| !is_hidden(*char));
    Some(seen.take(CLIENT_MAX_LEN).collect())
}

#[derive(Default)]
struct KeyForm<'a> {
    title: Cow<'a, str>,
    hint: Option<&'a str>,
    help: Option<&'a str>,
}

impl<'a> KeyForm<'a> {
    fn of(party: &'a ThirdParty, key: &'a ApiKey) -> Self {
        Self {
            title: format!("{} key", party.display_title()).into(),
            hint: key.hint_text(),
            help: key.page_url().map(url::Url::as_str),
        }
    }
}
