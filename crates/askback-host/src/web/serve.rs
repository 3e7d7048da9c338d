//! The page over HTTP: access checks and routes.

use std::{
    convert::Infallible,
    future::{Future, pending},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use askama::Template;
use askback::{
    http::{ConnectionEnds, PeerUser, RequestBody, serve_pages},
    limits::Limits,
};
use bytes::Bytes;
use http::{
    HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{self, HOST, ORIGIN},
    request::Parts,
};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Limited};
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch},
    time::{sleep, timeout},
};

use super::{
    BEAT, FORM_BYTES, FORM_TIME, PACE, TABS, TAKEN, TASK_BEAT,
    form::Form,
    html::Html,
    snapshot::{REGIONS, Region, Shared, Submission},
    wire,
};
use crate::server_id::ServerId;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
                      require-trusted-types-for 'script'; trusted-types askback";

const STYLE: &str = include_str!("../../templates/web/style.css");
const SCRIPT: &str = include_str!("../../templates/web/page.js");

type Answer = Response<PageBody>;

struct Tab {
    permit: Option<OwnedSemaphorePermit>,
    service: WebService,
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.permit = None;
        let is_open = self.service.tabs.available_permits() < TABS;
        self.service.shared.is_open.send_replace(is_open);
    }
}

pub(super) enum PageBody {
    Whole(Option<Bytes>),
    Live(mpsc::Receiver<Bytes>),
}

#[derive(Clone)]
pub(super) struct WebService {
    shared: Arc<Shared>,
    tabs: Arc<Semaphore>,
}

#[derive(Template)]
#[template(path = "web/page.html")]
struct WholePage {
    title: String,
    live: String,
    /// The names, titles and contents of the sections.
    sections: Vec<((&'static str, &'static str), Region)>,
    servers: Region,
}

#[derive(Template)]
#[template(path = "web/enter.html")]
struct EnterPage<'a> {
    title: &'a str,
    path: &'a str,
}

#[derive(Template)]
#[template(path = "web/said.html")]
struct SaidPage<'a> {
    title: &'a str,
    words: &'a str,
    back: Option<String>,
}

pub(super) async fn serve(listener: TcpListener, service: WebService, limits: Limits) {
    serve_pages(listener, service, &limits, pending()).await;
}

