//! `conformance-server [--addr 127.0.0.1:8001]`: the server for the official conformance suite, at `/mcp` of that
//! address, for every revision. It prints its URL to stdout.

use std::{
    env,
    error::Error,
    io::{Write as _, stdout},
};

use askback::keys::{Key, KeyRing, KeySource};
use lab::conformance::server;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let address = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => "127.0.0.1:8001",
        ["--addr", address] => address,
        _ => return Err("usage: conformance-server [--addr 127.0.0.1:8001]".into()),
    };
    // Its sealed states need not survive the process or be secret.
    let keys = KeySource::Ring(KeyRing::new(Key::new(&[7; 32])));
    let server = server::server().keys(keys).build()?;
    let listener = TcpListener::bind(address).await?;
    writeln!(stdout(), "http://{}/mcp", listener.local_addr()?)?;
    Ok(server.http().serve(listener).await?)
}
