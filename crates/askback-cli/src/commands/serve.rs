//! `askback serve`: the servers this program carries.

use std::{fs, path::PathBuf};

use askback::keys::state_dir;
use askback_core::revision::Revision;
use askback_travel::Options;

use crate::{
    error::{Error, Kind},
    session::revision,
};

/// Serve one of the servers this program carries
#[derive(Debug, Clone, clap::Args)]
pub struct ServeArgs {
    #[command(subcommand)]
    server: Served,
}

/// The servers there are.
#[derive(Debug, Clone, clap::Subcommand)]
enum Served {
    /// The travel agency, on the standard input and output
    Travel {
        /// How many items a page of a list has
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        page_size: Option<u32>,
        /// The only revision to speak; all five if absent
        #[arg(long, value_name = "REVISION", value_parser = revision)]
        protocol: Option<Revision>,
        /// Where to keep the bookings; a folder of this user's if absent
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

/// Runs the command: serves until the standard input ends.
///
/// # Errors
///
/// If the server cannot be set up or its streams fail.
pub async fn run(args: ServeArgs) -> Result<(), Error> {
    let Served::Travel {
        page_size,
        protocol,
        directory,
    } = args.server;
    let options = Options {
        page_size: page_size.map(|size| size as usize),
        revisions: protocol.map(|revision| vec![revision]),
        directory: kept_in(directory)?,
    };
    // Opening its store waits for the disk.
    let server = tokio::task::spawn_blocking(|| askback_travel::server(options)).await;
    let server = match server {
        Ok(Ok(server)) => server,
        Ok(Err(error)) => return Err(failed(&error.to_string())),
        Err(error) => return Err(failed(&error.to_string())),
    };
    let served = server.serve_stdio().await;
    served.map_err(|error| failed(&error.to_string()))
}

/// The folder that bookings are kept in, made if need be. Where this user has none to keep things
/// in, they last as long as the server.
fn kept_in(chosen: Option<PathBuf>) -> Result<Option<PathBuf>, Error> {
    let must_be = chosen.is_some();
    let Some(folder) = chosen.or_else(|| Some(state_dir()?.join("askback").join("travel"))) else {
        return Ok(None);
    };
    match fs::create_dir_all(&folder) {
        Ok(()) => Ok(Some(folder)),
        Err(error) if must_be => Err(Error::usage(format!(
            "{} cannot be used: {error}",
            folder.display()
        ))),
        Err(_) => Ok(None),
    }
}

fn failed(why: &str) -> Error {
    Error::new(
        Kind::Connection,
        format!("the travel agency cannot be served: {why}"),
    )
}
