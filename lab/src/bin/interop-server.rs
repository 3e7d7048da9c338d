//! `interop-server [--protocol REVISION] [--sse] [--http]`: the second server for the clients of the interop suite,
//! next to the travel agency, on stdio or over HTTP. It prints its URL to stdout.

use std::{
    env,
    error::Error,
    io::{Write as _, stdout},
};

use askback::keys::{Key, KeyRing, KeySource};
use lab::interop::server;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Its sealed states need not survive the process or be secret.
    let keys = KeySource::Ring(KeyRing::new(Key::new(&[7; 32])));
    let mut server = server().keys(keys);
    let (mut http, mut sse) = (false, false);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--http" => http = true,
            "--sse" => sse = true,
            "--protocol" => {
                let revision = arguments.next().unwrap_or_default();
                server = server.revisions([revision.parse()?]);
            }
            _ => return Err("usage: interop-server [--protocol REVISION] [--sse] [--http]".into()),
        }
    }
    let server = server.build()?;
    if !http {
        return Ok(server.serve_stdio().await?);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let endpoint = server.http();
    let endpoint = if sse {
        endpoint.allow_http_sse()
    } else {
        endpoint
    };
    Ok(endpoint.serve(listener).await?)
}
