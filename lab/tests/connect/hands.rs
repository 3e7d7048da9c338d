//! Two users with a browser each, and everything that one could do with the other's link, response or session. Neither
//! gets the other's account, no page shows a name, and the user who was asked can still connect.

use askback::Revision::V2026_07_28;
use askback_connect::vault::AuditEvent::{self, CallbackRefused, WrongPerson};
use lab::{
    browser::{Browser, Person},
    issuers::Maker,
};
use url::Url;

use crate::{
    Result, browser,
    scene::{Plan, Scene},
};

#[derive(Debug, Clone, Copy)]
enum Wrong {
    /// Another user opens the link, and signs in as themselves.
    OtherSignsIn,
    /// Another user opens the link, and is already signed in.
    OtherIsSignedIn,
    /// A character of the link is changed.
    Edited,
    /// Ada's response is opened in a browser in which another user is signed in.
    PastedToOther,
    PastedToNobody,
    /// Another user's response is opened in Ada's browser.
    Injected,
    /// Another user's code comes with Ada's state.
    CodeOfOther,
    /// Ada's code comes with another user's state.
    StateOfOther,
    IssOfOther,
    WithoutIss,
    StateTwice,
}

#[derive(Clone, Copy)]
enum TellOutcome {
    Ada(AuditEvent),
    Other(AuditEvent),
    Both(AuditEvent),
    Nobody,
}

const NOT_YOURS: &str = "This page is not for you";

/// The fault, the status and text of the final page, and the users whose audit logs record it.
type Case = (Wrong, u16, &'static str, TellOutcome);

const CASES: &[Case] = &[
    (
        Wrong::OtherSignsIn,
        403,
        NOT_YOURS,
        TellOutcome::Both(WrongPerson),
    ),
    (
        Wrong::OtherIsSignedIn,
        403,
        NOT_YOURS,
        TellOutcome::Both(WrongPerson),
    ),
    (Wrong::Edited, 410, "This link is over", TellOutcome::Nobody),
    (
        Wrong::PastedToOther,
        403,
        NOT_YOURS,
        TellOutcome::Other(CallbackRefused),
    ),
    (Wrong::PastedToNobody, 403, NOT_YOURS, TellOutcome::Nobody),
    (
        Wrong::Injected,
        403,
        NOT_YOURS,
        TellOutcome::Ada(CallbackRefused),
    ),
    (
        Wrong::CodeOfOther,
        403,
        "Not connected",
        TellOutcome::Ada(CallbackRefused),
    ),
    (
        Wrong::StateOfOther,
        403,
        NOT_YOURS,
        TellOutcome::Ada(CallbackRefused),
    ),
    (
        Wrong::IssOfOther,
        403,
        "Not connected",
        TellOutcome::Ada(CallbackRefused),
    ),
    (
        Wrong::WithoutIss,
        403,
        "Not connected",
        TellOutcome::Ada(CallbackRefused),
    ),
    (Wrong::StateTwice, 403, NOT_YOURS, TellOutcome::Nobody),
];

/// Ada, who was asked, and another user.
struct Two<'a> {
    scene: &'a Scene,
    browser: &'a Browser,
    logins: [String; 2],
    ada: Person,
    other: Person,
    link: String,
}

impl Two<'_> {
    /// Performs the attack, and returns the person who sees the result.
    async fn go(&self, wrong: Wrong) -> Result<&Person> {
        let Self {
            scene,
            ada,
            other,
            link,
            ..
        } = self;
        let [ada_login, other_login] = &self.logins;
        match wrong {
            Wrong::OtherSignsIn => {
                other.goto(link).await?;
                assert!(!other.text().await?.contains("Airline"));
                scene.sign_in(other, other_login).await?;
                return Ok(other);
            }
            Wrong::OtherIsSignedIn => {
                scene.visit(other, other_login).await?;
                other.goto(link).await?;
                return Ok(other);
            }
            Wrong::Edited => {
                scene.visit(ada, ada_login).await?;
                let (rest, last) = link.split_at(link.len() - 1);
                let edited = if last == "0" { "1" } else { "0" };
                ada.goto(&format!("{rest}{edited}")).await?;
                return Ok(ada);
            }
            _ => scene.visit(ada, ada_login).await?,
        }
        let own = match wrong {
            // Her own response would be an additional one.
            Wrong::Injected => None,
            _ => Some(scene.callback(ada, link, ada_login).await?),
        };
        let own = own.unwrap_or_default();
        let (to, url) = match wrong {
            Wrong::PastedToOther => {
                scene.visit(other, other_login).await?;
                (other, own)
            }
            Wrong::PastedToNobody => (other, own),
            Wrong::Injected => (ada, self.of_other().await?),
            Wrong::CodeOfOther => (
                ada,
                with(&own, "code", &value(&self.of_other().await?, "code")?)?,
            ),
            Wrong::StateOfOther => (
                ada,
                with(&own, "state", &value(&self.of_other().await?, "state")?)?,
            ),
            Wrong::IssOfOther => (ada, with(&own, "iss", &scene.issuer.name)?),
            Wrong::WithoutIss => (ada, without(&own, "iss")?),
            _ => (ada, format!("{own}&state=x")),
        };
        to.goto(&url).await?;
        Ok(to)
    }

    async fn of_other(&self) -> Result<String> {
        let Self {
            scene,
            browser,
            other,
            ..
        } = self;
        let [_, login] = &self.logins;
        let mut call = scene
            .call(browser, login, V2026_07_28, false, "my_miles")
            .await?;
        let link = call.link().await?;
        call.said.abort();
        scene.visit(other, login).await?;
        scene.callback(other, &link, login).await
    }
}

