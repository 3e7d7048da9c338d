//! Clients that become authorized, at servers and issuers with scripted behaviour.

mod answers;
mod attacks;
mod contexts;
mod discovery;
mod grants;
mod registration;
mod renewal;
mod signing_in;
mod steps;

use std::sync::{Arc, Mutex};

use askback::{
    BoxFuture,
    authorization::client::{
        Authorization, AuthorizationError, MemoryCredentials, Redirect, RegisteredClient, SignIn,
        SignInError, SignInRequest,
    },
    client::{Client, ClientError},
    transport::Http,
};
use serde_json::{Value, json};

use crate::client::{
    builder,
    http::{
        call, modern,
        server::{Asked, Reply, Server},
    },
};

/// A server that is its own issuer, and its user.
struct World {
    server: Server,
    rules: Arc<Mutex<Rules>>,
    browser: Browser,
    store: Arc<MemoryCredentials>,
}

type Documents = Vec<(String, u16, Value)>;
type Tokens = Box<dyn Fn(&Asked, usize) -> Option<Reply> + Send>;

struct Rules {
    /// The documents by path. Any other path is a 404.
    documents: Documents,
    /// The challenge for a request without a valid token.
    challenge: String,
    /// The valid access token.
    good: Option<String>,
    tokens: Option<Tokens>,
    /// Replaces the response to a tool call.
    calls: Option<Tokens>,
    /// Replaces the response to a tool list.
    lists: Option<Tokens>,
    registration: (u16, Value),
    /// The number of issued tokens.
    given: usize,
    /// The valid refresh token.
    refresh: Option<String>,
    /// The number of different valid tokens that were used.
    used: usize,
    last_used: Option<String>,
}

type Answer = Box<dyn Fn(&url::Url) -> Result<String, SignInError> + Send>;

/// A user with a browser, who agrees at once.
#[derive(Clone)]
struct Browser {
    asked: Arc<Mutex<Vec<url::Url>>>,
    /// The scopes that were new at each sign-in.
    more: Arc<Mutex<Vec<Option<String>>>>,
    /// The redirect of the issuer for the URL that was opened.
    redirected: Arc<Mutex<Answer>>,
    uri: Arc<Mutex<String>>,
    /// The client that the user enters if asked, and the issuers for which the user was asked.
    client: Arc<Mutex<Option<RegisteredClient>>>,
    named: Arc<Mutex<Vec<String>>>,
}

impl World {
    async fn new() -> Self {
        let rules = Arc::new(Mutex::new(Rules {
            documents: Vec::new(),
            challenge: String::new(),
            good: None,
            tokens: None,
            calls: None,
            lists: None,
            registration: (201, json!({"client_id": "registered"})),
            given: 0,
            refresh: None,
            used: 0,
            last_used: None,
        }));
        let shared = Arc::clone(&rules);
        let server =
            Server::start(move |asked, before| shared.lock().unwrap().answer(asked, before)).await;
        let world = Self {
            server,
            rules,
            browser: Browser::new(),
            store: Arc::default(),
        };
        let base = world.base();
        {
            let mut rules = world.rules.lock().unwrap();
            let place = "/.well-known/oauth-protected-resource/mcp";
            rules.challenge = format!("Bearer resource_metadata=\"{base}{place}\"");
            rules.documents = vec![
                (
                    place.to_owned(),
                    200,
                    json!({"resource": world.server.url, "authorization_servers": [base]}),
                ),
                (
                    "/.well-known/oauth-authorization-server".to_owned(),
                    200,
                    json!({
                        "issuer": base,
                        "authorization_endpoint": format!("{base}/authorize"),
                        "token_endpoint": format!("{base}/token"),
                        "registration_endpoint": format!("{base}/register"),
                        "revocation_endpoint": format!("{base}/revoke"),
                        "code_challenge_methods_supported": ["S256"],
                        "token_endpoint_auth_methods_supported": ["none"],
                    }),
                ),
            ];
        }
        world
    }

    fn base(&self) -> String {
        self.server.url.trim_end_matches("/mcp").to_owned()
    }

    /// Changes the document whose path begins with `place`.
    fn document(&self, place: &str, change: impl FnOnce(&mut Value)) {
        let mut rules = self.rules.lock().unwrap();
        let place = format!("/.well-known/{place}");
        let mut documents = rules.documents.iter_mut();
        let found = documents.find(|(path, ..)| path.starts_with(&place));
        change(&mut found.unwrap().2);
    }

    fn issuer(&self, change: impl FnOnce(&mut Value)) {
        self.document("oauth-authorization-server", change);
    }

    fn resource(&self, change: impl FnOnce(&mut Value)) {
        self.document("oauth-protected-resource", change);
    }

    fn change(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.rules.lock().unwrap());
    }

    fn authorization(&self) -> Authorization {
        Authorization::person(self.browser.clone()).store(Arc::clone(&self.store))
    }

    async fn connect(&self) -> Result<Client, ClientError> {
        self.connect_with(&self.authorization()).await
    }

    async fn connect_with(&self, authorization: &Authorization) -> Result<Client, ClientError> {
        let http = Http::new(&self.server.url)
            .unwrap()
            .authorize(authorization);
        builder(None).connect(http).await
    }

    /// Connects, and returns why authorization failed.
    async fn refused(&self) -> AuthorizationError {
        why(self.connect().await)
    }

    fn posted(&self, path: &str) -> Vec<Vec<(String, String)>> {
        let asked = self.server.asked();
        let posts = asked
            .iter()
            .filter(|it| it.method == "POST" && it.path == path);
        posts.map(form).collect()
    }

    fn paths(&self) -> Vec<String> {
        let asked = self.server.asked();
        asked.into_iter().map(|asked| asked.path).collect()
    }
}

