//! The desk in an axum application with its own bearer tokens.

use std::{collections::HashMap, sync::Arc};

use askback::{Principal, http::Service};
use axum::{
    Router,
    extract::{Request, State},
    http::{
        Method, StatusCode,
        header::{AUTHORIZATION, WWW_AUTHENTICATE},
    },
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};

/// The callers by token.
pub type Tokens = Arc<HashMap<String, Principal>>;

/// Creates the application: the desk at `/mcp` for callers with a token, and a public page.
pub fn router(mcp: Service, tokens: Tokens) -> Router {
    Router::new()
        .route_service("/mcp", mcp)
        .layer(from_fn_with_state(tokens, authenticate))
        .route("/health", get(async || "The desk is open."))
}

async fn authenticate(State(tokens): State<Tokens>, mut request: Request, next: Next) -> Response {
    // A browser sends a preflight request without a token. The endpoint answers it.
    if request.method() == Method::OPTIONS {
        return next.run(request).await;
    }
    let header = request.headers().get(AUTHORIZATION);
    let token = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let Some(caller) = token.and_then(|token| tokens.get(token)).cloned() else {
        let challenge = [(WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge).into_response();
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}
