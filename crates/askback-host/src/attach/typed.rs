//! Exchanges the typed content of a question between a front end and the board. No clock and no socket.
//!
//! The board orders the changes of all front ends: the last change of a field wins. While a front
//! end's own change of a field is on the way to the board, the front end drops other changes of the
//! field, because its own comes after them.

use std::collections::{BTreeMap, BTreeSet};

use askback::protocol::RawJson;

use crate::{
    model::{Typed, TypedChange, TypedValue},
    question_link::TypedState,
};

/// The maximum size of the typed content of a question, in bytes of JSON. More is not kept.
pub(super) const MAX_TYPED_BYTES: usize = 128 << 10;

/// The maximum number of older values that are remembered for a field.
const MAX_VALUES_BEHIND: usize = 64;

/// The fields of a line, by name.
pub(super) type TypedFields = BTreeMap<String, RawJson>;

/// The state of one question in a front end.
#[derive(Debug, Default)]
pub(super) struct TypedSync {
    /// The number of the question in this front end, once it has the question.
    question: Option<u64>,
    /// The board's content, as far as this front end knows it.
    shared: Typed,
    /// The changes of this front end that the board has not confirmed, by field.
    unconfirmed: BTreeMap<String, u64>,
    sent: u64,
    /// Older values, by field: the front end may show them until it applies the changes of others. They are not sent.
    behind: BTreeMap<String, Vec<TypedValue>>,
    /// The fields whose last change was made here.
    own: BTreeSet<String>,
    /// Changes of others that came before the front end had the question.
    early: Typed,
    /// Whether too much was typed.
    is_too_long: bool,
}

/// How to handle a change in this front end.
#[derive(Debug, PartialEq)]
pub(super) enum LocalChange {
    Nothing,
    /// Send these fields, with the number of the change.
    Send(u64, Typed),
    /// The content exceeds [`MAX_TYPED_BYTES`]. Returned once.
    TooLong,
}

impl TypedSync {
    /// Starts when the front end has the question. Returns the changes that came before.
    pub(super) fn begin(&mut self, state: &TypedState) -> Vec<TypedChange> {
        self.question = Some(state.question);
        self.shared = state.shared.clone();
        let early = std::mem::take(&mut self.early);
        self.remote(early)
    }

    pub(super) fn question(&self) -> Option<u64> {
        self.question
    }

    /// Compares the content of this front end with the board's. `applied` has the changes of others as they are shown here.
    pub(super) fn local(&mut self, now: &Typed, applied: &Typed) -> LocalChange {
        let mut changed = Typed::new();
        for (name, value) in now {
            let behind = self.behind.get(name);
            let is_behind = behind.is_some_and(|behind| behind.contains(value));
            let is_applied = !self.own.contains(name) && applied.get(name) == Some(value);
            if is_applied {
                // From now on, an older value is one that the user typed again.
                self.behind.remove(name);
                continue;
            }
            if is_behind {
                continue;
            }
            self.behind.remove(name);
            if self.shared.get(name) != Some(value) {
                changed.insert(name.clone(), value.clone());
            }
        }
        if changed.is_empty() {
            return LocalChange::Nothing;
        }
        let bytes = serde_json::to_vec(now).map_or(usize::MAX, |bytes| bytes.len());
        if bytes > MAX_TYPED_BYTES {
            return match std::mem::replace(&mut self.is_too_long, true) {
                true => LocalChange::Nothing,
                false => LocalChange::TooLong,
            };
        }
        self.sent = self.sent.saturating_add(1);
        for (name, value) in &changed {
            self.unconfirmed.insert(name.clone(), self.sent);
            self.own.insert(name.clone());
            self.shared.insert(name.clone(), value.clone());
        }
        LocalChange::Send(self.sent, changed)
    }

    /// Notes that the board has this change and all earlier ones.
    pub(super) fn confirm(&mut self, change: u64) {
        self.unconfirmed.retain(|_, sent| *sent > change);
    }

