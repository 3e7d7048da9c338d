//! Prepares Rust files for the rules: without comments and tests.

/// Returns the code before a file's tests, with comments removed. Line numbers stay the same.
pub(crate) fn code(text: &str) -> String {
    let code = strip(text, true);
    let tests = code.find("#[cfg(test)]\nmod tests {");
    code[..tests.unwrap_or(code.len())].to_owned()
}

/// Returns the code as [`code`] does, without the content of string literals.
pub(crate) fn words(text: &str) -> String {
    strip(&code(text), false)
}

/// Removes comments and, unless `keep_strings`, the content of strings.
fn strip(text: &str, keep_strings: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let token = token(rest);
        let (piece, after) = rest.split_at(token.length.max(first.len_utf8()));
        match token.kind {
            Kind::Comment => out.extend(piece.chars().filter(|c| *c == '\n')),
            Kind::String if !keep_strings => {
                out.push('"');
                out.extend(piece.chars().filter(|c| *c == '\n'));
                out.push('"');
            }
            Kind::String | Kind::Other => out.push_str(piece),
        }
        rest = after;
    }
    out
}

struct Token {
    kind: Kind,
    length: usize,
}

enum Kind {
    Comment,
    String,
    Other,
}

fn token(text: &str) -> Token {
    let (kind, length) = if text.starts_with("//") {
        (Kind::Comment, text.find('\n').unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        (Kind::Comment, block_comment(text))
    } else if let Some(length) = raw_string(text) {
        (Kind::String, length)
    } else if let Some(inside) = text.strip_prefix('"') {
        (Kind::String, 1 + until_quote(inside, '"'))
    } else if let Some(inside) = text.strip_prefix('\'') {
        (Kind::Other, 1 + character(inside))
    } else if text.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        // A whole word, so that the `r` of `for` does not begin a raw string.
        let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        (Kind::Other, end.unwrap_or(text.len()))
    } else {
        (Kind::Other, 0)
    };
    Token { kind, length }
}

fn block_comment(text: &str) -> usize {
    text.find("*/").map_or(text.len(), |end| end + 2)
}

fn raw_string(text: &str) -> Option<usize> {
    let body = text.strip_prefix("br").or(text.strip_prefix('r'))?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inside = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let start = text.len() - inside.len();
    Some(
        inside
            .find(&close)
            .map_or(text.len(), |end| start + end + close.len()),
    )
}

/// Returns the length of the rest of a character literal, or zero after the tick of a lifetime.
fn character(inside: &str) -> usize {
    let closed = inside.chars().nth(1) == Some('\'');
    if inside.starts_with('\\') || closed {
        until_quote(inside, '\'')
    } else {
        0
    }
}

/// Returns the length up to and including the first unescaped quote.
fn until_quote(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == quote && !escaped {
            return at + quote.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

#[test]
fn comments_strings_and_tests_are_told_from_code() {
    #[track_caller]
    fn check(text: &str, kept: &str, without: &str) {
        assert_eq!((code(text).as_str(), words(text).as_str()), (kept, without));
    }
    check("let a = 1; // one\nb", "let a = 1; \nb", "let a = 1; \nb");
    check("a /* b\n */ c", "a \n c", "a \n c");
    check(r#"f("a // b", c)"#, r#"f("a // b", c)"#, r#"f("", c)"#);
    check(r#"f("a\"b") // c"#, r#"f("a\"b") "#, r#"f("") "#);
    check(
        r##"r#"a "b" // c"# d"##,
        r##"r#"a "b" // c"# d"##,
        r#""" d"#,
    );
    check(
        "'\"' '\\'' b'/' 'a // c",
        "'\"' '\\'' b'/' 'a ",
        "'\"' '\\'' b'/' 'a ",
    );
    check("for\"x\"", "for\"x\"", "for\"\"");
    check("a\n#[cfg(test)]\nmod tests {\n b }", "a\n", "a\n");
}
