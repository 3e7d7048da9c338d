//! The pages behind the links: sign in, connect an account, enter a key, list accounts.
//!
//! | path | does |
//! |---|---|
//! | `GET /c/ID` | shows the question to the user who was asked |
//! | `POST /c/ID` | takes the answer: redirects to the provider, stores a key, declines, or disconnects |
//! | `GET /cb/PROVIDER` | receives the provider's answer, in the browser that was sent there |
//! | `POST /sign-in`, `GET /signed-in`, `POST /sign-out` | identify the visitor |
//! | `GET /accounts`, `POST /disconnect` | the connected accounts |
//!
//! On one machine there is no sign-in: only links and providers' answers have paths, and the list of accounts has its
//! own link.
//!
//! A `GET` by the user who was asked changes only cookies and, if it carries the answer of an issuer or provider, the
//! state that the answer is for. On one machine, it can also bind the link to the browser. A `GET` by another user is
//! recorded, and the fifth one ends the link. Each failed check shows the same page, without any user's name.

mod accounts;
mod author;
mod browser;
mod callback;
mod html;
mod link;
mod sign_in;

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use askback::http::{ConnectionEnds, PeerUser};
use bytes::{Buf, Bytes};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{self, HOST, ORIGIN},
    request::Parts,
};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use url::form_urlencoded;

pub use author::{PageClaim, PageRefusal, PageVisit};
pub(crate) use browser::Visit;

use self::browser::{Cookie, Next};
use self::html::{Answer, Frame, MessagePage, page};
use crate::connections::{Connections, Kit};
use crate::intents::{Intent, IntentId, Stage};
use crate::vault::{AuditEvent, Vault, VaultError};

const FORM: usize = 32 << 10;

const QUERY: usize = 8 << 10;

/// The policy of all pages: nothing from other sites, no scripts, no framing, no forms to other sites.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; \
                      frame-ancestors 'none'; base-uri 'none'";

/// The pages as a tower service. Cheap to clone.
///
/// It answers every request: route the path of the pages' URL, and all paths below it, to this service. It must be
/// called within a tokio runtime. A request is completed even if its future is dropped.
///
/// On one machine, requests are refused if their [`ConnectionEnds`] belong to another user.
/// [`Endpoint::beside`](askback::http::Endpoint::beside) sets these. Other servers check connections with [`PeerUser`].
#[derive(Clone, Debug)]
pub struct Pages(pub(crate) Connections);

struct PageRequest<'a> {
    kit: &'a Arc<Kit>,
    headers: &'a HeaderMap,
    query: &'a str,
    path: &'a str,
    form: Vec<(String, String)>,
}

enum PageError {
    Unknown,
    /// The link has expired or never existed.
    Over,
    /// The process that had to finish the exchange is gone.
    CutOff,
    /// The visitor is not the user who was asked, or the form is from another page.
    Wrong,
    Failed(VaultError),
}

impl From<VaultError> for PageError {
    fn from(error: VaultError) -> Self {
        Self::Failed(error)
    }
}

type PageResult = Result<Answer, PageError>;

impl Connections {
    /// Returns the pages, to be routed next to the endpoint.
    ///
    /// ```no_run
    /// # async fn serve(connections: askback_connect::Connections) {
    /// let pages = connections.pages();
    /// let router: axum::Router = axum::Router::new()
    ///     .route_service("/connect", pages.clone())
    ///     .route_service("/connect/{*path}", pages);
    /// # }
    /// ```
    #[must_use]
    pub fn pages(&self) -> Pages {
        Pages(self.clone())
    }
}

impl Pages {
    /// Answers a request. The work is completed even if the future is dropped, for example because the browser
    /// disconnects: a code can be redeemed only once, and its tokens must be stored.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn respond<B>(
        &self,
        request: Request<B>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send + use<B>
    where
        B: Body + Send + 'static,
        B::Data: Buf + Send,
    {
        let pages = self.clone();
        let answering = tokio::spawn(async move { pages.answer(request).await });
        async {
            let answer = answering.await;
            answer.unwrap_or_else(|_| finished(plain(StatusCode::INTERNAL_SERVER_ERROR)))
        }
    }

    async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body,
        B::Data: Buf,
    {
        let kit = &self.0.0;
        let (parts, body) = request.into_parts();
        if let Err(status) = kit.admit(&parts).await {
            return finished(plain(status));
        }
        let query = parts.uri.query().unwrap_or_default();
        if query.len() > QUERY {
            return finished(plain(StatusCode::URI_TOO_LONG));
        }
        let form = match parts.method {
            Method::POST => match read_form(&parts.headers, body).await {
                Ok(form) => form,
                Err(status) => return finished(plain(status)),
            },
            _ => Vec::new(),
        };
        let visited = PageRequest {
            kit,
            headers: &parts.headers,
            query,
            path: parts.uri.path(),
            form,
        };
        let shown = visited.route(&parts.method).await;
        let answer = match shown {
            Ok(answer) => answer,
            Err(refused) => visited.refuse(refused).await,
        };
        finished(answer)
    }
}

