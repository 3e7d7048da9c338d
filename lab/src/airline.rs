//! An airline: the third party whose API the connect kit calls. It returns a person's miles for a token with the scope
//! `miles.read`, and has its authorization server ([`crate::issuers`]) introspect each token.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, Response, StatusCode, header},
    routing::get,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{install::Result, issuers::Registered, loopback};

/// The scope needed to read miles.
pub const SCOPE: &str = "miles.read";

/// An airline that runs until it is dropped.
pub struct Airline {
    /// The URL of the miles.
    pub miles: String,
    state: Arc<Books>,
    server: JoinHandle<()>,
}

/// The airline's data, and its credentials at its authorization server.
struct Books {
    introspection: String,
    name: String,
    secret: String,
    miles: Mutex<HashMap<String, u64>>,
    received: Mutex<Vec<HeaderMap>>,
}

impl Airline {
    /// The airline's registration as a client of its authorization server.
    #[must_use]
    pub fn registered() -> Registered {
        Registered::resource_server("airline", "a secret of the airline").posting()
    }

    /// Starts an airline that uses this introspection endpoint (RFC 7662).
    pub async fn start(introspection: &str) -> Result<Self> {
        let Registered {
            client_id,
            client_secret,
            ..
        } = Self::registered();
        let state = Arc::new(Books {
            introspection: introspection.to_owned(),
            name: client_id,
            secret: client_secret,
            miles: Mutex::default(),
            received: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let miles = format!("http://localhost:{}/miles", listener.local_addr()?.port());
        let routes = Router::new().route("/miles", get(tell));
        let service = routes.with_state(Arc::clone(&state));
        let server = tokio::spawn(async move {
            // `axum::serve` never returns.
            let _ = axum::serve(listener, service).await;
        });
        Ok(Self {
            miles,
            state,
            server,
        })
    }

    /// Sets a person's miles. Other persons have none.
    pub fn credit(&self, person: &str, miles: u64) {
        held(&self.state.miles).insert(person.to_owned(), miles);
    }

    /// Returns the headers of every request so far, oldest first.
    #[must_use]
    pub fn received(&self) -> Vec<HeaderMap> {
        held(&self.state.received).clone()
    }
}

impl Drop for Airline {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn tell(State(books): State<Arc<Books>>, headers: HeaderMap) -> Response<Body> {
    held(&books.received).push(headers.clone());
    let Some(token) = bearer(&headers) else {
        return refusal(StatusCode::UNAUTHORIZED, "Bearer");
    };
    let said = match books.introspect(token).await {
        Ok(said) => said,
        Err(error) => {
            return answer(
                StatusCode::BAD_GATEWAY,
                &json!({"error": error.to_string()}),
            );
        }
    };
    if said["active"] != true {
        return refusal(StatusCode::UNAUTHORIZED, r#"Bearer error="invalid_token""#);
    }
    let scopes = said["scope"].as_str().unwrap_or_default();
    if !scopes.split(' ').any(|scope| scope == SCOPE) {
        let challenge = format!(r#"Bearer error="insufficient_scope", scope="{SCOPE}""#);
        return refusal(StatusCode::FORBIDDEN, &challenge);
    }
    let person = said["sub"].as_str().unwrap_or_default();
    let miles = held(&books.miles).get(person).copied().unwrap_or_default();
    answer(StatusCode::OK, &json!({"person": person, "miles": miles}))
}

impl Books {
    async fn introspect(&self, token: &str) -> Result<Value> {
        let form = [
            ("token", token),
            ("client_id", &self.name),
            ("client_secret", &self.secret),
        ];
        loopback::post(&self.introspection, &[], &form)
            .await?
            .json()
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ")
}

fn refusal(status: StatusCode, challenge: &str) -> Response<Body> {
    let mut response = answer(status, &json!({"error": status.canonical_reason()}));
    if let Ok(challenge) = challenge.parse() {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

fn answer(status: StatusCode, said: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(said.to_string()));
    *response.status_mut() = status;
    let kind = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
