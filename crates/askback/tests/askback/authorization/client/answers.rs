//! The redirect with which the browser returns.

use serde_json::json;

use super::{AuthorizationError, SignInError, World, back, query};

/// Checks whether an answer is accepted. The code of a rejected answer must never reach a token
/// endpoint.
async fn check(
    announced: bool,
    answer: impl Fn(&url::Url) -> Result<String, SignInError> + Send + 'static,
) -> Result<(), AuthorizationError> {
    let world = World::new().await;
    world.issuer(|it| it["authorization_response_iss_parameter_supported"] = json!(announced));
    world.browser.answers(answer);
    match world.connect().await {
        Ok(client) => {
            client.close().await;
            Ok(())
        }
        refused => {
            assert!(world.posted("/token").is_empty());
            Err(super::why(refused))
        }
    }
}

fn issuer(asked: &url::Url) -> String {
    asked.origin().ascii_serialization()
}

// Shows AZ-20, AZ-23, AZ-25.
#[tokio::test]
async fn the_issuer_of_an_answer_is_compared_letter_by_letter() {
    type Written = fn(&str) -> Option<String>;
    let same: Written = |issuer| Some(issuer.to_owned());
    let none: Written = |_| None;
    let others: [Written; 7] = [
        |_| Some("https://evil.example.com".to_owned()),
        |issuer| Some(format!("{issuer}/")),
        |issuer| Some(issuer.to_uppercase()),
        |issuer| Some(issuer.replace("127.0.0.1", "localhost")),
        |issuer| Some(issuer.replace("127", "%31%32%37")),
        |issuer| Some(issuer.replace("http:", "https:")),
        |_| Some(String::new()),
    ];
    let answer = |written: Written| {
        move |asked: &url::Url| {
            let issuer = written(&issuer(asked));
            let mut more = vec![("code", "code-1")];
            more.extend(issuer.as_deref().map(|issuer| ("iss", issuer)));
            Ok(back(asked, &more))
        }
    };
    for announced in [true, false] {
        assert_eq!(check(announced, answer(same)).await, Ok(()));
        for other in others {
            let refused = check(announced, answer(other)).await;
            assert!(
                matches!(refused, Err(AuthorizationError::Answer(_))),
                "{refused:?}"
            );
        }
    }
    let refused = check(true, answer(none)).await;
    assert!(
        matches!(refused, Err(AuthorizationError::Answer(_))),
        "{refused:?}"
    );
    assert_eq!(check(false, answer(none)).await, Ok(()));
}

// Shows AZ-26.
#[tokio::test]
async fn an_error_of_another_issuer_is_not_shown() {
    let evil = "https://evil.example.com";
    let words = [
        ("error", "access_denied"),
        ("error_description", "call 555-0100"),
    ];
    let foreign = move |asked: &url::Url| {
        let mut more = words.to_vec();
        more.push(("iss", evil));
        Ok(back(asked, &more))
    };
    let error = check(false, foreign).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(
        !shown.contains("555") && !shown.contains("access_denied"),
        "{shown}"
    );

    let own = move |asked: &url::Url| Ok(back(asked, &words));
    let expected = AuthorizationError::Refused {
        what: "the sign-in",
        code: "access_denied".to_owned(),
        description: "call 555-0100".to_owned(),
    };
    assert_eq!(check(false, own).await, Err(expected));
}

// Shows AS-18.
#[tokio::test]
async fn only_the_answer_to_this_sign_in_is_taken() {
    type Answer = fn(&url::Url) -> Result<String, SignInError>;
    let cases: [Answer; 10] = [
        // A wrong state, no state, two states, or a state with the same beginning.
        |asked| Ok(back(asked, &[("code", "c")]).replace("state=", "state=x")),
        |asked| Ok(back(asked, &[("code", "c")]).replace("state=", "estate=")),
        |asked| Ok(back(asked, &[("code", "c"), ("state", "x")])),
        |asked| {
            let state = query(asked, "state").unwrap();
            Ok(format!(
                "{}?code=c&state={}",
                query(asked, "redirect_uri").unwrap(),
                &state[1..]
            ))
        },
        // No code, or two.
        |asked| Ok(back(asked, &[])),
        |asked| Ok(back(asked, &[("code", "")])),
        |asked| Ok(back(asked, &[("code", "a"), ("code", "b")])),
        // Another path than the redirect URI's.
        |asked| Ok(back(asked, &[("code", "c")]).replace("/callback", "/other")),
        |asked| Ok(back(asked, &[("code", "c")]).replace("127.0.0.1", "evil.example.com")),
        |_| Ok("not a URL".to_owned()),
    ];
    for (place, answer) in cases.into_iter().enumerate() {
        let refused = check(false, answer).await;
        assert!(
            matches!(refused, Err(AuthorizationError::Answer(_))),
            "{place}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_user_may_decline_to_sign_in() {
    let error = check(false, |_| {
        Err(SignInError::host("the window\u{1b}[2J was closed"))
    })
    .await;
    let expected =
        AuthorizationError::SignIn(SignInError::Host("the window[2J was closed".to_owned()));
    assert_eq!(error, Err(expected));
}

// A code from an honest issuer must never reach another issuer's token endpoint.
#[tokio::test]
async fn issuers_are_not_mixed_up() {
    let honest = World::new().await;
    let attacker = World::new().await;
    let issuer = honest.base();
    // The attacker's metadata sends the user to the honest issuer, but names the attacker's token
    // endpoint.
    let authorize = format!("{issuer}/authorize");
    attacker.issuer(|it| it["authorization_endpoint"] = json!(authorize));
    let named = issuer.clone();
    attacker
        .browser
        .answers(move |asked| Ok(back(asked, &[("code", "honest"), ("iss", &named)])));
    let error = attacker.refused().await;
    assert!(matches!(error, AuthorizationError::Answer(_)), "{error:?}");
    assert!(attacker.posted("/token").is_empty() && honest.posted("/token").is_empty());
}