impl<B> tower_service::Service<Request<B>> for Pages
where
    B: Body + Send + 'static,
    B::Data: Buf + Send,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answering = self.respond(request);
        Box::pin(async { Ok(answering.await) })
    }
}

impl PageRequest<'_> {
    async fn route(&self, method: &Method) -> PageResult {
        let is_get = *method == Method::GET || *method == Method::HEAD;
        let is_post = *method == Method::POST;
        if !is_get && !is_post {
            return Ok(plain(StatusCode::METHOD_NOT_ALLOWED));
        }
        let path = self.path.strip_prefix(&*self.kit.place.path);
        let path = path.and_then(|it| it.strip_prefix('/'));
        let path = path.ok_or(PageError::Unknown)?;
        let signs_in = self.kit.has_sign_in();
        match (path, is_post) {
            ("style.css", false) => return Ok(self.style()),
            ("logo", false) => return self.logo(),
            ("icon", false) => return Ok(picture(self.kit.brand.icon())),
            ("sign-in", true) if signs_in => return self.sign_in().await,
            ("signed-in", false) if signs_in => return self.signed_in().await,
            ("sign-out", true) if signs_in => return self.sign_out().await,
            ("accounts", false) if signs_in => return self.accounts().await,
            ("disconnect", true) if signs_in => return self.disconnect().await,
            _ => {}
        }
        if let Some(provider) = path.strip_prefix("cb/").filter(|_| is_get) {
            return self.callback(provider).await;
        }
        let id = path.strip_prefix("c/").and_then(IntentId::read);
        let id = id.ok_or(PageError::Unknown)?;
        match is_post {
            true => self.answer_link(id).await,
            // Link checkers must not open a link.
            false if *method == Method::HEAD && !signs_in => Ok(plain(StatusCode::OK)),
            false => self.show_link(id).await,
        }
    }

    /// The form field, unless it appears twice.
    fn field(&self, name: &str) -> Option<&str> {
        let mut named = self.form.iter().filter(|(key, _)| key == name);
        let (_, value) = named.next()?;
        named.next().is_none().then_some(value)
    }

    async fn visit(&self) -> Result<Option<Visit>, VaultError> {
        let Kit { vault, place, .. } = &**self.kit;
        Visit::of(vault, place, self.headers).await
    }

    /// The visit in which a link is used: of the signed-in user, or of the browser that has the link.
    async fn visit_of(&self, id: IntentId) -> Result<Option<Visit>, VaultError> {
        let Kit { vault, place, .. } = &**self.kit;
        match self.kit.has_sign_in() {
            true => self.visit().await,
            false => Ok(Cookie::Link(id).read(vault, place, self.headers).await),
        }
    }

    async fn sign_in_first(&self, next: Next, is_stale: bool) -> PageResult {
        let sign_in = html::SignInPage {
            frame: Frame::new(self.kit, None).await?,
            next: next.written(),
            is_for_accounts: next == Next::Accounts,
            is_stale,
        };
        Ok(page(StatusCode::OK, &sign_in)?)
    }

    /// A page with this text: the first line is the title.
    async fn say(&self, status: StatusCode, visit: Option<&Visit>, words: &str) -> PageResult {
        let said = MessagePage {
            frame: Frame::new(self.kit, visit).await?,
            title: words.lines().next().unwrap_or_default(),
            lines: words.lines().skip(1).collect(),
            offers_accounts: status == StatusCode::OK && visit.is_some() && self.kit.has_sign_in(),
            disconnect: None,
        };
        Ok(page(status, &said)?)
    }

    async fn refuse(&self, error: PageError) -> Answer {
        let is_wrong = matches!(error, PageError::Wrong);
        let visit = self.visit().await.ok().flatten();
        let (status, words) = match error {
            PageError::Unknown => (
                StatusCode::NOT_FOUND,
                "There is no such page\n\
                 Check that the address is whole.",
            ),
            PageError::Over => (
                StatusCode::GONE,
                "This link is over\n\
                 It was used, declined or too old, or it never was one.\n\
                 Go back to your client and start again there.",
            ),
            PageError::CutOff => (
                StatusCode::GONE,
                "This was cut off\n\
                 The server stopped while it was done, and nothing may have been kept.\n\
                 Go back to your client and start again there: it gives you another link.",
            ),
            PageError::Wrong if !self.kit.has_sign_in() => (
                StatusCode::FORBIDDEN,
                "This page is not for this browser\n\
                 A link can be used in one browser: the first that opens it. Programs that preview links count.\n\
                 If you were asked, decline in your client and start again there: it gives you another link.",
            ),
            PageError::Wrong if visit.is_none() => (
                StatusCode::FORBIDDEN,
                "This page is not for you\n\
                 Only the person who was asked can use it, in one browser. Nobody is signed in here.\n\
                 If it was you, open the link again in this browser, and sign in as the person who uses the client.",
            ),
            PageError::Wrong => (
                StatusCode::FORBIDDEN,
                "This page is not for you\n\
                 Only the person who was asked can use it, in one browser.\n\
                 If it was you, sign out here, sign in as the person who uses the client, and open the link again.",
            ),
            PageError::Failed(error) => {
                tracing::error!(%error, "a page could not be shown");
                (
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "That did not work\nNothing was changed. Try again later.",
                )
            }
        };
        let said = async {
            let mut answer = self.say(status, visit.as_ref(), words).await?;
            if is_wrong && visit.is_some() {
                self.sign_in_anew(&mut answer)?;
            }
            Ok::<_, PageError>(answer)
        };
        let said = said.await;
        said.unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR))
    }

    fn style(&self) -> Answer {
        let style = self.kit.brand.style();
        let mut answer = Response::new(Full::new(style.into()));
        let css = HeaderValue::from_static("text/css; charset=utf-8");
        answer.headers_mut().insert(header::CONTENT_TYPE, css);
        answer
    }

    fn logo(&self) -> PageResult {
        let logo = self.kit.brand.logo.clone();
        logo.map(picture).ok_or(PageError::Unknown)
    }
}

