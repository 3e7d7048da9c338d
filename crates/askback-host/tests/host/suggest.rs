//! When and how often suggested values are requested.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Mutex,
    task::{Context, Poll, ready},
    time::Duration,
};

use askback::{forms::Content, internal::future::BoxFuture, limits::Limits, witness::Renderer};
use askback_host::{
    host::Host,
    leaf::{Did, Leaf, LinkOpening},
    model::{Action, Conversation, Desk, EventOutcome},
    page::{Look, Page},
    relay::Relay,
    remarks::Remark,
    suggest::Suggest,
    text::Words,
};
use tokio::time::{Sleep, sleep};

use crate::{travel, vacation};

/// A user who does one thing after another, each after a delay in milliseconds.
struct Typist {
    does: VecDeque<(u64, Vec<Action>)>,
    wait: Option<Pin<Box<Sleep>>>,
    page: Page,
}

impl Leaf for Typist {
    fn poll_did(&mut self, _: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        let Some((after, _)) = self.does.front() else {
            return Poll::Pending;
        };
        let after = Duration::from_millis(*after);
        let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(after)));
        ready!(wait.as_mut().poll(context));
        self.wait = None;
        let (_, said) = self.does.pop_front().unwrap_or_default();
        Poll::Ready(Did::Action(said))
    }

    fn happened(&mut self, _: &Desk, _: &EventOutcome) {}

    fn remark(&mut self, _: &Desk, _: Remark) -> Option<Remark> {
        None
    }

    fn tell(&mut self, _: Words) {}

    fn open(&mut self, _: &str) -> LinkOpening {
        LinkOpening::Started
    }

    fn show(&mut self, _: &Conversation, _: Option<&Words>) {}

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn renderer(&self) -> Renderer {
        Renderer::Lines
    }

    fn is_person(&self) -> bool {
        true
    }
}

/// A server with suggestions. It records what was requested.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

impl Suggest for Asked {
    fn suggest(
        &self,
        name: String,
        text: String,
        others: Content,
    ) -> BoxFuture<'_, Option<(Vec<String>, bool)>> {
        let others = others.keys().cloned().collect::<Vec<_>>().join(",");
        let asked = format!("{name} {text} {others}");
        self.0.lock().unwrap().push(asked.trim_end().to_owned());
        // Requests for text that starts with `x` fail.
        let found = (!text.starts_with('x')).then(|| (vec![text], false));
        Box::pin(async { found })
    }
}

async fn check(does: &[(u64, usize, &str)], asked: &[&str]) {
    let typed = does.iter().map(|&(after, field, text)| {
        let text = text.to_owned();
        let write = Action::Write {
            field,
            text: text.clone(),
        };
        (after, vec![write, Action::Suggest { field, text }])
    });
    let look = Look {
        columns: 80,
        styled: false,
    };
    let typist = Typist {
        does: typed.chain([(1000, vec![Action::Cancel])]).collect(),
        wait: None,
        page: Page::new(look),
    };
    let limits = Limits::default();
    let desk = Desk::new(travel(), None, None, limits.clone());
    let (_relay, arrivals) = Relay::new();
    let mut host = Host::new(desk, Box::new(typist), arrivals, &limits);
    let server = Asked::default();
    let filled = host.fill(vacation(true), Some(&server)).await;
    assert_eq!(filled, None);
    assert_eq!(*server.0.lock().unwrap(), asked, "{does:?}");
}

// Shows CO-10, CO-11, CO-12.
#[tokio::test(start_paused = true)]
async fn values_are_asked_for_once_and_after_a_pause() {
    check(&[(0, 0, "B")], &["destination B"]).await;
    // Text that is replaced during the pause is not requested.
    let typed = [(0, 0, "B"), (50, 0, "Ba"), (50, 0, "Bar")];
    check(&typed, &["destination Bar"]).await;
    // Known values are not requested again.
    let back = [(0, 0, "B"), (500, 0, "Ba"), (500, 0, "B"), (500, 0, "Ba")];
    check(&back, &["destination B", "destination Ba"]).await;
    // Failed requests are repeated.
    let failed = [(0, 0, "x"), (500, 0, ""), (500, 0, "x")];
    check(&failed, &["destination x", "destination", "destination x"]).await;
    // The values of other fields may change the suggestions.
    let others = [(0, 1, "J"), (500, 0, "B"), (500, 1, "J")];
    let asked = ["month J", "destination B month", "month J destination"];
    check(&others, &asked).await;
}
