//! The calls in which processes die, and what the person answers.

use std::time::Duration;

use askback::{
    Ctx, Form, Result,
    protocol::{CreateMessageParams, PromptMessage},
};
use serde_json::{Value, json};

use super::fate::{FATE, danger};

/// The calls that are tried: the method, its parameters, and the text of the result.
pub(super) const CALLS: [(&str, &str, &str); 7] = [
    ("tools/call", "book", "booked for Ada as 7"),
    ("tools/call", "both", "Ada and Grace as 7"),
    ("tools/call", "late", "too late, noted as 7"),
    ("tools/call", "slow", "Ada took 25 s"),
    ("tools/call", "samples", "Hi"),
    ("prompts/get", "greet", "Hello Ada!"),
    ("resources/read", "note://asks", "Of Ada."),
];

#[derive(Form)]
struct Who {
    /// Your name.
    name: String,
}

pub(super) async fn ask(ctx: &Ctx, words: &str) -> Result<String> {
    let who: Who = ctx.elicit(words).await?.accepted()?;
    danger().await;
    Ok(who.name)
}

pub(super) async fn commit(ctx: &Ctx) -> Result<u32> {
    let effect = || async {
        danger().await;
        FATE.with(|fate| fate.effects.set(fate.effects.get() + 1));
        danger().await;
        Ok(7)
    };
    ctx.commit("book", effect).await
}

pub(super) async fn book(ctx: Ctx) -> Result<String> {
    let price = || async {
        danger().await;
        Ok(42)
    };
    let price: u32 = ctx.run("price", price).await?;
    danger().await;
    let name = ask(&ctx, &format!("It costs {price}. Who travels?")).await?;
    if !ctx.confirm(format!("Book for {name}?")).await? {
        return Ok("nothing".into());
    }
    Ok(format!("booked for {name} as {}", commit(&ctx).await?))
}

pub(super) async fn both(ctx: Ctx) -> Result<String> {
    let (a, b) = tokio::join!(ask(&ctx, "The first?"), ask(&ctx, "Or Grace?"));
    Ok(format!("{} and {} as {}", a?, b?, commit(&ctx).await?))
}

pub(super) async fn late(ctx: Ctx) -> Result<String> {
    let asked = ctx.elicit::<Who>("Never answered");
    let said = ctx.timeout(Duration::from_secs(30), asked).await;
    assert!(said.is_err(), "it was answered");
    Ok(format!("too late, noted as {}", commit(&ctx).await?))
}

pub(super) async fn slow(ctx: Ctx) -> Result<String> {
    let name = ask(&ctx, "Who?").await?;
    let took = || async {
        // Longer than a lease.
        tokio::time::sleep(Duration::from_secs(25)).await;
        danger().await;
        Ok(25)
    };
    let took: u32 = ctx.run("work", took).await?;
    Ok(format!("{name} took {took} s"))
}

pub(super) async fn samples(ctx: Ctx) -> Result<String> {
    let said = ctx.sample(CreateMessageParams::new("Say hi.", 9)).await?;
    Ok(said.content.text())
}

pub(super) async fn greet(ctx: Ctx) -> Result<PromptMessage> {
    let name = ask(&ctx, "Who is greeted?").await?;
    Ok(PromptMessage::user(format!("Hello {name}!")))
}

pub(super) async fn note(ctx: Ctx) -> Result<String> {
    Ok(format!("Of {}.", ask(&ctx, "Whose note?").await?))
}

/// The person's answer to a question; none to one that they leave.
pub(super) fn reply(question: &Value) -> Option<Value> {
    let params = &question["params"];
    if question["method"] == "sampling/createMessage" {
        let content = json!({"type": "text", "text": "Hi"});
        return Some(json!({"role": "assistant", "model": "m", "content": content}));
    }
    let words = params["message"].as_str().expect("words");
    let fields = params["requestedSchema"]["properties"].as_object();
    let field = fields
        .and_then(|fields| fields.keys().next())
        .expect("a field");
    let value = match field.as_str() {
        "name" if words.contains("Grace") => json!("Grace"),
        "name" => json!("Ada"),
        _ => json!(true),
    };
    let content = json!({ field: value });
    (!words.starts_with("Never")).then(|| json!({"action": "accept", "content": content}))
}
