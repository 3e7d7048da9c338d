//! Results of servers, as readable text.

use askback::protocol::{
    CallToolResult, ContentBlock, EmbeddedResource, GetPromptResult, LeftOutEntry,
    ReadResourceResult, ResourceContents, ResourceLink, Role, SamplingBlock,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{
    page::{Page, Style},
    text::{self, PeerText},
    wire::indented,
    words,
};

#[derive(Debug, Clone)]
pub struct CallOutcome {
    pub text: PeerText,
    /// The structured content, if it says more than the text.
    pub structured: Option<String>,
    pub json: Value,
    pub failed: bool,
}

/// The result of a tool: its content, or its structured content if there is no other.
pub fn tool_result(result: &CallToolResult) -> PeerText {
    if result.content.is_empty()
        && let Some(structured) = &result.structured_content
    {
        return structured.into();
    }
    blocks(&result.content).into()
}

/// The structured content as JSON, unless the text of the result already says the same. The text is
/// often the same JSON, or its only member `result`.
pub fn structured(result: &CallToolResult) -> Option<String> {
    let structured = result.structured_content.as_ref()?;
    let value: Value = structured.decode().ok()?;
    let only = value.as_object().filter(|object| object.len() == 1);
    let only = only.and_then(|object| object.get("result"));
    let is_said = |text: &str| {
        let said: Option<Value> = serde_json::from_str(text).ok();
        let is_it = |value: &Value| said.as_ref() == Some(value) || value.as_str() == Some(text);
        is_it(&value) || only.is_some_and(is_it)
    };
    let mut texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    // A list often has one text per item.
    let items = only.unwrap_or(&value).as_array();
    let all: Vec<_> = texts.clone().collect();
    let is_each = items.is_some_and(|items| {
        let said = |(item, text): (&Value, &&str)| {
            item.as_str() == Some(text) || serde_json::from_str(text).ok().as_ref() == Some(item)
        };
        items.len() == all.len() && items.iter().zip(&all).all(said)
    });
    let is_shown = result.content.is_empty() || is_each || texts.any(is_said);
    (!is_shown).then(|| structured.as_str().to_owned())
}

const MAX_STRUCTURED_ROWS: usize = 6;

/// Puts the first rows of structured content on the page. Returns whether something was cut.
pub fn put_folded(page: &mut Page, structured: &str) -> bool {
    let mark = "Structured ";
    let room = page.look().columns.min(100).saturating_sub(mark.len());
    let room = room.saturating_sub(text::GUTTER.len());
    let json = indented(&text::json(structured));
    let lines: Vec<_> = json.lines().collect();
    let seen = lines.iter().take(MAX_STRUCTURED_ROWS);
    let seen: Vec<_> = seen.map(|line| text::fitted(line, room)).collect();
    page.quote_at(mark, seen.join("\n"));
    seen != lines
}

/// A longer text is shown as it came, because laying it out would block the terminal.
const MAX_LAID_OUT_BYTES: usize = 1 << 20;

/// Indents a text that is JSON without line breaks and longer than a row. Returns any other text unchanged.
pub fn laid_out(text: PeerText, columns: usize) -> PeerText {
    let raw = text.raw().trim();
    let is_shown_whole = raw.len() <= columns || raw.len() > MAX_LAID_OUT_BYTES;
    if is_shown_whole || !raw.starts_with(['{', '[']) || raw.contains('\n') {
        return text;
    }
    match serde_json::from_str::<IgnoredAny>(raw) {
        Ok(_) => indented(raw).into(),
        Err(_) => text,
    }
}

pub fn put_whole(page: &mut Page, text: &PeerText, structured: Option<&str>) {
    page.quote(laid_out(text.clone(), page.look().columns));
    if let Some(structured) = structured {
        page.blank();
        page.say(Style::Strong, words!("Structured content:"));
        page.quote(indented(&text::json(structured)));
    }
}

/// The messages of a prompt, each after its role.
pub fn prompt(result: &GetPromptResult) -> PeerText {
    let messages = result.messages.iter().map(|message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        format!("[{role}]\n{}", block(&message.content))
    });
    let left_out = result.left_out.iter().map(left_out);
    messages
        .chain(left_out)
        .collect::<Vec<_>>()
        .join("\n\n")
        .into()
}

