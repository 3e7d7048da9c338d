//! Questions that are answered on a page: for an account, a secret, or an author's page.

use std::{sync::Arc, time::Duration};

use askback::{Answer, BoxFuture, Ctx, Error, Principal, Result};
use askback_core::{auth::Scopes, protocol::ElicitUrlParams};
use askback_oauth::Secret;

use crate::connection::{Connection, not_had};
use crate::connections::{Connections, Kit};
use crate::hidden::is_hidden;
use crate::intents::{Intent, IntentId, Purpose, Stage};
use crate::vault::{AccountQuery, AuditEvent, Credential, Holder, VaultError};

/// Accounts and secrets of the user for whom a handler works.
///
/// Unless the vault already has what is needed, each method sends the user to a page of the [`Connections`] in the
/// server's state. The client sees none of it.
pub trait ConnectExt {
    /// Returns the caller's account at a third party. Asks the user to connect one if needed.
    ///
    /// ```
    /// use askback::{Ctx, Result};
    /// use askback_connect::ConnectExt;
    ///
    /// async fn repositories(ctx: Ctx) -> Result<String> {
    ///     let github = ctx.connect("github").scopes(["repo"]).await?;
    ///     let answer = github.get("https://api.github.com/user/repos").await?;
    ///     Ok(format!("{} bytes", answer.body.len()))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// An error that tells the caller what to do, if the user declines, the link expires, or the client cannot open
    /// links.
    fn connect(&self, provider: impl Into<String>) -> ConnectAccount;

    /// Returns the user's secret of this name, such as an API key. Asks the user to enter it on a page if needed.
    ///
    /// # Errors
    ///
    /// As [`ConnectExt::connect`].
    fn ask_secret(&self, name: impl Into<String>) -> AskSecret;

    /// Asks the user to open an author's page at this path of the site. Only this user can use it. The page reports
    /// when it is done: see [`Connections::asked`].
    ///
    /// # Errors
    ///
    /// As [`ConnectExt::connect`].
    fn ask_page(
        &self,
        message: impl Into<String>,
        path: impl Into<String>,
    ) -> BoxFuture<'static, Result<()>>;
}

/// A request to connect an account: see [`ConnectExt::connect`].
#[must_use = "it does nothing until it is awaited"]
pub struct ConnectAccount {
    ctx: Ctx,
    provider: String,
    scopes: Vec<String>,
    account: Option<String>,
    message: Option<String>,
}

/// A request for a secret: see [`ConnectExt::ask_secret`].
#[must_use = "it does nothing until it is awaited"]
pub struct AskSecret {
    ctx: Ctx,
    name: String,
    title: Option<String>,
}

impl ConnectExt for Ctx {
    fn connect(&self, provider: impl Into<String>) -> ConnectAccount {
        ConnectAccount {
            ctx: self.clone(),
            provider: provider.into(),
            scopes: Vec::new(),
            account: None,
            message: None,
        }
    }

    fn ask_secret(&self, name: impl Into<String>) -> AskSecret {
        AskSecret {
            ctx: self.clone(),
            name: name.into(),
            title: None,
        }
    }

    fn ask_page(
        &self,
        message: impl Into<String>,
        path: impl Into<String>,
    ) -> BoxFuture<'static, Result<()>> {
        Box::pin(ask_page(self.clone(), message.into(), path.into()))
    }
}

impl ConnectAccount {
    /// Requires these scopes in addition to the third party's default scopes.
    pub fn scopes<T: Into<String>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        self.scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Requires this account, by id or by name. The question and the page show it. If no account has this id and
    /// several have the name, the call fails with an error that lists their ids.
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }

    /// Sets the message of the question. The default is like "Connect your GitHub account."
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    async fn connected(self) -> Result<Connection> {
        let desk = Desk::new(&self.ctx)?;
        let party = desk.kit.providers.get(&self.provider);
        let party = party.cloned().ok_or_else(|| {
            let name = &self.provider;
            Error::internal(format!(
                "the handler connects `{name}`, and the server has no such provider: add it to its `Providers`"
            ))
        })?;
        let title = party.display_title();
        let is_shown = |it: &str| !it.trim().is_empty() && !it.chars().any(is_hidden);
        if !self.account.as_deref().is_none_or(is_shown) {
            return Err(Error::new(format!(
                "no {title} account has this name, which is empty or has characters that cannot be shown: give the name that \
                 {title} shows"
            )));
        }
        if self.account.is_some() && !party.names_accounts() {
            let name = &self.provider;
            return Err(Error::internal(format!(
                "the handler names an account of `{name}`, which names none: say where with `ThirdParty::account`, or with \
                 `account` in the file of providers"
            )));
        }
        let scopes = Scopes::parse(&self.scopes.join(" ")).map_err(Error::internal)?;
        let mut wanted = AccountQuery::new(&desk.caller, party.name()).scopes(scopes.clone());
        if let Some(account) = &self.account {
            wanted = wanted.account(account);
        }
        let purpose = Purpose::Account {
            provider: party.name().to_owned(),
            scopes,
            kept: Scopes::new(),
            account: self.account.clone(),
        };
        let message = self.message.unwrap_or_else(|| match &self.account {
            Some(account) => format!("Connect your {title} account, as {account}."),
            None => format!("Connect your {title} account."),
        });
        let (wanted, _) = desk.obtain(wanted, title, message, purpose).await?;
        Ok(Connection::new(Arc::clone(&desk.kit), party, wanted))
    }
}

