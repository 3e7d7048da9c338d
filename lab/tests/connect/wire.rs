//! The wire between processes and a token endpoint, which can hold back a request or a response.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{Response, StatusCode, header},
    routing::post,
};
use lab::loopback;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use url::form_urlencoded;

use crate::{Result, scene::held};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the endpoint receives the request.
    Request,
    /// Before the process receives the response.
    Answer,
}

pub(crate) struct Wire {
    pub(crate) url: String,
    state: Arc<Through>,
    stopped: mpsc::UnboundedReceiver<()>,
    task: JoinHandle<()>,
}

struct Through {
    endpoint: String,
    requests: AtomicUsize,
    stop: Mutex<Option<Place>>,
    stopped: mpsc::UnboundedSender<()>,
    go: Semaphore,
}

impl Wire {
    pub(crate) async fn to(endpoint: &str) -> Result<Self> {
        let (sender, stopped) = mpsc::unbounded_channel();
        let state = Arc::new(Through {
            endpoint: endpoint.to_owned(),
            requests: AtomicUsize::new(0),
            stop: Mutex::default(),
            stopped: sender,
            go: Semaphore::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/token", listener.local_addr()?);
        let routes = Router::new().route("/token", post(pass));
        let service = routes.with_state(Arc::clone(&state));
        let task = tokio::spawn(async move {
            // `axum::serve` never returns.
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self {
            url,
            state,
            stopped,
            task,
        })
    }

    pub(crate) fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn stop_next(&self, place: Place) {
        *held(&self.state.stop) = Some(place);
    }

    pub(crate) async fn stopped(&mut self) -> Result<()> {
        Ok(self.stopped.recv().await.ok_or("the wire is gone")?)
    }

    pub(crate) fn go(&self) {
        self.state.go.add_permits(1);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Through {
    async fn at(&self, place: Place) {
        let is_stop = held(&self.stop).take_if(|stop| *stop == place).is_some();
        if is_stop && self.stopped.send(()).is_ok() {
            // If the process is killed in the meantime, its message ends here.
            let _ = self.go.acquire().await.map(|permit| permit.forget());
        }
    }
}

async fn pass(State(state): State<Arc<Through>>, form: Bytes) -> Response<Body> {
    state.requests.fetch_add(1, Ordering::SeqCst);
    state.at(Place::Request).await;
    let form: Vec<_> = form_urlencoded::parse(&form).into_owned().collect();
    let form: Vec<_> = form
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let answer = loopback::post(&state.endpoint, &[], &form).await;
    state.at(Place::Answer).await;
    let (status, body) = match answer {
        Ok(answer) => (answer.status, answer.body),
        Err(error) => (502, error.to_string()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
