//! Ignores keys for a moment after a question appears.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};

use crate::model::{Ask, Cause, Desk, Front};

/// How long no key may be pressed before a question accepts keys. Keys typed before were meant for
/// the previous screen, and a held key repeats.
const SILENCE: Duration = Duration::from_millis(600);

/// How long a review ignores keys: a repeated Enter would send values that the user has not seen.
const BLINK: Duration = Duration::from_millis(250);

/// A pause, or none.
#[derive(Debug, Default)]
pub(crate) struct Pause(Option<Pin<Box<Sleep>>>);

impl Pause {
    /// A pause that begins now. Must be called within the runtime.
    pub(crate) fn of(duration: Duration) -> Self {
        Self(Some(Box::pin(sleep(duration))))
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the end of the pause; pending forever if it did not begin.
    pub(crate) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let over = match &mut self.0 {
            Some(sleep) => sleep.as_mut().poll(context),
            None => Poll::Pending,
        };
        if over.is_ready() {
            self.0 = None;
        }
        over
    }
}

/// Whether the question on the screen is too new to accept keys.
#[derive(Debug, Default)]
pub(crate) struct Settling {
    /// The question on the screen and its turn.
    shown: Option<(u64, u64)>,
    silence: Pause,
    /// Whether the wait follows a step of the user. The user's own questions then wait, too.
    blinks: bool,
    /// Whether the question went away and no key was accepted since. Keys are still meant for it.
    is_gone: bool,
}

impl Settling {
    /// Records an event. Returns whether it was a step of the user: such a step needs no wait,
    /// unlike news from a server or model.
    pub(crate) fn happened(&mut self, desk: &Desk, cause: Cause) -> bool {
        let now = seen(desk);
        self.is_gone |= cause == Cause::Gone && self.shown.is_some() && now.is_none();
        let is_same = now.map(|(id, _)| id) == self.shown.map(|(id, _)| id);
        let is_step = cause == Cause::Person && is_same && self.shown != now;
        if is_step {
            self.shown = now;
        }
        is_step
    }

    pub(crate) fn blink(&mut self) {
        self.silence = Pause::of(BLINK);
        self.blinks = true;
    }

    /// Records what is on the screen. After a question, a line waits as well if it was started
    /// before the question or if the question went away by itself.
    pub(crate) fn show(&mut self, desk: &Desk, has_begun: bool) {
        let now = seen(desk);
        if now != self.shown {
            self.shown = now;
            let front = desk.front();
            self.is_gone &= front.is_none();
            let settles = front.map_or(has_begun || self.is_gone, |front| !is_of_person(&front));
            self.silence = Pause::default();
            if settles {
                self.begin();
            }
            self.blinks = false;
        }
    }

    pub(crate) fn goes_on(&self) -> bool {
        self.silence.goes_on()
    }

    /// Whether the user has not seen the current question for long enough to answer it. The user's
    /// own questions accept keys at once.
    pub(crate) fn is_unseen(&self, desk: &Desk) -> bool {
        let is_new = seen(desk) != self.shown || self.goes_on();
        let takes_all = |front: &Front<'_>| is_of_person(front) && !self.blinks;
        is_new && desk.front().is_some_and(|front| !takes_all(&front))
    }

    /// Whether keys are still meant for a question that went away.
    pub(crate) fn is_for_what_is_gone(&self) -> bool {
        self.is_gone
    }

    /// Whether a question was already on the screen, so that Enter is an answer to it.
    pub(crate) fn follows(&self) -> bool {
        self.shown.is_some() || self.goes_on()
    }

    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn pressed(&mut self) {
        if self.goes_on() {
            self.begin();
        }
    }

    pub(crate) fn begin(&mut self) {
        self.silence = Pause::of(SILENCE);
    }

    /// Waits until keys are accepted; pending forever if they already are.
    pub(crate) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let over = self.silence.poll_over(context);
        if over.is_ready() {
            (self.is_gone, self.blinks) = (false, false);
        }
        over
    }
}

fn seen(desk: &Desk) -> Option<(u64, u64)> {
    desk.front().map(|front| (front.id, front.turn))
}

