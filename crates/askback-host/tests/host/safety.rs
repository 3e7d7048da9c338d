//! No text of a server can move the cursor or imitate one of our questions.

use askback::{limits::Limits, protocol::Implementation};
use askback_host::{
    model::{Asker, Desk, Event, Question},
    page::{Look, Page},
    plain::Dialog,
    text,
    view::Reader,
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};
use serde_json::Value;

use crate::{form, in_full, link, travel};

/// Runs the same cases each time. `PROPTEST_RNG_SEED` and `PROPTEST_CASES` change that.
pub(crate) fn config() -> Config {
    let mut config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(0);
    }
    config
}

/// Text of a hostile server: any characters, with many control characters.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        Just("\x1b[2J\x1b[H".to_owned()),
        Just("\x1b]8;;https://evil.example\x07here\x1b]8;;\x07".to_owned()),
        Just("\x1b]52;c;AAAA\x07".to_owned()),
        Just("\u{9b}31m".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\t".to_owned()),
        Just("\n> yes\nSent to travel.\n".to_owned()),
        Just("\u{2028}travel asks\u{2029}".to_owned()),
        Just("\u{202e}gnp.exe\u{2066}".to_owned()),
        Just("a\u{200b}b\u{200d}c\u{fe0f}\u{e0041}".to_owned()),
        Just(" ".repeat(70)),
        "[a-z ]{1,30}",
        "[а-яעברית日本👩✈]{1,12}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A form with this text in every place.
pub(crate) fn question(text: &str) -> Question {
    let text = Value::from(text);
    form(
        text.as_str().unwrap_or_default(),
        &format!(
            r#"
                {text}: {{"type": "string", "title": {text}, "description": {text}, "default": {text}}},
                "one": {{"type": "string", "oneOf": [
                    {{"const": {text}, "title": {text}}}, {{"const": "b", "title": {text}}}
                ]}},
                "many": {{"type": "array", "items": {{"type": "string", "enum": [{text}, "c"]}}, "default": [{text}]}},
                "last": {{"type": "string", "enum": ["x"], "enumNames": [{text}]}}
            "#
        ),
        "",
    )
}

/// Returns the lines without a gutter, which only we may write.
fn ours(screen: &str) -> Vec<&str> {
    let is_ours = |line: &&str| {
        !line
            .trim_start_matches(|c: char| c == ' ' || c.is_ascii_alphanumeric())
            .starts_with('|')
    };
    screen.lines().filter(is_ours).collect()
}

fn shown(question: &Question, columns: usize) -> String {
    let limits = Limits::default();
    let shown = limits.host.message_shown;
    let look = Look {
        columns,
        styled: false,
    };
    let mut dialog = Dialog::new(Page::new(look), shown, Reader::default());
    let mut desk = Desk::new(travel(), None, None, limits);
    let happened = desk.update(Event::Asked(1, question.clone()));
    dialog.happened(&desk, &happened);
    dialog.show(&desk, false);
    let mut screen = dialog.page().take().to_string();
    for _ in 0..5 {
        // The user's input ends the line.
        screen.push('\n');
        for said in dialog.hear(&desk, "") {
            let happened = desk.update(Event::Action(said));
            dialog.happened(&desk, &happened);
        }
        dialog.show(&desk, false);
        screen += &dialog.page().take().to_string();
    }
    screen + "\n" + &in_full(&travel(), question, look)
}

proptest! {
    #![proptest_config(config())]

    // Shows EL-42.
    #[test]
    fn nothing_that_acts_reaches_the_terminal(text in hostile()) {
        let screen = shown(&question(&text), 80) + &shown(&link(&text), 40);
        for c in screen.chars() {
            prop_assert!(c == '\n' || !c.is_control(), "{c:?} in {screen:?}");
            let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!turns, "{c:?} in {screen:?}");
        }
    }

    #[test]
    fn every_line_fits_the_terminal(text in hostile(), columns in 4usize..100) {
        for line in shown(&question(&text), columns).lines() {
            prop_assert!(text::columns(line) <= columns, "{line:?}");
        }
    }

    #[test]
    fn no_line_of_ours_is_the_servers(text in hostile()) {
        let mine = shown(&question("plain"), 80);
        let theirs = shown(&question(&text), 80);
        let mine = ours(&mine);
        for line in ours(&theirs) {
            let hint = line.replace(" · Enter keeps it", "");
            let known = mine.iter().any(|known| known.replace(" · Enter keeps it", "").contains(&hint));
            prop_assert!(known, "{line:?} in\n{theirs}");
        }
    }

    // Shows EL-03, EL-27, EL25-15, EL25-18.
    #[test]
    fn a_server_cannot_hide_in_its_name(name in hostile()) {
        let asker = Asker {
            claims: Some(Implementation::new(name.clone(), name.clone())),
            ..travel()
        };
        let look = Look { columns: 80, styled: false };
        let screen = in_full(&asker, &form("?", "", ""), look);
        let lines: Vec<_> = screen.lines().collect();
        prop_assert!(lines[1].starts_with("travel asks"), "{screen}");
        prop_assert!(lines[3].starts_with("  says it is |"), "{screen}");
        prop_assert!(screen.chars().all(|c| c == '\n' || !c.is_control()));
    }

    #[test]
    fn quoted_text_keeps_its_gutter(text in hostile(), columns in 1usize..100) {
        for line in text::quoted(&text, columns) {
            prop_assert!(line.starts_with('|'));
            prop_assert!(text::columns(&line) <= columns, "{line:?}");
        }
    }
}