fn value(url: &str, name: &str) -> Result<String> {
    let url = Url::parse(url)?;
    let mut found = url.query_pairs().filter(|(key, _)| key == name);
    let (_, value) = found
        .next()
        .ok_or_else(|| format!("there is no {name} in {url}"))?;
    Ok(value.into_owned())
}

fn without(url: &str, name: &str) -> Result<String> {
    let url = Url::parse(url)?;
    let mut changed = url.clone();
    let rest = url.query_pairs().filter(|(key, _)| key != name);
    changed.query_pairs_mut().clear().extend_pairs(rest);
    assert_ne!(changed, url, "there is no {name}");
    Ok(changed.into())
}

fn with(url: &str, name: &str, value: &str) -> Result<String> {
    let mut changed = Url::parse(&without(url, name)?)?;
    changed.query_pairs_mut().append_pair(name, value);
    Ok(changed.into())
}

/// Asks two users, performs the attack, and then lets Ada connect properly.
async fn check(browser: &Browser, scene: &Scene, number: usize, case: &Case) -> Result<()> {
    let &(wrong, status, text, told) = case;
    let logins = [format!("ada{number}"), format!("mallory{number}")];
    let [ada_login, other_login] = &logins;
    let mut call = scene
        .call(browser, ada_login, V2026_07_28, false, "my_miles")
        .await?;
    let two = Two {
        scene,
        browser,
        ada: browser.person(ada_login).await?,
        other: browser.person(other_login).await?,
        link: call.link().await?,
        logins: logins.clone(),
    };
    let seen = two.go(wrong).await?;
    seen.sees(text).await?;
    assert_eq!(seen.answer().await?.status, status, "{wrong:?}");
    let page = seen.text().await?;
    let page = page.split("Signed in as").next().unwrap_or_default();
    for login in &logins {
        assert!(!page.contains(login.as_str()), "{wrong:?}: {page}");
        assert_eq!(scene.accounts(login).await?, [""; 0], "{wrong:?}: {login}");
    }
    let refused = |it: &AuditEvent| [WrongPerson, CallbackRefused].contains(it);
    let (of_ada, of_other) = match told {
        TellOutcome::Ada(event) => (Some(event), None),
        TellOutcome::Other(event) => (None, Some(event)),
        TellOutcome::Both(event) => (Some(event), Some(event)),
        TellOutcome::Nobody => (None, None),
    };
    for (login, event) in [(ada_login, of_ada), (other_login, of_other)] {
        let events = scene.events(login).await?;
        let refusals: Vec<_> = events.iter().copied().filter(refused).collect();
        assert_eq!(refusals, event.as_slice(), "{wrong:?}: {login}: {events:?}");
    }
    // Then Ada connects in a fresh browser.
    let right = browser.person(ada_login).await?;
    scene.connect(&right, &two.link, ada_login).await?;
    assert_eq!(call.json().await?["person"], ada_login.as_str());
    assert_eq!(scene.accounts(ada_login).await?, [ada_login.as_str()]);
    assert_eq!(scene.accounts(other_login).await?, [""; 0]);
    Ok(())
}

