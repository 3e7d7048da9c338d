//! The pages as seen by users who were not asked and by browsers that were not sent there, with all other ways to put
//! an account into the wrong hands.

use askback::{Principal, Revision::V2026_07_28};
use askback_connect::{
    Connections,
    sign_in::WebSignIn,
    vault::{AuditEvent, Grant},
};
use askback_oauth::Secret;
use http::{Request, header};
use http_body_util::Full;
use url::Url;

use crate::asking::{Call, call_as};
use crate::stage::{HOUR, until};
use crate::visitor::{Browser, Scene, Shown, WEB, parameter, query};

/// A user who was asked for an account, and their browser at the consent page.
struct Asked {
    scene: Scene,
    ada: Principal,
    call: Call,
    link: String,
    browser: Browser,
}

impl Asked {
    async fn new() -> Self {
        let scene = Scene::web().await;
        let ada = scene.person("acme", "ada");
        let mut call = call_as(&scene, &ada, V2026_07_28, "stars").await;
        let link = call.link().await;
        let browser = scene.signed_in("acme", "ada").await;
        Self {
            scene,
            ada,
            call,
            link,
            browser,
        }
    }

    fn id(&self) -> &str {
        self.link.rsplit('/').next().unwrap()
    }

    /// Checks that no account was stored, the page shows no name, and the audit has these refusals in these tenants.
    async fn nothing_is_stored(&self, page: &Shown, status: u16, refusals: &[(&str, AuditEvent)]) {
        assert_eq!(page.status, status, "{}", page.text);
        // An id or token may contain any letters by chance.
        let shown = page
            .text
            .split("value=\"")
            .map(|part| match part.split_once("\">") {
                Some((_, after)) => after,
                None => part,
            });
        let lower = shown.collect::<Vec<_>>().join(" ").to_lowercase();
        for named in ["ada", "octocat", "git &"] {
            assert!(
                !main_of(&lower).contains(named),
                "{named} is named in {lower}"
            );
        }
        for (tenant, subject) in [
            ("acme", "ada"),
            ("acme", "bob"),
            ("other", "ada"),
            ("acme", "mallory"),
        ] {
            let person = self.scene.person(tenant, subject);
            assert_eq!(
                self.scene.accounts(&person).await,
                [""; 0],
                "{tenant} {subject}"
            );
        }
        for (tenant, event) in refusals {
            let events = self.scene.events(Some(tenant)).await;
            assert!(
                events.contains(event),
                "{event:?} is not in {events:?} of {tenant}"
            );
        }
        for event in [AuditEvent::Granted, AuditEvent::Connected] {
            assert!(!self.scene.events(Some("acme")).await.contains(&event));
        }
    }

    /// Checks that the user who was asked can still connect.
    async fn still_works(mut self) {
        let provider = self.browser.agree(&self.link).await;
        let done = self.browser.come_back(&provider, "octocat").await;
        done.says(200, "octocat");
        assert_eq!(self.scene.accounts(&self.ada).await, ["octocat"]);
        assert_eq!(self.call.said.await.unwrap(), "200 octocat");
    }
}

#[tokio::test]
async fn a_consent_page_names_the_client_that_asked() {
    let mut asked = Asked::new().await;
    let long = format!("https://evil.example/\u{202e}{}", "x".repeat(300));
    for (client, shown) in [
        (
            Some("editor"),
            "The client <strong><bdi>editor</bdi></strong> asks for it.",
        ),
        (Some("<b>&\u{200b}"), "<bdi>&#60;b&#62;&#38;</bdi>"),
        (Some(&*long), "https://evil.example/xxx"),
        (None, "Connect your"),
    ] {
        let ada = Principal {
            client_id: client.map(str::to_owned),
            ..asked.ada.clone()
        };
        let mut call = call_as(&asked.scene, &ada, V2026_07_28, "stars").await;
        let link = call.link().await;
        let page = asked.browser.get(&link).await;
        page.says(200, shown);
        assert_eq!(page.text.contains("The client"), client.is_some());
        let has = |text: &str| page.text.contains(text);
        assert!(!has(&"x".repeat(200)) && !has("\u{202e}") && !has("\u{200b}"));
    }
}

async fn sign_out_token(browser: &mut Browser) -> String {
    let page = browser.get(&format!("{WEB}/accounts")).await;
    let (_, foot) = page.text.split_once("<footer>").unwrap();
    let (_, after) = foot.split_once("name=\"token\" value=\"").unwrap();
    after.split('"').next().unwrap().to_owned()
}

pub(crate) async fn sign_out(browser: &mut Browser) -> String {
    let token = sign_out_token(browser).await;
    let form = [("token", &*token)];
    let out = browser.post(&format!("{WEB}/sign-out"), &form).await;
    out.says(200, "You are signed out");
    token
}

/// The main part of a page. Its foot shows the visitor's own name.
fn main_of(text: &str) -> &str {
    let (_, main) = text.split_once("<main>").unwrap_or_default();
    main.split("</main>").next().unwrap_or_default()
}

