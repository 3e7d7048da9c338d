//! A request whose connection is lost while a person answers its questions: they may have it made again.

use std::time::Duration;

use askback::client::{Client, ClientError};
use askback_host::model::{Ask, Call, How, Question};

use crate::{
    error::Error,
    session::{Session, failed},
};

/// Makes a request. Where the connection is lost after a person was asked something in it, they may have the request made
/// again, on a new connection: the same questions are answered as they were, and what was half written is there again.
pub(super) async fn attended<T>(
    session: &mut Session,
    call: Call,
    mut make: impl AsyncFnMut(&Client) -> Result<T, ClientError>,
) -> Result<Result<T, ClientError>, Error> {
    let mut is_again = false;
    loop {
        session.host.begin_call(call.clone(), None, is_again);
        let Session { client, host, .. } = &mut *session;
        let made = host.attend(make(client)).await;
        host.end_call(match &made {
            Ok(Ok(_)) => How::Done,
            Ok(Err(_)) | Err(_) => How::Failed,
        });
        match made.map_err(Error::cancelled)? {
            Err(error) if is_lost(&error) && was_asked(session) => {
                // Answers that the server may have acted on are not given again by themselves.
                is_again = !matches!(error, ClientError::OutcomeUnknown(_));
                if !wants_again(session, &call, failed(error.clone()), is_again).await {
                    return Ok(Err(error));
                }
            }
            made => return Ok(made),
        }
    }
}

/// Whether an error is the end of the connection, or of what leads to the server.
fn is_lost(error: &ClientError) -> bool {
    match error {
        ClientError::Crashed(_) | ClientError::OutcomeUnknown(_) | ClientError::Unreachable(_) => {
            true
        }
        ClientError::Http { status, .. } => (500..600).contains(status),
        _ => false,
    }
}

fn was_asked(session: &mut Session) -> bool {
    session.host.is_person() && session.host.answering() > Duration::ZERO
}

/// Asks whether the request is to be made again, until there is a new connection or the person leaves it.
async fn wants_again(
    session: &mut Session,
    call: &Call,
    mut error: Error,
    gives_answers: bool,
) -> bool {
    loop {
        let question = Question {
            call: Some(call.clone()),
            key: None,
            ask: Ask::Retry {
                why: error.message,
                quoted: error.quoted,
                written: gives_answers && session.host.desk().has_kept(call),
                secret: session.host.desk().asked_secret(),
            },
        };
        if session.host.fill(question, &()).await.is_none() {
            return false;
        }
        match session.restart().await {
            Ok(()) => return true,
            Err(why) => error = why,
        }
    }
}
