use askama::Template;
use askback_core::{ask::Millis, rfc3339};
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use url::Url;

use super::browser::Visit;
use crate::connections::Kit;
use crate::providers::ThirdParty;
use crate::vault::VaultError;

pub(super) struct Frame<'a> {
    name: &'a str,
    base: &'a str,
    has_logo: bool,
    person: Option<ShownPerson<'a>>,
}

struct ShownPerson<'a> {
    name: &'a str,
    sign_out: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(super) struct SignInPage<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) next: String,
    pub(super) is_for_accounts: bool,
    pub(super) is_stale: bool,
}

#[derive(Template)]
#[template(path = "consent.html")]
pub(super) struct ConsentPage<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) provider: &'a str,
    pub(super) user: &'a str,
    pub(super) client: Option<String>,
    pub(super) account: Option<&'a str>,
    pub(super) scopes: Vec<ShownScope>,
    pub(super) id: String,
    pub(super) token: String,
}

#[derive(Template)]
#[template(path = "key.html")]
pub(super) struct KeyPage<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) title: &'a str,
    pub(super) user: &'a str,
    pub(super) client: Option<String>,
    pub(super) account: Option<&'a str>,
    pub(super) hint: Option<&'a str>,
    pub(super) help: Option<&'a str>,
    pub(super) problem: Option<&'a str>,
    pub(super) id: String,
    pub(super) token: String,
}

/// A page that redirects immediately.
#[derive(Template)]
#[template(path = "leave.html")]
pub(super) struct LeavePage<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) title: String,
    pub(super) place: &'a str,
    pub(super) url: &'a str,
}

#[derive(Template)]
#[template(path = "said.html")]
pub(super) struct MessagePage<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) title: &'a str,
    pub(super) lines: Vec<&'a str>,
    pub(super) offers_accounts: bool,
    pub(super) disconnect: Option<DisconnectForm<'a>>,
}

pub(super) struct DisconnectForm<'a> {
    pub(super) action: String,
    pub(super) provider: &'a str,
    pub(super) account: &'a str,
    pub(super) token: String,
}

#[derive(Template)]
#[template(path = "accounts.html")]
pub(super) struct AccountsPage<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) action: &'a str,
    pub(super) accounts: Vec<ShownAccount>,
}

pub(super) struct ShownAccount {
    pub(super) id: String,
    pub(super) provider: String,
    pub(super) account: String,
    pub(super) name: String,
    pub(super) state: &'static str,
    pub(super) since: Option<String>,
    pub(super) used: Option<String>,
    pub(super) scopes: Vec<ShownScope>,
    pub(super) token: Option<String>,
}

pub(super) struct ShownScope {
    name: String,
    words: Option<String>,
}

impl ShownScope {
    pub(super) fn all<'a>(
        party: Option<&ThirdParty>,
        scopes: impl Iterator<Item = &'a str>,
    ) -> Vec<Self> {
        let shown = scopes.map(|scope| Self {
            name: scope.to_owned(),
            words: party.and_then(|it| it.words_of(scope)).map(str::to_owned),
        });
        shown.collect()
    }
}

pub(super) fn day(at: Millis) -> String {
    rfc3339::written(at)
        .chars()
        .take("2026-11-23".len())
        .collect()
}

impl ShownAccount {
    /// The name of the account, if its provider distinguishes accounts.
    fn shown_name(&self) -> Option<&str> {
        (self.name != self.id).then_some(&*self.name)
    }
}

pub(super) type Answer = Response<Full<Bytes>>;

impl<'a> Frame<'a> {
    pub(super) async fn new(kit: &'a Kit, visit: Option<&'a Visit>) -> Result<Self, VaultError> {
        let person = match visit {
            Some(visit) if kit.has_sign_in() => Some(ShownPerson {
                name: &visit.name,
                sign_out: visit.token(&kit.vault, "sign-out").await?,
            }),
            _ => None,
        };
        Ok(Self {
            name: &kit.brand.name,
            base: &kit.place.path,
            has_logo: kit.brand.logo.is_some(),
            person,
        })
    }
}

/// Renders a page that must not be cached or framed, and loads nothing from other sites.
pub(super) fn page(status: StatusCode, page: &impl Template) -> Result<Answer, VaultError> {
    let text = page.render().map_err(VaultError::store)?;
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, html);
    Ok(answer)
}

/// Redirects the browser to a third party through a page, because the content security policy forbids a form submission
/// that is redirected to another origin.
pub(super) fn leave(page_of: &LeavePage<'_>, url: &Url) -> Result<Answer, VaultError> {
    let mut answer = page(StatusCode::OK, page_of)?;
    let refresh = format!("0; url={url}");
    let refresh = refresh.parse().map_err(VaultError::store)?;
    answer.headers_mut().insert(header::REFRESH, refresh);
    Ok(answer)
}

pub(super) fn see_other(path: &str) -> Result<Answer, VaultError> {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::SEE_OTHER;
    let path = path.parse().map_err(VaultError::store)?;
    answer.headers_mut().insert(header::LOCATION, path);
    Ok(answer)
}
