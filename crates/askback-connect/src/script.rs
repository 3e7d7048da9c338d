use std::collections::BTreeMap;

use askback_core::auth::Scopes;
use askback_oauth::Secret;

use crate::intents::{Intent, IntentError, IntentId, OWN_SECRET, Purpose, Stage};
use crate::providers::Providers;
use crate::vault::{AuditEvent, Grant, Vault, VaultError};

/// An action for each page, by provider, name of the secret, or path of an author's page.
#[derive(Debug, Default)]
pub(crate) struct Script {
    deeds: BTreeMap<String, ScriptStep>,
}

#[derive(Debug)]
pub(crate) enum ScriptStep {
    Connects(String, Secret),
    Enters(Secret),
    Finishes,
    Declines,
}

impl Script {
    pub(crate) fn add(&mut self, about: String, deed: ScriptStep) {
        self.deeds.insert(about, deed);
    }

    pub(crate) async fn play(
        &self,
        vault: &Vault,
        providers: &Providers,
        id: IntentId,
    ) -> Result<(), VaultError> {
        let Some(intent) = Intent::find(vault, id).await? else {
            return Ok(());
        };
        let about = about(&intent.purpose);
        let done = match self.deeds.get(about) {
            None => return Ok(()),
            Some(ScriptStep::Declines) => decline(vault, intent).await,
            Some(ScriptStep::Finishes) => finish(vault, intent, None).await,
            Some(ScriptStep::Enters(secret)) => {
                let granted = Grant::api_key(secret.clone());
                finish(vault, intent, Some((OWN_SECRET, granted))).await
            }
            Some(ScriptStep::Connects(account, token)) => {
                let party = providers.get(about);
                let defaults = party.map(|party| party.default_scopes().clone());
                let defaults = defaults.unwrap_or_default();
                let wanted = intent.purpose.scopes();
                let scopes = Scopes::of(wanted.iter().chain(defaults.iter()));
                let scopes = scopes.map_err(VaultError::store)?;
                let granted = Grant::tokens(token.clone(), None).scopes(scopes);
                finish(vault, intent, Some((account, granted))).await
            }
        };
        match done {
            Ok(()) | Err(IntentError::Changed) => Ok(()),
            Err(IntentError::Vault(error)) => Err(error),
        }
    }
}

fn about(purpose: &Purpose) -> &str {
    match purpose {
        Purpose::Page { path, .. } => path,
        other => other.name(),
    }
}

async fn decline(vault: &Vault, mut intent: Intent) -> Result<(), IntentError> {
    let declined = intent.step(vault, AuditEvent::Declined, Intent::decline);
    declined.await.map(drop)
}

async fn finish(
    vault: &Vault,
    mut intent: Intent,
    granted: Option<(&str, Grant)>,
) -> Result<(), IntentError> {
    let event = AuditEvent::Consented;
    let claimed = intent.step(vault, event, |intent| intent.claim(vault.now()));
    if !claimed.await? {
        return Ok(());
    }
    let account = granted.as_ref().map(|(account, _)| *account);
    if let Some((account, granted)) = granted {
        let caller = intent.holder.principal(intent.client.clone());
        let name = intent.purpose.name();
        vault.put(&caller, name, account, granted).await?;
    }
    intent
        .settle(vault, Stage::Done, account, AuditEvent::Connected)
        .await
}
