//! Every page as users see it: on a wide screen in light and dark colours, and on a phone. Each page is saved as a
//! screenshot in the test folder, has no problem that axe-core finds, is fully usable with the keyboard, and loads
//! nothing from other sites.

use std::{fs, path::PathBuf};

use askback::Revision::V2026_07_28;
use lab::{
    browser::{Means, Person},
    issuers::Maker,
};
use url::Url;

use crate::{
    Result, browser,
    scene::{Plan, Scene},
};

/// A page and the elements that Tab reaches on it, without those that every page with a sign-in has.
struct Page {
    name: &'static str,
    stops: &'static [(&'static str, &'static str)],
    is_signed_in: bool,
}

const fn page(name: &'static str, stops: &'static [(&'static str, &'static str)]) -> Page {
    Page {
        name,
        stops,
        is_signed_in: true,
    }
}

const fn outside(name: &'static str, stops: &'static [(&'static str, &'static str)]) -> Page {
    Page {
        name,
        stops,
        is_signed_in: false,
    }
}

const SIGN_IN: Page = outside("sign-in", &[("button", "Sign in")]);
const TO_SIGN_IN: Page = outside("to-sign-in", &[("link", "continue to the sign-in")]);
const CONSENT: Page = page(
    "consent",
    &[("button", "Continue to Airline"), ("button", "Decline")],
);
const LEAVE: Page = page("leave", &[("link", "continue to Airline")]);
const NOT_CONNECTED: Page = page("not-connected", &[]);
const DONE: Page = page("done", &[("link", "Show my accounts")]);
const KEY_STOPS: &[(&str, &str)] = &[
    ("link", "https://pay.example/settings/keys"),
    ("textbox", "Pay key"),
    ("button", "Save"),
    ("button", "Decline"),
];
const KEY: Page = page("key", KEY_STOPS);
const KEY_PROBLEM: Page = page("key-problem", KEY_STOPS);
const SAVED: Page = page("saved", &[("link", "Show my accounts")]);
const DECLINED: Page = page("declined", &[("link", "Show my accounts")]);
const OVER: Page = page("over", &[]);
const WRONG_PERSON: Page = page("wrong-person", &[]);
const NOT_FOUND: Page = page("not-found", &[]);
const NO_ACCOUNTS: Page = page("accounts-empty", &[]);
const ACCOUNTS: Page = page(
    "accounts",
    &[
        ("button", "Disconnect Airline ada"),
        ("button", "Disconnect Pay"),
    ],
);
const SIGNED_OUT: Page = outside("signed-out", &[]);

struct Look<'a> {
    scene: &'a Scene,
    person: Person,
    way: &'static str,
    folder: PathBuf,
}

impl Look<'_> {
    async fn at(&self, page: &Page) -> Result<()> {
        let Self { person, way, .. } = self;
        let at = format!("{} {way}", page.name);
        person
            .screenshot(&self.folder.join(format!("{}-{way}.png", page.name)))
            .await?;
        let faults = person.faults().await?;
        assert!(faults.is_empty(), "{at}: {faults:#?}");
        let stops = person.walk().await?;
        assert!(stops.iter().all(|stop| stop.visible), "{at}: {stops:#?}");
        let found: Vec<_> = stops.iter().map(|it| (&*it.role, &*it.name)).collect();
        let below: &[_] = if page.is_signed_in {
            &[("button", "Sign out")]
        } else {
            &[]
        };
        assert_eq!(found, [page.stops, below].concat(), "{at}");
        assert_eq!(person.violations().await?, [], "{at}");
        let origin = Url::parse(&self.scene.pages)?.origin();
        let requests = person.requests().await?;
        let is_ours = |url: &str| Url::parse(url).is_ok_and(|url| url.origin() == origin);
        // Everything that was loaded since the page itself.
        let last = requests
            .iter()
            .rposition(|it| it.kind == "document" && is_ours(&it.url));
        let since = requests.get(last.ok_or("no page of ours was opened")?..);
        for request in since.unwrap_or_default() {
            let is_barred = request.kind == "document" && request.status.is_none();
            assert!(is_ours(&request.url) || is_barred, "{at}: {request:?}");
        }
        Ok(())
    }

    async fn goes(&self, url: &str, text: &str, page: &Page) -> Result<()> {
        self.person.goto(url).await?;
        self.sees(text, page).await
    }

    async fn clicks(&self, button: &str, text: &str, page: &Page) -> Result<()> {
        self.person.click("button", button).await?;
        self.sees(text, page).await
    }

    async fn sees(&self, text: &str, page: &Page) -> Result<()> {
        self.person.sees(text).await?;
        self.at(page).await
    }

    /// Opens a page that immediately leads to another site, and stays on it.
    async fn leaves(&self, site: &str, button: &str, page: &Page) -> Result<()> {
        self.person.bar(site).await?;
        self.person.click("button", button).await?;
        self.person.barred().await?;
        self.sees("You are going to", page).await?;
        self.person.unbar().await
    }
}

