use askback::{
    Ctx, Limits, Principal, Result, Revision, Server, ServerBuilder, Tool,
    testing::{self, Fixture, Person},
};
use askback_connect::{
    ConnectExt, Connections,
    providers::{Providers, ThirdParty},
    testing::ScriptedPages,
};
use askback_oauth::{Fetcher, Reach, RegisteredClient, Route, Secret};
use serde_json::json;

async fn whose(ctx: Ctx) -> Result<String> {
    let github = ctx.connect("github").scopes(["repo"]).await?;
    let credential = github.credential().await?;
    let (account, scopes) = (&credential.account.account, &credential.scopes);
    let secret = credential.secret.expose();
    Ok(format!("{account} may {scopes} with {secret}"))
}

async fn bobs(ctx: Ctx) -> Result<String> {
    let github = ctx.connect("github").account("bob").await?;
    github.account().await
}

async fn hidden(ctx: Ctx) -> Result<String> {
    let github = ctx.connect("github").account("bob\u{202e}").await?;
    github.account().await
}

async fn unnamed(ctx: Ctx) -> Result<String> {
    let secret = ctx.ask_secret(" ").await?;
    Ok(secret.expose().to_owned())
}

async fn key(ctx: Ctx) -> Result<String> {
    let key = ctx.ask_secret("stripe_key").await?;
    Ok(key.expose().to_owned())
}

async fn pay(ctx: Ctx) -> Result<String> {
    ctx.ask_page("Pay.", "/deposit?order=7").await?;
    Ok("paid".to_owned())
}

fn pages() -> ScriptedPages {
    let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default());
    let github = ThirdParty::github(RegisteredClient::new("c"));
    let providers = Providers::new(fetcher.expect("HTTP")).with(github.expect("a preset"));
    ScriptedPages::new(providers.expect("a name"))
}

fn server(pages: &Connections) -> ServerBuilder {
    Server::new("tools", "1")
        .state(pages.clone())
        .tool(Tool::new("whose", whose))
        .tool(Tool::new("bobs", bobs))
        .tool(Tool::new("hidden", hidden))
        .tool(Tool::new("unnamed", unnamed))
        .tool(Tool::new("key", key))
        .tool(Tool::new("pay", pay))
}

/// Checks a tool's result if the user opens the link with this key, or declines it.
async fn check(
    pages: impl Fn() -> ScriptedPages,
    tool: &'static str,
    key: &'static str,
    agrees: bool,
    says: &str,
) {
    for (revision, caller) in [
        (Revision::V2026_07_28, None),
        (Revision::V2025_11_25, None),
        (Revision::V2026_07_28, Some(Principal::new("ada"))),
    ] {
        let pages = pages().build().expect("a kit");
        let server = move || server(&pages);
        let person = match agrees {
            true => Person::new().agree(key),
            false => Person::new().decline(key),
        };
        let mut trial = testing::call(server, tool, json!({})).with(person);
        if let Some(caller) = caller {
            trial = trial.as_principal(caller);
        }
        let text = trial.in_revision(revision).await.text();
        assert!(text.contains(says), "{revision}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_has_what_the_person_gives_on_the_page() {
    let connects = || pages().connects("github", "octocat", Secret::new("canary"));
    let says = "octocat may repo with canary";
    check(connects, "whose", "connect_github", true, says).await;
    let enters = || pages().enters("stripe_key", Secret::new("sk-7"));
    check(enters, "key", "connect_stripe_key", true, "sk-7").await;
    let finishes = || pages().finishes("/deposit?order=7");
    check(finishes, "pay", "connect_page", true, "paid").await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_hears_of_a_no() {
    let says = "the person declined";
    let declines = || pages().declines("github");
    check(declines, "whose", "connect_github", true, says).await;
    let declines = || pages().declines("stripe_key");
    check(declines, "key", "connect_stripe_key", true, says).await;
    let declines = || pages().declines("/deposit?order=7");
    check(declines, "pay", "connect_page", true, says).await;
    // A user who does not open the link sees no page.
    let connects = || pages().connects("github", "octocat", Secret::new("canary"));
    check(connects, "whose", "connect_github", false, says).await;
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_not_named_is_not_finished() {
    check(pages, "pay", "connect_page", true, "in time").await;
    check(pages, "whose", "connect_github", true, "in time").await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_the_same_in_every_revision() {
    let secret = || Secret::new("canary");
    let all = move || {
        let all = pages().connects("github", "octocat", secret());
        all.build().expect("a kit")
    };
    let person = Person::new().agree("connect_github");
    let trial = Fixture::new(all, server).call("whose", json!({}));
    let report = trial.with(person).in_every_revision().await;
    let run = report.assert_same();
    assert_eq!(run.text(), "octocat may repo with canary");
    assert_eq!(run.keys(), ["connect_github"]);
    // A client that opens no links gets an error.
    let old = report.in_revision(Revision::V2025_03_26).text();
    assert!(old.contains("cannot open links"), "{old}");
}

#[tokio::test(start_paused = true)]
async fn the_account_that_is_needed_is_named() {
    let run = async |tool: &str, connected: Option<&str>| {
        let pages = match connected {
            Some(account) => pages().connects("github", account, Secret::new("canary")),
            None => pages(),
        };
        let pages = pages.build().expect("a kit");
        let person = Person::new().agree("connect_github");
        let trial = testing::call(move || server(&pages), tool, json!({})).with(person);
        trial.in_revision(Revision::V2026_07_28).await
    };
    let asked = "Connect your GitHub account, as bob.";
    let bob = run("bobs", Some("bob")).await;
    assert_eq!(
        (bob.text().as_str(), &*bob.messages()),
        ("bob", &[asked][..])
    );
    let other = run("bobs", Some("octocat")).await;
    assert_eq!(
        other.text(),
        "octocat was connected at GitHub, and bob is needed: call again, and choose bob at GitHub"
    );
    let any = run("whose", Some("octocat")).await;
    assert_eq!(any.messages(), ["Connect your GitHub account."]);
    // There is no page for a name that cannot be shown, or for a secret without a name.
    let hidden = run("hidden", None).await;
    assert!(
        hidden.text().contains("no GitHub account has this name"),
        "{}",
        hidden.text()
    );
    let unnamed = run("unnamed", None).await;
    assert!(
        unnamed.text().contains("The server failed"),
        "{}",
        unnamed.text()
    );
    assert!(hidden.questions.is_empty() && unnamed.questions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_without_connections_says_so() {
    let server = || Server::new("tools", "1").tool(Tool::new("pay", pay));
    let run = testing::call(server, "pay", json!({}));
    let text = run.in_revision(Revision::V2026_07_28).await.text();
    let missing = "the server has no askback_connect::connections::Connections";
    assert!(text.contains(missing), "{text}");
}
