//! Secrets of ours in the environment, which no server is given.

use std::{env, ffi::OsString};

use askback::authorization::Secret;

/// How the names of our own variables begin. All of them are kept from servers, so that one that
/// is added later is, too.
const OURS: &str = "ASKBACK_";

/// Holds the secret of the client that `--client-id` names, if no file does.
pub const CLIENT_SECRET: &str = "ASKBACK_CLIENT_SECRET";

/// The secret in a variable; none where it is not set, or is no text.
pub fn secret(name: &str) -> Option<Secret> {
    env::var(name).ok().map(Secret::new)
}

pub fn ours() -> impl Iterator<Item = OsString> {
    env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| is_ours(&name.to_string_lossy()))
}

/// Variables with which clients pay for their models. Some clients start servers with them (seen on 2026-11-26: Claude Code
/// and Qwen Code).
const MODEL_KEYS: [&str; 14] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_OPENAI_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "COPILOT_PROVIDER_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
];

pub fn is_model_key(name: &str) -> bool {
    MODEL_KEYS.contains(&name)
}

/// The model keys that are set.
pub fn model_keys() -> impl Iterator<Item = &'static str> {
    MODEL_KEYS
        .into_iter()
        .filter(|name| env::var_os(name).is_some())
}

/// Whether a variable is ours. Some systems do not tell small letters from capitals.
pub fn is_ours(name: &str) -> bool {
    name.get(..OURS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OURS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_known_by_its_name() {
        for (name, expected) in [
            (CLIENT_SECRET, true),
            ("ASKBACK_ANYTHING", true),
            ("askback_client_secret", true),
            ("ASKBACK", false),
            ("MY_ASKBACK_SECRET", false),
            ("ÄÄÄÄÄ", false),
            ("", false),
        ] {
            assert_eq!(is_ours(name), expected, "{name}");
        }
    }
}
