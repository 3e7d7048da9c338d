//! The server whose changes are measured: `bench-fanout ADDR` serves HTTP and prints the address.

#![allow(clippy::print_stdout, reason = "the address is for who started this")]

use std::{env, io, time::Instant};

use askback::{Change, Ctx, Form, Limits, Resource, Result, Server, Tool};
use tokio::net::TcpListener;

const SESSIONS: usize = 64 << 10;

/// The text to return.
#[derive(Form)]
struct Echo {
    /// The words.
    message: String,
}

/// The change to announce.
#[derive(Form)]
struct ChangeArguments {
    /// The URI of the resource; without one, it is the list of tools.
    uri: Option<String>,
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let address = env::args().nth(1);
    let address = address.ok_or_else(|| io::Error::other("usage: bench-fanout ADDR"))?;
    let server = server()?;
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    server.http().serve(listener).await?;
    Ok(())
}

fn server() -> std::result::Result<Server, askback::server::BuildError> {
    let echo = Tool::new("echo", async |echo: Echo| -> Result<String> {
        Ok(echo.message)
    });
    let change = Tool::new(
        "change",
        async |ctx: Ctx, change: ChangeArguments| -> Result<String> {
            let changed = change.uri.map_or(Change::Tools, Change::Resource);
            let begun = Instant::now();
            ctx.changed(changed);
            Ok(begun.elapsed().as_nanos().to_string())
        },
    );
    let page = Resource::new("bench://page", "page", async || -> Result<String> {
        Ok("A page".into())
    });
    let mut limits = Limits::default();
    limits.http.sessions = SESSIONS;
    Server::new("bench", "1.0.0")
        .limits(limits)
        .changing_tools()
        .tool(echo.description("Says it back"))
        .tool(change.description("Tells of a change, and says how many nanoseconds that took"))
        .resource(page)
        .build()
}