const WRONG: AuditEvent = AuditEvent::WrongPerson;
const CALLBACK: AuditEvent = AuditEvent::CallbackRefused;

// Shows EL-48, EL-49.
#[tokio::test]
async fn a_link_of_somebody_else_shows_nothing() {
    for (tenant, subject) in [
        ("acme", "bob"),
        ("other", "ada"),
        ("acme", "Ada"),
        ("acme", "ada "),
    ] {
        let asked = Asked::new().await;
        let mut other = asked.scene.signed_in(tenant, subject).await;
        let page = other.get(&asked.link).await;
        asked
            .nothing_is_stored(&page, 403, &[("acme", WRONG), (tenant, WRONG)])
            .await;
        // The token of one page, pasted into another page's form.
        let own = asked.browser.clone().get(&asked.link).await.token();
        let form = [("token", &*own), ("answer", "yes")];
        let page = other.post(&asked.link, &form).await;
        asked.nothing_is_stored(&page, 403, &[]).await;
        asked.still_works().await;
    }
}

#[tokio::test]
async fn a_person_of_another_issuer_is_another_person() {
    let scene = Scene::web().await;
    let mut ada = scene.person("acme", "ada");
    ada.issuer = Some("https://other.example".to_owned());
    let mut call = call_as(&scene, &ada, V2026_07_28, "stars").await;
    let link = call.link().await;
    let mut same_subject = scene.signed_in("acme", "ada").await;
    same_subject
        .get(&link)
        .await
        .says(403, "This page is not for you");
    // A cookie of another server is invalid.
    let strangers = Scene::web().await;
    let mut browser = strangers.signed_in("acme", "ada").await.at(&scene.kit);
    browser.get(&link).await.says(200, "Sign in to go on");
    call.said.abort();
}

// Shows EL-32, EL-48.
#[tokio::test]
async fn a_browser_that_is_signed_out_is_asked_to_sign_in_and_told_nothing() {
    let asked = Asked::new().await;
    let mut browser = asked.scene.browser();
    let page = browser.get(&asked.link).await;
    asked.nothing_is_stored(&page, 200, &[]).await;
    let unknown = browser.get(&format!("{WEB}/c/{}", "0".repeat(32))).await;
    let unknown = unknown.text.replace(&"0".repeat(32), asked.id());
    assert_eq!(unknown, page.text, "a link that is none looks like one");
    let form = [("token", "x"), ("answer", "yes")];
    let page = browser.post(&asked.link, &form).await;
    asked.nothing_is_stored(&page, 403, &[]).await;
    asked.still_works().await;
}

// Shows EL-50.
#[tokio::test]
async fn an_edited_link_is_none() {
    let asked = Asked::new().await;
    let (id, mut browser) = (asked.id().to_owned(), asked.browser.clone());
    let other = match &id[..1] {
        "0" => "1",
        _ => "0",
    };
    for edited in [
        format!("{other}{}", &id[1..]),
        format!("{}{other}", &id[..31]),
        id[1..].to_owned(),
        format!("{id}0"),
        id.to_uppercase(),
        format!("{id}/"),
        format!("%{id}"),
        format!("../c/{id}"),
    ] {
        if edited == id {
            continue;
        }
        let page = browser.get(&format!("{WEB}/c/{edited}")).await;
        assert!(
            [404, 410].contains(&page.status),
            "{edited}: {}",
            page.status
        );
        asked.nothing_is_stored(&page, page.status, &[]).await;
    }
    for edited in [
        "?next=//evil.test",
        "?return_to=https:evil.test",
        "?state=x&code=y",
    ] {
        let page = browser.get(&format!("{}{edited}", asked.link)).await;
        assert!(!page.text.contains("evil"), "{}", page.text);
        assert!(page.headers.get(header::LOCATION).is_none());
    }
    asked.still_works().await;
}

#[tokio::test]
async fn others_who_open_a_link_end_it() {
    let mut asked = Asked::new().await;
    let mut bob = asked.scene.signed_in("acme", "bob").await;
    for _ in 0..5 {
        bob.get(&asked.link)
            .await
            .says(403, "This page is not for you");
    }
    let over = bob.get(&asked.link).await;
    asked
        .nothing_is_stored(&over, 410, &[("acme", AuditEvent::Burned)])
        .await;
    asked
        .browser
        .get(&asked.link)
        .await
        .says(410, "This link is over");
    let said = asked.call.said.await.unwrap();
    assert!(
        said.contains("opened by others too often, in another browser or by another person"),
        "{said}"
    );
}

