//! The state of a call that a client carries from one round to the next.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, SystemTime},
};

use base64::{
    Engine,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde::Deserialize;

/// Facts about a `requestState`: its length, and its expiry if it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    chars: usize,
    digest: u64,
    expires: Option<SystemTime>,
}

#[derive(Deserialize)]
struct Claims {
    #[serde(alias = "expiresAt", alias = "expires_at")]
    exp: f64,
}

/// Larger values are milliseconds.
const MILLISECONDS: f64 = 1e11;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl State {
    pub(super) fn read(state: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        Self {
            chars: state.chars().count(),
            digest: hasher.finish(),
            expires: expires(state),
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.chars, self.digest) == (other.chars, other.digest)
    }

    pub(super) fn chars(&self) -> usize {
        self.chars
    }

    /// When the state expires, if it can be read. A sealed state does not reveal it.
    pub(super) fn expires(&self) -> Option<SystemTime> {
        self.expires
    }
}

/// Reads the expiry from a state that is JSON, base64 of JSON, or a signed token.
fn expires(state: &str) -> Option<SystemTime> {
    let of_json = |json: &[u8]| serde_json::from_slice::<Claims>(json).ok();
    let of_part = |part: &str| {
        of_json(
            &BASE64
                .decode(part.replace('+', "-").replace('/', "_"))
                .ok()?,
        )
    };
    let claims =
        of_json(state.as_bytes()).or_else(|| state.split('.').take(3).find_map(of_part))?;
    let seconds = match claims.exp {
        exp if exp >= MILLISECONDS => exp / 1000.0,
        exp => exp,
    };
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_read_where_a_state_says_it() {
        #[track_caller]
        fn check(state: &str, expires: Option<u64>) {
            let expires =
                expires.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(State::read(state).expires(), expires);
        }
        check(r#"{"exp":1800000000}"#, Some(1_800_000_000));
        check(r#"{"expiresAt":1800000000000}"#, Some(1_800_000_000));
        // The token {"alg":"none"} . {"exp":1800000000} . signature
        check(
            "eyJhbGciOiJub25lIn0.eyJleHAiOjE4MDAwMDAwMDB9.c2ln",
            Some(1_800_000_000),
        );
        check("eyJleHAiOjE4MDAwMDAwMDB9", Some(1_800_000_000));
        check(r#"{"exp":-1}"#, None);
        check(r#"{"exp":1e300}"#, None);
        check(r#"{"exp":"soon"}"#, None);
        check("AgEAAAAA", None);
        check("", None);
    }
}
