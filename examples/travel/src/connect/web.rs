//! The minimal HTTP server for pages on this machine.

use std::{fmt, time::Duration};

use askback::http::{ConnectionPlaces, PeerUser};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode,
    header::{self, CONTENT_TYPE},
};
use http_body::Body;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, time};
use url::form_urlencoded;

pub(super) type Answer = Response<Full<Bytes>>;

/// The maximum number of connections. Browsers open some in advance.
const CONNECTIONS: usize = 64;

const PATIENCE: Duration = Duration::from_secs(30);

/// How long to wait after an error such as too many open files.
const PAUSE: Duration = Duration::from_millis(50);

const FORM: usize = 16 << 10;

pub(super) struct Fields(Vec<(String, String)>);

/// Answers requests of this user until the runtime ends.
pub(super) async fn serve<F>(
    listener: TcpListener,
    respond: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = Answer> + Send + 'static,
{
    let places = ConnectionPlaces::new(CONNECTIONS);
    loop {
        let Ok((stream, remote)) = listener.accept().await else {
            time::sleep(PAUSE).await;
            continue;
        };
        let place = places.take().await;
        let respond = respond.clone();
        tokio::spawn(async move {
            if let Ok(local) = stream.local_addr()
                && PeerUser::of(local, remote).await == PeerUser::Other
            {
                tracing::warn!("a connection of another user of this machine is refused");
                return;
            }
            // A request is completed even if the browser disconnects.
            let answer = service_fn(|request| {
                place.work();
                tokio::spawn(respond(request))
            });
            let mut connection = http1::Builder::new();
            let connection = connection.keep_alive(false);
            let served = connection.serve_connection(TokioIo::new(stream), answer);
            // A browser whose connection ends here will try again.
            tokio::select! {
                _ = time::timeout(PATIENCE, served) => {}
                () = place.gives_way() => {}
            }
        });
    }
}

impl Fields {
    pub(super) fn of_query(query: &str) -> Self {
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// Reads the fields of a posted form; `None` if the body is not a form or is too long.
    pub(super) async fn of_form<B: Body>(headers: &HeaderMap, body: B) -> Option<Self>
    where
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        const MEDIA: &str = "application/x-www-form-urlencoded";
        let media = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        if media.split(';').next().map(str::trim) != Some(MEDIA) {
            return None;
        }
        let body = Limited::new(body, FORM).collect().await.ok()?.to_bytes();
        Some(Self(form_urlencoded::parse(&body).into_owned().collect()))
    }

    /// The value of a field, or `None` if it is missing or repeated.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut named = self.0.iter().filter(|(key, _)| key == name);
        let (_, value) = named.next()?;
        named.next().is_none().then_some(value)
    }

    /// The value of a field, or an empty text if it is missing or repeated.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }
}

/// Builds a page. `leads_to` lists URLs that its forms may redirect to, which browsers check, too.
pub(super) fn page(status: StatusCode, title: &str, body: &str, leads_to: &str) -> Answer {
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n\
         <main>\n<h1>{title}</h1>\n{body}\n</main>\n</html>\n"
    );
    let policy = format!(
        "default-src 'none'; img-src data:; form-action 'self' {leads_to}; frame-ancestors 'none'; base-uri 'none'"
    );
    let mut answer = with(status, "text/html; charset=utf-8", text);
    if let Ok(policy) = HeaderValue::try_from(policy) {
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

pub(super) fn json(status: StatusCode, document: &serde_json::Value) -> Answer {
    with(status, "application/json", document.to_string())
}

pub(super) fn empty(status: StatusCode) -> Answer {
    with(status, "text/plain", String::new())
}

pub(super) fn see_other(url: &str) -> Answer {
    let mut answer = empty(StatusCode::SEE_OTHER);
    match HeaderValue::try_from(url) {
        Ok(url) => drop(answer.headers_mut().insert(header::LOCATION, url)),
        // The URL may come from a request, and be invalid.
        Err(_) => *answer.status_mut() = StatusCode::BAD_REQUEST,
    }
    answer
}

fn with(status: StatusCode, media: &'static str, body: String) -> Answer {
    const HEADERS: [(HeaderName, &str); 4] = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer`, a browser hides the origin of the pages' own forms.
        (header::REFERRER_POLICY, "same-origin"),
    ];
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// A text that is escaped for a page.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c => write!(f, "{c}"),
        })
    }
}