pub fn resource(result: &ReadResourceResult) -> PeerText {
    let left_out = result.left_out.iter().map(left_out);
    let parts: Vec<_> = result
        .contents
        .iter()
        .map(contents)
        .chain(left_out)
        .collect();
    parts.join("\n").into()
}

fn left_out(entry: &LeftOutEntry) -> String {
    format!("[{} cannot be shown: {}]", entry.place, entry.why)
}

/// The files in a result, in order: images, audio and binary resources. Invalid base64 is skipped.
pub fn files(result: &Value) -> Vec<Vec<u8>> {
    let of = |name: &str| result[name].as_array().into_iter().flatten();
    let messages = of("messages").map(|message| &message["content"]);
    let blocks = of("content").chain(of("contents")).chain(messages);
    let file = |block: &Value| {
        let encoded = ["/data", "/blob", "/resource/blob"]
            .iter()
            .find_map(|path| block.pointer(path)?.as_str())?;
        STANDARD.decode(encoded).ok()
    };
    blocks.filter_map(file).collect()
}

pub fn sampling_block(block: &SamplingBlock) -> PeerText {
    PeerText::from(match block {
        SamplingBlock::Text(text) => text.text.clone(),
        SamplingBlock::Image(image) => bytes(Some(&image.mime_type), &image.data),
        SamplingBlock::Audio(audio) => bytes(Some(&audio.mime_type), &audio.data),
        SamplingBlock::ToolUse(used) => format!("[calls {} {}]", used.name, used.input.as_str()),
        SamplingBlock::ToolResult(result) => {
            format!(
                "[result of {}]\n{}",
                result.tool_use_id,
                blocks(&result.content)
            )
        }
    })
}

pub(crate) fn blocks(content: &[ContentBlock]) -> String {
    content.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => bytes(Some(&image.mime_type), &image.data),
        ContentBlock::Audio(audio) => bytes(Some(&audio.mime_type), &audio.data),
        ContentBlock::ResourceLink(link) => self::link(link),
        ContentBlock::Resource(EmbeddedResource { resource, .. }) => contents(resource),
    }
}

fn link(link: &ResourceLink) -> String {
    let name = link.title.as_ref().unwrap_or(&link.name);
    format!("[{name}: {}]", link.uri)
}

fn contents(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::Text(text) => format!("[{}]\n{}", text.uri, text.text),
        ResourceContents::Blob(blob) => {
            let what = bytes(blob.mime_type.as_deref(), &blob.blob);
            format!("[{}]\n{what}", blob.uri)
        }
    }
}

/// Describes binary data: `[image/png, 12 kB]`.
fn bytes(kind: Option<&str>, base64: &str) -> String {
    let padding = base64
        .bytes()
        .rev()
        .take_while(|&byte| byte == b'=')
        .count();
    let size = (base64.len() / 4).saturating_mul(3).saturating_sub(padding);
    let size = match size {
        0..1000 => format!("{size} bytes"),
        1000..1_000_000 => format!("{} kB", size.div_ceil(1000)),
        _ => format!("{}.{} MB", size / 1_000_000, size % 1_000_000 / 100_000),
    };
    format!("[{}, {size}]", kind.unwrap_or("bytes"))
}

#[cfg(test)]
mod tests {
    use askback::protocol::{BlobResourceContents, PromptMessage, RawJson, TextResourceContents};

    use crate::page::Look;

    use super::*;

    #[test]
    fn every_block_reads_as_text() {
        #[track_caller]
        fn check(block: ContentBlock, text: &str) {
            assert_eq!(blocks(&[block]), text);
        }
        check(ContentBlock::text("hello\nworld"), "hello\nworld");
        check(
            ContentBlock::image("AAAA", "image/png"),
            "[image/png, 3 bytes]",
        );
        check(
            ContentBlock::image("AA==", "image/png"),
            "[image/png, 1 bytes]",
        );
        check(
            ContentBlock::audio("A".repeat(16_000), "audio/wav"),
            "[audio/wav, 12 kB]",
        );
        check(
            ContentBlock::image("A".repeat(3_000_000), "image/png"),
            "[image/png, 2.2 MB]",
        );
        check(ContentBlock::link("travel://a", "a"), "[a: travel://a]");
        check(
            ContentBlock::resource(ResourceContents::Text(TextResourceContents {
                uri: "travel://a".to_owned(),
                text: "sun".to_owned(),
                ..TextResourceContents::default()
            })),
            "[travel://a]\nsun",
        );
        check(
            ContentBlock::resource(ResourceContents::Blob(BlobResourceContents {
                uri: "travel://a".to_owned(),
                blob: "AAAA".to_owned(),
                ..BlobResourceContents::default()
            })),
            "[travel://a]\n[bytes, 3 bytes]",
        );
    }

