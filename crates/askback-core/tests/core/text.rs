//! JSON that was cut inside a character.

use askback_core::json::message_text;

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    assert_eq!(message_text(bytes).unwrap(), expected);
}

#[test]
fn each_half_of_a_pair_becomes_the_replacement_character() {
    let same = [
        r#"{"a":"plain"}"#,
        r#""\ud83d\ude00""#,
        r#""\uD83D\uDE00\n\u00e9\"""#,
        r#""\\ud83d""#,
        r#""\\\\ud83d and \ud83d\ude00""#,
        r#""\ud7ff\ue000""#,
        r#""\ud8"#,
        r#""\ud8zz""#,
        "\\",
        "",
    ];
    for text in same {
        check(text.as_bytes(), text);
    }
    check(br#""cut \ud83d""#, r#""cut \ufffd""#);
    check(br#""\uDE00 low""#, r#""\ufffd low""#);
    check(br#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
    check(br#""\ude00\ud83d""#, r#""\ufffd\ufffd""#);
    check(br#""\\\ud83d\n""#, r#""\\\ufffd\n""#);
    check(br#"{"\udc00":"\ud83d\"}"}"#, r#"{"\ufffd":"\ufffd\"}"}"#);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_message() {
    check(b"\xef\xbb\xbf{}", "{}");
    check(b"{}", "{}");
    assert!(message_text(b"\xef\xbb").is_err());
}

#[test]
fn serde_reads_every_repaired_string() {
    // All sequences of four of these pieces.
    let pieces = [
        r"\ud83d", r"\ude00", r"\\", r"\n", "u", r"\uDBFF", "d83d", "é",
    ];
    let mut read = 0;
    for number in 0..pieces.len().pow(4) {
        let places = (0..4).map(|place| pieces[number / pieces.len().pow(place) % pieces.len()]);
        let text = format!("\"{}\"", places.collect::<Vec<_>>().concat());
        let mended = message_text(text.as_bytes()).unwrap();
        assert_eq!(mended.len(), text.len());
        serde_json::from_str::<String>(&mended).unwrap();
        let was_whole = serde_json::from_str::<String>(&text).is_ok();
        assert_eq!(was_whole, mended == text, "{text}");
        read += usize::from(!was_whole);
    }
    assert!(read > 1000, "{read}");
}
