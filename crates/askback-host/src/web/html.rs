//! HTML. It comes only from templates, which escape our words, and from functions that escape a peer's text.

use std::{fmt, sync::Arc};

use askama::{
    Template,
    filters::{self, Escaper as _},
};

use crate::{
    text::{self, PeerText},
    view,
};

/// HTML that is safe to insert into a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Html(Arc<str>);

impl Html {
    pub(super) fn of(template: &impl Template) -> Self {
        // Writing to a string cannot fail.
        Self(template.render().unwrap_or_default().into())
    }

    /// Escapes a peer's text. Control, bidirectional and zero-width characters become visible, and
    /// `<bdi>` isolates the text direction.
    pub(super) fn peer(text: &PeerText) -> Self {
        let text = text.raw().replace("\r\n", "\n");
        let lines: Vec<_> = text.split('\n').map(text::line).collect();
        Self(format!("<bdi>{}</bdi>", escaped(&lines.join("\n"))).into())
    }

    pub(super) fn text(text: &view::Text) -> Self {
        match text {
            view::Text::Ours(words) => Self(escaped(words.as_str()).into()),
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
            (Some(before), Some(domain), Some(after)) => {
                let [before, domain, after] = [before, domain, after].map(escaped);
                Self(format!("<bdi>{before}<strong>{domain}</strong>{after}</bdi>").into())
            }
            _ => Self::peer(&address.text),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    // Writing to a string cannot fail.
    let _ = filters::Html.write_escaped_str(&mut escaped, text);
    escaped
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl filters::HtmlSafe for Html {}

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
