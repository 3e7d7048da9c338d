//! The options of the commands that probe a server.

use std::{sync::Arc, time::Duration};

use askback::Limits;
use askback_check::{
    Program,
    probe::{Address, Bounds, Patience, Way},
};
use askback_host::relay::Relay;
use http::{HeaderMap, HeaderName, header::PROXY_AUTHORIZATION};
use url::Url;

use crate::{
    error::{Error, Kind},
    locate::TargetArgs,
    seconds::seconds_until,
    secret::is_plain_header,
    sign_in::SignInArgs,
    target::{self, Command, Reach, Target},
};

/// The maximum for `--timeout`: an hour.
const MOST_SECONDS: u64 = 60 * 60;

/// How long a process may take to start, by default.
const START: Duration = Duration::from_secs(30);

/// How long a process may take to exit after its input is closed.
const EXIT: Duration = Duration::from_secs(5);

/// The options of every command that probes a server.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ProbeArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Wait this many seconds for an answer
    #[arg(long, value_name = "SECONDS", value_parser = seconds_until(MOST_SECONDS))]
    timeout: Option<u64>,
    // Must follow all options without a heading, because clap applies a heading to everything after it.
    #[command(flatten)]
    sign_in: SignInArgs,
}

impl ProbeArgs {
    pub fn name_by(&mut self, word: Option<String>) -> Result<(), Error> {
        self.target.name_by_all(word.into_iter().collect())
    }

    pub fn target(&self) -> Result<Target, Error> {
        self.target.target()
    }

    /// Returns the bounds. `patience` is the default time to wait for an answer, and `whole` the time for all probes.
    pub fn bounds(&self, patience: Duration, whole: Duration) -> Bounds {
        let mut limits = Limits::default();
        let timeout = self.timeout.map(Duration::from_secs);
        limits.wire.request = timeout.unwrap_or(patience);
        limits.client.exit = EXIT;
        Bounds {
            limits,
            start: timeout.unwrap_or(START),
            patience: Patience::new(whole),
        }
    }

    /// Returns how the server is reached, with the stored tokens. Never signs in or registers a client.
    pub fn way(&self, target: &Target, bounds: &Bounds) -> Result<Way, Error> {
        let address = match &target.reach {
            Reach::Start(command) => return Ok(Way::Start(program(command.clone()))),
            Reach::Address(address) => address,
        };
        let no_http = |why: String| {
            Error::new(Kind::Connection, "the HTTP client cannot be set up:").quoting(why)
        };
        // The error says what is wrong with the address.
        let mut transport = address.http()?;
        let url = Url::parse(&address.url).map_err(|error| {
            Error::usage("the address cannot be used:").quoting(error.to_string())
        })?;
        let mut authorizer = None;
        if !address.is_authorized() {
            let (relay, _) = Relay::new();
            let sign_in = &self.sign_in;
            let stored = sign_in.authorization(&address.sign_in, &relay, false)?;
            let permits = stored.authorizer(&url);
            authorizer = Some(permits.map_err(|error| no_http(error.to_string()))?);
            transport = transport.authorize(&stored);
        }
        let headers = headers(address);
        let names = headers.keys().map(HeaderName::as_str);
        let mut credentials: Vec<String> = names
            .filter(|name| !is_plain_header(name) && *name != PROXY_AUTHORIZATION.as_str())
            .map(str::to_owned)
            .collect();
        credentials.sort_unstable();
        let limits = &bounds.limits;
        let address = Address::new(url, headers, credentials, authorizer, transport, limits);
        Ok(Way::Address(Arc::new(address.map_err(no_http)?)))
    }
}

fn headers(address: &target::Address) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            headers.insert(name, value);
        }
    }
    headers
}

fn program(command: Command) -> Program {
    let told = command.told();
    let is_written = (&told.program, told.env.get("PATH"), &told.cwd)
        == (&command.program, command.env.get("PATH"), &command.cwd);
    Program {
        program: command.program.clone(),
        folder: command.cwd.clone(),
        path: command.env.get("PATH").cloned(),
        shown: (!is_written).then(|| (told.program.clone(), told.cwd.clone())),
        child: Arc::new(move || command.clone().child()),
    }
}
