use std::{collections::BTreeMap, sync::Arc};

use askback::Principal;
use askback_connect::{
    Brand, Connections, ConnectionsBuilder, Pages,
    providers::{AccountSource, ApiKey, Providers, ThirdParty},
    sign_in::WebSignIn,
    vault::{AuditEvent, Vault},
};
use askback_core::{ask::Millis, auth::Scopes, clock::Clock};
use askback_oauth::{Provider, RegisteredClient, Secret};
use http::{HeaderMap, Request, header};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use crate::issuer::{Issuer, Reply, fetcher, jwks, signed};
use crate::stage::{Hands, Stage, until};

/// The pages' URL if visitors sign in.
pub(crate) const WEB: &str = "https://tools.example/connect";
/// The pages' URL for the user of this machine.
pub(crate) const MACHINE: &str = "http://127.0.0.1:4000";

pub(crate) fn request_to(kit: &str, headers: &HeaderMap, uri: &http::Uri) -> http::request::Parts {
    let (mut parts, ()) = Request::get(uri.clone()).body(()).unwrap().into_parts();
    parts.headers = headers.clone();
    let host = kit.parse::<http::Uri>().unwrap();
    let host = host.authority().unwrap().as_str().parse().unwrap();
    parts.headers.insert(header::HOST, host);
    parts
}

const SEED: u8 = 7;

pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) vault: Vault,
    pub(crate) kit: Connections,
    /// Signs users in. Its codes name the user.
    pub(crate) issuer: Issuer,
    /// The third party. Its codes name the account.
    pub(crate) git: Issuer,
}

struct SameClock(Arc<Hands>);

impl Clock for SameClock {
    fn now(&self) -> Millis {
        self.0.now()
    }
}

impl Scene {
    pub(crate) async fn web() -> Self {
        let stage = Stage::in_memory();
        let clock = || Arc::clone(&stage.clock);
        let (issuer, git) = (issuer(clock()).await, third_party(clock()).await);
        let vault = stage.vault().await;
        let sign_in = sign_in(&issuer.url, Arc::clone(&stage.clock)).await;
        let kit = Connections::at(WEB, sign_in, vault.clone(), providers(&git));
        let kit = kit.brand(brand()).build().unwrap();
        Self {
            stage,
            vault,
            kit,
            issuer,
            git,
        }
    }

    pub(crate) async fn machine(
        change: impl FnOnce(ConnectionsBuilder) -> ConnectionsBuilder,
    ) -> Self {
        let stage = Stage::in_sqlite();
        let clock = || Arc::clone(&stage.clock);
        let (issuer, git) = (issuer(clock()).await, third_party(clock()).await);
        let vault = stage.vault().await;
        let kit = Connections::on_this_machine(MACHINE, vault.clone(), providers(&git));
        let kit = change(kit.brand(brand())).build().unwrap();
        Self {
            stage,
            vault,
            kit,
            issuer,
            git,
        }
    }

    pub(crate) fn vault_now(&self) -> Millis {
        self.stage.clock.now()
    }

    pub(crate) async fn started_again(&self) -> Connections {
        let vault = self.stage.vault().await;
        let kit = Connections::on_this_machine(MACHINE, vault, providers(&self.git));
        kit.brand(brand()).build().unwrap()
    }

    /// Another process of the same server, which shares only its store and configuration.
    pub(crate) async fn other_process(&self) -> Connections {
        self.process_of(self.stage.vault().await).await
    }

    pub(crate) async fn process_of(&self, vault: Vault) -> Connections {
        let sign_in = sign_in(&self.issuer.url, Arc::clone(&self.stage.clock)).await;
        let kit = Connections::at(WEB, sign_in, vault, providers(&self.git));
        kit.brand(brand()).build().unwrap()
    }

    /// Waits for this many revoked tokens, and returns them.
    pub(crate) async fn revoked(&self, tokens: usize) -> Vec<String> {
        let told = || -> Vec<_> {
            let asked = self.git.asked().into_iter();
            let told = asked.filter(|it| it.line == "POST /revoke");
            told.filter_map(|it| it.field("token")).collect()
        };
        until(|| told().len() >= tokens).await;
        told()
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser {
            pages: self.kit.pages(),
            jar: BTreeMap::new(),
        }
    }