    /// Takes the changes of another front end. Returns those that apply here.
    pub(super) fn remote(&mut self, fields: Typed) -> Vec<TypedChange> {
        if self.question.is_none() {
            self.early.extend(fields);
            return Vec::new();
        }
        let mut changes = Vec::new();
        for (name, now) in fields {
            let Some(shared) = self.shared.get_mut(&name) else {
                continue;
            };
            if self.unconfirmed.contains_key(&name) || *shared == now {
                continue;
            }
            let over = std::mem::replace(shared, now.clone());
            self.own.remove(&name);
            let behind = self.behind.entry(name.clone()).or_default();
            if behind.len() >= MAX_VALUES_BEHIND {
                behind.remove(0);
            }
            behind.retain(|value| *value != now);
            behind.push(over.clone());
            changes.push(TypedChange {
                name,
                over: Some(over),
                now,
            });
        }
        changes
    }
}

/// Writes fields for a line.
pub(super) fn written(typed: &Typed) -> TypedFields {
    let fields = typed.iter().filter_map(|(name, value)| {
        let value = RawJson::new(value).ok()?;
        Some((name.clone(), value))
    });
    fields.collect()
}

/// Reads the fields of a line. Those that this version cannot read are left out.
pub(super) fn read(fields: &TypedFields) -> Typed {
    let fields = fields.iter().filter_map(|(name, value)| {
        let value = value.decode().ok()?;
        Some((name.clone(), value))
    });
    fields.collect()
}

