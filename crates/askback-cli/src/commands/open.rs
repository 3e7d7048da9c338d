//! `askback open`: a conversation with a server.

use std::path::PathBuf;

use askback_host::{host::Host, page::Style, plain::catalog, words};

use crate::{
    error::{Error, Outcome},
    repl::Repl,
    session::{Answers, Session, SessionArgs},
    suite::record::Recorder,
};

/// Open a server and talk to it
///
/// Its prompts are slash commands; /help lists the others. Lines are read from the standard input,
/// whatever it is; its end leaves, and cancels a question that is open.
#[derive(Debug, Clone, clap::Args)]
pub struct OpenArgs {
    /// Write calls, their questions and what came of them into this new file, as a suite
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    session: SessionArgs,
}

/// Runs the command.
///
/// # Errors
///
/// Fails with the error that ended it early; the outcome so far is in `outcome`.
pub async fn run(args: OpenArgs, outcome: &mut Outcome) -> Result<(), Error> {
    let session_args = args.session.keeping_wire();
    let target = session_args.target()?;
    let recorder = args.record.as_deref();
    let mut recorder = recorder
        .map(|file| Recorder::new(file, &target))
        .transpose()?;
    let mut session = Session::open(target, &session_args, Answers::Person).await?;
    let Session { client, host, .. } = &mut session;
    greet(host, client);
    if let Some(recorder) = &mut recorder {
        recorder.attach(client, host);
    }
    let mut repl = Repl::new(&mut session);
    repl.record(recorder.as_mut());
    let ran = repl.run().await;
    *outcome = repl.outcome();
    if let Some(recorder) = &recorder {
        recorder.tell(session.host.page());
        session.host.flush();
    }
    session.close().await;
    ran
}

/// Puts on the page who is there.
fn greet(host: &mut Host, client: &askback::client::Client) {
    let asker = host.desk().asker().clone();
    let page = host.page();
    let capabilities = client.capabilities();
    let revision = client.revision();
    catalog::identity(page, &asker, revision.as_str(), &capabilities, None);
    if let Some(instructions) = client.instructions() {
        let lines = instructions.lines().count();
        let lines = match lines {
            1 => "1 line".into(),
            lines => words!("{} lines", lines),
        };
        let words = words!(
            "instructions for models: {}; /instructions shows them",
            lines
        );
        page.note(Style::Plain, words);
    }
    page.note(Style::Plain, "/help lists the commands.");
}
