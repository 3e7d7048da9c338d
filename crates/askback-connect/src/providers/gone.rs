//! Answers that say that a token is good for nothing any more.

use askback_oauth::Fetched;
use serde_json::Value;

/// Whether an answer refuses the token that it was asked with: by its status (RFC 6750, 3.1), or in words with the status
/// of a yes.
pub(super) fn is_refusal(answer: &Fetched) -> bool {
    answer.status == 401 || says_gone(&answer.json().unwrap_or_default())
}

/// Whether the words of an answer say so: those of Slack, <https://docs.slack.dev/reference/methods/auth.test>.
pub(super) fn says_gone(answer: &Value) -> bool {
    const GONE: [&str; 3] = ["invalid_auth", "token_expired", "token_revoked"];
    answer["error"]
        .as_str()
        .is_some_and(|it| GONE.contains(&it))
}