    pub(crate) async fn signed_in(&self, tenant: &str, subject: &str) -> Browser {
        let mut browser = self.browser();
        browser
            .sign_in(&self.issuer.url, "accounts", tenant, subject)
            .await;
        browser
    }

    /// A user as the endpoint identifies them.
    pub(crate) fn person(&self, tenant: &str, subject: &str) -> Principal {
        Principal {
            tenant: Some(tenant.to_owned()),
            issuer: Some(self.issuer.url.clone()),
            subject: subject.to_owned(),
            client_id: Some("editor".to_owned()),
        }
    }

    pub(crate) async fn events(&self, tenant: Option<&str>) -> Vec<AuditEvent> {
        let lines = self.vault.audit(tenant, 0, 99).await.unwrap();
        lines.into_iter().map(|line| line.record.event).collect()
    }

    pub(crate) async fn accounts(&self, person: &Principal) -> Vec<String> {
        let accounts = self.vault.accounts(person).await.unwrap();
        accounts.into_iter().map(|it| it.key.account).collect()
    }
}

fn brand() -> Brand {
    Brand::new("Acme Tools").color("#0a7a4b").unwrap()
}

async fn sign_in(issuer: &str, clock: Arc<Hands>) -> WebSignIn {
    let client = RegisteredClient::new("pages").with_secret(Secret::new("s"));
    let sign_in = WebSignIn::discover(&fetcher(), issuer, client)
        .await
        .unwrap();
    sign_in.tenant_claim("tid").clock(SameClock(clock))
}

/// An issuer whose codes are `tenant~subject~nonce`. A suffix `~old` means a sign-in one hour ago, and a number a
/// sign-in that many seconds ago.
async fn issuer(clock: Arc<Hands>) -> Issuer {
    Issuer::start(move |own, request| match &*request.line {
        "GET /.well-known/oauth-authorization-server" => Reply::Json(404, Value::Null),
        "GET /.well-known/openid-configuration" => Reply::Json(
            200,
            json!({
                "issuer": own,
                "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "jwks_uri": format!("{own}/jwks"),
                "authorization_response_iss_parameter_supported": true,
            }),
        ),
        "GET /jwks" => Reply::Json(200, jwks(SEED)),
        "POST /token" => {
            let code = request.field("code").unwrap();
            let parts: Vec<_> = code.split('~').collect();
            let now = clock.now() / 1000;
            let ago = parts.get(3).map_or(5, |ago| ago.parse().unwrap_or(3600));
            let since = now - ago;
            let header = json!({"alg": "EdDSA", "kid": "one", "typ": "JWT"});
            let claims = json!({
                "iss": own, "aud": "pages", "tid": parts[0], "sub": parts[1], "nonce": parts[2],
                "name": format!("{} <b>", parts[1]), "iat": now, "exp": now + 60, "auth_time": since,
            });
            let token = signed(SEED, &header, &claims);
            Reply::Json(200, json!({"access_token": "a", "token_type": "Bearer", "id_token": token}))
        }
        other => panic!("{other}"),
    })
    .await
}

