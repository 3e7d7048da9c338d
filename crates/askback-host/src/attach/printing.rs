//! The front end of a program that only reads: each question, and its end, is a line of JSON on stdout.

use std::{collections::BTreeSet, io};

use serde::Serialize;
use serde_json::{json, value::to_raw_value};

use super::{
    front_end::{FoundBoard, UNREADABLE},
    line::{BoardLine, FrontEndLine},
};
use crate::{
    ending::QuestionEnd,
    model::Asker,
    page::out,
    relay::Relay,
    view::{View, unanswered},
};

#[derive(Serialize)]
struct QuestionLine {
    id: String,
    #[serde(flatten)]
    view: View,
}

/// Prints the questions of a board until the board is gone.
pub(super) async fn print(mut board: FoundBoard, relay: &Relay) -> io::Result<()> {
    let name = |id| format!("{}-{id}", board.socket);
    let mut waiting = BTreeSet::new();
    // A connection that fails has the same effect as its end.
    while let Ok(Some(line)) = board.reader.read().await {
        match line {
            BoardLine::Asked(asked) => {
                let id = asked.id;
                // Before the line, because its reader may take long.
                board.writer.send(&FrontEndLine::Passed { id });
                let Some(asked) = asked.into_question() else {
                    relay.tell(UNREADABLE);
                    continue;
                };
                let asker = Asker {
                    name: board.hello.name.as_str().to_owned(),
                    reached: board.hello.reached.clone(),
                    claims: asked.server.clone(),
                };
                let view = unanswered(&asker, &relay.question(asked, false));
                put(&QuestionLine { id: name(id), view })?;
                waiting.insert(id);
            }
            BoardLine::Settled { id, .. } if waiting.remove(&id) => {
                put(&json!({"id": name(id), "ended": "answered"}))?;
            }
            BoardLine::Withdrawn { id, why } if waiting.remove(&id) => {
                put(&json!({"id": name(id), "ended": why}))?;
            }
            BoardLine::Bye {} => break,
            _ => {}
        }
    }
    for id in waiting {
        put(&json!({"id": name(id), "ended": QuestionEnd::ProgramEnded}))?;
    }
    Ok(())
}

fn put(line: &impl Serialize) -> io::Result<()> {
    out::write(&out::of_json(&to_raw_value(line)?))
}