// Shows BP-22.
#[tokio::test]
async fn a_link_is_good_for_ten_minutes_and_once() {
    let asked = Asked::new().await;
    asked.scene.stage.clock.turn(600_000);
    let mut browser = asked.scene.signed_in("acme", "ada").await;
    let page = browser.get(&asked.link).await;
    asked.nothing_is_stored(&page, 410, &[]).await;
    let said = asked.call.said.await.unwrap();
    assert!(said.contains("was not finished in time"), "{said}");

    // Steps that were started before do not work either.
    let halfway = async || {
        let mut asked = Asked::new().await;
        asked.scene.stage.clock.turn(300_000);
        asked.browser = asked.scene.signed_in("acme", "ada").await;
        asked
    };
    for answer in ["yes", "no"] {
        let mut asked = halfway().await;
        let token = asked.browser.get(&asked.link).await.token();
        asked.scene.stage.clock.turn(300_000);
        let form = [("token", &*token), ("answer", answer)];
        let page = asked.browser.post(&asked.link, &form).await;
        asked.nothing_is_stored(&page, 410, &[]).await;
    }
    let mut asked = halfway().await;
    let provider = asked.browser.agree(&asked.link).await;
    asked.scene.stage.clock.turn(300_000);
    let page = asked.browser.come_back(&provider, "octocat").await;
    asked.nothing_is_stored(&page, 410, &[]).await;
    // The code is not even redeemed.
    let told = asked.scene.git.asked();
    assert!(told.iter().all(|it| it.line != "POST /token"), "{told:?}");

    let used = Asked::new().await;
    let (link, mut browser) = (used.link.clone(), used.browser.clone());
    let provider = browser.agree(&link).await;
    let late = provider.clone();
    browser
        .come_back(&provider, "octocat")
        .await
        .says(200, "octocat");
    browser.get(&link).await.says(410, "This link is over");
    browser
        .come_back(&late, "again")
        .await
        .says(403, "not for you");
    assert_eq!(used.scene.accounts(&used.ada).await, ["octocat"]);
}

#[tokio::test]
async fn a_sign_in_that_is_old_is_done_again_before_anything_is_shown() {
    let mut asked = Asked::new().await;
    asked.scene.stage.clock.turn(599_000);
    let mut second = call_as(&asked.scene, &asked.ada, V2026_07_28, "stars").await;
    let link = second.link().await;
    asked.scene.stage.clock.turn(7_000);
    let page = asked.browser.get(&link).await;
    page.says(200, "more than ten minutes ago");
    assert!(!page.text.contains("Git"), "{}", page.text);
}

// Shows EL-48.
#[tokio::test]
async fn an_old_session_at_the_issuer_signs_nobody_in() {
    let asked = Asked::new().await;
    let mut browser = asked.scene.browser();
    let gone = browser
        .post(&format!("{WEB}/sign-in"), &[("next", asked.id())])
        .await
        .refresh();
    assert_eq!(parameter(&gone, "max_age"), "600");
    let code = format!("acme~ada~{}~old", parameter(&gone, "nonce"));
    let back = [
        ("state", &*parameter(&gone, "state")),
        ("code", &code),
        ("iss", &asked.scene.issuer.url),
    ];
    let page = browser
        .get(&format!("{WEB}/signed-in?{}", query(&back)))
        .await;
    page.says(403, "You are not signed in");
    assert!(browser.jar.is_empty(), "{:?}", browser.jar);
    asked.still_works().await;
}

/// The attack of the specification: the user who was asked sends their link to a victim, who is to connect the victim's
/// account.
// Shows EL-49, BP-18, BP-19, BP-20, BP-22.
#[tokio::test]
async fn an_answer_of_the_provider_counts_in_the_browser_that_was_sent_there() {
    let mut asked = Asked::new().await;
    let provider = asked.browser.agree(&asked.link).await;
    let mut bob = asked.scene.signed_in("acme", "bob").await;
    let page = bob.come_back(&provider, "bobs").await;
    asked
        .nothing_is_stored(&page, 403, &[("acme", CALLBACK)])
        .await;
    let mut nobody = asked.scene.browser();
    let page = nobody.come_back(&provider, "bobs").await;
    asked.nothing_is_stored(&page, 403, &[]).await;
    // With the cookie of the user who was asked, in another visit.
    let stolen = asked
        .browser
        .jar
        .iter()
        .find(|(name, _)| name.contains("-at-"));
    let (name, value) = stolen.unwrap();
    bob.jar.insert(name.clone(), value.clone());
    let page = bob.come_back(&provider, "bobs").await;
    asked
        .nothing_is_stored(&page, 403, &[("acme", CALLBACK)])
        .await;
    // If the user signs in again meanwhile, that is another visit.
    let mut again = asked.scene.signed_in("acme", "ada").await;
    let (name, value) = asked
        .browser
        .jar
        .iter()
        .find(|(name, _)| name.contains("-at-"))
        .unwrap();
    again.jar.insert(name.clone(), value.clone());
    let page = again.come_back(&provider, "bobs").await;
    asked
        .nothing_is_stored(&page, 403, &[("acme", CALLBACK)])
        .await;
    assert!(asked.scene.git.asked().is_empty(), "a code was redeemed");
    asked.still_works().await;
}