/// A third party whose codes are account names, or `id~name` if id and name differ. Its tokens are `canary-access-` and
/// the code.
async fn third_party(clock: Arc<Hands>) -> Issuer {
    Issuer::start(move |_, request| match &*request.line {
        "POST /token" => {
            let code = request.field("code").unwrap();
            match &*code {
                "refused" => return Reply::Json(400, json!({"error": "invalid_grant"})),
                "secretless" => return Reply::Json(401, json!({"error": "invalid_client"})),
                "silent" => return Reply::Silence,
                // A slow provider.
                "late" => clock.turn(60_000),
                _ => {}
            }
            let (account, scope) = match &*code {
                "fewer" => ("fewer", "repo"),
                "octocat-writes" => ("octocat", "repo gist write"),
                account => (account, "repo gist"),
            };
            Reply::Json(
                200,
                json!({
                    "access_token": format!("canary-access-{account}"),
                    "refresh_token": "canary-refresh", "token_type": "bearer", "scope": scope,
                }),
            )
        }
        "GET /user" => {
            let account = request
                .head
                .split("canary-access-")
                .nth(1)
                .unwrap_or_default();
            let account = account.lines().next().unwrap_or_default().trim();
            Reply::Json(
                200,
                match account {
                    "" | "nameless" => json!({}),
                    _ => {
                        // A token cannot contain a blank.
                        let account = &*account.replace("bob-b", "bob <b>");
                        let (id, name) = account.split_once('~').unwrap_or((account, account));
                        json!({"id": id, "login": name})
                    }
                },
            )
        }
        "POST /revoke" => Reply::Json(200, Value::Null),
        "GET /key" => match request.head.contains("canary-key") {
            true => Reply::Json(200, json!({})),
            false => Reply::Json(401, json!({})),
        },
        other => panic!("{other}"),
    })
    .await
}

fn providers(git: &Issuer) -> Providers {
    let client = RegisteredClient::new("c-1").with_secret(Secret::new("canary-secret"));
    let provider = Provider::new(&git.url, &git.at("/authorize"), &git.at("/token")).unwrap();
    let provider = provider.revocation_endpoint(&git.at("/revoke")).unwrap();
    let account = AccountSource::document(&git.at("/user"), "/login")
        .unwrap()
        .id("/id");
    let party = |name: &str, title: &str| {
        let party = ThirdParty::oauth(name, title, provider.clone(), client.clone()).unwrap();
        party
            .scopes(Scopes::parse("repo").unwrap())
            .scope_words("repo", "Read & change repositories")
            .account(account.clone())
            .api([&git.url])
            .unwrap()
    };
    let key = ApiKey::new().hint("A key with read access.");
    let key = key
        .check(&git.at("/key"), "authorization", "Bearer ")
        .unwrap();
    let providers = Providers::new(fetcher())
        .with(party("git", "Git & Co"))
        .unwrap();
    let providers = providers.with(party("other", "Other")).unwrap();
    // Its account source points to a place without a name.
    let ledger = ThirdParty::api_key("ledger", "Ledger", key.clone()).unwrap();
    let ledger = ledger.account(account.clone()).api([&git.url]).unwrap();
    let providers = providers.with(ledger).unwrap();
    let pay = ThirdParty::api_key("pay", "Pay", key).unwrap();
    providers.with(pay.api([&git.url]).unwrap()).unwrap()
}

#[derive(Clone)]
pub(crate) struct Browser {
    pages: Pages,
    /// The cookies, each with its path.
    pub(crate) jar: BTreeMap<String, (String, String)>,
}

pub(crate) struct Shown {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Browser {
    /// Returns this browser, with its cookies, for requests to another process.
    pub(crate) fn at(&self, kit: &Connections) -> Self {
        let (pages, jar) = (kit.pages(), self.jar.clone());
        Self { pages, jar }
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        let cookies = self.jar.iter();
        let pairs: Vec<_> = cookies
            .map(|(name, (value, _))| format!("{name}={value}"))
            .collect();
        let cookie = pairs.join("; ").parse().unwrap();
        HeaderMap::from_iter([(header::COOKIE, cookie)])
    }

    pub(crate) async fn get(&mut self, path: &str) -> Shown {
        let request = Request::get(path);
        self.send(request.body(Full::default()).unwrap()).await
    }

    pub(crate) async fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Shown {
        let origin = self.origin(path);
        let headers = [("origin", &*origin), ("sec-fetch-site", "same-origin")];
        self.post_with(path, form, &headers).await
    }

    pub(crate) async fn post_with(
        &mut self,
        path: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Shown {
        let mut body = form_urlencoded::Serializer::new(String::new());
        let body = body.extend_pairs(form).finish();
        let mut request =
            Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Full::from(body)).unwrap()).await
    }

