//! Retries a request whose connection was lost while the user answered its questions.

use std::time::Duration;

use askback::client::{Client, ClientError};
use askback_host::model::{Ask, Call, Change, How, Question};

use crate::{
    error::Error,
    session::{Session, failed},
};

/// Makes a request. If the connection is lost after a question, the user may retry it on a new connection. Answers
/// and partly filled forms are restored.
pub(super) async fn attended<T>(
    session: &mut Session,
    call: Call,
    mut make: impl AsyncFnMut(&Client) -> Result<T, ClientError>,
) -> Result<Result<T, ClientError>, Error> {
    let mut is_again = false;
    loop {
        session.host.change(Change::Called {
            server: session.host.chosen(),
            call: call.clone(),
            line: None,
            is_repeated: is_again,
        });
        let Session { client, host, .. } = &mut *session;
        let made = host.attend(make(client)).await;
        let how = match &made {
            Ok(Ok(_)) => How::Done,
            Ok(Err(_)) | Err(_) => How::Failed,
        };
        host.change(Change::Ended(host.chosen(), how));
        match made.map_err(Error::cancelled)? {
            Err(error) if is_lost(&error) && was_asked(session) => {
                // The server may have acted on these answers, so they are not given again automatically.
                is_again = !matches!(error, ClientError::OutcomeUnknown(_));
                if !wants_again(session, &call, failed(error.clone()), is_again).await {
                    return Ok(Err(error));
                }
            }
            made => return Ok(made),
        }
    }
}

/// Whether an error means that the connection, or the way to the server, was lost.
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

/// Asks whether to retry, until there is a new connection or the user gives up.
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
        if session.host.fill(question, None).await.is_none() {
            return false;
        }
        match session.restart().await {
            Ok(()) => return true,
            Err(why) => error = why,
        }
    }
}
