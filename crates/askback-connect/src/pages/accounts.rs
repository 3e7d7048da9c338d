//! The accounts of a person, and their end.

use http::{StatusCode, header};

use super::browser::{Cookie, Next, is_own_form};
use super::html::{AccountsPage, Frame, ShownAccount, ShownScope, day, page, see_other};
use super::{Refused, Shown, Visited};
use crate::connections::Kit;
use crate::vault::AccountState;

impl Visited<'_> {
    /// Shows what is connected.
    pub(super) async fn accounts(&self) -> Shown {
        let Kit { vault, place, .. } = &**self.kit;
        let Some(visit) = self.visit().await? else {
            return self.sign_in_first(Next::Accounts, false).await;
        };
        let mut accounts = Vec::new();
        for account in vault.accounts(&visit.principal(None)).await? {
            let id = account.key.provider;
            let party = self.kit.providers.get(&id);
            let (state, may_end) = match account.state {
                AccountState::Active
                | AccountState::Replaced { .. }
                | AccountState::Reconnected { .. } => ("Connected", true),
                AccountState::CoolingDown { .. } => {
                    ("Connected, and not renewed at the moment", true)
                }
                AccountState::NeedsReconnect => ("To be connected again", true),
                AccountState::Revoking => ("Disconnected, and still to be revoked there", false),
            };
            let token = match may_end {
                true => Some(
                    visit
                        .token(vault, &about(&id, &account.key.account))
                        .await?,
                ),
                false => None,
            };
            accounts.push(ShownAccount {
                since: account.connected.map(day),
                used: account.used.map(day),
                scopes: ShownScope::all(party, account.scopes.iter()),
                provider: party.map_or_else(|| id.clone(), |it| it.display_title().to_owned()),
                id,
                name: account.key.account,
                state,
                token,
            });
        }
        let shown = AccountsPage {
            frame: Frame::new(self.kit, Some(&visit)).await?,
            accounts,
        };
        let mut answer = page(StatusCode::OK, &shown)?;
        if !self.kit.has_sign_in() {
            let cookie = Cookie::Visit.set(vault, place, &visit).await?;
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Ok(answer)
    }

    /// Disconnects one, and has its provider told.
    pub(super) async fn disconnect(&self) -> Shown {
        let Kit { vault, place, .. } = &**self.kit;
        let visit = self.visit().await?.ok_or(Refused::Wrong)?;
        let field = |name| self.field(name).unwrap_or_default();
        let (provider, account) = (field("provider"), field("account"));
        let about = about(provider, account);
        let is_own = is_own_form(self.headers, place);
        if !is_own || !visit.has_token(vault, &about, field("token")).await {
            return Err(Refused::Wrong);
        }
        let caller = visit.principal(None);
        vault.disconnect(&caller, provider, account).await?;
        self.kit.revoke_aside();
        Ok(see_other(&Next::Accounts.path(place))?)
    }
}

/// The thing that a form for an account is about.
fn about(provider: &str, account: &str) -> String {
    format!("disconnect {provider} {account}")
}
