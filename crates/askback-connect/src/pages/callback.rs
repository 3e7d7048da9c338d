use http::{StatusCode, header};

use super::browser::{Cookie, Visit};
use super::html::{Frame, MessagePage, page};
use super::link::PendingConsent;
use super::{PageError, PageRequest, PageResult, settle};
use crate::connections::Kit;
use crate::intents::{Intent, IntentId, Stage};
use crate::providers::{AccountGrant, ConnectError, PendingConnection, ThirdParty};
use crate::vault::AuditEvent;

impl PageRequest<'_> {
    /// Accepts the provider's answer once, in the browser and visit that were sent there, from the user who was asked.
    /// All of this is checked before the code is used.
    pub(super) async fn callback(&self, provider: &str) -> PageResult {
        let Kit { vault, place, .. } = &**self.kit;
        let state = self.state().ok_or(PageError::Wrong)?;
        let cookie = Cookie::Consent(&state);
        let consented: Option<PendingConsent> = cookie.read(vault, place, self.headers).await;
        let shown = match consented {
            Some(consented) => self.connect(provider, &state, consented).await,
            None => {
                self.refused_callback(None, provider).await?;
                Err(PageError::Wrong)
            }
        };
        let mut answer = match shown {
            Ok(answer) => answer,
            Err(refused) => self.refuse(refused).await,
        };
        let clear = cookie.clear(place)?;
        answer.headers_mut().append(header::SET_COOKIE, clear);
        Ok(answer)
    }

    async fn connect(&self, provider: &str, state: &str, consented: PendingConsent) -> PageResult {
        let vault = &self.kit.vault;
        let id = IntentId::read(&consented.link).ok_or(PageError::Wrong)?;
        // Check the visit again: another user may have signed in meanwhile.
        let visit = match self.kit.has_sign_in() {
            true => self.visit().await?,
            false => Some(consented.visitor.clone()),
        };
        let same = visit.filter(|visit| visit.id == consented.visitor.id);
        let Some(visit) = same else {
            self.refused_callback(Some(&consented.visitor), provider)
                .await?;
            return Err(PageError::Wrong);
        };
        let mut intent = self.asked(id, &visit).await?;
        let pending = PendingConnection(consented.pending);
        let is_same = intent.purpose.name() == provider && pending.provider() == provider;
        let party = self.kit.providers.get(provider).filter(|_| is_same);
        let answered = |intent: &mut Intent| intent.answered(state, visit.id, vault.now());
        // From here on, no other request can use this answer.
        let taken = match party {
            Some(party) => intent
                .step(vault, AuditEvent::Answered, answered)
                .await?
                .then_some(party),
            None => None,
        };
        let Some(party) = taken else {
            if party.is_some() {
                // If the link has ended meanwhile, the user is told so.
                self.asked(id, &visit).await?;
            }
            self.refused_callback(Some(&visit), provider).await?;
            return Err(PageError::Wrong);
        };
        let redirected = format!("{}?{}", self.kit.redirect_uri(provider), self.query);
        let finished = party.finish(self.kit.fetcher(), pending, &redirected).await;
        let connected = match finished {
            Ok(connected) => connected,
            Err(error) => {
                return self.not_granted(intent, &visit, party, error).await;
            }
        };
        let name = connected.name().to_owned();
        let AccountGrant { account, granted } = connected;
        let caller = visit.principal(intent.client.clone());
        let now = Intent::find(vault, id).await;
        let is_waited_for = matches!(&now, Ok(Some(now)) if now.is_exchanged(vault.now()));
        if !is_waited_for {
            // No call waits for the tokens any more, and the user has been told so.
            vault.discard(&caller, provider, &account, granted).await?;
            self.kit.revoke_aside();
            now?;
            return Err(PageError::Over);
        }
        if let Err(error) = vault.put(&caller, provider, &account, granted).await {
            let event = AuditEvent::NotGranted;
            settle(vault, &mut intent, Stage::Open, None, event).await?;
            self.kit.revoke_aside();
            return self.not_kept(&visit, error).await;
        }
        let event = AuditEvent::Connected;
        settle(vault, &mut intent, Stage::Done, Some(&account), event).await?;
        self.kit.notify();
        // Revoke the tokens that were replaced.
        self.kit.revoke_aside();
        let title = format!("{} is connected", party.display_title());
        let line = match intent.purpose.account() {
            Some(needed) if needed != account && needed != name => format!(
                "The account is {name}, and {needed} was asked for: start again in your client, and choose {needed} \
                 at {}.",
                party.display_title()
            ),
            _ => format!("The account is {name}."),
        };
        let lines = vec![
            &*line,
            "You can close this page and go back to your client.",
            "If this is not your account, disconnect it.",
        ];
        let offers_accounts = self.kit.has_sign_in();
        let form = self.disconnect_form(id, &visit, provider, &account).await?;
        let said = MessagePage {
            frame: Frame::new(self.kit, Some(&visit)).await?,
            title: &title,
            lines,
            offers_accounts,
            disconnect: Some(form).filter(|_| !offers_accounts),
        };
        Ok(page(StatusCode::OK, &said)?)
    }

    /// Tells the user that the provider granted nothing or too little, and that they may try again.
    async fn not_granted(
        &self,
        mut intent: Intent,
        visit: &Visit,
        party: &ThirdParty,
        error: ConnectError,
    ) -> PageResult {
        let event = match &error {
            // The user's own choice is not a failure.
            ConnectError::Declined { .. } | ConnectError::FewerScopes { .. } => {
                tracing::info!(%error, "an account was not connected");
                AuditEvent::NotGranted
            }
            error if error.is_of_setting() => AuditEvent::NotGranted,
            _ => {
                let provider = party.name();
                tracing::warn!(provider, %error, "an account was not connected");
                AuditEvent::CallbackRefused
            }
        };
        let (vault, title) = (&self.kit.vault, party.display_title());
        if error.is_of_setting() && !matches!(error, ConnectError::Incomplete { .. }) {
            return self.misconfigured(intent, visit, party, &error).await;
        }
        let why = match &error {
            ConnectError::Declined { .. } => format!("{title} says that you declined."),
            ConnectError::FewerScopes { missing, .. } => {
                format!("You allowed less than was asked for. Missing: {missing}.")
            }
            _ => format!("{title} gave no account, or the answer was not its own."),
        };
        let caller = visit.principal(intent.client.clone());
        let provider = intent.purpose.name();
        match error {
            ConnectError::FewerScopes { connected, .. } => {
                let AccountGrant { account, granted } = *connected;
                vault.discard(&caller, provider, &account, granted).await?;
            }
            ConnectError::Incomplete { granted, why } => {
                vault.discard_unnamed(&caller, provider, *granted).await?;
                if why.is_of_setting() {
                    let said = self.misconfigured(intent, visit, party, &why).await;
                    self.kit.revoke_aside();
                    return said;
                }
            }
            _ => {}
        }
        settle(vault, &mut intent, Stage::Open, None, event).await?;
        // Until then, the provider may still be issuing tokens.
        self.kit.revoke_aside();
        let words = format!(
            "Not connected\n{why}\nNothing was kept. Open the link in your client again to try once more."
        );
        self.say(StatusCode::FORBIDDEN, Some(visit), &words).await
    }

    async fn refused_callback(
        &self,
        visit: Option<&Visit>,
        provider: &str,
    ) -> Result<(), PageError> {
        let vault = &self.kit.vault;
        let known = self.visit().await?;
        let Some(visit) = visit.or(known.as_ref()) else {
            tracing::warn!("an answer of a provider came to a browser that nobody sent there");
            return Ok(());
        };
        let name = self.kit.providers.get(provider).map_or("", |it| it.name());
        let line = vault.line(&visit.holder, name, AuditEvent::CallbackRefused);
        Ok(vault.append(&line).await?)
    }
}