// Shows BP-17, BP-20, BP-21.
#[tokio::test]
async fn nobody_swaps_the_state_or_brings_a_code_of_their_own() {
    let mut asked = Asked::new().await;
    let mallory = asked.scene.person("acme", "mallory");
    let mut theirs = call_as(&asked.scene, &mallory, V2026_07_28, "stars").await;
    let their_link = theirs.link().await;
    let mut evil = asked.scene.signed_in("acme", "mallory").await;
    let their_provider = evil.agree(&their_link).await;
    let provider = asked.browser.agree(&asked.link).await;

    // Their state and code, in the browser of the user who was asked.
    let page = asked.browser.come_back(&their_provider, "evil").await;
    asked
        .nothing_is_stored(&page, 403, &[("acme", CALLBACK)])
        .await;
    // The callback of another provider with this provider's state.
    let state = parameter(&provider, "state");
    let back = query(&[("state", &state), ("code", "evil")]);
    for path in ["cb/other", "cb/pay", "cb/none", "cb/", "cb/git/x"] {
        let mut browser = asked.browser.clone();
        let page = browser.get(&format!("{WEB}/{path}?{back}")).await;
        assert!([403, 404].contains(&page.status), "{path}: {}", page.status);
        asked.nothing_is_stored(&page, page.status, &[]).await;
    }
    // Two states, or no state.
    for back in [
        format!("{back}&state=x"),
        "code=evil".to_owned(),
        format!("state=x&{back}"),
    ] {
        let mut browser = asked.browser.clone();
        let page = browser.get(&format!("{WEB}/cb/git?{back}")).await;
        asked.nothing_is_stored(&page, 403, &[]).await;
    }
    // A mix-up: the answer of another issuer.
    let mixed = format!("{back}&iss=https%3A%2F%2Fevil.test");
    let mut browser = asked.browser.clone();
    let page = browser.get(&format!("{WEB}/cb/git?{mixed}")).await;
    page.says(403, "Not connected");
    assert!(asked.scene.git.asked().is_empty(), "a code was redeemed");
    asked.still_works().await;
    theirs.said.abort();
}

#[tokio::test]
async fn tokens_are_kept_although_the_browser_is_gone() {
    let mut asked = Asked::new().await;
    let provider = asked.browser.agree(&asked.link).await;
    let back = [
        ("state", &*parameter(&provider, "state")),
        ("code", "octocat"),
    ];
    let uri = format!("{WEB}/cb/git?{}", query(&back));
    let cookies = asked.browser.jar.iter();
    let cookies: Vec<_> = cookies
        .map(|(name, (value, _))| format!("{name}={value}"))
        .collect();
    let request = Request::get(uri)
        .header(header::HOST, "tools.example")
        .header(header::COOKIE, cookies.join("; "));
    let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
    drop(tower_service::Service::call(
        &mut asked.scene.kit.pages(),
        request,
    ));
    assert_eq!(asked.call.said.await.unwrap(), "200 octocat");
    assert_eq!(asked.scene.accounts(&asked.ada).await, ["octocat"]);
}

#[tokio::test]
async fn a_second_consent_ends_the_first() {
    let mut asked = Asked::new().await;
    let first = asked.browser.agree(&asked.link).await;
    let second = asked.browser.agree(&asked.link).await;
    let page = asked.browser.come_back(&first, "octocat").await;
    asked
        .nothing_is_stored(&page, 403, &[("acme", CALLBACK)])
        .await;
    asked
        .browser
        .come_back(&second, "octocat")
        .await
        .says(200, "octocat");
    assert_eq!(asked.call.said.await.unwrap(), "200 octocat");
}

#[tokio::test]
async fn two_links_in_one_browser_do_not_disturb_each_other() {
    let mut asked = Asked::new().await;
    let mut second = call_as(&asked.scene, &asked.ada, V2026_07_28, "key").await;
    let other = second.link().await;
    let first = asked.browser.agree(&asked.link).await;
    let page = asked.browser.get(&other).await;
    let token = page.token();
    // A form token is valid for its own page only.
    let crossed = [("token", &*token), ("answer", "yes")];
    asked
        .browser
        .post(&asked.link, &crossed)
        .await
        .says(403, "not for you");
    let form = [("token", &*token), ("answer", "yes"), ("secret", "k")];
    asked.browser.post(&other, &form).await.says(200, "Saved");
    asked
        .browser
        .come_back(&first, "octocat")
        .await
        .says(200, "octocat");
    assert_eq!(second.said.await.unwrap(), "1 characters");
    assert_eq!(asked.call.said.await.unwrap(), "200 octocat");
}

// Shows BP-08.
#[tokio::test]
async fn a_form_of_another_site_does_nothing() {
    let asked = Asked::new().await;
    let mut browser = asked.browser.clone();
    let token = browser.get(&asked.link).await.token();
    let form = [("token", &*token), ("answer", "yes")];
    for headers in [
        &[("origin", "https://evil.test")][..],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[
            ("origin", "https://tools.example"),
            ("sec-fetch-site", "none"),
        ],
    ] {
        let page = browser.post_with(&asked.link, &form, headers).await;
        assert!(
            [403, 421].contains(&page.status),
            "{headers:?}: {}",
            page.status
        );
        for path in ["sign-in", "sign-out", "disconnect"] {
            let form = [("token", &*token), ("next", "accounts")];
            let page = browser
                .post_with(&format!("{WEB}/{path}"), &form, headers)
                .await;
            assert!(
                [403, 421].contains(&page.status),
                "{path} {headers:?}: {}",
                page.status
            );
        }
    }
    for token in ["", "x", &token[1..], &format!("{token}AAAA")] {
        let form = [("token", token), ("answer", "yes")];
        browser
            .post(&asked.link, &form)
            .await
            .says(403, "not for you");
    }
    let twice = [("token", &*token), ("token", &*token), ("answer", "yes")];
    browser
        .post(&asked.link, &twice)
        .await
        .says(403, "not for you");
    asked.still_works().await;
}