impl AskSecret {
    /// Sets the title shown to the user, such as "Stripe API key". The default is the secret's name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Deletes this secret because it does not work, for example because of a typo. The next call that needs it asks
    /// the user. If the user has replaced it meanwhile, the new secret stays.
    ///
    /// ```
    /// # use askback::{Ctx, Error, Result};
    /// # use askback_connect::ConnectExt as _;
    /// async fn charge(ctx: Ctx) -> Result<String> {
    ///     let key = ctx.ask_secret("stripe_key").await?;
    ///     if !key.expose().starts_with("sk_") {
    ///         ctx.ask_secret("stripe_key").rejected(&key).await?;
    ///         return Err(Error::new("that is no key of Stripe: call again to give another"));
    ///     }
    ///     Ok("charged".to_owned())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// If the vault fails.
    pub async fn rejected(self, secret: &Secret) -> Result<()> {
        self.check_name()?;
        let desk = Desk::new(&self.ctx)?;
        let wanted = AccountQuery::new(&desk.caller, &self.name);
        let forgotten = desk.kit.vault.forget_secret(&wanted, secret).await;
        forgotten.map_err(|error| not_had(error, &self.name))
    }

    fn check_name(&self) -> Result<()> {
        match self.name.trim().is_empty() || self.name.chars().any(is_hidden) {
            false => Ok(()),
            true => Err(Error::internal(
                "the handler asks for a secret without a name, or with one that cannot be shown: give it one, such as \
                 `stripe_key`",
            )),
        }
    }

    async fn secret(self) -> Result<Secret> {
        self.check_name()?;
        let desk = Desk::new(&self.ctx)?;
        if desk.kit.providers.get(&self.name).is_some() {
            return Err(Error::internal(format!(
                "the handler asks for a secret called `{}`, which is the name of a provider: use another",
                self.name
            )));
        }
        let title = self.title.unwrap_or_else(|| self.name.replace('_', " "));
        let wanted = AccountQuery::new(&desk.caller, &self.name);
        let purpose = Purpose::Secret {
            name: self.name.clone(),
            title: title.clone(),
        };
        let message = format!("Enter your {title} on a page of its own.");
        let (_, found) = desk.obtain(wanted, &title, message, purpose).await?;
        Ok(found.secret)
    }
}

async fn ask_page(ctx: Ctx, message: String, path: String) -> Result<()> {
    let desk = Desk::new(&ctx)?;
    if !is_path(&path) {
        return Err(Error::internal(format!(
            "the handler asks for a page at {path:?}: give a path of the pages' own host, from its first slash on, with what \
             URLs do not take as %XX"
        )));
    }
    let purpose = Purpose::Page {
        name: "page".to_owned(),
        path,
    };
    desk.ask(message, "the page", purpose, None).await.map(drop)
}

impl IntoFuture for ConnectAccount {
    type Output = Result<Connection>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.connected())
    }
}

impl IntoFuture for AskSecret {
    type Output = Result<Secret>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.secret())
    }
}

struct Desk {
    ctx: Ctx,
    kit: Arc<Kit>,
    caller: Principal,
}

impl Desk {
    fn new(ctx: &Ctx) -> Result<Self> {
        let Connections(kit) = ctx.state::<Connections>()?;
        let is_here = ctx.incoming().is_from_here();
        let caller = kit.caller(ctx.principal(), is_here).map_err(Error::new)?;
        Ok(Self {
            ctx: ctx.clone(),
            kit,
            caller,
        })
    }