/// Records the outcome of an exchange, unless the link is over.
async fn settle(
    vault: &Vault,
    intent: &mut Intent,
    to: Stage,
    account: Option<&str>,
    event: AuditEvent,
) -> Result<(), PageError> {
    match intent.settle(vault, to, account, event).await? {
        true => Ok(()),
        false => Err(PageError::Over),
    }
}

impl Kit {
    /// Checks that a request is for this server and does not come from another user of the machine.
    async fn admit(&self, parts: &Parts) -> Result<(), StatusCode> {
        if !self.has_sign_in() && is_of_another_user(&parts.extensions).await {
            tracing::warn!("a request of another user of this machine is refused");
            return Err(StatusCode::FORBIDDEN);
        }
        let all = |name| {
            parts
                .headers
                .get_all(name)
                .iter()
                .map(HeaderValue::as_bytes)
        };
        let authority = parts.uri.authority().map(|it| it.as_str().as_bytes());
        // A link on another site may lead here.
        let origins = (parts.method != Method::GET).then(|| all(ORIGIN));
        let guard = &self.place.guard;
        let checked = guard.check_request(all(HOST), authority, origins.into_iter().flatten());
        checked.map_err(|_| StatusCode::MISDIRECTED_REQUEST)
    }
}

/// Whether a request's connection is known to belong to another user of this machine.
async fn is_of_another_user(extensions: &Extensions) -> bool {
    match extensions.get::<ConnectionEnds>() {
        Some(ends) => PeerUser::of(ends.local, ends.remote).await == PeerUser::Other,
        None => false,
    }
}

fn picture((media, bytes): (HeaderValue, Bytes)) -> Answer {
    let mut answer = Response::new(Full::new(bytes));
    answer.headers_mut().insert(header::CONTENT_TYPE, media);
    answer
}

async fn read_form<B>(headers: &HeaderMap, body: B) -> Result<Vec<(String, String)>, StatusCode>
where
    B: Body,
{
    const MEDIA: &[u8] = b"application/x-www-form-urlencoded";
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_form = media.is_some_and(|media| {
        let media = media.split(|c| *c == b';').next().unwrap_or_default();
        media.trim_ascii().eq_ignore_ascii_case(MEDIA)
    });
    if !is_form {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let body = Limited::new(body.map_err(|_| std::fmt::Error), FORM);
    let read = body
        .collect()
        .await
        .map_err(|error| match error.is::<LengthLimitError>() {
            true => StatusCode::PAYLOAD_TOO_LARGE,
            false => StatusCode::BAD_REQUEST,
        })?;
    let read = read.to_bytes();
    Ok(form_urlencoded::parse(&read).into_owned().collect())
}

fn plain(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

fn finished(mut answer: Answer) -> Answer {
    const HEADERS: [(HeaderName, &str); 6] = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer`, browsers hide the origin of the pages' own forms.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in HEADERS {
        answer
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    answer
}