async fn check_all(plan: Plan) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = Scene::set(plan).await? else {
        return Ok(());
    };
    for (number, case) in CASES.iter().enumerate() {
        let checked = check(browser, &scene, number, case).await;
        checked.map_err(|error| format!("{:?}: {error}", case.0))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_gives_no_user_another_users_account() -> Result<()> {
    check_all(Plan::new("hands-oidc-provider", Maker::OidcProvider)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_gives_no_user_another_users_account() -> Result<()> {
    check_all(Plan::new("hands-authlib", Maker::Authlib)).await
}

/// A used link and a used response do nothing.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_used_twice() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = Scene::set(Plan::new("twice", Maker::OidcProvider)).await? else {
        return Ok(());
    };
    let mut call = scene
        .call(browser, "ada", V2026_07_28, false, "my_miles")
        .await?;
    let link = call.link().await?;
    let ada = browser.person("ada").await?;
    scene.visit(&ada, "ada").await?;
    let answer = scene.callback(&ada, &link, "ada").await?;
    ada.goto(&answer).await?;
    ada.sees("Airline is connected").await?;
    assert_eq!(call.json().await?["person"], "ada");
    for (again, status, text) in [
        (&link, 410, "This link is over"),
        (&answer, 403, NOT_YOURS),
        (&link, 410, "This link is over"),
    ] {
        ada.goto(again).await?;
        ada.sees(text).await?;
        assert_eq!(ada.answer().await?.status, status, "{again}");
    }
    assert_eq!(scene.accounts("ada").await?, ["ada"]);
    let exchanged = scene.third.log().await?.len();
    assert_eq!(exchanged, 1, "a code was exchanged twice");
    Ok(())
}

/// With two tabs of one browser, the link belongs to the one that was sent to the airline last.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_of_two_tabs_connects() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = Scene::set(Plan::new("tabs", Maker::Authlib)).await? else {
        return Ok(());
    };
    let mut call = scene
        .call(browser, "ada", V2026_07_28, false, "my_miles")
        .await?;
    let link = call.link().await?;
    let first = browser.person("ada").await?;
    let second = first.tab().await?;
    scene.visit(&first, "ada").await?;
    scene.agree(&first, &link).await?;
    first.arrives(&scene.third.name).await?;
    scene.agree(&second, &link).await?;
    second.arrives(&scene.third.name).await?;
    scene.allow(&first, "ada").await?;
    first.sees(NOT_YOURS).await?;
    assert_eq!(scene.accounts("ada").await?, [""; 0]);
    assert_eq!(scene.third.log().await?, []);
    scene.allow(&second, "ada").await?;
    second.sees("Airline is connected").await?;
    assert_eq!(call.json().await?["person"], "ada");
    Ok(())
}

/// Half an hour ago, Mallory signed in at the issuer in Ada's browser, and now sends her his own link. The user at that
/// browser must sign in again first, and the page shows their name.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_session_of_another_user_is_not_enough() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    for (name, behind, is_asked) in [("old-session", 1800, true), ("new-session", 60, false)] {
        let plan = Plan {
            behind,
            ..Plan::new(name, Maker::OidcProvider)
        };
        let Some(scene) = Scene::set(plan).await? else {
            return Ok(());
        };
        let ada = browser.person("ada").await?;
        // Without ending the issuer's session, whose cookie remains.
        ada.bar(&format!("{}/signed-in", scene.pages)).await?;
        ada.goto(&format!("{}/accounts", scene.pages)).await?;
        ada.click("button", "Sign in").await?;
        Maker::OidcProvider.sign_in(&ada, "mallory").await?;
        Maker::OidcProvider.agree(&ada).await?;
        ada.barred().await?;
        ada.unbar().await?;
        scene.issuer.catch_up().await?;

        let mut call = scene
            .call(browser, "mallory", V2026_07_28, false, "my_miles")
            .await?;
        let link = call.link().await?;
        call.said.abort();
        ada.goto(&link).await?;
        ada.click("button", "Sign in").await?;
        if is_asked {
            Maker::OidcProvider.sign_in(&ada, "ada").await?;
            Maker::OidcProvider.agree(&ada).await?;
            ada.sees(NOT_YOURS).await?;
            ada.sees("Signed in as ada").await?;
            assert_eq!(scene.events("ada").await?, [WrongPerson]);
        } else {
            ada.sees("Signed in as mallory").await?;
            ada.sees("wants to use Airline for you, mallory").await?;
        }
        for login in ["ada", "mallory"] {
            assert_eq!(scene.accounts(login).await?, [""; 0]);
        }
    }
    Ok(())
}
