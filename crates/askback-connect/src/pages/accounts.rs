use http::StatusCode;

use super::browser::{Next, Visit, is_own_form};
use super::html::{
    AccountsPage, DisconnectForm, Frame, ShownAccount, ShownScope, day, page, see_other,
};
use super::{PageError, PageRequest, PageResult};
use crate::connections::Kit;
use crate::intents::{Intent, IntentId, Purpose};
use crate::vault::{Account, AccountState, VaultError};

impl PageRequest<'_> {
    pub(super) async fn accounts(&self) -> PageResult {
        let Some(visit) = self.visit().await? else {
            return self.sign_in_first(Next::Accounts, false).await;
        };
        let action = format!("{}/disconnect", self.kit.place.path);
        self.accounts_page(&visit, &action).await
    }

    /// The list. Its forms post to `action`.
    pub(super) async fn accounts_page(&self, visit: &Visit, action: &str) -> PageResult {
        let vault = &self.kit.vault;
        let mut accounts = Vec::new();
        let all = vault.accounts(&visit.principal(None)).await?;
        for account in &all {
            let id = account.key.provider.clone();
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
                name: shown_name(account, &all),
                account: account.key.account.clone(),
                state,
                token,
            });
        }
        let shown = AccountsPage {
            frame: Frame::new(self.kit, Some(visit)).await?,
            action,
            accounts,
        };
        Ok(page(StatusCode::OK, &shown)?)
    }

    /// The form that disconnects an account, shown in the browser that has just connected it.
    pub(super) async fn disconnect_form<'a>(
        &self,
        id: IntentId,
        visit: &Visit,
        provider: &'a str,
        account: &'a str,
    ) -> Result<DisconnectForm<'a>, VaultError> {
        let about = about(provider, account);
        Ok(DisconnectForm {
            action: Next::Link(id).path(&self.kit.place),
            provider,
            account,
            token: visit.token(&self.kit.vault, &about).await?,
        })
    }

    pub(super) async fn disconnect(&self) -> PageResult {
        let visit = self.visit().await?.ok_or(PageError::Wrong)?;
        let (provider, account) = self.to_disconnect(&visit).await?;
        self.end_account(&visit, provider, account).await?;
        Ok(see_other(&Next::Accounts.path(&self.kit.place))?)
    }

    /// Disconnects an account through a link of this machine's user, in the browser that has the link.
    pub(super) async fn disconnect_at(&self, id: IntentId, visit: &Visit) -> PageResult {
        let vault = &self.kit.vault;
        let (provider, account) = self.to_disconnect(visit).await?;
        let intent = Intent::find(vault, id).await?.ok_or(PageError::Over)?;
        let now = vault.now();
        if !intent.may_disconnect(visit.id, provider, account, now) {
            return Err(PageError::Over);
        }
        let key = intent.holder.account(provider, account);
        let name = vault.name_of(&key).await?;
        self.end_account(visit, provider, account).await?;
        if intent.purpose == Purpose::Accounts {
            return Ok(see_other(&Next::Link(id).path(&self.kit.place))?);
        }
        let name = name.as_deref().unwrap_or(account);
        let words = format!("Disconnected\nThe account {name} is no longer used.");
        self.say(StatusCode::OK, Some(visit), &words).await
    }

    async fn to_disconnect(&self, visit: &Visit) -> Result<(&str, &str), PageError> {
        let Kit { vault, place, .. } = &**self.kit;
        let field = |name| self.field(name).unwrap_or_default();
        let (provider, account) = (field("provider"), field("account"));
        let about = about(provider, account);
        let is_own = is_own_form(self.headers, place);
        if !is_own || !visit.has_token(vault, &about, field("token")).await {
            return Err(PageError::Wrong);
        }
        Ok((provider, account))
    }

    async fn end_account(
        &self,
        visit: &Visit,
        provider: &str,
        account: &str,
    ) -> Result<(), VaultError> {
        let caller = visit.principal(None);
        self.kit
            .vault
            .disconnect(&caller, provider, account)
            .await?;
        self.kit.revoke_aside();
        Ok(())
    }
}

/// The name of an account in a list. Includes the id if another account of the provider has the same name.
fn shown_name(account: &Account, all: &[Account]) -> String {
    let is_same =
        |it: &&Account| it.key.provider == account.key.provider && it.name == account.name;
    let Account { key, name, .. } = account;
    match all.iter().filter(is_same).count() {
        1 => name.to_string(),
        _ => format!("{} ({})", &**name, key.account),
    }
}

fn about(provider: &str, account: &str) -> String {
    format!("disconnect {provider} {account}")
}