#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let asked = Asked::new().await;
    let mut browser = asked.browser.clone();
    for host in ["evil.test", "tools.example.evil.test", "127.0.0.1"] {
        let request = Request::get(&asked.link).header(header::HOST, host);
        let request = request.header("x-forwarded-host", "tools.example");
        let page = browser.send(request.body(Full::default()).unwrap()).await;
        assert_eq!(page.status, 421, "{host}");
    }
    // A proxy may have used the other header.
    for hosts in [
        ["tools.example", "evil.test"],
        ["evil.test", "tools.example"],
    ] {
        let request = Request::get(&asked.link).header(header::HOST, hosts[0]);
        let request = request.header(header::HOST, hosts[1]);
        let page = browser.send(request.body(Full::default()).unwrap()).await;
        assert_eq!(page.status, 421, "{hosts:?}");
    }
    asked.still_works().await;
}

// Shows BP-23.
#[tokio::test]
async fn a_get_changes_nothing() {
    let asked = Asked::new().await;
    let mut browser = asked.browser.clone();
    for _ in 0..3 {
        browser
            .get(&asked.link)
            .await
            .says(200, "Connect your Git &#38; Co account?");
        browser
            .get(&format!("{WEB}/accounts"))
            .await
            .says(200, "No account is connected.");
    }
    for path in ["sign-in", "sign-out", "disconnect"] {
        let page = browser.get(&format!("{WEB}/{path}")).await;
        assert_eq!(page.status, 404, "{path}");
    }
    assert_eq!(asked.scene.events(Some("acme")).await, [AuditEvent::Asked]);
    asked.still_works().await;
}

#[tokio::test]
async fn bodies_that_are_too_large_or_not_forms_are_refused() {
    let asked = Asked::new().await;
    let mut browser = asked.browser.clone();
    let post = |media: &str, body: String| {
        let request = Request::post(&asked.link).header(header::CONTENT_TYPE, media);
        request.body(Full::from(body)).unwrap()
    };
    const FORM: &str = "application/x-www-form-urlencoded";
    let large = "a".repeat(32 << 10);
    for (request, status) in [
        (post("text/plain", "answer=yes".to_owned()), 415),
        (post("application/json", "{}".to_owned()), 415),
        (post(FORM, format!("{large}a")), 413),
        (post(FORM, large), 403),
        (
            Request::put(&asked.link).body(Full::default()).unwrap(),
            405,
        ),
        (
            Request::get(format!("{}?{}", asked.link, "a".repeat(8193)))
                .body(Full::default())
                .unwrap(),
            414,
        ),
    ] {
        let page = browser.send(request).await;
        assert_eq!(page.status, status, "{}", page.text);
    }
    let mut headers = Request::get(&asked.link).body(Full::default()).unwrap();
    let long = format!("__Host-connect={}", "A".repeat(9000));
    headers
        .headers_mut()
        .insert(header::COOKIE, long.parse().unwrap());
    let mut stranger = asked.scene.browser();
    stranger.send(headers).await.says(200, "Sign in to go on");
    asked.still_works().await;
}

// Shows BP-10, BP-11, BP-12.
#[tokio::test]
async fn cookies_are_of_this_host_alone_and_open_nowhere_else() {
    let mut asked = Asked::new().await;
    asked.browser.agree(&asked.link).await;
    let names: Vec<_> = asked.browser.jar.keys().cloned().collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("__Host-connect")));
    let (visit, consent) = (&names[0], &names[1]);
    let value = |name| asked.browser.jar[name].0.clone();
    let sealed = value(visit);
    assert!(!sealed.contains("ada"));
    let last = if sealed.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{last}", &sealed[..sealed.len() - 1]);
    for other in [
        changed,
        value(consent),
        sealed[4..].to_owned(),
        String::from("x"),
    ] {
        let mut browser = asked.browser.clone();
        browser.jar.get_mut(visit).unwrap().0 = other;
        let page = browser.get(&asked.link).await;
        page.says(200, "Sign in to go on");
    }
    asked.still_works().await;
}

