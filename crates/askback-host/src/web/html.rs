//! HTML. It comes only from templates and from two functions that escape our words and a peer's
//! text.

use std::{fmt, sync::Arc};

use askama::Template;

use crate::{
    text::{self, PeerText, Words},
    view,
};

/// HTML that is safe to insert into a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Html(Arc<str>);

#[derive(Template)]
#[template(source = "{{ text }}", ext = "html")]
struct Escaped<'a> {
    text: &'a str,
}

#[derive(Template)]
#[template(source = "<bdi>{{ text }}</bdi>", ext = "html")]
struct Apart<'a> {
    text: &'a str,
}

#[derive(Template)]
#[template(
    source = "<bdi>{{ before }}<strong>{{ domain }}</strong>{{ after }}</bdi>",
    ext = "html"
)]
struct Address<'a> {
    before: &'a str,
    domain: &'a str,
    after: &'a str,
}

impl Html {
    pub(super) fn of(template: &impl Template) -> Self {
        // Writing to a string cannot fail.
        Self(template.render().unwrap_or_default().into())
    }

    pub(super) fn ours(words: &Words) -> Self {
        Self::of(&Escaped {
            text: words.as_str(),
        })
    }

    /// Escapes a peer's text. Control, bidirectional and zero-width characters become visible, and
    /// `<bdi>` isolates the text direction.
    pub(super) fn peer(text: &PeerText) -> Self {
        let text = text.raw().replace("\r\n", "\n");
        let lines: Vec<_> = text.split('\n').map(text::line).collect();
        Self::of(&Apart {
            text: &lines.join("\n"),
        })
    }

    pub(super) fn text(text: &view::Text) -> Self {
        match text {
            view::Text::Ours(words) => Self::ours(words),
            view::Text::Peer(text) => Self::peer(text),
        }
    }

    /// Formats an address, with its domain in bold.
    pub(super) fn address(address: &view::Address) -> Self {
        let raw = address.text.raw();
        let before = raw.get(..address.domain.start);
        let domain = raw.get(address.domain.clone());
        let after = raw.get(address.domain.end..);
        match (before, domain, after) {
            (Some(before), Some(domain), Some(after)) => Self::of(&Address {
                before,
                domain,
                after,
            }),
            _ => Self::peer(&address.text),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl askama::filters::HtmlSafe for Html {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_text_is_never_markup() {
        #[track_caller]
        fn check(text: &str, html: &str) {
            let html = format!("<bdi>{html}</bdi>");
            assert_eq!(Html::peer(&text.into()).as_str(), html);
        }
        check("größer\n日本", "größer\n日本");
        check("<script>", "&#60;script&#62;");
        check("</bdi>\"'&", "&#60;/bdi&#62;&#34;&#39;&#38;");
        check("gpj.\u{202e}exe", "gpj.&#60;U+202E&#62;exe");
        check(
            "y\u{200b}es\u{7}\r\nno\r",
            "y&#60;U+200B&#62;es&#60;U+0007&#62;\nno&#60;U+000D&#62;",
        );
    }
}
