use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Uri},
};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::Result;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) status: u16,
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) html: &'static str,
}

pub(crate) struct Site {
    pub(crate) url: String,
    visits: Arc<Mutex<Vec<Visit>>>,
    server: JoinHandle<()>,
}

#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
}

/// The visits so far, and the pages.
type Shared = (Arc<Mutex<Vec<Visit>>>, &'static [Page]);

impl Page {
    pub(crate) const fn at(path: &'static str, html: &'static str) -> Self {
        Self {
            path,
            status: 200,
            headers: &[],
            html,
        }
    }

    pub(crate) const fn with(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        Self { headers, ..self }
    }
}

impl Site {
    pub(crate) async fn start(pages: &'static [Page]) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let visits = Arc::default();
        let state = (Arc::clone(&visits), pages);
        let service = Router::new().fallback(show).with_state(state);
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self {
            url,
            visits,
            server,
        })
    }

    pub(crate) fn visits(&self, path: &str) -> Vec<Visit> {
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let there = visits.iter().filter(|visit| visit.uri.path() == path);
        there.cloned().collect()
    }
}

impl Visit {
    pub(crate) fn query(&self) -> HashMap<String, String> {
        let query = self.uri.query().unwrap_or_default();
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.into_owned().collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn show(
    State((visits, pages)): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let path = uri.path().to_owned();
    visits
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(Visit { uri, headers });
    let nowhere = Page {
        path: "",
        status: 404,
        headers: &[],
        html: "<!doctype html><title>Nowhere</title>",
    };
    let page = pages.iter().find(|page| page.path == path);
    let page = page.unwrap_or(&nowhere);
    let mut response = Response::new(Body::from(page.html));
    *response.status_mut() = StatusCode::from_u16(page.status).expect("a status");
    let kind = ("content-type", "text/html; charset=utf-8");
    for &(name, value) in [&[kind], page.headers].concat().iter() {
        let name = HeaderName::from_static(name);
        let value = HeaderValue::from_static(value);
        response.headers_mut().append(name, value);
    }
    response
}
