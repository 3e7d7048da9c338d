//! Decides whether a key was meant for what is on the screen.

use super::key::Key;
use crate::{model::Desk, settling::Settling};

/// Whether a key was meant for the current question or line. A rejected key may be followed by more
/// of the same input.
pub(super) fn is_for_what_is_shown(settling: &mut Settling, desk: &Desk, key: &Key) -> bool {
    let is_for_another = match desk.front() {
        Some(_) => settling.is_unseen(desk) && !key.leaves(),
        None => is_for_no_line(settling, key),
    };
    if is_for_another {
        settling.pressed();
    }
    !is_for_another
}

fn is_for_no_line(settling: &mut Settling, key: &Key) -> bool {
    match key {
        // A function key that shows something at a question would run a command here.
        _ if settling.is_for_what_is_gone() => !matches!(key, Key::Esc | Key::Ctrl('c')),
        Key::Enter | Key::Ctrl('d') => settling.follows(),
        _ => {
            // Further typing shows that the user has seen the line.
            settling.end();
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use askback::limits::Limits;
    use tokio::time::{advance, timeout};

    use super::*;
    use crate::model::{Ask, Asker, Event, Origin, Question};

    /// Presses the keys a tenth of a second apart, and returns those that were accepted.
    async fn taken(settling: &mut Settling, desk: &Desk, keys: &[Key]) -> Vec<Key> {
        let mut taken = Vec::new();
        for key in keys {
            advance(Duration::from_millis(100)).await;
            if is_for_what_is_shown(settling, desk, key) {
                taken.push(key.clone());
            }
        }
        taken
    }

    /// A desk with a question that the user has seen for long enough.
    async fn asked(settling: &mut Settling) -> Desk {
        let asker = Asker {
            name: "zoo".to_owned(),
            reached: Origin::Typed("zoo".to_owned()),
            claims: None,
        };
        let mut desk = Desk::new(asker, None, None, Limits::default());
        let question = Question {
            call: None,
            key: None,
            ask: Ask::Roots,
        };
        let happened = desk.update(Event::Asked(1, question));
        settling.happened(&desk, happened.cause);
        settling.show(&desk, false);
        wait(settling).await;
        desk
    }

    async fn wait(settling: &mut Settling) {
        let over = poll_fn(|context| settling.poll_over(context));
        let _ = timeout(Duration::from_secs(2), over).await;
    }

    #[tokio::test(start_paused = true)]
    async fn keys_for_a_question_that_went_away_do_nothing_at_the_line() {
        let mut settling = Settling::default();
        let mut desk = asked(&mut settling).await;
        let happened = desk.update(Event::Withdrawn(1));
        settling.happened(&desk, happened.cause);
        let keys = [
            Key::Char('e'),
            Key::Tab,
            Key::Down,
            Key::Up,
            Key::Enter,
            Key::Paste("x".to_owned()),
            Key::Ctrl('d'),
            Key::F(5),
        ];
        assert_eq!(taken(&mut settling, &desk, &keys).await, []);
        settling.show(&desk, false);
        assert_eq!(taken(&mut settling, &desk, &keys).await, []);
        // Keys that leave are always accepted; after a while, every key is.
        let leaves = [Key::Esc, Key::Ctrl('c')];
        assert_eq!(taken(&mut settling, &desk, &leaves).await, leaves);
        wait(&mut settling).await;
        assert_eq!(taken(&mut settling, &desk, &keys).await, keys);
    }
}
