//! The measured client, written as a user would, with default settings.
//!
//! `bench-client DEPTH MILLISECONDS --http URL` and `bench-client DEPTH MILLISECONDS --stdio PROGRAM…` call a server's
//! tool `echo` with this many concurrent calls for this time, and print the calls per second.

#![allow(clippy::print_stdout, reason = "the figure is for who started this")]

use std::{
    env, io,
    time::{Duration, Instant},
};

use askback::{
    client::{Client, ClientError},
    transport::{Child, Http},
};
use serde_json::json;
use tokio::task::JoinSet;

const WARM_UP: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let builder = Client::builder("load", "1.0.0");
    let (depth, span, client) = match arguments[..] {
        [depth, span, "--http", url] => (depth, span, builder.connect(Http::new(url)?).await?),
        [depth, span, "--stdio", program, ref rest @ ..] => {
            let child = Child::command(program).args(rest);
            (depth, span, builder.connect(child).await?)
        }
        _ => {
            let usage = "usage: bench-client DEPTH MILLISECONDS --http URL | --stdio PROGRAM…";
            return Err(io::Error::other(usage).into());
        }
    };
    let (depth, span) = (depth.parse()?, Duration::from_millis(span.parse()?));
    calls(&client, depth, Instant::now() + WARM_UP).await?;
    let begun = Instant::now();
    let count = calls(&client, depth, begun + span).await?;
    println!("{}", count as f64 / begun.elapsed().as_secs_f64());
    client.close().await;
    Ok(())
}

async fn calls(client: &Client, depth: usize, until: Instant) -> Result<u64, ClientError> {
    let mut tasks = JoinSet::new();
    for _ in 0..depth {
        let client = client.clone();
        tasks.spawn(async move {
            let mut count = 0;
            while Instant::now() < until {
                let arguments = json!({"message": "Hello, world!"});
                let result = client.call_tool("echo", arguments).await?;
                assert_eq!(result.text().ok().as_deref(), Some("Hello, world!"));
                count += 1;
            }
            Ok::<u64, ClientError>(count)
        });
    }
    let mut all = 0;
    while let Some(count) = tasks.join_next().await {
        all += count.expect("calls do not panic")?;
    }
    Ok(all)
}