impl Rules {
    fn answer(&mut self, asked: &Asked, before: usize) -> Reply {
        match (asked.method.as_str(), asked.path.as_str()) {
            (_, "/mcp") => self.mcp(asked, before),
            ("POST", "/token") => {
                let own = self
                    .tokens
                    .as_ref()
                    .and_then(|tokens| tokens(asked, before));
                own.unwrap_or_else(|| self.token(asked))
            }
            ("POST", "/register") => {
                let (status, body) = &self.registration;
                Reply::json(*status, body.to_string())
            }
            ("POST", "/revoke") => Reply::empty(200),
            (_, path) => match self.documents.iter().find(|(place, ..)| place == path) {
                Some((_, status, document)) => Reply::json(*status, document.to_string()),
                None => Reply::empty(404),
            },
        }
    }

    fn mcp(&mut self, asked: &Asked, before: usize) -> Reply {
        let shown = asked.header("authorization");
        let token = shown.and_then(|shown| shown.split_once(' '));
        if token.is_none() || token.map(|(_, token)| token) != self.good.as_deref() {
            return Reply::empty(401).header("WWW-Authenticate", self.challenge.clone());
        }
        if self.last_used != self.good {
            self.last_used = self.good.clone();
            self.used += 1;
        }
        let own = match asked.what() {
            "tools/call" => &self.calls,
            "tools/list" => &self.lists,
            _ => &None,
        };
        if let Some(reply) = own.as_ref().and_then(|own| own(asked, before)) {
            return reply;
        }
        modern(asked)
    }

    fn token(&mut self, asked: &Asked) -> Reply {
        let form = form(asked);
        if value(&form, "grant_type") == Some("refresh_token") {
            let shown = value(&form, "refresh_token").map(str::to_owned);
            if shown.is_none() || shown != self.refresh {
                return Reply::json(400, json!({"error": "invalid_grant"}).to_string());
            }
        }
        self.given += 1;
        let (access, refresh) = (
            format!("access-{}", self.given),
            format!("refresh-{}", self.given),
        );
        self.good = Some(access.clone());
        self.refresh = Some(refresh.clone());
        Reply::json(
            200,
            json!({
                "access_token": access,
                "token_type": "bearer",
                "expires_in": 3600,
                "refresh_token": refresh,
            })
            .to_string(),
        )
    }
}

impl Browser {
    fn new() -> Self {
        Self {
            asked: Arc::default(),
            more: Arc::default(),
            redirected: Arc::new(Mutex::new(Box::new(|url| {
                Ok(back(url, &[("code", "code-1")]))
            }))),
            uri: Arc::new(Mutex::new("http://127.0.0.1:1/callback".to_owned())),
            client: Arc::default(),
            named: Arc::default(),
        }
    }

    fn answers(&self, answer: impl Fn(&url::Url) -> Result<String, SignInError> + Send + 'static) {
        *self.redirected.lock().unwrap() = Box::new(answer);
    }

    /// The values of a query parameter in the opened URLs.
    fn asked(&self, name: &str) -> Vec<Option<String>> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|url| query(url, name)).collect()
    }

    fn times(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl SignIn for Browser {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        let uri = self.uri.lock().unwrap().clone();
        let ready = Ready {
            browser: self.clone(),
            uri,
        };
        Box::pin(async { Ok(Box::new(ready) as Box<dyn Redirect>) })
    }
}

struct Ready {
    browser: Browser,
    uri: String,
}

impl Redirect for Ready {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn client<'a>(
        &'a mut self,
        issuer: &'a str,
    ) -> BoxFuture<'a, Result<Option<RegisteredClient>, SignInError>> {
        self.browser.named.lock().unwrap().push(issuer.to_owned());
        let client = self.browser.client.lock().unwrap().clone();
        Box::pin(async { Ok(client) })
    }

    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>> {
        let url: url::Url = request.url().parse().unwrap();
        let redirected = (self.browser.redirected.lock().unwrap())(&url);
        self.browser.asked.lock().unwrap().push(url);
        let more = request.more.map(|more| more.to_string());
        self.browser.more.lock().unwrap().push(more);
        Box::pin(async { redirected })
    }
}

/// The redirect back to the client, with these parameters next to the state.
fn back(asked: &url::Url, more: &[(&str, &str)]) -> String {
    let mut url: url::Url = query(asked, "redirect_uri").unwrap().parse().unwrap();
    let state = query(asked, "state").unwrap();
    url.query_pairs_mut()
        .append_pair("state", &state)
        .extend_pairs(more);
    url.into()
}

fn query(url: &url::Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs().filter(|(known, _)| known == name);
    let value = pairs.next().map(|(_, value)| value.into_owned());
    assert!(pairs.next().is_none(), "{name} stands twice in {url}");
    value
}

fn form(asked: &Asked) -> Vec<(String, String)> {
    url::form_urlencoded::parse(asked.text.as_bytes())
        .into_owned()
        .collect()
}

fn value<'a>(form: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = form.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

#[track_caller]
fn why(connected: Result<Client, ClientError>) -> AuthorizationError {
    match connected {
        Err(ClientError::Authorization(error)) => error,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it was authorized"),
    }
}
