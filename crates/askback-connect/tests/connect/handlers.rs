//! Handlers in `askback::testing`, with a vault in memory.

use std::sync::Arc;

use askback::{
    Ctx, Limits, Result, Revision, Server, ServerBuilder, Tool,
    testing::{self, Person},
};
use askback_connect::{
    ConnectExt, Connections,
    providers::{Providers, ThirdParty},
    vault::{Grant, LocalKeys, SqliteVault, Vault, VaultSettings},
};
use askback_core::{
    ask::keys::{Key, KeyRing},
    auth::Scopes,
};
use askback_oauth::{Fetcher, Reach, RegisteredClient, Route, Secret};
use serde_json::json;

async fn whose(ctx: Ctx) -> Result<String> {
    let github = ctx.connect("github").scopes(["repo"]).await?;
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

/// Pages whose vault has this account at GitHub.
async fn kit(account: Option<&str>) -> Connections {
    let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default());
    let github = ThirdParty::github(RegisteredClient::new("c"));
    let providers = Providers::new(fetcher.expect("HTTP")).with(github.expect("a preset"));
    let store = Arc::new(SqliteVault::in_memory().expect("a store"));
    let keys = LocalKeys::new(KeyRing::new(Key::new(&[7; 32])));
    let vault = Vault::open(store, Arc::new(keys), VaultSettings::default()).await;
    let vault = vault.expect("a vault");
    if let Some(account) = account {
        let granted = Grant::tokens(Secret::new("canary"), None);
        let granted = granted.scopes(Scopes::parse("repo").expect("scopes"));
        let user = Connections::user_of_this_machine();
        let put = vault.put(&user, "github", account, granted).await;
        put.expect("an account");
    }
    let providers = providers.expect("a name");
    let kit = Connections::on_this_machine("http://127.0.0.1:4000", vault, providers);
    kit.build().expect("a kit")
}

fn server(kit: &Connections) -> ServerBuilder {
    Server::new("tools", "1")
        .state(kit.clone())
        .tool(Tool::new("whose", whose))
        .tool(Tool::new("hidden", hidden))
        .tool(Tool::new("unnamed", unnamed))
        .tool(Tool::new("key", key))
        .tool(Tool::new("pay", pay))
}

#[tokio::test(start_paused = true)]
async fn an_account_of_the_vault_is_used_in_every_revision() {
    let kit = kit(Some("octocat")).await;
    let trial = testing::call(move || server(&kit), "whose", json!({}));
    let report = trial.in_every_revision().await;
    let run = report.assert_same();
    assert_eq!(run.text(), "octocat");
    assert!(run.questions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_handler_hears_of_a_no_and_of_a_page_that_is_not_finished() {
    for revision in [Revision::V2026_07_28, Revision::V2025_11_25] {
        for (tool, question) in [
            ("whose", "connect_github"),
            ("key", "connect_stripe_key"),
            ("pay", "connect_page"),
        ] {
            for (person, says) in [
                (Person::new().decline(question), "the person declined"),
                (Person::new().agree(question), "in time"),
            ] {
                let kit = kit(None).await;
                let trial = testing::call(move || server(&kit), tool, json!({}));
                let text = trial.with(person).in_revision(revision).await.text();
                assert!(text.contains(says), "{tool} {revision}: {text}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_shown_is_not_asked_for() {
    for (tool, says) in [
        ("hidden", "no GitHub account has this name"),
        ("unnamed", "The server failed"),
    ] {
        let kit = kit(None).await;
        let trial = testing::call(move || server(&kit), tool, json!({}));
        let run = trial.in_revision(Revision::V2026_07_28).await;
        assert!(run.text().contains(says), "{}", run.text());
        assert!(run.questions.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_connections_says_so() {
    let server = || Server::new("tools", "1").tool(Tool::new("pay", pay));
    let run = testing::call(server, "pay", json!({}));
    let text = run.in_revision(Revision::V2026_07_28).await.text();
    let missing = "the server has no askback_connect::connections::Connections";
    assert!(text.contains(missing), "{text}");
}
