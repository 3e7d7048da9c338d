//! The measured server, written as a user would, with default settings.
//!
//! `bench-server --addr ADDR` serves HTTP and prints the address; with `--fleet FILE` it is a process of a fleet.
//! `bench-server --stdio` serves stdio.

#![allow(clippy::print_stdout, reason = "the address is for who started this")]

use std::{env, error::Error, sync::Arc};

use askback::{
    Ctx, Fleet, Form, Prompt, Result, Server, ServerBuilder, Tool,
    keys::{Key, KeyRing, KeySource},
    store::SqliteStore,
};
use tokio::net::TcpListener;

/// The text to return.
#[derive(Form)]
struct Echo {
    /// The words.
    message: String,
}

/// The name to greet.
#[derive(Form)]
struct Greet {
    /// The name.
    name: String,
}

#[derive(Form)]
struct UserName {
    /// Your name
    name: String,
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--addr", address] => serve(builder().build()?, address).await,
        ["--addr", address, "--fleet", file] => serve(member(file)?, address).await,
        ["--stdio"] => Ok(builder().build()?.serve_stdio().await?),
        _ => Err("usage: bench-server --addr ADDR [--fleet FILE] | --stdio".into()),
    }
}

async fn serve(server: Server, address: &str) -> std::result::Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    Ok(server.http().serve(listener).await?)
}

fn member(file: &str) -> std::result::Result<Server, Box<dyn Error>> {
    let store = Arc::new(SqliteStore::open(file)?);
    let server = builder()
        .service("bench")
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[1; 32]))))
        .store(Arc::clone(&store))
        .fleet(Fleet::new(Arc::clone(&store)).bus(store));
    Ok(server.build()?)
}

fn builder() -> ServerBuilder {
    let echo = Tool::new("echo", async |echo: Echo| -> Result<String> {
        Ok(echo.message)
    });
    let greet = Prompt::new("greet", async |greet: Greet| -> Result<String> {
        Ok(format!("Greet {}.", greet.name))
    });
    let ask = Tool::new("ask", async |ctx: Ctx| -> Result<String> {
        let answer: UserName = ctx.elicit("What is your name?").await?.accepted()?;
        Ok(format!("Hello, {}!", answer.name))
    });
    Server::new("bench", "1.0.0")
        .tool(echo.description("Says it back"))
        .tool(ask.description("Asks for a name"))
        .prompt(greet.description("A greeting"))
}
