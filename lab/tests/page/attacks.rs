//! Other sites and a hostile server cannot do anything on the page.

use axum::{Router, response::Html, routing::get};
use lab::browser::{Browser, Means};
use tokio::net::TcpListener;

use crate::{Result, stage::Stage};

const SERVER: &[&str] = &[env!("CARGO_BIN_EXE_page-server")];

/// Serves pages of another site. Returns its port.
async fn other_site(page: String) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let site = Router::new().fallback(get(async move || Html(page)));
    tokio::spawn(async move { axum::serve(listener, site).await });
    Ok(port)
}

#[tokio::test]
async fn a_page_of_another_site_does_nothing() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let mut stage = Stage::open_server(&browser, Means::default(), SERVER, &[]).await?;
    stage.enter("/call seat").await?;
    stage.person.sees("Which seat?").await?;
    stage.person.usable("button", "decline…").await?;
    let source = stage.person.source().await?;
    let token = source.split_once("name=\"token\" value=\"");
    let token = token.and_then(|(_, rest)| rest.split('"').next());
    let token = token.ok_or("the page has no token")?;
    let visit = stage.person.url().await?;
    let visit = visit.split('#').next().unwrap_or_default();
    let link = &stage.link;
    let body = format!("token={token}&act=decline");
    let attacks = [
        format!(
            "<form method=post action={visit}say><input name=token value={token}>\
             <input name=act value=decline></form><script>document.forms[0].submit()</script>"
        ),
        format!(
            "<script>fetch('{visit}say', {{method: 'POST', mode: 'no-cors', credentials: 'include', \
             body: new URLSearchParams('{body}')}})</script>"
        ),
        format!("<script>fetch('{visit}', {{mode: 'no-cors', credentials: 'include'}})</script>"),
        format!("<script>new EventSource('{visit}live', {{withCredentials: true}})</script>"),
        format!("<iframe src='{visit}'></iframe>"),
        format!("<script src='{visit}page.js'></script>"),
        format!("<meta http-equiv=refresh content='0;url={visit}'>"),
        format!("<meta http-equiv=refresh content='0;url={link}'>"),
    ];
    // An address of the same site, and one of another site.
    for host in ["127.0.0.1", "evil.localhost"] {
        for attack in &attacks {
            let port = other_site(attack.clone()).await?;
            let tab = stage.person.tab().await?;
            tab.goto(&format!("http://{host}:{port}/")).await?;
            let origin = visit.split("/v/").next().unwrap_or_default();
            let requests = loop {
                let requests = tab.requests().await?;
                // The stylesheet is public.
                let is_ours = |url: &str| url.starts_with(origin) && !url.ends_with(".css");
                let ours = requests.into_iter();
                let ours: Vec<_> = ours.filter(|request| is_ours(&request.url)).collect();
                if !ours.is_empty() {
                    break ours;
                }
            };
            for request in requests {
                let is_refused = request.status.is_none_or(|status| status >= 400);
                assert!(is_refused, "{host} {attack}: {request:#?}");
            }
        }
    }
    stage.person.reload().await?;
    stage.person.sees("Which seat?").await?;
    stage.person.usable("button", "decline…").await?;
    stage.person.click("button", "decline…").await?;
    stage.person.sees("Why not?").await?;
    Ok(())
}

#[tokio::test]
async fn a_link_lets_no_second_browser_in() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let stage = Stage::open_server(&browser, Means::default(), SERVER, &[]).await?;
    stage.person.sees("No question").await?;
    let visit = stage.person.url().await?;
    let other = browser.person("other").await?;
    for url in [&stage.link, &visit] {
        other.goto(url).await?;
        assert_eq!(other.answer().await?.status, 404, "{url}");
        other.sees("There is nothing here").await?;
    }
    assert_eq!(other.cookies().await?, []);
    let cookies = stage.person.cookies().await?;
    let [cookie] = &cookies[..] else {
        return Err(format!("{cookies:?}").into());
    };
    assert!(
        cookie.http_only && visit.ends_with(&cookie.path),
        "{cookie:?}"
    );
    assert_eq!(cookie.same_site, "Strict");
    Ok(())
}

#[tokio::test]
async fn markup_in_the_texts_of_a_server_is_shown_as_text() -> Result<()> {
    let Some(browser) = Browser::start().await? else {
        return Ok(());
    };
    let mut stage = Stage::open_server(&browser, Means::default(), SERVER, &[]).await?;
    stage.enter("/call markup").await?;
    stage.person.sees("<script>document.title='taken'").await?;
    stage.person.usable("button", "review").await?;
    stage.look("markup-form").await?;
    stage.person.click("button", "review").await?;
    stage.person.sees("Ready to send").await?;
    stage.look("markup-review").await?;
    stage.person.click("button", "Send").await?;
    stage.person.sees("No question").await?;
    stage.look("markup-result").await?;
    assert_eq!(stage.person.title().await?, "askback");
    Ok(())
}
