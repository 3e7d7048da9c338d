//! `interop-rmcp client JOB` runs a job and prints the results. `interop-rmcp server stdio` and `interop-rmcp server
//! http` run the suite's server. `interop-rmcp chaos` is a client for servers whose processes are killed.

// Features that 2026-07-28 deprecates are tested, too.
#![allow(deprecated)]

mod chaos;
mod client;
mod server;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["chaos"] => chaos::run().await,
        ["client", job] => client::run(job).await,
        ["server", "stdio"] => server::serve_stdio().await,
        ["server", _] => server::serve_http().await,
        _ => Err("usage: interop-rmcp chaos | client JOB | server stdio|http".into()),
    }
}
