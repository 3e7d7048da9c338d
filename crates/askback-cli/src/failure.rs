//! Errors on a page and as JSON.

use askback::{ErrorObject, protocol::RawJson};
use askback_host::{
    page::{Page, Style},
    text::{self, PeerText, Words},
    wire::indented,
    words,
};
use serde::Serialize;
use serde_json::{
    Error as JsonError,
    value::{RawValue, to_raw_value},
};

use crate::error::{Error, Exit, Kind};

/// The maximum number of characters of a peer's text, or of its result, that an error shows.
const QUOTED: usize = 2048;

/// The JSON object that is printed if there is no result.
#[derive(Debug, Serialize)]
struct Failure<'a> {
    error: Members<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    kind: Kind,
    exit_code: u8,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a ErrorObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawJson>,
}

impl Error {
    pub fn json(&self, exit: Exit) -> Result<Box<RawValue>, JsonError> {
        let detail = self.quoted.as_ref().map(PeerText::raw);
        to_raw_value(&Failure {
            error: Members {
                kind: self.kind,
                exit_code: exit as u8,
                // On a page, the quoted text follows.
                message: self.message.as_str().trim_end_matches(':'),
                // The server's error already has its text.
                detail: detail.filter(|_| self.answer.is_none()),
                hints: self.hints.iter().map(Words::as_str).collect(),
                server: self.answer.as_deref(),
                result: self.result.as_ref(),
            },
        })
    }

    pub fn put(&self, page: &mut Page) {
        page.line(words!("askback: {}", self.message));
        self.put_rest(page, |page, hint| page.line(words!("  {}", hint)));
    }

    /// Puts the error on a page, below a command in a conversation. The user may enter another
    /// command.
    pub fn put_below(&self, page: &mut Page) {
        page.item("× ", Style::Error, self.message.clone());
        self.put_rest(page, |page, hint| page.note(Style::Plain, hint));
    }

    fn put_rest(&self, page: &mut Page, hint: impl Fn(&mut Page, Words)) {
        if let Some(quoted) = &self.quoted {
            put_peer(page, quoted);
        }
        if let Some(result) = &self.result {
            page.note(Style::Plain, "Its result:");
            put_peer(page, &indented(&text::json(result.as_str())).into());
        }
        for words in &self.hints {
            hint(page, words.clone());
        }
    }
}

fn put_peer(page: &mut Page, said: &PeerText) {
    let (head, more) = said.cut(QUOTED);
    page.quote_at("  ", head);
    if more > 0 {
        page.note(Style::Dim, words!("{} more characters are left out", more));
    }
}

#[cfg(test)]
mod tests {
    use askback::{client::ClientError, protocol::CallToolResult};
    use askback_host::page::Look;
    use serde_json::{Value, json};

    use super::*;
    use crate::session::failed;

    #[test]
    fn an_error_as_json_has_the_result_that_does_not_fit() {
        let expected = json!({
            "kind": "protocol", "exitCode": 4, "message": "the server broke the protocol",
            "detail": "the result of the tool `t` does not fit its output schema: total: no number",
            "result": {"content": [], "structuredContent": {"total": "\u{9b}many"}},
        });
        let json = misfit().json(Exit::Failure).expect("it is written");
        let json: Value = serde_json::from_str(json.get()).expect("it is JSON");
        assert_eq!(json, json!({"error": expected}));
    }

    fn misfit() -> Error {
        let structured = RawJson::new(&json!({"total": "\u{9b}many"}));
        failed(ClientError::Output {
            tool: "t".to_owned(),
            why: "total: no number".to_owned(),
            result: Box::new(CallToolResult {
                structured_content: structured.ok(),
                ..CallToolResult::default()
            }),
        })
    }

    #[test]
    fn a_peers_text_is_shown_behind_the_gutter() {
        #[track_caller]
        fn check(error: &Error, ended: &str, below: &str) {
            let page = |put: &dyn Fn(&mut Page)| {
                let mut page = Page::new(Look {
                    columns: 40,
                    styled: false,
                });
                put(&mut page);
                page.take().to_string()
            };
            assert_eq!(page(&|page| error.put(page)), ended);
            assert_eq!(page(&|page| error.put_below(page)), below);
        }
        let plain = Error::usage("commands begin with a slash").hint("See /help.");
        check(
            &plain,
            "askback: commands begin with a slash\n  See /help.\n",
            "× commands begin with a slash\n  See /help.\n",
        );
        let quoting = Error::new(Kind::Server, "the server answered:")
            .quoting("no\n\x1b[2Jaskback: yes")
            .hint("Ask again.");
        let quoted = "  | no\n  | <U+001B>[2Jaskback: yes\n  Ask again.\n";
        check(
            &quoting,
            &format!("askback: the server answered:\n{quoted}"),
            &format!("× the server answered:\n{quoted}"),
        );
        let came = "  | the result of the tool `t` does not
  | fit its output schema: total: no
  | number
  Its result:
  | {
  |   \"content\": [],
  |   \"structuredContent\":
  | {\"total\":\"\\u009bmany\"}
  | }
";
        check(
            &misfit(),
            &format!("askback: the server broke the protocol:\n{came}"),
            &format!("× the server broke the protocol:\n{came}"),
        );
        let long = Error::usage("x").quoting("ab".repeat(QUOTED));
        let mut page = Page::new(Look {
            columns: 80,
            styled: false,
        });
        long.put(&mut page);
        let shown = page.take().to_string();
        assert!(
            shown.ends_with("2048 more characters are left out\n"),
            "{shown}"
        );
    }
}
