//! Values that are suggested for a field of our own questions, while a person types.

use std::{
    collections::VecDeque,
    future::{pending, ready},
    pin::Pin,
    time::Duration,
};

use askback::{forms::Content, internal::future::BoxFuture};
use tokio::time::sleep;

use crate::model::{Completions, Conversation, Suggestions};

/// How long a person pauses in typing before values are looked up.
const PAUSE: Duration = Duration::from_millis(120);

/// The most texts whose values are remembered.
const KNOWN: usize = 64;

/// A source of values for the fields of our own questions.
pub trait Suggest {
    /// Suggests values for the field of that name which begin with `text`, with the values of the
    /// other fields given; and says whether there are more. None if there are none to be had.
    fn suggest(
        &self,
        name: String,
        text: String,
        others: Content,
    ) -> BoxFuture<'_, Option<(Vec<String>, bool)>>;
}

/// Nobody suggests anything.
impl Suggest for () {
    fn suggest(
        &self,
        _: String,
        _: String,
        _: Content,
    ) -> BoxFuture<'_, Option<(Vec<String>, bool)>> {
        Box::pin(ready(None))
    }
}

/// A source of lines which one may become that is begun at the prompt.
pub trait Complete {
    /// Says what a line may become: whole lines, and whether there are more. None if nothing is known of it.
    fn complete(
        &self,
        talk: &Conversation,
        begun: &str,
    ) -> BoxFuture<'static, Option<(Vec<String>, bool)>>;
}

/// Nobody completes anything.
impl Complete for () {
    fn complete(
        &self,
        _: &Conversation,
        _: &str,
    ) -> BoxFuture<'static, Option<(Vec<String>, bool)>> {
        Box::pin(ready(None))
    }
}

/// The lines that the last one may become that was begun.
#[derive(Default)]
pub(crate) struct Completing(Option<BoxFuture<'static, Option<Completions>>>);

impl Completing {
    /// Has it looked up what a line may become, in place of the one before.
    pub(crate) fn want(&mut self, source: &dyn Complete, talk: &Conversation, begun: String) {
        let completing = source.complete(talk, &begun);
        self.0 = Some(Box::pin(async move {
            let (lines, has_more) = completing.await?;
            Some(Completions {
                begun,
                lines,
                has_more,
            })
        }));
    }

    /// Waits for those lines; for ever where none are looked up. Nothing is lost where that is not waited for to the
    /// end.
    pub(crate) async fn found(&mut self) -> Option<Completions> {
        let Some(completing) = &mut self.0 else {
            return pending().await;
        };
        let found = completing.await;
        self.0 = None;
        found
    }
}

/// Waits as long as a person pauses in typing before values are looked up.
pub async fn pause() {
    sleep(PAUSE).await;
}

/// A field for which values are wanted, the text that they begin with, and the values beside it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SuggestionRequest {
    pub(crate) field: usize,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) others: Content,
}

/// The values for a form, looked up once for each text, and for the last text alone.
pub(crate) struct Lookup<'a> {
    suggest: &'a dyn Suggest,
    /// The values that were had, newest first: who goes back by a letter waits for nothing.
    known: VecDeque<(SuggestionRequest, Suggestions)>,
    running: Option<SourceWork<'a>>,
}

/// The work of the source: the field, and the values for it, or none where they could not be had.
type SourceWork<'a> = Pin<Box<dyn Future<Output = (SuggestionRequest, Option<Suggestions>)> + 'a>>;

impl<'a> Lookup<'a> {
    /// A lookup that has asked for nothing yet.
    pub(crate) fn new(suggest: &'a dyn Suggest) -> Self {
        Self {
            suggest,
            known: VecDeque::new(),
            running: None,
        }
    }

    /// Returns the values for a field if they are known, and has them looked up otherwise, in place of
    /// what was wanted before.
    pub(crate) fn want(&mut self, wanted: SuggestionRequest) -> Option<Suggestions> {
        let known = self.known.iter().find(|(known, _)| *known == wanted);
        if let Some((_, found)) = known {
            self.running = None;
            return Some(found.clone());
        }
        self.running = Some(Box::pin(look_up(self.suggest, wanted)));
        None
    }

    /// Waits for the values that are looked up; for ever where none are. Nothing is lost where that is
    /// not waited for to the end.
    pub(crate) async fn found(&mut self) -> Suggestions {
        let Some(running) = &mut self.running else {
            return pending().await;
        };
        let (wanted, found) = running.await;
        self.running = None;
        match found {
            Some(found) => {
                self.known.truncate(KNOWN.saturating_sub(1));
                self.known.push_front((wanted, found.clone()));
                found
            }
            // What could not be had may be another time.
            None => suggestions(wanted, (Vec::new(), false)),
        }
    }
}

/// Looks up values once the person pauses.
async fn look_up(
    suggest: &dyn Suggest,
    wanted: SuggestionRequest,
) -> (SuggestionRequest, Option<Suggestions>) {
    pause().await;
    let SuggestionRequest {
        name, text, others, ..
    } = wanted.clone();
    let found = suggest.suggest(name, text, others).await;
    let found = found.map(|found| suggestions(wanted.clone(), found));
    (wanted, found)
}

fn suggestions(wanted: SuggestionRequest, (values, has_more): (Vec<String>, bool)) -> Suggestions {
    Suggestions {
        field: wanted.field,
        text: wanted.text,
        values,
        has_more,
    }
}
