//! Suggests values for the fields of our own forms while the user types.

use std::{collections::VecDeque, future::pending, pin::Pin, time::Duration};

use askback::{forms::Content, internal::future::BoxFuture};
use tokio::time::sleep;

use crate::model::{SuggestionRequest, Suggestions};

/// How long the user must pause before values are looked up.
const PAUSE: Duration = Duration::from_millis(120);

const KNOWN: usize = 64;

/// A source of values for the fields of our own forms.
pub trait Suggest {
    /// Suggests values for the field `name` that start with `text`, and says whether there are
    /// more. `others` has the values of the other fields. Returns `None` if the lookup fails.
    fn suggest(
        &self,
        name: String,
        text: String,
        others: Content,
    ) -> BoxFuture<'_, Option<(Vec<String>, bool)>>;
}

/// The values, and whether there are more. `None` if the lookup failed.
type FoundValues = Option<(Vec<String>, bool)>;

type RunningLookup<'a> = Pin<Box<dyn Future<Output = (SuggestionRequest, FoundValues)> + 'a>>;

/// Looks up suggestions for a form. Results are cached, and only the last request runs.
pub(crate) struct Lookup<'a> {
    suggest: Option<&'a dyn Suggest>,
    known: VecDeque<(SuggestionRequest, Suggestions)>,
    running: Option<RunningLookup<'a>>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(suggest: Option<&'a dyn Suggest>) -> Self {
        Self {
            suggest,
            known: VecDeque::new(),
            running: None,
        }
    }

    /// Returns cached suggestions, or starts a lookup and drops the previous one.
    pub(crate) fn want(&mut self, wanted: SuggestionRequest) -> Option<Suggestions> {
        self.running = None;
        let known = self.known.iter().find(|(known, _)| *known == wanted);
        if let Some((_, found)) = known {
            return Some(found.clone());
        }
        let suggest = self.suggest?;
        self.running = Some(Box::pin(async move {
            sleep(PAUSE).await;
            let (name, text) = (wanted.name.clone(), wanted.text.clone());
            let found = suggest.suggest(name, text, wanted.others.clone()).await;
            (wanted, found)
        }));
        None
    }

    /// Waits for the lookup; pending forever if no lookup runs. Cancel safe.
    pub(crate) async fn found(&mut self) -> Suggestions {
        let Some(running) = &mut self.running else {
            return pending().await;
        };
        let (wanted, found) = running.await;
        self.running = None;
        let is_known = found.is_some();
        let (values, has_more) = found.unwrap_or_default();
        let found = Suggestions {
            field: wanted.field,
            text: wanted.text.clone(),
            values,
            has_more,
        };
        // A failed lookup is not cached.
        if is_known {
            self.known.truncate(KNOWN.saturating_sub(1));
            self.known.push_front((wanted, found.clone()));
        }
        found
    }
}