/// Whether the question is about the user's own command.
fn is_of_person(front: &Front<'_>) -> bool {
    matches!(front.question.ask, Ask::Arguments { .. })
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use askback::{
        forms::Content,
        limits::Limits,
        protocol::{CreateMessageParams, CreateMessageResult},
    };
    use tokio::time::{advance, timeout};

    use super::*;
    use crate::{
        ending::QuestionEnd,
        model::{Action, Asker, Event, Origin, Permission, Question},
    };

    fn asks(id: u64, ask: Ask) -> Event {
        let question = Question {
            call: None,
            key: None,
            ask,
        };
        Event::Asked(id, question)
    }

    fn sample() -> Ask {
        Ask::Sample(Box::new(CreateMessageParams::new("Pick a flight.", 100)))
    }

    fn seat() -> (Desk, Settling) {
        let asker = Asker {
            name: "travel".to_owned(),
            reached: Origin::Typed("askback serve travel".to_owned()),
            claims: None,
        };
        let mut desk = Desk::new(asker, None, None, Limits::default());
        desk.ask_model("ollama/qwen3".to_owned());
        (desk, Settling::default())
    }

    async fn is_over(settling: &mut Settling, within: Duration) -> bool {
        let over = poll_fn(|context| settling.poll_over(context));
        timeout(within, over).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_held_down_does_not_count_as_the_users() {
        let soon = Duration::from_millis(1);
        let (mut desk, mut settling) = seat();
        desk.update(asks(1, sample()));
        settling.show(&desk, false);
        for _ in 0..100 {
            assert!(!is_over(&mut settling, soon).await);
            advance(Duration::from_millis(500)).await;
            settling.pressed();
        }
        assert!(is_over(&mut settling, SILENCE * 2).await);
        assert!(!settling.is_unseen(&desk));
        settling.pressed();
        assert!(!settling.goes_on(), "it is over");
        settling.show(&desk, false);
        assert!(!settling.goes_on(), "nothing is new");
    }

    #[tokio::test(start_paused = true)]
    async fn an_enter_for_a_withdrawn_question_does_not_submit_a_line() {
        for has_begun in [true, false] {
            let (mut desk, mut settling) = seat();
            assert!(!settling.follows());
            desk.update(asks(1, sample()));
            settling.show(&desk, has_begun);
            assert!(is_over(&mut settling, SILENCE * 2).await);
            desk.update(Event::Ended(1, QuestionEnd::Withdrawn));
            assert!(settling.follows(), "before it is seen to be gone");
            settling.show(&desk, has_begun);
            assert_eq!(settling.follows(), has_begun);
            assert_eq!(is_over(&mut settling, SILENCE * 2).await, has_begun);
            assert!(!settling.follows());
        }
        let (mut desk, mut settling) = seat();
        desk.update(asks(1, sample()));
        settling.show(&desk, true);
        desk.update(Event::Ended(1, QuestionEnd::Withdrawn));
        settling.show(&desk, true);
        settling.end();
        assert!(!settling.follows(), "the person goes on with the line");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_for_a_withdrawn_question_has_no_other_effect() {
        let (mut desk, mut settling) = seat();
        desk.update(asks(1, sample()));
        settling.show(&desk, false);
        assert!(is_over(&mut settling, SILENCE * 2).await);
        let happened = desk.update(Event::Ended(1, QuestionEnd::Withdrawn));
        settling.happened(&desk, happened.cause);
        assert!(
            settling.is_for_what_is_gone(),
            "before it is seen to be gone"
        );
        settling.show(&desk, false);
        for _ in 0..100 {
            advance(Duration::from_millis(500)).await;
            assert!(settling.is_for_what_is_gone());
            settling.pressed();
        }
        assert!(is_over(&mut settling, SILENCE * 2).await);
        assert!(!settling.is_for_what_is_gone());
        // After the user ends a question, later keys are not meant for it.
        desk.update(asks(2, sample()));
        settling.show(&desk, false);
        assert!(is_over(&mut settling, SILENCE * 2).await);
        let happened = desk.update(Event::Action(Action::Cancel));
        settling.happened(&desk, happened.cause);
        settling.show(&desk, false);
        assert!(!settling.is_for_what_is_gone());
    }

    #[tokio::test(start_paused = true)]
    async fn new_content_delays_keys_and_the_users_own_steps_do_not() {
        #[track_caller]
        fn check(desk: &Desk, settling: &mut Settling, is_news: bool) {
            assert_eq!(settling.is_unseen(desk), is_news, "before it is shown");
            settling.show(desk, false);
            assert_eq!(settling.is_unseen(desk), is_news, "once it is shown");
        }
        fn happen(desk: &mut Desk, settling: &mut Settling, event: Event) {
            let happened = desk.update(event);
            settling.happened(desk, happened.cause);
        }
        let (mut desk, mut settling) = seat();
        happen(&mut desk, &mut settling, asks(1, sample()));
        check(&desk, &mut settling, true);
        assert!(is_over(&mut settling, SILENCE * 2).await);
        let run = Event::Action(Action::Run(Permission::Ask));
        happen(&mut desk, &mut settling, run);
        check(&desk, &mut settling, false);
        let reply = CreateMessageResult::text("qwen3", "The 08:10.");
        happen(
            &mut desk,
            &mut settling,
            Event::Sampled(Ok(Box::new(reply))),
        );
        check(&desk, &mut settling, true);
        assert!(is_over(&mut settling, SILENCE * 2).await);
        happen(&mut desk, &mut settling, asks(2, sample()));
        check(&desk, &mut settling, false);
        happen(&mut desk, &mut settling, Event::Action(Action::Send));
        check(&desk, &mut settling, true);
        happen(
            &mut desk,
            &mut settling,
            Event::Ended(2, QuestionEnd::Withdrawn),
        );
        check(&desk, &mut settling, false);
        let arguments = Ask::Arguments {
            about: None,
            schema: serde_json::from_str(r#"{"type": "object", "properties": {}}"#)
                .expect("it is a schema"),
            preset: Default::default(),
            suggests: false,
            given: Content::new(),
            is_destructive: false,
        };
        happen(&mut desk, &mut settling, asks(3, arguments));
        check(&desk, &mut settling, false);
        // The user must see the values before Enter sends them.
        settling.blink();
        check(&desk, &mut settling, true);
        assert!(is_over(&mut settling, BLINK * 2).await);
        check(&desk, &mut settling, false);
    }
}
