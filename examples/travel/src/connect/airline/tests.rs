use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use super::*;

const URL: &str = "http://127.0.0.1:5000";
const REDIRECT: &str = "http://127.0.0.1:4000/cb/airline";
const VERIFIER: &str = "a-verifier-of-many-characters-that-nobody-guesses";

#[derive(Default)]
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct Stage {
    desk: Desk,
    clock: Arc<Hands>,
}

struct Shown {
    status: u16,
    location: String,
    text: String,
}

impl Stage {
    fn new() -> Self {
        let clock = Arc::<Hands>::default();
        let desk = Desk::with_clock(URL, REDIRECT, Arc::clone(&clock) as Arc<dyn Clock>);
        Self { desk, clock }
    }

    fn pass(&self, duration: Duration) {
        self.clock.0.fetch_add(after(0, duration), Ordering::SeqCst);
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Shown {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "127.0.0.1:5000");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        let (parts, body) = self.desk.respond(request).await.into_parts();
        let text = body.collect().await.unwrap().to_bytes();
        let location = parts.headers.get(header::LOCATION);
        Shown {
            status: parts.status.as_u16(),
            location: location.map_or("", |it| it.to_str().unwrap()).to_owned(),
            text: String::from_utf8(text.into()).unwrap(),
        }
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Shown {
        let form = written(form);
        let media = ("content-type", "application/x-www-form-urlencoded");
        self.send(Method::POST, path, &[media], &form).await
    }

    async fn ask(&self, changed: &[(&str, &str)]) -> Shown {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER));
        let mut query = vec![
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("redirect_uri", REDIRECT),
            ("state", "here & there"),
            ("scope", SCOPE),
            ("code_challenge_method", "S256"),
            ("code_challenge", &*challenge),
        ];
        for (name, value) in &mut query {
            if let Some((_, other)) = changed.iter().find(|(changed, _)| changed == name) {
                *value = other;
            }
        }
        let path = format!("/authorize?{}", written(&query));
        self.send(Method::GET, &path, &[], "").await
    }

    async fn code(&self) -> String {
        let request = self.ask(&[]).await.request();
        let gone = self
            .post("/authorize", &[("request", &request), ("answer", "yes")])
            .await;
        gone.parameter("code").unwrap()
    }

    async fn exchange(&self, code: &str, verifier: &str) -> Shown {
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", verifier),
        ];
        self.post("/token", &form).await
    }

    async fn refresh(&self, token: &str) -> Shown {
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", CLIENT),
            ("refresh_token", token),
        ];
        self.post("/token", &form).await
    }

    async fn miles(&self, access: &str) -> u16 {
        let bearer = format!("Bearer {access}");
        let headers = [("authorization", &*bearer)];
        self.send(Method::GET, "/miles", &headers, "").await.status
    }

    async fn tokens(&self) -> (String, String) {
        self.exchange(&self.code().await, VERIFIER).await.tokens()
    }
}

impl Shown {
    fn request(&self) -> String {
        let (_, after) = self.text.split_once("name=\"request\" value=\"").unwrap();
        after.split('"').next().unwrap().to_owned()
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let query = self.location.strip_prefix(&format!("{REDIRECT}?"))?;
        Fields::of_query(query).get(name).map(str::to_owned)
    }

    #[track_caller]
    fn tokens(&self) -> (String, String) {
        assert_eq!(self.status, 200, "{}", self.text);
        let json: Value = serde_json::from_str(&self.text).unwrap();
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        (text("access_token"), text("refresh_token"))
    }

    #[track_caller]
    fn is_refused(&self, error: &str) {
        assert_eq!(self.status, 400, "{}", self.text);
        assert_eq!(self.text, json!({"error": error}).to_string());
    }
}

fn written(pairs: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs).finish()
}

#[tokio::test]
async fn a_code_gives_tokens_once_and_its_second_use_takes_them_back() {
    let stage = Stage::new();
    let code = stage.code().await;
    let (access, refresh) = stage.exchange(&code, VERIFIER).await.tokens();
    assert_eq!(stage.miles(&access).await, 200);
    stage
        .exchange(&code, VERIFIER)
        .await
        .is_refused("invalid_grant");
    assert_eq!(stage.miles(&access).await, 401);
    stage.refresh(&refresh).await.is_refused("invalid_grant");
}

#[tokio::test]
async fn a_code_is_good_for_a_minute_and_its_verifier() {
    let stage = Stage::new();
    let code = stage.code().await;
    stage
        .exchange(&code, "another")
        .await
        .is_refused("invalid_grant");
    // A guessed token changes nothing.
    stage
        .exchange(&code, VERIFIER)
        .await
        .is_refused("invalid_grant");
    let code = stage.code().await;
    stage.pass(CODE);
    stage
        .exchange(&code, VERIFIER)
        .await
        .is_refused("invalid_grant");
}