    /// Finds the account or secret, or asks the user for it. The choice is fixed for the whole call.
    async fn obtain(
        &self,
        wanted: AccountQuery,
        title: &str,
        message: String,
        purpose: Purpose,
    ) -> Result<(AccountQuery, Credential)> {
        let name = purpose.name().to_owned();
        let needed = purpose.account().map(str::to_owned);
        let is_secret = matches!(purpose, Purpose::Secret { .. });
        // Recorded, so that a replay asks the same questions and uses the same account.
        let there = {
            let (kit, wanted) = (Arc::clone(&self.kit), wanted.clone());
            let title = title.to_owned();
            let look = move || async move { there(&kit, &wanted, &title).await };
            self.ctx.run(format!("connected to {name}"), look).await?
        };
        let account = match there {
            Some(account) => Some(account),
            None => {
                let kept = self.kit.vault.kept_scopes(&wanted).await;
                let purpose = purpose.keeping(kept.map_err(|error| not_had(error, title))?);
                let looked_for = Some(wanted.clone());
                self.ask(message, title, purpose, looked_for).await?
            }
        };
        let (chosen, shown) = match account {
            Some(id) => {
                let connected = self.kit.vault.connected(&wanted, &id).await;
                match connected.map_err(|error| not_had(error, title))? {
                    Some((_, true)) => (wanted.id(id), None),
                    Some((shown, false)) => (wanted, Some(shown)),
                    None => (wanted, None),
                }
            }
            None => (wanted, None),
        };
        let found = self.kit.vault.get(&chosen, &self.kit.renewer()).await;
        let found = found.map_err(|error| match (error, &shown) {
            (VaultError::NotConnected, _) if is_secret => Error::new(format!(
                "the {title} that was given is kept no more: call again to give another"
            )),
            (VaultError::NotConnected, None) => Error::new(format!(
                "the {title} account was disconnected before it was used: call again to connect one"
            )),
            (VaultError::NotConnected | VaultError::NeedsReconnect, Some(connected)) => {
                another(title, needed.as_deref(), connected)
            }
            (error, _) => not_had(error, title),
        })?;
        // The call keeps this account even if the user connects another.
        Ok((chosen.id(found.account.account.clone()), found))
    }

    /// Sends the user to a page and waits until it is done. Returns the account connected there.
    async fn ask(
        &self,
        message: String,
        title: &str,
        purpose: Purpose,
        wanted: Option<AccountQuery>,
    ) -> Result<Option<String>> {
        if !self.ctx.can_elicit_url() {
            return Err(self.without_links(title, &purpose));
        }
        let id = IntentId(self.ctx.random_bytes());
        let name = purpose.name().to_owned();
        let is_page = matches!(purpose, Purpose::Page { .. });
        let intent = {
            let (holder, client) = (Holder::from(&self.caller), self.caller.client_id.clone());
            Intent::new(id, holder, client, purpose, self.kit.vault.now())
        };
        let added = {
            let kit = Arc::clone(&self.kit);
            let add = move || async move {
                let added = intent.add(&kit.vault).await;
                added.map_err(Error::internal)
            };
            self.ctx.run(format!("link for {name}"), add).await?
        };
        if !added {
            return Err(Error::new(
                "too many links are open already: finish or decline one of them, or wait ten minutes",
            ));
        }
        let link = self.kit.link(id);
        // An author's page is done for this call only: a repeated call would ask for it again.
        if self.kit.by_error && !is_page && self.knows_url_errors() {
            self.watch(id);
            let params = ElicitUrlParams {
                message,
                url: link,
                elicitation_id: Some(id.to_string()),
                ..ElicitUrlParams::default()
            };
            return Err(Error::url_required(params, []));
        }
        let wait = {
            let (kit, wanted) = (Arc::clone(&self.kit), wanted.clone());
            move |_: Duration| {
                let (kit, wanted) = (Arc::clone(&kit), wanted.clone());
                async move {
                    let settled = kit.settled(id, wanted.as_ref()).await;
                    settled.map_err(Error::internal)?;
                    Ok(true)
                }
            }
        };
        let question = self.ctx.elicit_url(message, link).id(id.to_string());
        let answer = match question.key(format!("connect_{name}")).until(wait).await {
            Ok(answer) => answer,
            Err(error) => {
                // The caller has stopped waiting, so the link must not work any more.
                let ended = end_of(&self.kit, id, false, None).await;
                ended.map_err(Error::internal)?;
                return Err(error);
            }
        };
        let is_accepted = matches!(answer, Answer::Accepted(()));
        // Recorded, because the outcome is not stored forever.
        let end = {
            let (kit, notice) = (
                Arc::clone(&self.kit),
                self.ctx.completion_notice(id.to_string()),
            );
            let look = move || async move {
                let end = end_of(&kit, id, is_accepted, wanted.as_ref()).await;
                let end = end.map_err(Error::internal)?;
                notice.send();
                Ok(end)
            };
            self.ctx.run(format!("end of {name}"), look).await?
        };
        answer.accepted()?;
        match end {
            Some((Stage::Done, account)) => Ok(account),
            // The client shows the same answer.
            Some((Stage::Declined, _)) => Answer::Declined { reason: None }.accepted()?,
            Some((Stage::Misconfigured, _)) => Err(Error::new(format!(
                "no {title} account can be connected: a setting of `{name}` is wrong. The operator of the server has to \
                 correct it; its log says which"
            ))),
            Some((Stage::Burned, _)) => Err(Error::new(format!(
                "the link for {title} was opened by others too often, in another browser or by another person, and was \
                 given up: call again to be given another link, and open it in one browser alone"
            ))),
            _ => Err(Error::new(format!(
                "the page for {title} was not finished in time: call again to be given another link"
            ))),
        }
    }

