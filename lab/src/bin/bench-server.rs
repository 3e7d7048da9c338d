//! The server that is measured, as a user would write it, with default settings.
//!
//! `bench-server --addr ADDR` serves HTTP and prints the address, `bench-server --stdio` serves
//! the standard streams.

#![allow(clippy::print_stdout, reason = "the address is for who started this")]

use std::{env, io};

use askback::{Ctx, Form, Prompt, Result, Server, Tool};
use tokio::net::TcpListener;

/// What is said back.
#[derive(Form)]
struct Echo {
    /// The words.
    message: String,
}

/// Who is greeted.
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
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let server = server()?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--addr", address] => {
            let listener = TcpListener::bind(address).await?;
            println!("{}", listener.local_addr()?);
            server.http().serve(listener).await?;
        }
        ["--stdio"] => server.serve_stdio().await?,
        _ => return Err(io::Error::other("usage: bench-server --addr ADDR | --stdio").into()),
    }
    Ok(())
}

fn server() -> std::result::Result<Server, askback::server::BuildError> {
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
        .build()
}
