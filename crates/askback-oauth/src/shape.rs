//! Converts nonstandard token responses to the standard form.

use serde_json::Value;

/// How a provider's responses differ from RFC 6749, 5.1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerShape {
    /// The JSON pointer (RFC 6901) to the tokens in the response to a code, for providers that return several at once.
    /// If nothing is there, the response has no tokens. The response to a renewal has them at the top level.
    pub code_tokens_at: Option<String>,
    /// Whether scopes are separated by commas.
    pub has_commas: bool,
    /// Token types that are sent as `Bearer`.
    pub types: Vec<String>,
}

impl AnswerShape {
    /// Returns the response in standard form, with the tokens at this pointer. Leaves errors
    /// unchanged.
    pub(crate) fn straightened(&self, mut answer: Value, at: Option<&str>) -> Value {
        if let Some(pointer) = at
            && answer.get("error").is_none()
        {
            let inner = answer.pointer_mut(pointer).map(Value::take);
            answer = inner.unwrap_or_default();
        }
        if self.has_commas
            && let Some(Value::String(scopes)) = answer.get_mut("scope")
        {
            *scopes = scopes.replace(',', " ");
        }
        let is_known = |name: &str| self.types.iter().any(|it| it.eq_ignore_ascii_case(name));
        if let Some(Value::String(name)) = answer.get_mut("token_type")
            && is_known(name)
        {
            "Bearer".clone_into(name);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::AnswerShape;

    #[test]
    fn answers_are_made_like_those_of_the_standard() {
        let shape = AnswerShape {
            code_tokens_at: None,
            has_commas: true,
            types: vec!["user".to_owned()],
        };
        let said_no = json!({"ok": false, "error": "invalid_code"});
        for (answer, at, expected) in [
            (
                json!({"scope": "repo,gist", "token_type": "bearer"}),
                None,
                json!({"scope": "repo gist", "token_type": "bearer"}),
            ),
            (
                json!({"token_type": "bot", "for": {"token_type": "user", "access_token": "a"}}),
                Some("/for"),
                json!({"token_type": "Bearer", "access_token": "a"}),
            ),
            // The token at the top level is for another purpose.
            (json!({"access_token": "bot"}), Some("/for"), Value::Null),
            (said_no.clone(), Some("/for"), said_no),
        ] {
            assert_eq!(shape.straightened(answer, at), expected);
        }
    }
}
