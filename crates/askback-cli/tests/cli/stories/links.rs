//! Screens of links: the warnings, and what the server receives.

use super::{
    Do::{Press, See, Until},
    Server, Story, UNTOLD, asks, link, tell,
};
use crate::full::ESC;

/// A link that needs a second confirmation.
#[track_caller]
fn warned(name: &str, url: &str, host: &str) {
    let answers = format!("answers: [{{when: {{mode: url, host: \"{host}\"}}, accept: true}}]");
    tell(&Story {
        name,
        server: Server::Asks(&[asks(&[link("q1", url)])]),
        full: &[
            Until("[o] Open"),
            See,
            Press("o"),
            Until("[y] Open it anyway"),
            See,
            Press("y"),
        ],
        plain: "yes\n\nyes\n",
        answers: &answers,
        ..UNTOLD
    });
}

#[test]
fn a_link_that_may_mislead_takes_a_second_yes() {
    warned(
        "link_punycode",
        "https://xn--bcher-kva.example/pay",
        "xn--bcher-kva.example",
    );
    warned(
        "link_mixed_scripts",
        "https://\u{430}pple.com/",
        "xn--pple-43d.com",
    );
    warned("link_address", "https://192.0.2.7/pay", "192.0.2.7");
    warned("link_port", "https://example.com:8443/", "example.com:8443");
    warned(
        "link_unencrypted",
        "http://example.com/",
        "http://example.com",
    );
}

#[test]
fn a_link_that_leads_on_is_said_to() {
    tell(&Story {
        name: "link_leads_on",
        server: Server::Asks(&[asks(&[link(
            "q1",
            "https://login.example.com/a?redirect_uri=https://evil.example/cb",
        )])]),
        full: &[Until("[o] Open"), See, Press("o")],
        plain: "yes\n",
        answers: "answers: [{when: {mode: url, host: login.example.com}, accept: true}]",
        ..UNTOLD
    });
}

#[test]
fn a_link_that_cannot_be_read_as_it_opens_is_refused() {
    let long = format!("https://example.com/{}", "a".repeat(8192));
    for (name, url) in [
        ("link_user", "https://good.example@evil.example/"),
        ("link_scheme", "javascript:alert(1)"),
        ("link_changed", "https://example.com/a/../b"),
        ("link_long", &long),
    ] {
        tell(&Story {
            name,
            server: Server::Asks(&[asks(&[link("q1", url)])]),
            plain: "/tools\n",
            answers: "answers: [{decline: true}]",
            exit: 3,
            ..UNTOLD
        });
    }
}

#[test]
fn a_key_answers_no_question_after_the_one_it_was_typed_for() {
    tell(&Story {
        name: "keys_of_the_question_before",
        server: Server::Asks(&[asks(&[
            link("q1", "https://good.example/"),
            link("q2", "https://evil.example/grant"),
        ])]),
        full: &[
            Until("good.example"),
            Press("oo"),
            Until("evil.example"),
            See,
            Press(ESC),
        ],
        plain: "yes\n/cancel\n",
        answers: "answers: [{when: {mode: url, host: good.example}, accept: true}, \
            {when: {mode: url, host: evil.example}, cancel: true}]",
        exit: 3,
        ..UNTOLD
    });
}