impl WebService {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            tabs: Arc::new(Semaphore::new(TABS)),
        }
    }

    async fn respond(self, request: Request<RequestBody>) -> Answer {
        let (parts, body) = request.into_parts();
        if let Err(status) = self.admit(&parts).await {
            return finished(plain(status));
        }
        finished(self.route(&parts, body).await)
    }

    /// Checks that a request comes from a browser of the same user, and from the page itself.
    async fn admit(&self, parts: &Parts) -> Result<(), StatusCode> {
        let ends = parts.extensions.get::<ConnectionEnds>();
        let Some(ends) = ends else {
            return Err(StatusCode::FORBIDDEN);
        };
        if PeerUser::of(ends.local, ends.remote).await == PeerUser::Other {
            return Err(StatusCode::FORBIDDEN);
        }
        let visit = &self.shared.visit;
        let one = |name: HeaderName| {
            let mut all = parts.headers.get_all(name).iter();
            let first = all.next().map(HeaderValue::as_bytes);
            first.filter(|_| all.next().is_none())
        };
        let is_host = one(HOST).is_some_and(|host| visit.is_host(host));
        if !is_host || parts.uri.authority().is_some() {
            return Err(StatusCode::MISDIRECTED_REQUEST);
        }
        let is_ours = one(ORIGIN).is_some_and(|origin| visit.is_origin(origin));
        if parts.method == Method::POST && !is_ours {
            return Err(StatusCode::FORBIDDEN);
        }
        // The browser was started with a local file that links here, so this request is cross-site.
        let leads_in = parts.method == Method::GET && parts.uri.path().starts_with("/o/");
        let site = parts.headers.get("sec-fetch-site");
        let site = site.map(HeaderValue::as_bytes);
        match site {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) if leads_in => Ok(()),
            Some(_) => Err(StatusCode::FORBIDDEN),
        }
    }

    async fn route(&self, parts: &Parts, body: RequestBody) -> Answer {
        let visit = &self.shared.visit;
        let path = parts.uri.path();
        match (&parts.method, path) {
            (&Method::GET, "/style.css") => return text("text/css; charset=utf-8", STYLE),
            (&Method::GET, "/page.js") => return text("text/javascript; charset=utf-8", SCRIPT),
            (&Method::GET, _) if path.starts_with("/o/") => {
                return self.enter(path.trim_start_matches("/o/"));
            }
            _ => {}
        }
        let below = visit.below(path).filter(|_| visit.is_of(&parts.headers));
        match (&parts.method, below) {
            (&Method::GET, Some("")) => self.whole(),
            (&Method::GET, Some("live")) => self.live(),
            (&Method::POST, Some("say")) => self.say(parts, body).await,
            (&Method::POST, Some("do")) => self.run(parts, body).await,
            (&Method::GET, Some(below)) if below.starts_with("file/") => {
                self.file(below.trim_start_matches("file/"))
            }
            (&Method::GET, Some(below)) if below.starts_with("wire/") => {
                let found = self.wire(below.trim_start_matches("wire/"));
                found.unwrap_or_else(|| plain(StatusCode::NOT_FOUND))
            }
            (_, Some("" | "live" | "say" | "do")) => plain(StatusCode::METHOD_NOT_ALLOWED),
            _ => nothing(),
        }
    }

    /// Exchanges the one-time link for the cookie.
    fn enter(&self, once: &str) -> Answer {
        let visit = &self.shared.visit;
        let cookie = HeaderValue::from_str(&visit.set_cookie());
        let (true, Ok(cookie)) = (visit.open(once), cookie) else {
            return nothing();
        };
        // Not a redirect: a browser does not send a `SameSite=Strict` cookie on a redirect that
        // another site started.
        let path = visit.path();
        let mut answer = page(
            StatusCode::OK,
            &EnterPage {
                title: "askback",
                path: &path,
            },
        );
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
        answer
    }

    fn whole(&self) -> Answer {
        let (regions, title) = self.shared.deliver();
        let mut sections: Vec<_> = REGIONS.into_iter().zip(regions).collect();
        let (_, servers) = sections.pop().unwrap_or_default();
        let whole = WholePage {
            title,
            live: format!("{}live", self.shared.visit.path()),
            sections,
            servers,
        };
        page(StatusCode::OK, &whole)
    }

    fn live(&self) -> Answer {
        let Ok(tab) = Arc::clone(&self.tabs).try_acquire_owned() else {
            return plain(StatusCode::TOO_MANY_REQUESTS);
        };
        let (events, receiver) = mpsc::channel(1);
        let shared = Arc::clone(&self.shared);
        shared.is_open.send_replace(true);
        let tab = Tab {
            permit: Some(tab),
            service: self.clone(),
        };
        tokio::spawn(async move {
            let _tab = tab;
            let mut changes = shared.changes.subscribe();
            let mut questions = shared.questions.subscribe();
            let mut sent = [0; REGIONS.len()];
            loop {
                // Changes after this moment are sent in the next round.
                changes.mark_unchanged();
                questions.mark_unchanged();
                let mut news = shared.seen_wire().map(|(_, wire)| wire.changes());
                let (regions, title) = shared.deliver();
                for ((region, (name, _)), sent) in regions.iter().zip(REGIONS).zip(&mut sent) {
                    if *sent == region.version {
                        continue;
                    }
                    *sent = region.version;
                    let (version, html) = (region.version, region.html.as_str());
                    let patch =
                        json!({"region": name, "version": version, "html": html, "title": title});
                    let event = format!("event: patch\ndata: {patch}\n\n");
                    if events.send(event.into()).await.is_err() {
                        return;
                    }
                }
                // A new question is sent at once.
                let is_question = tokio::select! {
                    () = sleep(PACE) => false,
                    changed = questions.changed() => changed.is_ok(),
                };
                if is_question {
                    continue;
                }
                let beat = match shared.has_task_at_work() {
                    true => TASK_BEAT,
                    false => BEAT,
                };
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return },
                    () = changed(news.as_mut()) => {}
                    () = events.closed() => return,
                    () = sleep(beat) => {
                        if events.send(Bytes::from_static(b": \n\n")).await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
        let mut answer = Response::new(PageBody::Live(receiver));
        let media = HeaderValue::from_static("text/event-stream");
        answer.headers_mut().insert(header::CONTENT_TYPE, media);
        answer
    }

    async fn run(&self, parts: &Parts, body: RequestBody) -> Answer {
        let form = match read(parts, body).await {
            Ok(form) => form,
            Err(status) => return plain(status),
        };
        let back = self.shared.visit.path();
        if !form.has_token(&self.shared.command_token) {
            return refused(WORKING.0, WORKING.1, back);
        }
        match self.submit(form, true).await {
            Err(status) => plain(status),
            Ok(Some(false)) => refused(WORKING.0, WORKING.1, back),
            // A command that is still running continues, and the page shows how it ends.
            Ok(Some(true) | None) => see_other(&back),
        }
    }

    /// Passes a form to the leaf. Returns whether the leaf took it, or `None` if it has not said so yet.
    async fn submit(&self, form: Form, is_command: bool) -> Result<Option<bool>, StatusCode> {
        let (taken, is_taken) = oneshot::channel();
        let submission = Submission {
            form,
            is_command,
            taken,
        };
        let sent = self.shared.said.send(submission).await;
        sent.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
        let taken = timeout(TAKEN, is_taken).await.ok();
        Ok(taken.map(|taken| taken.is_ok()))
    }

    /// Returns a file of a result. Only pictures are shown by the browser.
    fn file(&self, number: &str) -> Answer {
        let snapshot = self.shared.snapshot();
        let number = number.parse().ok();
        let Some(file) = number.and_then(|number| snapshot.results.find(number)) else {
            return plain(StatusCode::NOT_FOUND);
        };
        download(file.bytes.clone(), file.picture)
    }

    /// Answers `S/`, `S/before/N`, `S/N` and `S/N/bytes`.
    fn wire(&self, path: &str) -> Option<Answer> {
        let (server, path) = path.split_once('/')?;
        let server = ServerId(server.parse().ok()?);
        let wire = self.shared.wires().get(&server)?.clone();
        let visit = self.shared.visit.path();
        let older = |before| page(StatusCode::OK, &wire::older(server, &wire, before, &visit));
        Some(match path.split_once('/') {
            None if path.is_empty() => older(None),
            None => match wire::whole(server, &wire, path.parse().ok()?, &visit) {
                Some(whole) => page(StatusCode::OK, &whole),
                None => refused(UNKEPT.0, UNKEPT.1, visit.clone()),
            },
            Some(("before", number)) => older(Some(number.parse().ok()?)),
            Some((number, "bytes")) => {
                let wire = wire.lock();
                let bytes = wire.get(number.parse().ok()?)?.message().to_vec();
                download(bytes.into(), None)
            }
            Some(_) => return None,
        })
    }

    async fn say(&self, parts: &Parts, body: RequestBody) -> Answer {
        let form = match read(parts, body).await {
            Ok(form) => form,
            Err(status) => return plain(status),
        };
        let back = self.shared.visit.path();
        let is_draft = form.is_draft();
        let refusal = {
            let snapshot = self.shared.snapshot();
            match form.has_token(&snapshot.token) {
                false => Some(GONE),
                true if !is_draft && snapshot.settles() => Some(TOO_SOON),
                true => None,
            }
        };
        if let Some((title, words)) = refusal {
            return match is_draft {
                // The form was sent before its draft arrived.
                true => plain(StatusCode::NO_CONTENT),
                false => refused(title, words, back),
            };
        }
        match self.submit(form, false).await {
            Err(status) => plain(status),
            Ok(Some(_)) if is_draft => plain(StatusCode::NO_CONTENT),
            Ok(Some(true)) => see_other(&back),
            Ok(Some(false)) => refused(GONE.0, GONE.1, back),
            Ok(None) => refused(BUSY.0, BUSY.1, back),
        }
    }
}

const WORKING: (&str, &str) = (
    "askback runs another command",
    "It runs one command at a time, and none while a question is in front. Nothing was done.",
);
const UNKEPT: (&str, &str) = (
    "There is no such message",
    "The oldest messages are dropped if there are many.",
);
const GONE: (&str, &str) = (
    "This was for another question",
    "The question that you saw is not in front any more. Nothing was sent.",
);
const TOO_SOON: (&str, &str) = (
    "The question has only just come",
    "A button does nothing in the first moment, as it may be meant for what stood there before. Nothing was sent.",
);
const BUSY: (&str, &str) = (
    "askback is busy",
    "It has not taken this in yet. Look at the page before you do it again.",
);

fn refused(title: &str, words: &str, back: String) -> Answer {
    let back = Some(back);
    page(StatusCode::CONFLICT, &SaidPage { title, words, back })
}

/// Waits forever if there is nothing to watch.
async fn changed(news: Option<&mut watch::Receiver<()>>) {
    if let Some(news) = news
        && news.changed().await.is_ok()
    {
        return;
    }
    pending().await
}

async fn read(parts: &Parts, body: RequestBody) -> Result<Form, StatusCode> {
    let media = parts.headers.get(header::CONTENT_TYPE);
    let media = media.map(|media| media.as_bytes().split(|byte| *byte == b';'));
    let media = media.and_then(|mut media| media.next());
    if media != Some(b"application/x-www-form-urlencoded") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let read = timeout(FORM_TIME, Limited::new(body, FORM_BYTES).collect()).await;
    let read = read.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
    let read = read.map_err(
        |error| match error.is::<http_body_util::LengthLimitError>() {
            true => StatusCode::PAYLOAD_TOO_LARGE,
            false => StatusCode::BAD_REQUEST,
        },
    )?;
    Ok(Form::read(&read.to_bytes()))
}

fn see_other(path: &str) -> Answer {
    let mut answer = plain(StatusCode::SEE_OTHER);
    if let Ok(path) = HeaderValue::from_str(path) {
        answer.headers_mut().insert(header::LOCATION, path);
    }
    answer
}

/// Returns bytes that a browser saves, or shows if they are a picture.
fn download(bytes: Bytes, picture: Option<&'static str>) -> Answer {
    let mut answer = Response::new(PageBody::Whole(Some(bytes)));
    let media = picture.unwrap_or("application/octet-stream");
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    if picture.is_none() {
        let attachment = HeaderValue::from_static("attachment");
        headers.insert(header::CONTENT_DISPOSITION, attachment);
    }
    answer
}

fn nothing() -> Answer {
    let said = SaidPage {
        title: "There is nothing here",
        words: "The link works once, in the first browser that opens it, and for 10 minutes. Start askback again for another one.",
        back: None,
    };
    page(StatusCode::NOT_FOUND, &said)
}

fn page(status: StatusCode, template: &impl Template) -> Answer {
    let html = Html::of(template).to_string();
    let mut answer = Response::new(PageBody::Whole(Some(html.into())));
    *answer.status_mut() = status;
    let media = HeaderValue::from_static("text/html; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, media);
    answer
}

fn text(media: &'static str, text: &'static str) -> Answer {
    let mut answer = Response::new(PageBody::Whole(Some(text.into())));
    let media = HeaderValue::from_static(media);
    answer.headers_mut().insert(header::CONTENT_TYPE, media);
    answer
}

fn plain(status: StatusCode) -> Answer {
    let mut answer = Response::new(PageBody::Whole(None));
    *answer.status_mut() = status;
    answer
}

fn finished(mut answer: Answer) -> Answer {
    const HEADERS: [(&str, &str); 7] = [
        ("content-security-policy", POLICY),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        // With `no-referrer`, a browser hides the origin of the page's own forms.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        answer
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    answer
}

impl tower_service::Service<Request<RequestBody>> for WebService {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let service = self.clone();
        Box::pin(async { Ok(service.respond(request).await) })
    }
}

impl Body for PageBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Live(events) => {
                let event = events.poll_recv(context);
                event.map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                http_body::SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Self::Live(_) => http_body::SizeHint::default(),
        }
    }
}
