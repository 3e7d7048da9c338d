//! Tests the browser with prepared pages.

use std::{fs, path::Path};

use lab::browser::{Browser, Means, Stop, Violation};

use crate::{
    Result, browser,
    site::{Page, Site},
};

const STRICT: &[(&str, &str)] = &[("content-security-policy", "default-src 'none'")];

const STYLED: &[(&str, &str)] = &[(
    "content-security-policy",
    "default-src 'none'; style-src 'unsafe-inline'",
)];

const GOOD: &str = r#"<!doctype html><html lang="en"><title>Miles</title>
    <main><h1>Your miles</h1><p>You have 7 miles.</p>
    <form><label>Card <input name="card"></label> <button>Look</button></form></main></html>"#;

const PAGES: &[Page] = &[
    Page::at("/good", GOOD).with(STRICT),
    Page::at(
        "/faulty",
        r#"<!doctype html><html><title>Miles</title><main><h1>Miles</h1>
        <p style="color: #ccc; background: #fff">grey</p><input name="card"></main></html>"#,
    )
    .with(STYLED),
    Page::at(
        "/greedy",
        r#"<!doctype html><html lang="en"><title>Greedy</title>
        <main><h1>Hello</h1><img src="http://third.example/pixel.png" alt=""><script>1</script></main></html>"#,
    )
    .with(STRICT),
    Page::at(
        "/lax",
        r#"<!doctype html><html lang="en"><title>Lax</title>
        <main><h1>Hello</h1><img src="http://third.example/pixel.png" alt="">
        <script>throw new Error("planted")</script></main></html>"#,
    ),
    Page::at(
        "/form",
        r#"<!doctype html><html lang="en"><title>Form</title><style>.bare:focus { outline: none }</style>
        <main><h1>Card</h1><a href="/good">Back</a>
        <form action="/taken"><label>Card <input name="card"></label>
        <button name="choice" value="yes">Take</button> <button class="bare" type="button">Wait</button>
        <button disabled>Never</button></form></main></html>"#,
    ),
    Page::at("/taken", GOOD),
    Page::at("/cookie", GOOD).with(&[
        ("set-cookie", "who=me; Path=/; HttpOnly; SameSite=Strict"),
        ("set-cookie", "other=1"),
    ]),
    Page {
        status: 303,
        ..Page::at("/moved", "").with(&[("location", "/gone")])
    },
    Page {
        status: 410,
        ..Page::at("/gone", "<!doctype html><title>Gone</title>").with(&[("x-reason", "sold out")])
    },
    Page::at(
        "/means",
        r#"<!doctype html><html lang="en"><title>Means</title>
        <meta name="viewport" content="width=device-width">
        <style>p { display: none }
        @media (max-width: 500px) { .phone { display: block } }
        @media (prefers-color-scheme: dark) { .dark { display: block } }</style>
        <p class="phone">phone</p><p class="dark">dark</p><noscript>scriptless</noscript></html>"#,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_what_is_planted_and_nothing_else() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let person = browser.person("ada").await?;
    for (path, wanted) in [
        ("/good", &[][..]),
        ("/faulty", &["color-contrast", "html-has-lang", "label"]),
    ] {
        person.goto(&format!("{}{path}", site.url)).await?;
        let faults = person.faults().await?;
        let mut rules: Vec<_> = faults.iter().map(|fault| fault.rule.as_str()).collect();
        rules.sort_unstable();
        assert_eq!(rules, wanted, "{path}: {faults:#?}");
    }
    // The policies do not affect axe.
    assert_eq!(person.violations().await?, []);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_policy_refuses_is_seen() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let person = browser.person("ada").await?;
    person.goto(&format!("{}/good", site.url)).await?;
    assert_eq!(person.violations().await?, []);
    assert_eq!(person.errors().await?, [""; 0]);
    person.goto(&format!("{}/greedy", site.url)).await?;
    let refused = |directive: &str, blocked: &str| Violation {
        directive: directive.to_owned(),
        blocked: blocked.to_owned(),
    };
    let mut violations = person.violations().await?;
    violations.sort_by(|one, other| one.directive.cmp(&other.directive));
    let wanted = [
        refused("img-src", "http://third.example/pixel.png"),
        refused("script-src-elem", "inline"),
    ];
    assert_eq!(violations, wanted);
    Ok(())
}

/// If a page requests something from another site, the request is recorded, but nothing leaves the machine.
#[tokio::test(flavor = "multi_thread")]
async fn requests_and_errors_are_seen() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let person = browser.person("ada").await?;
    person.goto(&format!("{}/lax", site.url)).await?;
    let requests = person.requests().await?;
    let [page, pixel] = &requests[..] else {
        return Err(format!("{requests:#?}").into());
    };
    assert_eq!((page.kind.as_str(), page.status), ("document", Some(200)));
    assert_eq!(pixel.url, "http://third.example/pixel.png");
    assert_eq!((pixel.kind.as_str(), pixel.status), ("image", None));
    assert_eq!(person.violations().await?, []);
    let errors = person.errors().await?;
    assert!(errors.iter().any(|it| it.contains("planted")), "{errors:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn redirections_lead_to_the_answer() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let person = browser.person("ada").await?;
    let nothing = person.answer().await.map_err(|error| error.to_string());
    assert!(nothing.is_err_and(|it| it.contains("ada was to answer") && it.contains("no page")));
    person.goto(&format!("{}/moved", site.url)).await?;
    let answer = person.answer().await?;
    assert_eq!(answer.status, 410);
    assert_eq!(answer.url, format!("{}/gone", site.url));
    assert_eq!(person.url().await?, answer.url);
    assert_eq!(person.title().await?, "Gone");
    let reason = ("x-reason".to_owned(), "sold out".to_owned());
    assert!(answer.headers.contains(&reason), "{answer:?}");
    let requests = person.requests().await?;
    let statuses: Vec<_> = requests.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [Some(303), Some(410)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_persons_have_cookies_of_their_own() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let (ada, grace) = (browser.person("ada").await?, browser.person("grace").await?);
    ada.goto(&format!("{}/cookie", site.url)).await?;
    for person in [&ada, &grace] {
        person.goto(&format!("{}/good", site.url)).await?;
    }
    let mut cookies = ada.cookies().await?;
    cookies.sort_by(|one, other| one.name.cmp(&other.name));
    let [other, who] = &cookies[..] else {
        return Err(format!("{cookies:?}").into());
    };
    assert_eq!((who.name.as_str(), who.value.as_str()), ("who", "me"));
    assert!(who.http_only && who.same_site == "Strict" && !who.secure);
    assert!(!other.http_only && other.same_site == "Lax");
    assert_eq!(grace.cookies().await?, []);
    let sent: Vec<_> = site
        .visits("/good")
        .iter()
        .map(|visit| visit.headers.contains_key("cookie"))
        .collect();
    assert_eq!(sent, [true, false]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_reaches_what_can_be_used() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let person = browser.person("ada").await?;
    person.goto(&format!("{}/form", site.url)).await?;
    let stop = |role: &str, name: &str, visible| Stop {
        role: role.to_owned(),
        name: name.to_owned(),
        visible,
    };
    let wanted = [
        stop("link", "Back", true),
        stop("textbox", "Card", true),
        stop("button", "Take", true),
        stop("button", "Wait", false),
    ];
    assert_eq!(person.walk().await?, wanted);
    // Again from the top, and then to the end without a mouse.
    assert_eq!(person.walk().await?, wanted);
    person.fill("Card", "").await?;
    person.types("777").await?;
    person.press("Tab").await?;
    person.press("Enter").await?;
    person.arrives(&format!("{}/taken", site.url)).await?;
    person.sees("You have 7 miles.").await?;
    let query = site.visits("/taken").first().map(|visit| visit.query());
    let query = query.ok_or("nothing was taken")?;
    assert_eq!(
        (&query["card"], &query["choice"]),
        (&"777".to_owned(), &"yes".to_owned())
    );
    // With a mouse, too.
    person.back().await?;
    person.fill("Card", "778").await?;
    person.click("button", "Take").await?;
    assert_eq!(person.title().await?, "Miles");
    assert_eq!(site.visits("/taken").len(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_stays_open_while_a_person_uses_it() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let person = browser.person("ada").await?;
    drop(browser);
    person.goto(&format!("{}/good", site.url)).await?;
    assert_eq!(person.title().await?, "Miles");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn persons_look_by_their_means() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    for (phone, dark, scriptless, wanted) in [
        (false, false, false, &[][..]),
        (true, false, false, &["phone"]),
        (false, true, false, &["dark"]),
        (true, true, true, &["phone", "dark", "scriptless"]),
    ] {
        let means = Means {
            phone,
            zoomed: false,
            dark,
            scriptless,
        };
        let person = browser.person_with("ada", means).await?;
        person.goto(&format!("{}/means", site.url)).await?;
        let text = person.text().await?;
        let seen: Vec<_> = text.split_whitespace().collect();
        assert_eq!(seen, wanted, "{means:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_drawn_into_a_file() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let site = Site::start(PAGES).await?;
    let person = browser.person("ada").await?;
    person.goto(&format!("{}/good", site.url)).await?;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("good.png");
    person.screenshot(&file).await?;
    assert!(fs::read(&file)?.starts_with(b"\x89PNG"));
    assert!(person.source().await?.contains("<h1>Your miles</h1>"));
    Ok(())
}