// Shows BP-09.
#[tokio::test]
async fn every_answer_forbids_to_keep_frame_or_load() {
    let asked = Asked::new().await;
    let mut browser = asked.browser.clone();
    let mut signed_out = asked.scene.browser();
    let pages = [
        browser.get(&asked.link).await,
        browser.get(&format!("{WEB}/accounts")).await,
        browser.get(&format!("{WEB}/nothing")).await,
        browser.get(&format!("{WEB}/style.css")).await,
        browser.get(&format!("{WEB}/icon")).await,
        browser.get(&format!("{WEB}/cb/git")).await,
        signed_out.get(&asked.link).await,
        browser.post(&format!("{WEB}/c/x"), &[]).await,
    ];
    for page in pages {
        let header = |name| page.headers.get(name).map_or("", |it| it.to_str().unwrap());
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "same-origin");
        for inline in ["<script", " style=", " onclick", "javascript:"] {
            assert!(!page.text.contains(inline), "{}", page.text);
        }
        let foreign = page.text.matches("https://").count();
        assert_eq!(foreign, 0, "{}", page.text);
    }
    asked.still_works().await;
}

#[tokio::test]
async fn a_name_of_a_person_is_text() {
    let mut asked = Asked::new().await;
    let page = asked.browser.get(&asked.link).await;
    page.says(200, "ada &#60;b&#62;")
        .says(200, "<code>gist</code>")
        .says(
            200,
            "<li>Read &#38; change repositories <code>repo</code></li>",
        );
    assert!(!page.text.contains("<b>"), "{}", page.text);
}

