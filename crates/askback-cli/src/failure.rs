//! Errors, as a page shows them, and as JSON.

use askback_core::jsonrpc::ErrorObject;
use askback_host::{
    page::{Page, Style},
    text::{PeerText, Words},
    words,
};
use serde::Serialize;
use serde_json::{
    Error as JsonError,
    value::{RawValue, to_raw_value},
};

use crate::error::{Error, Exit, Kind};

/// The most characters of a peer's words that are shown of an error.
const QUOTED: usize = 2048;

/// The object that is printed in place of a result that would be JSON.
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
}

impl Error {
    /// The error as JSON, for a run that ends with this code.
    ///
    /// # Errors
    ///
    /// None that is known: everything in it is text, or was read from JSON.
    pub fn json(&self, exit: Exit) -> Result<Box<RawValue>, JsonError> {
        let detail = self.quoted.as_ref().map(PeerText::raw);
        to_raw_value(&Failure {
            error: Members {
                kind: self.kind,
                exit_code: exit as u8,
                // On a page, what is quoted follows.
                message: self.message.as_str().trim_end_matches(':'),
                // The words of the server are in its error.
                detail: detail.filter(|_| self.answer.is_none()),
                hints: self.hints.iter().map(Words::as_str).collect(),
                server: self.answer.as_deref(),
            },
        })
    }

    /// Puts the error on a page, as what ends the run.
    pub fn put(&self, page: &mut Page) {
        page.line(words!("askback: {}", self.message));
        self.put_rest(page, |page, hint| page.line(words!("  {}", hint)));
    }

    /// Puts the error on a page, as what came of a command: the person may give another.
    pub fn put_below(&self, page: &mut Page) {
        page.item("× ", Style::Warning, self.message.clone());
        self.put_rest(page, |page, hint| page.note(Style::Plain, hint));
    }

    fn put_rest(&self, page: &mut Page, hint: impl Fn(&mut Page, Words)) {
        if let Some(quoted) = &self.quoted {
            let (head, more) = quoted.cut(QUOTED);
            page.quote_at("  ", head);
            if more > 0 {
                page.note(Style::Dim, words!("{} more characters are left out", more));
            }
        }
        for words in &self.hints {
            hint(page, words.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use askback::client::ClientError;
    use askback_host::page::Look;
    use serde_json::{Value, json};

    use super::*;
    use crate::session::failed;

    #[test]
    fn an_error_is_json_with_all_there_is_to_know() {
        #[track_caller]
        fn check(error: &Error, exit: Exit, expected: Value) {
            let json = error.json(exit).expect("it is written");
            let json: Value = serde_json::from_str(json.get()).expect("it is JSON");
            assert_eq!(json, json!({"error": expected}));
        }
        let usage = Error::usage("no server is named").hint("Write one.");
        check(
            &usage,
            Exit::Usage,
            json!({"kind": "usage", "exitCode": 2, "message": "no server is named", "hints": ["Write one."]}),
        );
        let broken = Error::new(Kind::SignIn, "the client is not authorized:").quoting("no\u{9b}");
        check(
            &broken,
            Exit::SignIn,
            json!({"kind": "sign-in", "exitCode": 5, "message": "the client is not authorized", "detail": "no\u{9b}"}),
        );
        let answered = ErrorObject {
            code: -32002,
            message: "gone".to_owned(),
            data: Some(json!({"uri": "a://b"})),
        };
        let expected = json!({
            "kind": "server", "exitCode": 1, "message": "the server answered with error -32002",
            "server": {"code": -32002, "message": "gone", "data": {"uri": "a://b"}},
        });
        let error = failed(ClientError::Server(answered));
        check(&error, Exit::ToolError, expected);
    }

    #[test]
    fn a_peers_words_stand_behind_the_gutter() {
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