#[tokio::test]
async fn a_refresh_token_is_good_once() {
    let stage = Stage::new();
    let (first, refresh) = stage.tokens().await;
    let (second, next) = stage.refresh(&refresh).await.tokens();
    for access in [&first, &second] {
        assert_eq!(stage.miles(access).await, 200);
    }
    stage.refresh(&refresh).await.is_refused("invalid_grant");
    // Another party has it, too, so all its tokens are revoked.
    stage.refresh(&next).await.is_refused("invalid_grant");
    assert_eq!(stage.miles(&second).await, 401);
}

#[tokio::test]
async fn a_token_ends_and_is_given_back() {
    let stage = Stage::new();
    let (access, refresh) = stage.tokens().await;
    stage.pass(Duration::from_secs(300));
    assert_eq!(stage.miles(&access).await, 401);
    let (access, refresh) = stage.refresh(&refresh).await.tokens();
    for _ in 0..2 {
        assert_eq!(
            stage.post("/revoke", &[("token", &refresh)]).await.status,
            200
        );
        assert_eq!(stage.miles(&access).await, 401);
    }
    stage.refresh(&refresh).await.is_refused("invalid_grant");
}

#[tokio::test]
async fn the_passenger_is_asked_and_may_say_no() {
    let stage = Stage::new();
    let page = stage.ask(&[]).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("let the travel agency read your miles?"));
    let request = page.request();
    let elsewhere = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", "https://evil.test"),
    ];
    let form = written(&[("request", &request), ("answer", "yes")]);
    let foreign = stage.send(Method::POST, "/authorize", &elsewhere, &form);
    assert_eq!(foreign.await.status, 410);
    let answer = [("request", &*request), ("answer", "no")];
    let gone = stage.post("/authorize", &answer).await;
    assert_eq!(gone.status, 303);
    assert_eq!(gone.parameter("error").as_deref(), Some("access_denied"));
    assert_eq!(gone.parameter("state").as_deref(), Some("here & there"));
    assert_eq!(gone.parameter("iss").as_deref(), Some(URL));
    assert_eq!(stage.post("/authorize", &answer).await.status, 410);
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let stage = Stage::new();
    // There is no redirect, because neither the client nor the redirect URI is known.
    for changed in [
        ("client_id", "somebody"),
        ("redirect_uri", "http://127.0.0.1:4000/cb/airline/"),
        ("redirect_uri", "http://127.0.0.1:4001/cb/airline"),
        ("redirect_uri", "https://evil.test/cb/airline"),
    ] {
        let shown = stage.ask(&[changed]).await;
        assert_eq!((shown.status, &*shown.location), (400, ""), "{changed:?}");
    }
    for (changed, error) in [
        (("response_type", "token"), "unsupported_response_type"),
        (("scope", "miles.read miles.spend"), "invalid_scope"),
        (("code_challenge_method", "plain"), "invalid_request"),
        (("code_challenge", "short"), "invalid_request"),
        (("state", ""), "invalid_request"),
    ] {
        let gone = stage.ask(&[changed]).await;
        assert_eq!(
            gone.parameter("error").as_deref(),
            Some(error),
            "{changed:?}"
        );
    }
    let other = [("grant_type", "password"), ("client_id", CLIENT)];
    let other = stage.post("/token", &other).await;
    other.is_refused("unsupported_grant_type");
    stage.post("/token", &[]).await.is_refused("invalid_client");
    let plain = stage
        .send(Method::POST, "/token", &[], "grant_type=x")
        .await;
    assert_eq!(plain.status, 415);
}

#[tokio::test]
async fn another_name_of_this_machine_is_another_site() {
    let stage = Stage::new();
    let request = Request::get("/miles").header("host", "evil.test:5000");
    let request = request.body(Full::new(Bytes::new())).unwrap();
    let answer = stage.desk.respond(request).await;
    assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test]
async fn flight_times_take_the_key_that_is_shown() {
    let stage = Stage::new();
    let shown = stage.send(Method::GET, "/key", &[], "").await;
    assert!(shown.text.contains(KEY), "{}", shown.text);
    for (key, status) in [(KEY, 200), ("FA-KEY-1", 401), ("", 401)] {
        let headers = [(KEY_HEADER, key)];
        let flights = stage.send(Method::GET, "/flights", &headers, "").await;
        assert_eq!(flights.status, status, "{key}");
    }
}