    #[test]
    fn long_json_is_laid_out() {
        #[track_caller]
        fn check(text: &str, shown: &str) {
            assert_eq!(laid_out(text.into(), 20).raw(), shown);
        }
        check(
            r#"{"a": {"b": [{"c": "0123456789"}]}}"#,
            "{\n  \"a\": {\n    \"b\": [\n      {\"c\": \"0123456789\"}\n    ]\n  }\n}",
        );
        for unchanged in [
            r#"{"a":1}"#,
            "{\"a\":\"0123456789\",\n\"b\":\"0123456789\"}",
            "{0123456789 0123456789}",
            "0123456789 0123456789 0123456789",
        ] {
            check(unchanged, unchanged);
        }
    }

    #[test]
    fn structured_content_is_shown_if_it_says_more_than_the_text() {
        #[track_caller]
        fn check(texts: &[&str], structured: &str, says_more: bool) {
            let mut result = CallToolResult::new("");
            result.content = texts.iter().map(|&text| ContentBlock::text(text)).collect();
            result.structured_content = RawJson::from_text(structured.to_owned()).ok();
            let more = super::structured(&result);
            assert_eq!(more.as_deref(), says_more.then_some(structured));
        }
        check(&["sunny"], r#"{"degrees":21}"#, true);
        check(&["sunny", "windy"], r#"{"degrees":21}"#, true);
        check(&[r#"{ "degrees": 21 }"#], r#"{"degrees":21}"#, false);
        check(&["see", r#"{"degrees":21}"#], r#"{"degrees":21}"#, false);
        check(&["sunny"], r#"{"result":"sunny"}"#, false);
        check(&["21"], r#"{"result":21}"#, false);
        check(&["21"], r#"{"result":21,"unit":"C"}"#, true);
        check(&["a", "b"], r#"{"result":["a","b"]}"#, false);
        check(&["1", "2"], r#"{"result":[1,2]}"#, false);
        check(&["1"], r#"{"result":[1,2]}"#, true);
        check(&[], r#"{"degrees":21}"#, false);
        let plain = CallToolResult::new("sunny");
        assert_eq!(super::structured(&plain), None);
    }

    #[test]
    fn the_first_rows_of_structured_content_are_shown() {
        #[track_caller]
        fn check(columns: usize, structured: &str, rows: &str, is_cut: bool) {
            let look = Look {
                columns,
                styled: false,
            };
            let mut page = Page::new(look);
            assert_eq!(put_folded(&mut page, structured), is_cut);
            assert_eq!(page.take().to_string(), rows);
        }
        let list = r#"["\u001b[2J north", 0.50]"#;
        check(80, list, &format!("Structured | {list}\n"), false);
        let cut = "Structured | [\"\\u001b[…\n";
        check(24, list, cut, true);
        let object = r#"{"a":"\u001b[2J","of":["x"]}"#;
        let rows = "Structured | {\n           |   \"a\": \"\\u001b[2J\",\n           |   \"of\": [\"x\"]\n           | }\n";
        check(80, object, rows, false);
        let long = format!("[[{}]]", [r#""0123456789""#; 9].join(","));
        let mut page = Page::new(Look {
            columns: 80,
            styled: false,
        });
        assert!(put_folded(&mut page, &long));
        assert_eq!(page.take().to_string().lines().count(), MAX_STRUCTURED_ROWS);
    }

    #[test]
    fn results_read_as_text() {
        let mut result = CallToolResult::new("one");
        result.content.push(ContentBlock::text("two"));
        assert_eq!(tool_result(&result), "one\ntwo".into());
        result.content.clear();
        result.structured_content = RawJson::from_text("{\"a\":1}".to_owned()).ok();
        assert_eq!(tool_result(&result), "{\"a\":1}".into());
        let messages = vec![
            PromptMessage::user(ContentBlock::text("hello")),
            PromptMessage::assistant(ContentBlock::text("yes")),
        ];
        let result = GetPromptResult {
            messages,
            ..GetPromptResult::default()
        };
        assert_eq!(prompt(&result), "[user]\nhello\n\n[assistant]\nyes".into());
    }
}