async fn check(name: &'static str, way: &'static str, means: Means) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = Scene::set(Plan::new(name, Maker::Authlib)).await? else {
        return Ok(());
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("connect-pages");
    fs::create_dir_all(&folder)?;
    let look = Look {
        scene: &scene,
        person: browser.person_with("ada", means).await?,
        way,
        folder,
    };
    let (ada, accounts) = (&look.person, format!("{}/accounts", scene.pages));
    let asked = async |login: &str, tool| -> Result<String> {
        let mut call = scene.call(browser, login, V2026_07_28, false, tool).await?;
        let link = call.link().await?;
        call.said.abort();
        Ok(link)
    };
    let (first, key) = (asked("ada", "my_miles").await?, asked("ada", "pay").await?);
    let (declined, others) = (asked("ada", "pay").await?, asked("grace", "pay").await?);

    look.goes(&first, "Sign in to go on", &SIGN_IN).await?;
    look.leaves(&scene.issuer.name, "Sign in", &TO_SIGN_IN)
        .await?;
    ada.goto(&first).await?;
    scene.sign_in(ada, "ada").await?;
    look.sees("Connect your Airline account?", &CONSENT).await?;
    look.leaves(&scene.third.name, "Continue to Airline", &LEAVE)
        .await?;
    look.goes(&accounts, "No account is connected.", &NO_ACCOUNTS)
        .await?;

    scene.agree(ada, &first).await?;
    ada.arrives(&scene.third.name).await?;
    scene.maker.refuse(ada).await?;
    look.sees("Airline says that you declined.", &NOT_CONNECTED)
        .await?;
    scene.agree(ada, &first).await?;
    scene.allow(ada, "ada").await?;
    look.sees("Airline is connected", &DONE).await?;

    look.goes(&key, "Enter your Pay key", &KEY).await?;
    look.clicks("Save", "Enter the key.", &KEY_PROBLEM).await?;
    ada.fill("Pay key", "a-key-of-Ada").await?;
    look.clicks("Save", "Saved", &SAVED).await?;
    ada.goto(&declined).await?;
    look.clicks("Decline", "Nothing was connected.", &DECLINED)
        .await?;
    look.goes(&first, "This link is over", &OVER).await?;
    look.goes(&others, "This page is not for you", &WRONG_PERSON)
        .await?;
    let nowhere = format!("{}/nowhere", scene.pages);
    look.goes(&nowhere, "There is no such page", &NOT_FOUND)
        .await?;
    look.goes(&accounts, "Connected", &ACCOUNTS).await?;
    look.clicks("Sign out", "You are signed out", &SIGNED_OUT)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_can_be_used_in_light() -> Result<()> {
    check("looks-light", "light", Means::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_can_be_used_in_dark() -> Result<()> {
    let means = Means {
        dark: true,
        ..Means::default()
    };
    check("looks-dark", "dark", means).await
}

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_can_be_used_on_a_phone() -> Result<()> {
    let means = Means {
        phone: true,
        ..Means::default()
    };
    check("looks-phone", "phone", means).await
}
