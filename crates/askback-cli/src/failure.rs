//! Errors, as a page shows them.

use askback_host::{
    page::{Page, Style},
    text::Words,
    words,
};

use crate::error::Error;

/// The most characters of a peer's words that are shown of an error.
const QUOTED: usize = 2048;

impl Error {
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
    use super::*;
    use crate::error::Kind;
    use askback_host::page::Look;

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
