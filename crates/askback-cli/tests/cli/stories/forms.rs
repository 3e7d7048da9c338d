//! Screens of forms.

use serde_json::{Value, json};

use super::{
    Do::{Gone, Paste, Press, Resize, See, Until},
    Server, Story, UNTOLD, WIDTHS, asks, by_a_file, form, in_lines, link, on_the_screen, tell,
};
use crate::full::{CTRL_C, CTRL_D, END, ENTER, ESC, REVIEW};

/// The form of a booking, with required fields.
fn booking(id: &str) -> Value {
    form(
        id,
        "Flights and hotel come to 3000 USD.",
        &json!({
            "name": {"type": "string", "title": "Full name", "maxLength": 50},
            "nights": {"type": "integer", "title": "Nights", "minimum": 1, "default": 7},
            "seat": {"type": "string", "title": "Seat", "enum": ["window", "aisle"]},
        }),
        &["name"],
    )
}

#[test]
fn a_form_with_an_error_in_every_field_is_corrected() {
    // On the full screen, a boolean or a choice with a default cannot be invalid, because a key selects an
    // option or does nothing. In line mode a word can be invalid. The voucher's pattern is not part of the schema: the
    // server checks it, and asks again.
    let wrong = "\x15x\tabc\tada@\tkyoto\t2026-02-30\tsoon\t\x157\t\x1512\t\t\t\t1234\t23";
    let right = "yz\t\tb.org\t\x15https://kyoto.travel\t\x152026-06-15\t\x15\t\x15750\t\x7f\
        \t\x1b[D\t\x1b[C\t\x1b[C\t4\t23";
    let accepts = |voucher: &str| {
        format!(
            "{{name: xyz, voucher: {voucher}, email: ada@b.org, inspiration: 'https://kyoto.travel', \
            depart: 2026-06-15, budget: 750, travellers: 1, pets: true, pace: fast, meals: No meals, \
            interests: [food, history, museums]}}"
        )
    };
    tell(&Story {
        name: "errors_and_their_correction",
        full: &[
            Until("How would you like"),
            See,
            Press(wrong),
            Press(REVIEW),
            Until("not ready"),
            See,
            Press(right),
            Press(REVIEW),
            // On the narrow screen the review is longer than the screen.
            Until("Ready to send"),
            Press(END),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
            Until("could not be used"),
            See,
            Press("\t\x15ABC-1234"),
            Press(REVIEW),
            Until("Ready to send"),
            Press(END),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
        ],
        plain: "x\nxyz\nabc\nada@\nada@b.org\nkyoto\nhttps://kyoto.travel\n2026-02-30\n2026-06-15\nsoon\n\
            \n7\n750\n12\n1\nmaybe\nyes\nquick\nfast\nall\n1\n1 2 3 4\n1 2 3\n1 2 3\n\n\n\
            \nABC-1234\n/review\n\n",
        answers: &format!(
            "answers: [{{accept: {}, times: 1, then: [{{accept: {}}}]}}]",
            accepts("abc"),
            accepts("ABC-1234")
        ),
        ..UNTOLD
    });
}

#[test]
fn a_default_that_does_not_fit_is_shown_and_left_out() {
    let fields = json!({
        "seats": {"type": "integer", "title": "Seats", "maximum": 9, "default": 12},
        "class": {"type": "string", "title": "Class", "enum": ["first", "second"], "default": "third"},
    });
    tell(&Story {
        name: "a_default_that_does_not_fit",
        server: Server::Asks(&[asks(&[form("q1", "How many?", &fields, &[])])]),
        full: &[
            Until("first ( ) second"),
            See,
            Press("\t"),
            Until("| 12"),
            See,
            Press(REVIEW),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
        ],
        plain: "\n\n\n",
        answers: "answers: [{accept: true}]",
        ..UNTOLD
    });
}

#[test]
fn an_option_of_many_is_found_by_a_part_of_it() {
    let stations: Vec<_> = (1..=300)
        .map(|number| format!("Station {number}"))
        .collect();
    let fields = json!({
        "from": {"type": "string", "title": "From", "enum": stations},
        "past": {"type": "array", "title": "Past", "items": {"enum": stations}},
    });
    tell(&Story {
        name: "an_option_of_many",
        server: Server::Asks(&[asks(&[form("q1", "Which way?", &fields, &["from"])])]),
        full: &[
            Until("type to find"),
            See,
            Press("88"),
            Until("3 of 300 have"),
            Press("\x1b[C"),
            Until("› (x) | Station 188"),
            See,
            Press("\t77"),
            Until("› [ ] | Station 77"),
            Press(" "),
            Press("\x7f\x7f12"),
            Until("› [ ] | Station 12"),
            Press(" x"),
            Until("0 of 300 have"),
            See,
            Press(REVIEW),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
        ],
        plain: "on 18\nStation 188\n12 77\n\n",
        answers: "answers: [{accept: {from: Station 188, past: [Station 12, Station 77]}}]",
        ..UNTOLD
    });
}

