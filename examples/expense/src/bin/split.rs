//! Splits a taxi fare between the expense desks in a file such as `mcp.json`: a client of several servers that answers
//! their questions by itself.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::{env, error::Error};

use askback::{
    client::{Client, ClientBuilder, Event, HostQuestion, ServersFile},
    forms::FieldKind,
    protocol::{CreateMessageResult, ElicitFormParams, ElicitResult},
};
use serde::Deserialize;
use serde_json::{Map, json};

/// The fare, in cents.
const FARE: usize = 4200;

#[derive(Deserialize)]
struct Claim {
    number: Option<i64>,
    title: String,
    cents: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("usage: expense-split mcp.json")?;
    let file = ServersFile::read(path)?;
    let mut desks = Vec::new();
    for desk in file.names() {
        match file.server(desk)?.connect(client(desk)).await {
            Ok(client) => desks.push((desk, client)),
            Err(error) => eprintln!("{desk}: {error}"),
        }
    }
    let bill = json!({
        "purpose": "a taxi to the airport",
        "items": [{"what": "taxi", "cents": FARE / desks.len().max(1)}],
    });
    for (desk, client) in desks {
        let claim = client.call_tool("file_expenses", bill.clone()).await?;
        let claim: Claim = claim.structured()?;
        let number = claim.number.ok_or("the desk filed nothing")?;
        println!(
            "{desk}: claim {number}, {}, {} cents",
            claim.title, claim.cents
        );
        client.close().await;
    }
    Ok(())
}

fn client(desk: &str) -> ClientBuilder {
    let desk = desk.to_owned();
    Client::builder("expense-split", "1.0.0")
        .on_elicit(async |question| Ok(answer(&question)))
        // A real client would ask a model here.
        .on_sample(async |_| Ok(CreateMessageResult::text("fake-1", "Taxi to the airport")))
        .on_event(move |event| match event {
            Event::Progress {
                progress,
                total: Some(total),
                message: Some(message),
                ..
            } => {
                println!("{desk}: {progress} of {total} {message}");
            }
            Event::ServerStderr(line) => eprintln!("{desk}: {line}"),
            _ => {}
        })
}

/// Fills in known forms with the first option of each choice, and declines others.
fn answer(question: &HostQuestion<ElicitFormParams>) -> ElicitResult {
    if !matches!(question.key.as_deref(), Some("filing" | "project")) {
        return ElicitResult::decline();
    }
    let mut values = Map::new();
    for field in &question.request.requested_schema.fields {
        if let FieldKind::Choice(choice) = &field.kind {
            let first = choice.options.first().map(|option| option.value.clone());
            values.insert(field.name.clone(), first.into());
        }
    }
    ElicitResult::accept(values)
}
