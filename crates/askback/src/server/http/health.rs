//! The health routes for balancers and supervisors.

use std::{sync::Arc, time::Duration};

use http::{
    HeaderValue, Method, Response, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE},
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use super::{
    body::{Body, Outgoing},
    stop::{Phase, Stop},
};
use crate::server::{Shared, fleet};

const LIVE_PATH: &str = "/healthz";
const READY_PATH: &str = "/readyz";

/// How long the result of a check is reused for further requests.
const HEALTH_RESULT_TTL: Duration = Duration::from_secs(1);

/// How long the store and the journal may take to answer together.
const HEALTH_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether the process is ready, or a fixed text that says why not. No response has details of an error.
type Verdict = Result<(), &'static str>;

#[derive(Clone)]
pub(super) struct Health(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    stop: Stop,
    /// Locked while a check runs.
    last: Arc<Mutex<Option<(Instant, Verdict)>>>,
}

impl Health {
    pub(super) fn new(shared: &Arc<Shared>, stop: &Stop) -> Self {
        Self(Arc::new(Inner {
            shared: Arc::clone(shared),
            stop: stop.clone(),
            last: Arc::default(),
        }))
    }

    pub(super) fn serves(path: &str) -> bool {
        path == LIVE_PATH || path == READY_PATH
    }

    /// Answers a request for a path that [`serves`](Self::serves) knows.
    pub(super) async fn respond(&self, method: &Method, path: &str) -> Response<Body> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut refused = said(StatusCode::METHOD_NOT_ALLOWED, "this path takes GET, HEAD");
            let methods = HeaderValue::from_static("GET, HEAD");
            refused.headers_mut().insert(ALLOW, methods);
            return refused;
        }
        if path == LIVE_PATH {
            return said(StatusCode::OK, "ok");
        }
        match self.verdict().await {
            Ok(()) => said(StatusCode::OK, "ok"),
            Err(why) => said(StatusCode::SERVICE_UNAVAILABLE, why),
        }
    }

    async fn verdict(&self) -> Verdict {
        let inner = &self.0;
        if inner.stop.has_reached(Phase::Leaving) {
            return Err("the process is stopping");
        }
        let mut last = Arc::clone(&inner.last).lock_owned().await;
        if let Some((at, verdict)) = *last
            && at.elapsed() < HEALTH_RESULT_TTL
        {
            return verdict;
        }
        // A check goes on if its client does not wait for it, so that the next one finds its result.
        let inner = Arc::clone(inner);
        let check = tokio::spawn(async move {
            let verdict = inner.check().await;
            *last = Some((Instant::now(), verdict));
            verdict
        });
        check.await.unwrap_or(Err("the health check failed"))
    }
}

impl Inner {
    async fn check(&self) -> Verdict {
        let checking = async {
            if let Err(error) = self.shared.keys.check_store().await {
                tracing::debug!(%error, "the store does not answer a health check");
                return Err("the store does not answer");
            }
            if self.shared.keys().is_err() {
                return Err("the keys cannot be read");
            }
            let Some(node) = &self.shared.fleet else {
                return Ok(());
            };
            let are_shared = fleet::keys::are_shared(&self.shared, node).await;
            if !are_shared.map_err(|_| "the journal does not answer")? {
                return Err("the fleet has other keys, or another service");
            }
            match &node.bus {
                Some(bus) if bus.was_reached() => Ok(()),
                Some(bus) if bus.is_refused() => Err("the bus refuses this process"),
                Some(_) => Err("the bus has not been reached yet"),
                None => Ok(()),
            }
        };
        let checked = timeout(HEALTH_CHECK_TIMEOUT, checking).await;
        checked.unwrap_or(Err("the store or the journal takes too long to answer"))
    }
}

fn said(status: StatusCode, text: &str) -> Response<Body> {
    let text = format!("{text}\n").into_bytes();
    let mut response = Response::new(Body::whole(Outgoing::short(text)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, text);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
