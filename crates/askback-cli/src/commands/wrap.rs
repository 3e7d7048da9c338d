//! `askback wrap`: a server in front of another, which answers questions in place of the client.

use std::{path::PathBuf, time::Duration};

use askback::{
    BoxFuture,
    bridge::{Answers, Bridge, Hold},
    client::HostQuestion,
    protocol::{ClientCapabilities, Implementation, InputRequest, InputResponse},
    transport,
};
use askback_host::{
    page::out,
    relay::Relay,
    script::Script,
    signals::Terminations,
    text::{Words, given},
    words,
};

use super::serve::termination;
use crate::{
    environment,
    error::{Error, Kind},
    locate::TargetArgs,
    role::KnownClient,
    seconds::seconds,
    session::{self, SessionArgs, prepare},
    sign_in::SignInArgs,
    target::{Reach, Target},
};

/// The words behind the title of each client.
const MARK: &str = " (askback wrap)";

/// How long a call goes on that was given back, if the client does not make it again.
const KEEP: Duration = Duration::from_secs(900);

/// Where questions are answered.
const PLACE: &str = "The answers file of `askback wrap` answers in a while.";

const AFTER: &str = "\
Examples:
  askback wrap --answers answers.yaml -- my-server --its-option
  askback wrap --url https://example.com/mcp --answers answers.yaml

Name it in the file of a client in place of the server:
  {\"command\": \"askback\", \"args\": [\"wrap\", \"--answers\", \"/home/me/answers.yaml\", \"--\", \"my-server\"]}

The server gets the environment of this command, but for the keys of models, which some clients pass on: \
--env NAME hands one to it.";

/// Serve another server to a client that cannot ask a person
///
/// The client talks to this command on the standard input and output, in any revision, and the command to
/// the server. A question goes to the client if it takes it, and else to the answers file. An answer that no
/// person gave says so.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = AFTER)]
pub struct WrapArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Answer questions from this file, YAML or JSON
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Ask the client what it takes (client), but for what it is known not to show (auto), or answer everything here
    #[arg(long, value_name = "WHO", value_enum, default_value_t = Ask::Auto)]
    ask: Ask,
    /// Give a call back to the client after this long, if a question in it waits here [default: by the client]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    hold: Option<u64>,
    #[command(flatten)]
    sign_in: SignInArgs,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Ask {
    Auto,
    Client,
    Here,
}

/// Answers questions with the host of this process.
struct HostAnswers {
    relay: Relay,
    lent: ClientCapabilities,
    ask: Ask,
}

impl Answers for HostAnswers {
    fn capabilities(&self) -> ClientCapabilities {
        self.lent.clone()
    }

    fn answers_for(&self, client: &Implementation, question: &InputRequest) -> bool {
        match self.ask {
            Ask::Client => false,
            Ask::Here => true,
            Ask::Auto => {
                let known = KnownClient::of_info(&client.name);
                let is_lent = self.lent != ClientCapabilities::default();
                is_lent && known.is_some_and(|client| !client.shows(question))
            }
        }
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, askback::Result<InputResponse>> {
        Box::pin(self.relay.clone().answer(question))
    }
}

/// Runs the command until the client ends its input, or a signal comes.
pub async fn run(args: WrapArgs) -> Result<(), Error> {
    let hold = args.hold;
    let script = args.answers.as_deref().map(Script::load).transpose();
    let script = script.map_err(Error::usage)?;
    let lent = lent(script.as_ref());
    let answers = match script {
        Some(script) => session::Answers::Script(script),
        None => {
            note("nothing answers in place of the client: --answers FILE names what does");
            session::Answers::Nobody
        }
    };
    let session = SessionArgs::new(args.sign_in, None).to(args.target);
    let mut target = session.target()?;
    keep_model_keys(&mut target);
    let limits = session.limits();
    let (opener, mut host) = prepare(target, &session, answers)?;
    let events = opener.relay.clone();
    let bridge = match opener.reach {
        Reach::Start(command) => Bridge::new(move || command.clone().child()),
        Reach::Address(address) => {
            let http = address.http()?;
            let http = match &opener.authorization {
                Some(authorization) => http.authorize(authorization),
                None => http,
            };
            Bridge::new(move || http.clone())
        }
    };
    let bridge = bridge
        .answers(HostAnswers {
            relay: opener.relay,
            lent,
            ask: args.ask,
        })
        .on_event(move |event| events.event(event))
        .mark_clients(MARK)
        .hold(move |client, has_progress| Hold {
            after: match hold {
                Some(seconds) => Duration::from_secs(seconds),
                None => KnownClient::hold(&client.name, has_progress),
            },
            keep: KEEP,
            place: PLACE.to_owned(),
        })
        .limits(limits.clone());
    let channel = transport::stdio(limits.wire.message_bytes).map_err(broken)?;
    // Some clients end their servers by a signal, which is no failure, until the process ends.
    std::mem::forget(Terminations::hold());
    let served = tokio::select! {
        served = host.attend_silently(bridge.serve(channel)) => served.unwrap_or(Ok(())),
        () = termination() => Ok(()),
    };
    host.end();
    served.map_err(broken)
}

/// The kinds of questions that an answers file may answer.
fn lent(script: Option<&Script>) -> ClientCapabilities {
    let Some(script) = script else {
        return ClientCapabilities::default();
    };
    let mut lent = ClientCapabilities::default();
    let elicitation = lent.elicitation.get_or_insert_default();
    elicitation.form.get_or_insert_default();
    elicitation.url.get_or_insert_default();
    let sampling = lent.sampling.get_or_insert_default();
    if script.calls_tools() {
        sampling.tools.get_or_insert_default();
    }
    lent.roots.get_or_insert_default();
    lent
}

/// Keeps the keys of the client's models from a server, but for those that the command line names.
fn keep_model_keys(target: &mut Target) {
    let Reach::Start(command) = &mut target.reach else {
        return;
    };
    for name in environment::model_keys() {
        if !command.env.contains_key(name) {
            note(words!(
                "{} is kept from the server; --env {} hands it on",
                name,
                name
            ));
            command.withheld.push(name.to_owned());
        }
    }
}

fn note(words: impl Into<Words>) {
    let mut page = out::stderr_page();
    page.line(words!("askback: {}", words.into()));
    out::tell(&mut page);
}

fn broken(error: std::io::Error) -> Error {
    Error::new(
        Kind::Connection,
        words!("the client cannot be served: {}", given(error)),
    )
}
