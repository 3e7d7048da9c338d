use askback::{Principal, Revision::V2026_07_28};
use askback_connect::{PageRefusal, vault::AuditEvent};
use http::Uri;

use crate::asking::{Call, call_as};
use crate::pages::sign_out;
use crate::visitor::{Browser, Scene, WEB, request_to};

/// A user who was asked to pay, their signed-in browser, and the address of the page.
struct Asked {
    scene: Scene,
    ada: Principal,
    call: Call,
    link: String,
    browser: Browser,
    at: Uri,
}

impl Asked {
    async fn new() -> Self {
        let scene = Scene::web().await;
        let ada = scene.person("acme", "ada");
        let mut call = call_as(&scene, &ada, V2026_07_28, "deposit").await;
        let link = call.link().await;
        let mut browser = scene.signed_in("acme", "ada").await;
        let at = address(&mut browser, &link).await;
        Self {
            scene,
            ada,
            call,
            link,
            browser,
            at,
        }
    }
}

async fn address(browser: &mut Browser, link: &str) -> Uri {
    let gone = browser.get(link).await;
    gone.headers["location"].to_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_copy_of_a_visit_that_ended_shows_no_page() {
    let mut asked = Asked::new().await;
    let headers = asked.browser.headers();
    assert!(
        asked
            .scene
            .kit
            .asked(&request_to(WEB, &headers, &asked.at))
            .await
            .is_ok()
    );
    sign_out(&mut asked.browser).await;
    for kit in [&asked.scene.kit, &asked.scene.other_process().await] {
        assert!(
            kit.asked(&request_to(WEB, &headers, &asked.at))
                .await
                .is_err()
        );
    }
}

/// DNS rebinding: an attacker's host name may resolve to this server.
#[tokio::test]
async fn a_page_is_shown_at_the_host_of_the_kit_alone() {
    let asked = Asked::new().await;
    let headers = asked.browser.headers();
    for (host, is_shown) in [
        ("https://tools.example", true),
        ("https://evil.example", false),
        ("https://tools.example.evil.example", false),
        ("http://127.0.0.1", false),
    ] {
        let request = request_to(host, &headers, &asked.at);
        let page = asked.scene.kit.asked(&request).await;
        assert_eq!(page.is_ok(), is_shown, "{host}: {page:?}");
    }
    let mut request = request_to(WEB, &headers, &asked.at);
    request.headers.remove(http::header::HOST);
    assert!(asked.scene.kit.asked(&request).await.is_err());
    let mut request = request_to(WEB, &headers, &asked.at);
    request.method = http::Method::POST;
    let foreign = "https://evil.example".parse().unwrap();
    request.headers.insert(http::header::ORIGIN, foreign);
    assert!(asked.scene.kit.asked(&request).await.is_err());
}

/// An attacker may have signed the browser in for the user, long before the question.
#[tokio::test]
async fn a_sign_in_that_was_old_when_the_person_was_asked_shows_no_page() {
    let mut asked = Asked::new().await;
    let old = asked.browser.headers();
    asked.scene.stage.clock.turn(590_000);
    let mut second = call_as(&asked.scene, &asked.ada, V2026_07_28, "deposit").await;
    let link = second.link().await;
    let mut fresh = asked.scene.signed_in("acme", "ada").await;
    let at = address(&mut fresh, &link).await;
    // Ten minutes after the sign-in, but less than ten after the question.
    asked.scene.stage.clock.turn(20_000);
    let shown = asked.scene.kit.asked(&request_to(WEB, &old, &at)).await;
    assert!(shown.is_ok(), "{shown:?}");

    asked.scene.stage.clock.turn(600_000);
    let mut third = call_as(&asked.scene, &asked.ada, V2026_07_28, "deposit").await;
    let link = third.link().await;
    asked.browser.get(&link).await.says(200, "Sign in");
    let mut fresh = asked.scene.signed_in("acme", "ada").await;
    let at = address(&mut fresh, &link).await;
    let refused = asked.scene.kit.asked(&request_to(WEB, &old, &at)).await;
    assert!(matches!(refused, Err(PageRefusal::Wrong)), "{refused:?}");
    let headers = fresh.headers();
    assert!(
        asked
            .scene
            .kit
            .asked(&request_to(WEB, &headers, &at))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn visits_of_other_users_do_not_block_the_user_who_was_asked() {
    let asked = Asked::new().await;
    let (kit, headers) = (&asked.scene.kit, asked.browser.headers());
    let page = kit
        .asked(&request_to(WEB, &headers, &asked.at))
        .await
        .unwrap();
    let token = page.token().await.unwrap();
    let mut bob = asked.scene.signed_in("acme", "bob").await;
    bob.get(&asked.link).await.says(403, "not for you");
    let claim = page.claim(&headers, &token).await.unwrap();
    bob.get(&asked.link).await.says(403, "not for you");
    claim.done().await.unwrap();
    assert_eq!(asked.call.said.await.unwrap(), "paid");
    let events = asked.scene.events(Some("acme")).await;
    let others = events.iter().filter(|it| **it == AuditEvent::WrongPerson);
    assert_eq!(
        others.count(),
        4,
        "a line for each in both audits: {events:?}"
    );
}

#[tokio::test]
async fn a_page_is_for_the_person_who_was_asked() {
    let asked = Asked::new().await;
    let kit = &asked.scene.kit;
    let bob = asked.scene.signed_in("acme", "bob").await.headers();
    let headers = asked.browser.headers();
    for _ in 0..4 {
        let refused = kit.asked(&request_to(WEB, &bob, &asked.at)).await;
        assert!(matches!(refused, Err(PageRefusal::Wrong)), "{refused:?}");
    }
    let page = kit
        .asked(&request_to(WEB, &headers, &asked.at))
        .await
        .unwrap();
    assert_eq!(page.person().subject, asked.ada.subject);
    let events = asked.scene.events(Some("acme")).await;
    let others = events.iter().filter(|it| **it == AuditEvent::WrongPerson);
    assert_eq!(others.count(), 8, "a line for each in both audits");
    // The fifth attempt ends the link for every user.
    assert!(kit.asked(&request_to(WEB, &bob, &asked.at)).await.is_err());
    let over = kit.asked(&request_to(WEB, &headers, &asked.at)).await;
    assert!(matches!(over, Err(PageRefusal::Over)), "{over:?}");
    let said = asked.call.said.await.unwrap();
    assert!(said.contains("opened by others too often"), "{said}");
}