#[test]
fn questions_wait_in_a_queue() {
    let round = [
        booking("q1"),
        link("q2", "https://example.com/pay"),
        booking("q3"),
    ];
    tell(&Story {
        name: "a_queue_of_questions",
        server: Server::Asks(&[asks(&round)]),
        full: &[
            Until("question 1 of 3"),
            See,
            Press("Ada"),
            Press(REVIEW),
            Until("[Enter] Send"),
            Press(ENTER),
            Until("Pay."),
            See,
            Press("o"),
            Gone("[o] Open"),
            See,
            Press(ESC),
        ],
        plain: "Ada\n\n\n\nyes\n/cancel\n",
        answers: "answers: [{when: {mode: url, host: example.com}, accept: true}, \
            {accept: {name: Ada}, times: 1, then: [{cancel: true}]}]",
        exit: 3,
        ..UNTOLD
    });
}

#[test]
fn a_form_is_declined_with_a_reason() {
    tell(&Story {
        name: "declined_with_a_reason",
        server: Server::Asks(&[asks(&[booking("q1")])]),
        full: &[
            Until("Full name"),
            Press(CTRL_D),
            Until("Why not?"),
            Press("too dear"),
            Until("dear"),
            See,
            Press(ENTER),
        ],
        plain: "/decline too dear\n",
        answers: "answers: [{decline: true, reason: too dear}]",
        exit: 3,
        ..UNTOLD
    });
}

#[test]
fn a_form_is_cancelled() {
    for (name, keys) in [
        ("cancelled_by_esc", &[Until("Full name"), Press(ESC)][..]),
        (
            "cancelled_by_ctrl_c",
            &[
                Until("Full name"),
                Press("Ada"),
                Until("Ada"),
                Press(CTRL_C),
                Gone("Ada"),
                See,
                Press(CTRL_C),
            ],
        ),
    ] {
        tell(&Story {
            name,
            server: Server::Asks(&[asks(&[booking("q1")])]),
            full: keys,
            plain: "/cancel\n",
            answers: "answers: [{cancel: true}]",
            exit: 3,
            ..UNTOLD
        });
    }
}

#[test]
fn a_form_that_asks_for_a_password_is_warned_of() {
    let password = json!({"password": {"type": "string", "title": "Your password"}});
    tell(&Story {
        name: "a_password",
        server: Server::Asks(&[asks(&[form("q1", "Sign in.", &password, &[])])]),
        full: &[
            Until("[y] Fill it in"),
            See,
            Press("y"),
            Until("a text, optional"),
            See,
            Press(CTRL_D),
            Until("Why not?"),
            Press("not here"),
            Press(ENTER),
        ],
        plain: "/decline not here\n",
        answers: "answers: [{decline: true, reason: not here}]",
        exit: 3,
        ..UNTOLD
    });
}

// Shows EL25-13.
#[test]
fn a_flood_of_questions_is_capped_and_muted() {
    let flood: Vec<_> = (0..1000)
        .map(|number| booking(&format!("q{number}")))
        .collect();
    let story = Story {
        name: "a_flood",
        server: Server::Asks(&[asks(&flood)]),
        full: &[
            Until("asks too much"),
            Press("/mute"),
            Until("Enter runs /mute"),
            See,
            Press(ENTER),
        ],
        plain: "/mute\n",
        answers: "answers: [{decline: true}]",
        exit: 6,
        ..UNTOLD
    };
    // How many questions arrive within a window varies, but there is an upper limit.
    for width in WIDTHS {
        let (screens, heard) = on_the_screen(&story, width);
        assert_eq!(screens.matches("asks too much").count(), 2, "{screens}");
        assert!(screens.contains("question 1 of 17"), "{screens}");
        assert_eq!(heard.lines().count(), 1000, "{heard}");
    }
    for heard in [in_lines(&story), by_a_file(&story)] {
        assert_eq!(heard.map(|it| it.lines().count()), Some(1000));
    }
}

#[test]
fn the_terminal_changes_its_size_in_the_middle_of_a_form() {
    tell(&Story {
        name: "resized",
        server: Server::Asks(&[asks(&[booking("q1")])]),
        full: &[
            Until("Full name"),
            Press("Ada"),
            Until("Ada"),
            Resize(60),
            Resize(40),
            See,
            Resize(200),
            See,
            Press(" L"),
            Until("Ada L"),
            Resize(40),
            See,
            Press(REVIEW),
            Until("[Enter] Send"),
            Resize(200),
            See,
            Press(ENTER),
        ],
        plain: "Ada L\n\n\n\n",
        answers: "answers: [{accept: {name: Ada L}}]",
        ..UNTOLD
    });
}

#[test]
fn a_long_paste_is_one_value_and_whole() {
    let line = "0123456789 abcdefghij\n\n\n";
    let (long, longest) = (line.repeat(4200), line.repeat(2700));
    assert!(long.len() > 100_000 && longest.len() > 60_000);
    let note = json!({"note": {"type": "string", "title": "Note"}});
    tell(&Story {
        name: "a_paste",
        server: Server::Asks(&[asks(&[form("q1", "Anything else?", &note, &[])])]),
        full: &[
            Until("Note"),
            Paste(&long),
            Until("is longer than"),
            See,
            Press(CTRL_C),
            Gone("is longer than"),
            Paste(&longest),
            Until("0123456789"),
            Press(REVIEW),
            Until("[Enter] Send"),
            See,
            Press(ENTER),
        ],
        plain: &format!("/lines\n{longest}\n.\n\n"),
        answers: &json!({"answers": [{"accept": {"note": longest}}]}).to_string(),
        ..UNTOLD
    });
}
