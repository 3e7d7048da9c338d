//! The proof's user. The reaction to a question follows from its place and a seed, so the oracle
//! and the client agree without communication.

use serde_json::{Value, json};

use super::program::{Kind, Path};

/// The user's answers to every possible question.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script(pub(super) u64);

/// The user's answer to one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Yes(u8),
    No,
    Neither,
}

impl Script {
    pub(super) fn says(self, path: &Path) -> Said {
        match self.draw(path, 1) % 8 {
            0 => Said::No,
            1 => Said::Neither,
            other => Said::Yes((self.draw(path, other) % 10) as u8),
        }
    }

    /// Whether the user answers after the timeout.
    pub(super) fn is_late(self, path: &Path) -> bool {
        self.draw(path, 2).is_multiple_of(2)
    }

    /// How many invalid answers come before the valid one.
    pub(super) fn mistakes(self, path: &Path) -> u32 {
        match self.draw(path, 3) % 12 {
            0 => 1,
            1 => 2,
            _ => 0,
        }
    }

    /// Which of two questions the user answers.
    pub(super) fn prefers_first(self, path: &Path) -> bool {
        self.draw(path, 4).is_multiple_of(2)
    }

    /// A number that depends on the seed, the place and the purpose.
    fn draw(self, path: &Path, what: u64) -> u64 {
        let mut hash = self.0 ^ what.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in path.0.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            hash ^= hash >> 29;
        }
        hash ^ (hash >> 32)
    }
}

/// A user's refusal, given at once.
fn refuse(action: &str) -> Value {
    json!({"action": action, "_meta": {"dev.askback/answered-by": "person"}})
}

impl Said {
    pub(super) fn result(self, form: Kind) -> Value {
        match self {
            Self::Yes(value) => json!({"action": "accept", "content": content(form, value)}),
            Self::No => refuse("decline"),
            Self::Neither => refuse("cancel"),
        }
    }

    /// The note that the program makes of the answer.
    pub(super) fn note(self, form: Kind) -> String {
        match self {
            Self::Yes(value) => noted(form, value),
            Self::No => "no".to_owned(),
            Self::Neither => "neither".to_owned(),
        }
    }

    pub(super) fn is_yes(self) -> bool {
        matches!(self, Self::Yes(value) if value % 2 == 0)
    }
}

fn content(form: Kind, value: u8) -> Value {
    match form {
        Kind::Number => json!({"number": value}),
        Kind::Flag => json!({"yes": value.is_multiple_of(2)}),
        Kind::Word => json!({"word": format!("w{value}")}),
    }
}

/// An answer that no form accepts.
pub(super) fn mistake(form: Kind) -> Value {
    let content = match form {
        Kind::Number => json!({"number": 99}),
        Kind::Flag => json!({"yes": "maybe"}),
        Kind::Word => json!({"word": 7}),
    };
    json!({"action": "accept", "content": content})
}

fn noted(form: Kind, value: u8) -> String {
    match form {
        Kind::Number => value.to_string(),
        Kind::Flag => value.is_multiple_of(2).to_string(),
        Kind::Word => format!("w{value}"),
    }
}
