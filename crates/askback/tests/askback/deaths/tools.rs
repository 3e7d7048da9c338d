//! The calls during which processes die, and the user's answers.

use std::time::Duration;

use askback::{
    Ctx, Form, Result,
    protocol::{CreateMessageParams, PromptMessage},
};
use serde_json::{Value, json};

use super::fate::{FATE, danger};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Session,
    Rounds,
    Task,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) way: Way,
    pub(super) method: &'static str,
    /// The name of the tool or prompt, or the URI.
    name: &'static str,
    arguments: &'static str,
    pub(super) says: &'static str,
    pub(super) commits: u32,
}

impl Call {
    const fn new(way: Way, method: &'static str, name: &'static str) -> Self {
        Self {
            way,
            method,
            name,
            arguments: "{}",
            says: "",
            commits: 0,
        }
    }

    const fn tool(way: Way, name: &'static str) -> Self {
        Self::new(way, "tools/call", name)
    }

    const fn with(mut self, arguments: &'static str) -> Self {
        self.arguments = arguments;
        self
    }

    const fn says(mut self, says: &'static str) -> Self {
        self.says = says;
        self
    }

    const fn commits(mut self) -> Self {
        self.commits = 1;
        self
    }

    pub(super) fn params(&self) -> Value {
        let arguments: Value = serde_json::from_str(self.arguments).expect("JSON");
        match self.method {
            "resources/read" => json!({"uri": self.name}),
            _ => json!({"name": self.name, "arguments": arguments}),
        }
    }

    /// Whether the call ends with an error if its process dies while it works.
    pub(super) fn ends_with_its_process(&self) -> bool {
        self.way == Way::Task && self.name == "slow"
    }
}

const TRIP: &str = r#"{"destination": "Lisbon", "depart": "2027-06-15"}"#;
const PLACE: &str = r#"{"destination": "Lisbon"}"#;
const SEARCH: &str = r#"{"destination": "Lisbon", "month": "june", "wishes": "Sun."}"#;

pub(super) fn calls() -> Vec<Call> {
    let mut calls = vec![
        Call::tool(Way::Task, "book")
            .says("booked for Ada as 7")
            .commits(),
        Call::tool(Way::Task, "both")
            .says("Ada and Grace as 7")
            .commits(),
        Call::tool(Way::Task, "slow").says("Ada took 25 s"),
        Call::tool(Way::Task, "slow_durably").says("Ada took 25 s"),
    ];
    for way in [Way::Session, Way::Rounds] {
        calls.extend([
            Call::tool(way, "book_holiday")
                .with(TRIP)
                .says("Booked: Lisbon")
                .commits(),
            Call::tool(way, "tailor_trip")
                .with(PLACE)
                .says("A trip to Lisbon"),
            Call::tool(way, "find_best_flight")
                .with(SEARCH)
                .says("the model (m)"),
            Call::tool(way, "book")
                .says("booked for Ada as 7")
                .commits(),
            Call::tool(way, "both").says("Ada and Grace as 7").commits(),
            Call::tool(way, "late")
                .says("too late, noted as 7")
                .commits(),
            Call::tool(way, "slow").says("Ada took 25 s"),
            Call::tool(way, "samples").says("Hi"),
            Call::new(way, "prompts/get", "greet").says("Hello Ada!"),
            Call::new(way, "resources/read", "note://asks").says("Of Ada."),
        ]);
    }
    calls
}

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

/// The user's answer to a question, or `None` if the user does not answer.
pub(super) fn reply(question: &Value) -> Option<Value> {
    let params = &question["params"];
    if question["method"] == "sampling/createMessage" {
        let content = json!({"type": "text", "text": "Hi"});
        return Some(json!({"role": "assistant", "model": "m", "content": content}));
    }
    let words = params["message"].as_str().expect("words");
    let content = match words {
        _ if words.contains("Shall we book?") => json!({"confirm_booking": true}),
        _ if words.starts_with("Who is travelling?") => {
            json!({"name": "Ada", "email": "ada@example.com"})
        }
        _ if words.starts_with("How would you like") => json!({
            "name": "Our trip", "email": "ada@example.com", "depart": "2027-06-15", "budget": 150,
            "travellers": 2, "meals": "breakfast", "interests": ["food"], "extras": [],
        }),
        _ if words.contains("Grace") => json!({"name": "Grace"}),
        _ if words.starts_with("Book for") => json!({first_field(params): true}),
        _ => json!({"name": "Ada"}),
    };
    (!words.starts_with("Never")).then(|| json!({"action": "accept", "content": content}))
}

fn first_field(params: &Value) -> &str {
    let fields = params["requestedSchema"]["properties"].as_object();
    fields
        .and_then(|fields| fields.keys().next())
        .expect("a field")
}