/// The size of fields in a line, in bytes.
pub(super) fn bytes(fields: &TypedFields) -> usize {
    let each = fields
        .iter()
        .map(|(name, value)| name.len().saturating_add(value.as_str().len()));
    each.fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(fields: &[(&str, &str)]) -> Typed {
        let fields = fields.iter().map(|(name, text)| {
            let value = match *text {
                "" => TypedValue::Empty,
                text => TypedValue::Text(text.to_owned()),
            };
            ((*name).to_owned(), value)
        });
        fields.collect()
    }

    /// A front end as the host drives it: it applies a change only over the expected content.
    struct FrontEnd {
        sync: TypedSync,
        now: Typed,
        applied: Typed,
        /// Changes that the host has not applied yet.
        arriving: Vec<TypedChange>,
    }

    impl FrontEnd {
        fn new() -> Self {
            let now = typed(&[("a", ""), ("b", "")]);
            let mut sync = TypedSync::default();
            sync.begin(&TypedState {
                question: 7,
                shared: now.clone(),
                now: now.clone(),
                applied: Typed::new(),
            });
            Self {
                sync,
                now,
                applied: Typed::new(),
                arriving: Vec::new(),
            }
        }

        fn types(&mut self, field: &str, text: &str) -> Option<(u64, Typed)> {
            self.now.extend(typed(&[(field, text)]));
            self.sends()
        }

        fn sends(&mut self) -> Option<(u64, Typed)> {
            match self.sync.local(&self.now, &self.applied) {
                LocalChange::Send(change, fields) => Some((change, fields)),
                LocalChange::Nothing | LocalChange::TooLong => None,
            }
        }

        fn hears(&mut self, fields: Typed) {
            self.arriving.extend(self.sync.remote(fields));
        }

        fn applies(&mut self) -> Option<(u64, Typed)> {
            for TypedChange { name, over, now } in std::mem::take(&mut self.arriving) {
                if self.now.get(&name) == over.as_ref() {
                    // The front end may write a value in another way.
                    let now = match now {
                        TypedValue::Text(text) => TypedValue::Text(text.to_lowercase()),
                        other => other,
                    };
                    self.applied.insert(name.clone(), now.clone());
                    self.now.insert(name, now);
                }
            }
            self.sends()
        }
    }

    #[test]
    fn a_change_of_another_front_end_is_applied_and_not_sent_back() {
        let mut one = FrontEnd::new();
        one.hears(typed(&[("a", "ada")]));
        // The user types in another field before the change is applied.
        assert_eq!(one.types("b", "x"), Some((1, typed(&[("b", "x")]))));
        assert_eq!(one.applies(), None);
        assert_eq!(one.now, typed(&[("a", "ada"), ("b", "x")]));
        one.hears(typed(&[("a", "ada l")]));
        one.hears(typed(&[("a", "ada")]));
        assert_eq!(one.applies(), None);
        assert_eq!(one.now, typed(&[("a", "ada"), ("b", "x")]));
        assert_eq!(one.types("a", "adam"), Some((2, typed(&[("a", "adam")]))));
    }

    #[test]
    fn another_form_of_a_value_is_no_change() {
        let mut one = FrontEnd::new();
        one.hears(typed(&[("a", "ADA")]));
        assert_eq!(one.applies(), None);
        assert_eq!(one.now["a"], TypedValue::Text("ada".to_owned()));
        assert_eq!(one.types("a", "eve"), Some((1, typed(&[("a", "eve")]))));
        assert_eq!(one.types("a", "ada"), Some((2, typed(&[("a", "ada")]))));
    }

    #[test]
    fn typing_back_to_an_older_value_is_a_change() {
        let mut one = FrontEnd::new();
        one.hears(typed(&[("a", "ada")]));
        assert_eq!(one.applies(), None);
        assert_eq!(one.types("a", ""), Some((1, typed(&[("a", "")]))));
    }

    #[test]
    fn newer_keystrokes_win() {
        // The board has another change of the field, but ours will come after it.
        let mut one = FrontEnd::new();
        assert_eq!(one.types("a", "bob"), Some((1, typed(&[("a", "bob")]))));
        one.hears(typed(&[("a", "ada"), ("b", "y")]));
        assert_eq!(one.applies(), None);
        assert_eq!(one.now, typed(&[("a", "bob"), ("b", "y")]));
        one.sync.confirm(1);
        one.hears(typed(&[("a", "eve")]));
        one.applies();
        assert_eq!(one.now, typed(&[("a", "eve"), ("b", "y")]));
        // The user types while the change is on its way from the connection to the screen.
        one.hears(typed(&[("a", "ada")]));
        assert_eq!(one.types("a", "eve!"), Some((2, typed(&[("a", "eve!")]))));
        assert_eq!(one.applies(), None);
        assert_eq!(one.now, typed(&[("a", "eve!"), ("b", "y")]));
    }

    #[test]
    fn what_comes_before_the_question_is_kept_for_it() {
        let mut sync = TypedSync::default();
        assert_eq!(sync.remote(typed(&[("a", "ada"), ("other", "x")])), []);
        let shared = typed(&[("a", "")]);
        let changes = sync.begin(&TypedState {
            question: 1,
            now: shared.clone(),
            applied: Typed::new(),
            shared,
        });
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert_eq!(change.now, TypedValue::Text("ada".to_owned()));
    }

    #[test]
    fn too_much_is_not_sent_and_that_is_said_once() {
        let mut one = FrontEnd::new();
        let long = "x".repeat(MAX_TYPED_BYTES);
        one.now.extend(typed(&[("a", &long)]));
        let applied = Typed::new();
        assert_eq!(one.sync.local(&one.now, &applied), LocalChange::TooLong);
        assert_eq!(one.sync.local(&one.now, &applied), LocalChange::Nothing);
        assert_eq!(one.types("a", "x"), Some((1, typed(&[("a", "x")]))));
    }

    /// Two front ends and a board, with every order in which their lines can arrive.
    #[test]
    fn front_ends_that_type_at_once_end_with_the_same_text() {
        for order in 0..64_u32 {
            let mut ends = [FrontEnd::new(), FrontEnd::new()];
            let mut to_board: [Vec<(u64, Typed)>; 2] = [Vec::new(), Vec::new()];
            let mut kept = typed(&[("a", ""), ("b", "")]);
            to_board[0].extend(ends[0].types("a", "one"));
            to_board[1].extend(ends[1].types("a", "two"));
            to_board[1].extend(ends[1].types("b", "b"));
            let mut bits = (0..).map(|bit: u32| order.checked_shr(bit).unwrap_or_default() & 1);
            while to_board.iter().any(|sent| !sent.is_empty()) {
                let first = bits.next().unwrap_or_default() as usize;
                let from = if to_board[first].is_empty() {
                    1 - first
                } else {
                    first
                };
                let (change, fields) = to_board[from].remove(0);
                kept.extend(fields.clone());
                ends[from].sync.confirm(change);
                ends[1 - from].hears(fields);
                for (at, end) in ends.iter_mut().enumerate() {
                    if bits.next() == Some(1) {
                        to_board[at].extend(end.applies());
                    }
                }
            }
            for end in &mut ends {
                assert_eq!(end.applies(), None, "{order}");
                assert_eq!(end.now, kept, "{order}");
            }
        }
    }
}