    /// Whether errors may carry links in this call's revision.
    fn knows_url_errors(&self) -> bool {
        let facts = self.ctx.incoming().revision().facts();
        facts.url_elicitation_error
    }

    /// Notifies the client when the page is done, for a call that ended with an error.
    fn watch(&self, id: IntentId) {
        let notice = self.ctx.completion_notice(id.to_string());
        let kit = Arc::clone(&self.kit);
        tokio::spawn(async move {
            if let Ok(Some(Stage::Done)) = kit.settled(id, None).await {
                notice.send();
            }
        });
    }

    fn without_links(&self, title: &str, purpose: &Purpose) -> Error {
        let what = match purpose {
            Purpose::Account { .. } => format!("it needs your {title} account"),
            Purpose::Secret { .. } => format!("it needs your {title}"),
            Purpose::Page { .. } | Purpose::Accounts => "it needs you to use a page".to_owned(),
        };
        // On one machine, the list of accounts needs its own link.
        let is_public = self.kit.has_sign_in();
        let party = self.kit.providers.get(purpose.name());
        let there = match party.filter(|_| is_public) {
            Some(_) => format!(
                " What is connected is listed at {}.",
                self.kit.accounts_url()
            ),
            None => String::new(),
        };
        // An author's page counts only for the call that asked for it.
        let then = match purpose {
            Purpose::Page { .. } => "Call it from a client that can.",
            _ => "Call it once from a client that can: what is kept then is used by this one, too.",
        };
        Error::new(format!(
            "{what}, and this client cannot open links for a server. {then}{there}"
        ))
    }
}

fn another(title: &str, needed: Option<&str>, connected: &str) -> Error {
    Error::new(match needed {
        Some(needed) if needed != connected => format!(
            "{connected} was connected at {title}, and {needed} is needed: call again, and choose {needed} at {title}"
        ),
        _ => format!(
            "the {title} account that was connected is not the one that is needed: call again, and choose the other"
        ),
    })
}

/// Whether every browser reads this as a path on the same host, with or without a query.
fn is_path(path: &str) -> bool {
    let is_whole = path.starts_with('/') && !path.starts_with("//");
    is_whole && path.bytes().all(|byte| byte.is_ascii_graphic()) && !path.contains(['\\', '#'])
}

/// Reads the outcome of a page, with the account that was connected there. `None` if it was not finished in time.
/// Closes the link if the user declined to open it.
async fn end_of(
    kit: &Kit,
    id: IntentId,
    is_accepted: bool,
    wanted: Option<&AccountQuery>,
) -> Result<Option<(Stage, Option<String>)>, VaultError> {
    let Some(mut intent) = Intent::find(&kit.vault, id).await? else {
        return Ok(None);
    };
    // Another call of the same user may have connected it.
    let there = match wanted {
        Some(wanted) if is_accepted && !intent.stage.is_final() => {
            kit.vault.account(wanted).await?
        }
        _ => None,
    };
    if !is_accepted || there.is_some() {
        let declined = intent.step(&kit.vault, AuditEvent::Declined, Intent::decline);
        declined.await?;
    }
    if there.is_some() {
        return Ok(Some((Stage::Done, there)));
    }
    let is_final = intent.stage.is_final();
    Ok(is_final.then_some((intent.stage, intent.account)))
}

/// Finds the account in the vault. Returns `None` if the user has to connect one.
async fn there(kit: &Kit, wanted: &AccountQuery, title: &str) -> Result<Option<String>> {
    match kit.vault.get(wanted, &kit.renewer()).await {
        Ok(found) => Ok(Some(found.account.account)),
        Err(VaultError::NotConnected | VaultError::NeedsReconnect) => Ok(None),
        // Connecting the account again replaces the damaged record.
        Err(error @ VaultError::NotAuthentic) => {
            tracing::error!(%error, provider = wanted.provider(), "an account has to be connected again");
            Ok(None)
        }
        Err(error) => Err(not_had(error, title)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_at_a_path_of_the_same_host() {
        for good in ["/deposit", "/deposit?order=7&amount=300", "/a//b", "/%5C"] {
            assert!(is_path(good), "{good}");
        }
        for bad in [
            "",
            "deposit",
            "//evil.test/x",
            "/\\evil.test/x",
            "\\\\evil.test",
            "https://evil.test/",
            "/x#asked",
            "/a b",
            "/\tx",
            "/ü",
        ] {
            assert!(!is_path(bad), "{bad}");
        }
    }
}