    pub(crate) async fn send(&mut self, mut request: Request<Full<bytes::Bytes>>) -> Shown {
        let path = request.uri().path().to_owned();
        let uri: Url = request.uri().to_string().parse().unwrap();
        let sent: Vec<_> = (self.jar.iter())
            .filter(|(_, (_, within))| is_within(&path, within))
            .map(|(name, (value, _))| format!("{name}={value}"))
            .collect();
        let headers = request.headers_mut();
        if !sent.is_empty() {
            headers.insert(header::COOKIE, sent.join("; ").parse().unwrap());
        }
        if !headers.contains_key(header::HOST) {
            let host = uri.origin().ascii_serialization();
            let host = host.split("://").nth(1).unwrap();
            headers.insert(header::HOST, host.parse().unwrap());
        }
        let (parts, body) = self.pages.respond(request).await.into_parts();
        for cookie in parts.headers.get_all(header::SET_COOKIE) {
            self.keep(cookie.to_str().unwrap());
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        Shown {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8(bytes.into()).unwrap(),
        }
    }

    fn keep(&mut self, cookie: &str) {
        let (pair, attributes) = cookie.split_once("; ").unwrap();
        let (name, value) = pair.split_once('=').unwrap();
        let path = attributes
            .split("; ")
            .find_map(|it| it.strip_prefix("Path="));
        assert!(attributes.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        if name.starts_with("__Host-") {
            assert!(
                attributes.ends_with("; Secure") && path == Some("/"),
                "{cookie}"
            );
        }
        match value.is_empty() {
            true => drop(self.jar.remove(name)),
            false => {
                let kept = (value.to_owned(), path.unwrap().to_owned());
                self.jar.insert(name.to_owned(), kept);
            }
        }
    }

    fn origin(&self, url: &str) -> String {
        url.parse::<Url>().unwrap().origin().ascii_serialization()
    }

    pub(crate) async fn sign_in(
        &mut self,
        issuer: &str,
        next: &str,
        tenant: &str,
        subject: &str,
    ) -> Shown {
        let gone = self
            .post(&format!("{WEB}/sign-in"), &[("next", next)])
            .await;
        let to = gone.refresh();
        let (state, nonce) = (parameter(&to, "state"), parameter(&to, "nonce"));
        let code = format!("{tenant}~{subject}~{nonce}");
        let back = query(&[("state", &state), ("code", &code), ("iss", issuer)]);
        self.get(&format!("{WEB}/signed-in?{back}")).await
    }

    /// Opens a link, agrees, and returns the URL at the provider.
    pub(crate) async fn agree(&mut self, link: &str) -> Url {
        let page = self.get(link).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let token = page.token();
        let gone = self
            .post(link, &[("token", &token), ("answer", "yes")])
            .await;
        gone.refresh()
    }

    pub(crate) async fn come_back(&mut self, url: &Url, code: &str) -> Shown {
        let back = query(&[("state", &parameter(url, "state")), ("code", code)]);
        self.get(&format!("{}?{back}", parameter(url, "redirect_uri")))
            .await
    }
}

/// Whether a browser sends a cookie with this path to a page (RFC 6265, section 5.1.4).
fn is_within(page: &str, cookie: &str) -> bool {
    let rest = page.strip_prefix(cookie);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || cookie.ends_with('/'))
}

pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs).finish()
}

pub(crate) fn parameter(url: &Url, name: &str) -> String {
    let found = url.query_pairs().find(|(key, _)| key == name);
    found
        .unwrap_or_else(|| panic!("{name} in {url}"))
        .1
        .into_owned()
}

impl Shown {
    pub(crate) fn token(&self) -> String {
        let (_, main) = self.text.split_once("<main>").unwrap();
        let (_, after) = main.split_once("name=\"token\" value=\"").expect(main);
        after.split('"').next().unwrap().to_owned()
    }

    pub(crate) fn refresh(&self) -> Url {
        let refresh = self.headers.get(header::REFRESH);
        let refresh = refresh.unwrap_or_else(|| panic!("{} {}", self.status, self.text));
        let refresh = refresh.to_str().unwrap();
        refresh.strip_prefix("0; url=").unwrap().parse().unwrap()
    }

    #[track_caller]
    pub(crate) fn says(&self, status: u16, text: &str) -> &Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.text.contains(text), "{text:?} is not in {}", self.text);
        self
    }
}