#[tokio::test]
async fn accounts_of_one_name_are_told_apart() {
    let asked = Asked::new().await;
    let (scene, mut browser, ada) = (asked.scene, asked.browser, asked.ada);
    let provider = browser.agree(&asked.link).await;
    let page = browser.come_back(&provider, "41~octocat").await;
    page.says(200, "The account is octocat.");
    let list = format!("{WEB}/accounts");
    browser.get(&list).await.says(200, "<bdi>octocat</bdi>");
    let other = Grant::tokens(Secret::new("canary-access-x"), None).name("octocat");
    scene.vault.put(&ada, "git", "42", other).await.unwrap();
    let page = browser.get(&list).await;
    page.says(200, "<bdi>octocat (41)</bdi>")
        .says(200, "<bdi>octocat (42)</bdi>");
    let form = [
        ("token", &*page.token()),
        ("provider", "git"),
        ("account", "41"),
    ];
    let gone = browser.post(&format!("{WEB}/disconnect"), &form).await;
    assert_eq!(gone.status, 303);
    while scene.accounts(&ada).await != ["42"] {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_person_sees_and_disconnects_their_own_accounts() {
    let asked = Asked::new().await;
    let (scene, mut browser, ada) = (asked.scene, asked.browser, asked.ada);
    // No call has asked for this page.
    let signed_out = scene.browser().get(&format!("{WEB}/accounts")).await;
    signed_out.says(200, "shows your accounts to you alone");
    assert!(!signed_out.text.contains("asked"), "{}", signed_out.text);
    let provider = browser.agree(&asked.link).await;
    browser.come_back(&provider, "octocat").await;
    let page = browser.get(&format!("{WEB}/accounts")).await;
    page.says(200, "octocat")
        .says(200, "Git &#38; Co")
        .says(200, "Connected since <time>2027-01-15</time>")
        .says(200, "Read &#38; change repositories <code>repo</code>");
    let token = page.token();
    let form = [
        ("token", &*token),
        ("provider", "git"),
        ("account", "octocat"),
    ];
    let mut bob = scene.signed_in("acme", "bob").await;
    bob.post(&format!("{WEB}/disconnect"), &form)
        .await
        .says(403, "not for you");
    let other = [
        ("token", &*token),
        ("provider", "git"),
        ("account", "other"),
    ];
    browser
        .post(&format!("{WEB}/disconnect"), &other)
        .await
        .says(403, "not for you");
    assert_eq!(scene.accounts(&ada).await, ["octocat"]);
    let gone = browser.post(&format!("{WEB}/disconnect"), &form).await;
    assert_eq!(
        (gone.status, &gone.headers["location"]),
        (303, &"/connect/accounts".parse().unwrap())
    );
    while !scene.accounts(&ada).await.is_empty() {
        tokio::task::yield_now().await;
    }
    browser
        .get(&format!("{WEB}/accounts"))
        .await
        .says(200, "No account is connected.");
    let events = scene.events(Some("acme")).await;
    assert!(events.contains(&AuditEvent::Disconnected), "{events:?}");
}

#[tokio::test]
async fn a_person_signs_out() {
    let asked = Asked::new().await;
    let mut browser = asked.browser.clone();
    let token = sign_out(&mut browser).await;
    let kept: Vec<_> = browser.jar.keys().collect();
    assert_eq!(kept, ["__Host-connect-anew"]);
    browser.get(&asked.link).await.says(200, "Sign in to go on");
    // A copy of the cookie does not work either, in any process.
    let mut copy = asked.browser.clone();
    let other = asked.scene.other_process().await;
    for browser in [&mut copy.at(&other), &mut copy] {
        let accounts = browser.get(&format!("{WEB}/accounts")).await;
        accounts.says(200, "Sign in to go on");
        let form = [("token", &*token)];
        let out = browser.post(&format!("{WEB}/sign-out"), &form).await;
        out.says(403, "not for you");
    }
    let again = asked.scene.signed_in("acme", "ada").await;
    let asked = Asked {
        browser: again,
        ..asked
    };
    asked.still_works().await;
}

#[tokio::test]
async fn a_visit_that_ended_does_so_for_all_its_hour() {
    let scene = Scene::web().await;
    let mut browser = scene.signed_in("acme", "ada").await;
    let mut copy = browser.clone();
    sign_out(&mut browser).await;
    scene.stage.clock.turn(HOUR - 1);
    // Expired visits are deleted when another visit ends.
    sign_out(&mut scene.signed_in("acme", "bob").await).await;
    let accounts = copy.get(&format!("{WEB}/accounts")).await;
    accounts.says(200, "Sign in to go on");
}

#[tokio::test]
async fn a_user_who_signed_out_must_sign_in_again_however_late() {
    let scene = Scene::web().await;
    let mut browser = scene.signed_in("acme", "ada").await;
    let token = sign_out_token(&mut browser).await;
    let form = [("token", &*token)];
    let out = browser.post(&format!("{WEB}/sign-out"), &form).await;
    let mut set = out.headers.get_all("set-cookie").iter();
    let lasts = set.any(|it| it.to_str().unwrap().contains("Max-Age=34560000;"));
    assert!(lasts, "{:?}", out.headers);
    // Replacing keys does not affect the mark.
    for _ in 0..3 {
        scene.stage.clock.turn(24 * HOUR);
        scene.vault.rotate(None).await.unwrap();
    }
    let form = [("next", "accounts")];
    let gone = browser.post(&format!("{WEB}/sign-in"), &form).await;
    assert_eq!(parameter(&gone.refresh(), "prompt"), "login");
}

#[tokio::test]
async fn a_visit_lasts_an_hour() {
    let asked = Asked::new().await;
    let mut browser = asked.browser.clone();
    asked.scene.stage.clock.turn(HOUR - 1);
    browser
        .get(&format!("{WEB}/accounts"))
        .await
        .says(200, "My accounts");
    asked.scene.stage.clock.turn(1);
    browser
        .get(&format!("{WEB}/accounts"))
        .await
        .says(200, "Sign in to go on");
}

#[tokio::test]
async fn an_answer_may_come_to_another_process() {
    let mut asked = Asked::new().await;
    let other = asked.scene.other_process().await;
    let provider = asked.browser.agree(&asked.link).await;
    let mut there = asked.browser.at(&other);
    there
        .come_back(&provider, "octocat")
        .await
        .says(200, "octocat");
    assert_eq!(asked.call.said.await.unwrap(), "200 octocat");
}

#[tokio::test]
async fn a_process_that_ends_during_an_exchange_does_not_block_the_call() {
    const EXCHANGE: u64 = 60_000;
    let mut asked = Asked::new().await;
    let provider = asked.browser.agree(&asked.link).await;
    let other = asked.scene.other_process().await;
    let mut there = asked.browser.at(&other);
    let process = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    process.spawn(async move { there.come_back(&provider, "silent").await });
    let git = &asked.scene.git;
    until(|| git.asked().iter().any(|it| it.line == "POST /token")).await;
    process.shutdown_background();

    asked.scene.stage.clock.turn(EXCHANGE - 1);
    let mut browser = asked.browser.clone();
    browser.get(&asked.link).await.says(200, "Git &#38; Co");
    assert!(!asked.call.said.is_finished());
    asked.scene.stage.clock.turn(1);
    let said = asked.call.said.await.unwrap();
    assert!(
        said.contains("call again to be given another link"),
        "{said}"
    );
    browser
        .get(&asked.link)
        .await
        .says(410, "it gives you another link");
    // Other users do not see the outcome.
    let mut bob = asked.scene.signed_in("acme", "bob").await;
    bob.get(&asked.link).await.says(410, "This link is over");
    assert!(asked.scene.accounts(&asked.ada).await.is_empty());
}

#[tokio::test]
async fn a_wrong_account_setting_ends_the_call_and_blames_the_operator() {
    let mut asked = Asked::new().await;
    let provider = asked.browser.agree(&asked.link).await;
    let nameless = asked.browser.come_back(&provider, "nameless").await;
    nameless
        .says(
            500,
            "its setup is wrong, and its operator has to correct it",
        )
        .says(500, "your Git &#38; Co account");
    let said = asked.call.said.await.unwrap();
    let told = "error: no Git & Co account can be connected: a setting of `git` is wrong";
    assert!(said.starts_with(told), "{said}");
    let over = asked.browser.get(&asked.link).await;
    over.says(410, "This link is over");
    // The new tokens are revoked.
    let revoked = asked.scene.revoked(2).await;
    assert_eq!(revoked, ["canary-refresh", "canary-access-nameless"]);
}

#[tokio::test]
async fn a_wrong_client_secret_ends_the_call_and_blames_the_operator() {
    let mut asked = Asked::new().await;
    let provider = asked.browser.agree(&asked.link).await;
    let unknown = asked.browser.come_back(&provider, "secretless").await;
    unknown.says(
        500,
        "Git &#38; Co does not know this server by what it says of itself: its setup is wrong",
    );
    let said = asked.call.said.await.unwrap();
    let told = "error: no Git & Co account can be connected: a setting of `git` is wrong";
    assert!(said.starts_with(told), "{said}");
}

#[tokio::test]
async fn tokens_that_come_too_late_are_revoked() {
    let mut asked = Asked::new().await;
    let provider = asked.browser.agree(&asked.link).await;
    let late = asked.browser.come_back(&provider, "late").await;
    late.says(410, "This link is over");
    let revoked = asked.scene.revoked(2).await;
    assert_eq!(revoked, ["canary-refresh", "canary-access-late"]);
    while !asked.scene.accounts(&asked.ada).await.is_empty() {
        tokio::task::yield_now().await;
    }
    let said = asked.call.said.await.unwrap();
    assert!(
        said.contains("call again to be given another link"),
        "{said}"
    );
}

#[tokio::test]
async fn pages_can_be_served_only_at_allowed_urls() {
    let scene = Scene::web().await;
    for (url, why) in [
        ("http://tools.example/connect", "must be https"),
        ("ftp://tools.example/", "must be https"),
        ("https://tools.example/?a", "no query"),
        ("https://tools.example/#a", "no query"),
        ("https://ada:canary@tools.example/", "name no user"),
        ("https://tools.example/a b", "its path"),
        ("nonsense", "not a URL"),
    ] {
        let client = askback_oauth::RegisteredClient::new("pages");
        let fetcher = crate::issuer::fetcher();
        let sign_in = WebSignIn::discover(&fetcher, &scene.issuer.url, client)
            .await
            .unwrap();
        let providers = scene.kit.providers().clone();
        let built = Connections::at(url, sign_in, scene.vault.clone(), providers).build();
        let error = built.unwrap_err().to_string();
        assert!(error.contains(why), "{url}: {error}");
        assert!(!error.contains("canary"), "{error}");
    }
    let providers = scene.kit.providers().clone();
    let mapped = "http://[::ffff:127.0.0.1]:4000";
    let built =
        Connections::on_this_machine(mapped, scene.vault.clone(), providers.clone()).build();
    let error = built.unwrap_err().to_string();
    assert!(
        error.contains("write it as IPv4, such as 127.0.0.1"),
        "{error}"
    );
    let machine =
        Connections::on_this_machine("https://tools.example", scene.vault.clone(), providers);
    assert!(
        machine
            .build()
            .unwrap_err()
            .to_string()
            .contains("loopback")
    );
}

/// Whether the issuer is asked to ignore its session.
async fn is_anew(browser: &mut Browser) -> (Url, bool) {
    let form = [("next", "accounts")];
    let gone = browser.post(&format!("{WEB}/sign-in"), &form).await;
    let url = gone.refresh();
    let prompt = url.query_pairs().find(|(name, _)| name == "prompt");
    let is_anew = prompt.is_some_and(|(_, value)| value == "login");
    (url, is_anew)
}

#[tokio::test]
async fn after_another_person_the_issuer_asks_who_signs_in() {
    let asked = Asked::new().await;
    let issuer = asked.scene.issuer.url.clone();
    let mut first = asked.scene.browser();
    assert!(!is_anew(&mut first).await.1, "the first sign-in");

    // After a sign-out, or as another user than the one who was asked.
    let mut out = asked.browser.clone();
    sign_out(&mut out).await;
    let mut wrong = asked.scene.signed_in("acme", "bob").await;
    wrong.get(&asked.link).await.says(403, "not for you");

    for mut browser in [out, wrong] {
        let (url, anew) = is_anew(&mut browser).await;
        assert!(anew);
        let (state, nonce) = (parameter(&url, "state"), parameter(&url, "nonce"));
        let back = |code: &str| {
            let back = query(&[("state", &state), ("code", code), ("iss", &issuer)]);
            format!("{WEB}/signed-in?{back}")
        };
        // The issuer answers from an older session all the same.
        let mut from_session = browser.clone();
        asked.scene.stage.clock.turn(120_000);
        from_session
            .get(&back(&format!("acme~ada~{nonce}~400")))
            .await
            .says(403, "You are not signed in");
        // A user who signs in now is accepted and not asked again.
        let page = browser.get(&back(&format!("acme~ada~{nonce}"))).await;
        assert_eq!(page.status, 303, "{}", page.text);
        assert!(!is_anew(&mut browser).await.1, "the sign-in after");
    }
}

#[tokio::test]
async fn a_visitor_without_a_sign_in_is_not_told_to_sign_out() {
    let scene = Scene::web().await;
    let back = format!("{WEB}/cb/git?state=x&code=y");
    let page = scene.browser().get(&back).await;
    page.says(403, "Nobody is signed in here.")
        .says(403, "open the link again in this browser, and sign in");
    assert!(!page.text.contains("sign out"), "{}", page.text);
    let page = scene.signed_in("acme", "bob").await.get(&back).await;
    page.says(403, "If it was you, sign out here");
}
