//! `askback hook claude`: the questions of Claude Code, which its hooks can answer.

use std::{
    io::{self, Read as _},
    path::PathBuf,
};

use askback::{
    Limits,
    protocol::{ElicitAction, ElicitResult, InputRequest},
};
use askback_host::{page::out, text::given, words};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Outcome};

const AFTER: &str = "\
In the settings of Claude Code:
  {\"hooks\": {\"Elicitation\": [{\"hooks\": [
    {\"type\": \"command\", \"command\": \"askback hook claude\", \"timeout\": 900}]}]}}

The question opens a page in the browser, and `askback answer` in a terminal shows it, too. If neither is possible, the \
command prints nothing, and Claude Code asks by itself.";

/// Answer the questions of a client through its hooks
#[derive(Debug, Clone, clap::Args)]
pub struct HookArgs {
    #[command(subcommand)]
    client: HookCommand,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum HookCommand {
    /// Answer an `Elicitation` of Claude Code: JSON on the standard input, and the answer on the standard output
    #[command(after_help = AFTER)]
    Claude {
        /// The folder of the questions, in place of the user's
        #[arg(long, value_name = "FOLDER", hide = true)]
        asks: Option<PathBuf>,
    },
}

/// The input of the hook `Elicitation` (seen on 2026-11-26: Claude Code 2.1.332).
#[derive(Debug, Deserialize)]
struct Elicitation {
    hook_event_name: String,
    mcp_server_name: String,
    message: String,
    #[serde(default)]
    requested_schema: Option<Value>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    elicitation_id: Option<String>,
}

/// Answers the question on stdin. Claude Code treats exit code 2 as a decline by the user, so errors use other codes.
pub async fn run(args: HookArgs, outcome: &mut Outcome) -> Result<(), Error> {
    let HookCommand::Claude { asks } = args.client;
    let answered = match read(&Limits::default()) {
        Ok((server, question)) => answer(server, question, asks).await,
        Err(error) => Err(error),
    };
    match answered {
        Ok(Some(answer)) => print(&answer),
        Ok(None) => Ok(()),
        Err(error) => {
            let mut page = out::stderr_page();
            error.put(&mut page);
            out::tell(&mut page);
            outcome.tool_error = true;
            Ok(())
        }
    }
}

fn read(limits: &Limits) -> Result<(String, InputRequest), Error> {
    let most = limits.wire.message_bytes;
    let mut text = Vec::new();
    let input = io::stdin().lock().take(most.saturating_add(1) as u64);
    let read = { input }.read_to_end(&mut text);
    read.map_err(|error| {
        Error::usage(words!(
            "the standard input cannot be read: {}",
            given(error)
        ))
    })?;
    if text.len() > most {
        return Err(Error::usage(words!(
            "the question has more than {} bytes",
            most
        )));
    }
    let asked = askback::internal::json::parse::<Elicitation>(&text);
    let asked = asked.map_err(|error| {
        Error::usage("the standard input is not what Claude Code gives to the hook Elicitation")
            .quoting(error)
    })?;
    if asked.hook_event_name != "Elicitation" {
        let error = "the command is for the hook Elicitation, and was started by another one:";
        return Err(Error::usage(error).quoting(asked.hook_event_name));
    }
    let params = match asked.url {
        Some(url) => json!({
            "mode": "url",
            "message": asked.message,
            "url": url,
            "elicitationId": asked.elicitation_id.unwrap_or_default(),
        }),
        None => json!({
            "message": asked.message,
            "requestedSchema": asked.requested_schema,
        }),
    };
    let params =
        serde_json::value::to_raw_value(&params).map_err(|error| Error::usage(given(error)))?;
    let question = InputRequest::parse("elicitation/create", Some(&params));
    let question = question.map_err(|error| {
        Error::usage("the question of the server cannot be read:").quoting(error.message)
    })?;
    Ok((asked.mcp_server_name, question))
}

/// Asks through the user's front ends. `None` if none can answer and no page can be opened.
#[cfg(unix)]
async fn answer(
    server: String,
    request: InputRequest,
    asks: Option<PathBuf>,
) -> Result<Option<ElicitResult>, Error> {
    use std::sync::Arc;

    use askback::{
        bridge::Answers as _,
        client::HostQuestion,
        protocol::{AnswerSource, HasMeta as _, InputResponse, Meta},
    };
    use askback_host::{
        attach::{Board, BoardOptions, Notice},
        browser,
        model::{Asker, Origin},
    };
    use tokio::sync::Notify;

    use super::wrap::open_page;
    use crate::environment;

    let mut options = BoardOptions::new(Asker {
        name: server,
        reached: Origin::Typed("Claude Code".to_owned()),
        claims: None,
    });
    options.folder.clone_from(&asks);
    let nobody = Arc::new(Notify::new());
    let tells = Arc::clone(&nobody);
    let board = Board::open(options, move |notice| {
        if notice == Notice::NoFrontEnd {
            match browser::is_seen(&environment::desktop()) {
                true => open_page(asks.as_deref()),
                false => tells.notify_one(),
            }
        }
    });
    let board = board
        .map_err(|error| Error::usage(words!("the question cannot be shown: {}", given(error))))?;
    let question = HostQuestion {
        server: None,
        call: None,
        target: None,
        key: None,
        request,
        retried: false,
    };
    tokio::select! {
        answer = board.answer(question) => Ok(match answer {
            Ok(InputResponse::Elicit(answer))
                if answer.meta().and_then(Meta::answered_by) != Some(AnswerSource::Client) =>
            {
                Some(answer)
            }
            _ => None,
        }),
        () = nobody.notified() => {
            super::note("no page can be opened here, and no `askback answer` takes the question: Claude Code asks by itself");
            Ok(None)
        }
    }
}

#[cfg(not(unix))]
async fn answer(
    _: String,
    _: InputRequest,
    _: Option<PathBuf>,
) -> Result<Option<ElicitResult>, Error> {
    Err(Error::usage(
        "questions of other programs cannot be answered on this system yet",
    ))
}

fn print(answer: &ElicitResult) -> Result<(), Error> {
    let action = match answer.action {
        ElicitAction::Accept => "accept",
        ElicitAction::Decline => "decline",
        ElicitAction::Cancel => "cancel",
    };
    let mut output = json!({"hookEventName": "Elicitation", "action": action});
    if let (ElicitAction::Accept, Some(content)) = (answer.action, &answer.content) {
        output["content"] = json!(content);
    }
    let output = json!({"hookSpecificOutput": output});
    super::print_as_json(&output)
}
