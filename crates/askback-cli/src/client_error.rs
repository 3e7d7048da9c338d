//! Texts for errors of the client, and the reasons why a server could not be reached.

use askback::client::ClientError;
use askback_host::{
    text::{PeerText, Words, given},
    words,
};

use crate::{
    error::{Error, Kind},
    target::Reach,
};

/// Splits an error into our own text and the peer's text. Any text in an error may contain a part of a peer's message.
pub fn told(error: &ClientError) -> (Words, Option<PeerText>) {
    let quote = |text: &str| Some(PeerText::from(text)).filter(|_| !text.is_empty());
    match error {
        ClientError::Server(error) => (
            words!("the server answered with error {}:", error.code),
            quote(&match &error.data {
                Some(data) => format!("{}\n{data}", error.message),
                None => error.message.clone(),
            }),
        ),
        ClientError::Unreadable { why, received } => (
            "the server broke the protocol: its answer cannot be read:".into(),
            quote(&match received.is_empty() {
                true => why.clone(),
                false => format!("{why}\n{received}"),
            }),
        ),
        ClientError::Protocol(why) => ("the server broke the protocol:".into(), quote(why)),
        ClientError::TooLarge(most) => (
            words!(
                "a message of the server is larger than {} MiB, the limit",
                *most >> 20
            ),
            None,
        ),
        ClientError::Incompatible { spoken, offered } => {
            let spoken = spoken.iter().map(|revision| Words::from(revision.as_str()));
            let spoken = Words::join(spoken, ", ");
            let words = words!(
                "no protocol revision in common: this client speaks {}, the server",
                spoken
            );
            let offered = match offered.is_empty() {
                true => "none".to_owned(),
                false => offered.join(", "),
            };
            (words, quote(&offered))
        }
        ClientError::Unreachable(why) => ("the server cannot be reached:".into(), quote(why)),
        ClientError::Crashed(end) => match end.code {
            Some(code) => (words!("the server exited (code {})", i64::from(code)), None),
            None => ("the server went away:".into(), quote(&end.why)),
        },
        ClientError::OutcomeUnknown(end) => {
            let unknown = "after its questions were answered, so what the call has done is unknown: check before \
                           you make it again";
            match end.code {
                Some(code) => (
                    words!("the server exited (code {}) {}", i64::from(code), unknown),
                    None,
                ),
                None => (words!("the server went away {}:", unknown), quote(&end.why)),
            }
        }
        ClientError::Http { status, why } => (
            words!("the server answered with HTTP status {}:", *status),
            quote(why),
        ),
        ClientError::Unauthorized { status, challenges } => (
            words!(
                "the server answered with HTTP status {}: the client is not authorized",
                *status
            ),
            // The challenge says which scopes are missing.
            (!challenges.is_empty())
                .then(|| quote(&challenges.join("\n")))
                .flatten(),
        ),
        ClientError::Authorization(error) => (
            "the client is not authorized:".into(),
            quote(&error.to_string()),
        ),
        ClientError::TimedOut(after) => (
            words!("the server did not answer within {} s", after.as_secs_f64()),
            None,
        ),
        ClientError::Output { .. } => (
            "the server broke the protocol:".into(),
            quote(&error.to_string()),
        ),
        ClientError::TooManyRounds(rounds) => (
            words!(
                "the server asked for more than {} rounds; the call was given up",
                *rounds
            ),
            None,
        ),
        ClientError::QuestionRefused(error) => (
            "a question of the server was refused:".into(),
            quote(&error.message),
        ),
        ClientError::Host(why) => ("the server could not be answered:".into(), quote(why)),
        ClientError::TaskCancelled(message) => (
            "the task was cancelled".into(),
            quote(message.as_deref().unwrap_or_default()),
        ),
        ClientError::TaskLost(message) => (
            "the server has lost the task of this call:".into(),
            quote(message),
        ),
        ClientError::Busy(calls) => (
            words!("{} calls are in progress, which is the limit", *calls),
            None,
        ),
        ClientError::Closed => ("the client is closed".into(), None),
        other => ("the call failed:".into(), quote(&other.to_string())),
    }
}

/// The error if the working directory of a command does not exist. The program is not at fault.
pub fn no_folder(reach: &Reach) -> Option<Error> {
    let Reach::Start(command) = reach else {
        return None;
    };
    let folder = command.missing_folder()?;
    let words = words!("the folder {} does not exist", given(folder.display()));
    let hint = "The server starts in it: create it, or change `cwd`.";
    Some(Error::new(Kind::Connection, words).hint(hint))
}

/// What to do about an HTTP error, if anything is known.
pub fn reach_hint(why: &str) -> Option<&'static str> {
    // The message of rustls for a response that is not TLS.
    why.contains("InvalidContentType")
        .then_some("This port does not seem to use TLS: if so, write http: instead of https:.")
}
