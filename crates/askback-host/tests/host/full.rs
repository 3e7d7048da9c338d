//! The full screen at several widths: pressed keys, and the screen after them.

use std::time::Duration;

use askback::{
    limits::Limits,
    protocol::{CreateMessageParams, Root, SamplingMessage},
};
use askback_host::{
    ending::QuestionEnd,
    full::{Frame, Key, Screen, Size},
    leaf::Did,
    model::{
        About, Action, Ask, Call, Change, Conversation, Desk, Effect, Event, Far, How, Offer,
        Question, Reply, Server, SuggestionRequest,
    },
    page::{Look, Page},
    relay::ServerId,
    text::{self, Words, given},
    view::{self, Reader},
    words,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    blanks, booking, called, dates, evening, form, going_on, link, listed_secrets, long_labels,
    nested, of_model, offering, reply_of_a_model, roots, safety, sign_in, sign_in_for_more,
    suggested, travel, unfinished, vacation,
};

enum Do<'a> {
    /// The server asks. Questions are numbered from 1.
    Ask(Question),
    /// These characters are typed, one key each.
    Type(&'a str),
    Press(Key),
    /// Suggested values that start with this text.
    Suggest(usize, &'a str, &'a [&'a str]),
    /// The screen is drawn, and this many milliseconds pass.
    Pass(u64),
    Withdraw(u64),
    Look,
    NoBrowser,
    /// The user reached this machine from another one.
    Elsewhere,
    Model,
    Reply(&'a str),
}

use Do::{
    Ask as Asks, Elsewhere, Look as See, Model, NoBrowser, Pass, Press, Suggest, Type, Withdraw,
};

struct Seat {
    talk: Conversation,
    screen: Screen,
    page: Page,
    size: Size,
    prompt: Option<Words>,
    has_browser: bool,
    now: Duration,
    /// The answers, the opened links, and the lines in the scrollback.
    log: String,
}

const SERVER: ServerId = ServerId::FIRST;

fn talk(desk: Desk) -> Conversation {
    Conversation::new(Server::new(desk))
}

impl Seat {
    fn new(columns: usize) -> Self {
        let limits = Limits::default();
        let offer = Root::new("file:///home/ada/trip");
        let look = Look {
            columns,
            styled: false,
        };
        Self {
            screen: Screen::new(limits.host.message_shown, Reader::default()),
            talk: talk(Desk::new(travel(), Some(offer), None, limits).with_clock(evening())),
            page: Page::new(look),
            size: Size { columns, rows: 24 },
            prompt: None,
            has_browser: true,
            now: Duration::ZERO,
            log: String::new(),
        }
    }

    fn happen(&mut self, event: Event) {
        let happened = self.talk.update(Change::Desk(SERVER, event));
        let happened = happened.expect("it is of a desk");
        self.screen
            .happened(self.talk.seen(), &happened, &mut self.page);
        self.log += &self.page.take().to_string();
        for effect in &happened.effects {
            if let Some(done) = of_model(effect) {
                self.log += &done;
                continue;
            }
            self.log += &match effect {
                Effect::Answer(id, Reply::Form(content)) => {
                    format!("= {id}: accept {}\n", Value::from(content.clone()))
                }
                Effect::Answer(id, reply) => format!("= {id}: {reply:?}\n"),
                Effect::Open(url) => format!("= open {url}\n"),
                Effect::CheckFolder(path) => format!("= look at {path}\n"),
                Effect::Suggest(SuggestionRequest { name, text, .. }) => {
                    format!("= suggest {name} {text:?}\n")
                }
                Effect::Tell(_) | Effect::Run(_) | Effect::Remember(_) => String::new(),
            };
            if matches!(effect, Effect::Open(_)) {
                self.happen(Event::Browser(self.has_browser));
            }
        }
    }

    /// Performs the actions with which a form opens, before the first key.
    fn begin(&mut self) {
        while let Some(said) = self.screen.begun(self.talk.seen()) {
            self.happen(Event::Action(said));
        }
    }

    fn press(&mut self, key: &Key) {
        // The screen is redrawn before each key.
        self.frame();
        let prompt = self.prompt.clone();
        let did = self
            .screen
            .press(&self.talk, prompt.as_ref(), key, &mut self.page);
        self.log += &self.page.take().to_string();
        match did {
            Did::Action(all) => {
                for said in all {
                    self.happen(Event::Action(said));
                }
            }
            Did::Interrupt if self.talk.seen().front().is_some() => {
                self.happen(Event::Action(Action::Cancel));
            }
            did => {
                self.log += &format!("= {did:?}\n");
                if let Did::Line(line) = did {
                    self.talk.update(Change::Entered(vec![line]));
                }
            }
        }
    }

    fn frame(&mut self) -> Frame {
        let prompt = self.prompt.clone();
        self.screen
            .frame(&self.talk, prompt.as_ref(), None, self.size, false, false)
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now.saturating_add(Duration::from_millis(millis));
        self.talk.pass(self.now);
    }

    fn look(&mut self) -> String {
        shown(&self.frame())
    }

    /// The rows while a question does not accept keys yet.
    fn settling(&mut self) -> Frame {
        self.screen
            .frame(&self.talk, None, None, self.size, false, true)
    }
}

/// Prints a frame. `▌` is the cursor.
fn shown(frame: &Frame) -> String {
    let mut shown = String::new();
    for row in 0..frame.height() {
        let mut line = String::new();
        let mut put = |column: usize, text: &str| {
            let blanks = column.saturating_sub(text::columns(&line));
            line.extend(std::iter::repeat_n(' ', blanks));
            line += text;
        };
        let cursor = frame.cursor().filter(|(at, _)| *at == row);
        for (index, cell) in frame.cells(row).iter().enumerate() {
            put(if cell.is_behind { 0 } else { cell.column }, &cell.text);
            if cursor.is_some_and(|(_, at)| at == index) {
                put(0, "▌");
            }
        }
        shown += line.trim_end();
        shown.push('\n');
    }
    shown
}

/// Runs these steps and returns the screen at each `See` and at the end.
fn play(columns: usize, does: Vec<Do<'_>>) -> String {
    let mut seat = Seat::new(columns);
    run(&mut seat, does) + &seat.log
}

/// Runs these steps and returns the screen at each `See`.
fn run(seat: &mut Seat, does: Vec<Do<'_>>) -> String {
    let columns = seat.size.columns;
    let mut told = String::new();
    let mut questions = 0;
    for does in does {
        match does {
            Asks(question) => {
                questions += 1;
                seat.happen(Event::Asked(questions, question));
                seat.begin();
            }
            Type(text) => {
                for c in text.chars() {
                    seat.press(&Key::Char(c));
                }
            }
            Press(key) => seat.press(&key),
            Suggest(field, text, values) => seat.happen(suggested(field, text, values)),
            Pass(millis) => {
                seat.frame();
                seat.pass(millis);
            }
            Withdraw(id) => seat.happen(Event::Ended(id, QuestionEnd::Withdrawn)),
            NoBrowser => seat.has_browser = false,
            Elsewhere => {
                seat.screen = Screen::new(Limits::default().host.message_shown, crate::ELSEWHERE);
            }
            Model => {
                let desk = Desk::new(travel(), None, None, Limits::default());
                seat.talk = talk(crate::with_model(desk));
            }
            Do::Reply(text) => seat.happen(reply_of_a_model(text, false)),
            See => {
                told += &std::mem::take(&mut seat.log);
                told += &format!("{}\n", "-".repeat(columns));
                told += &seat.look();
                told += &format!("{}\n", "-".repeat(columns));
            }
        }
    }
    told
}

fn everything() -> Question {
    form(
        "How would you like to travel to Kyoto?",
        r#"
            "name": {"type": "string", "title": "Name of trip", "minLength": 2, "default": "Our trip"},
            "voucher": {"type": "string", "title": "Voucher", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
            "email": {"type": "string", "title": "Email", "format": "email"},
            "page": {"type": "string", "title": "Inspiration", "format": "uri"},
            "day": {"type": "string", "title": "First day", "format": "date"},
            "moment": {"type": "string", "title": "Call at", "format": "date-time"},
            "budget": {"type": "number", "title": "Budget", "minimum": 20, "maximum": 2000},
            "people": {"type": "integer", "title": "Travellers", "minimum": 1, "maximum": 9, "default": 2},
            "pets": {"type": "boolean", "title": "Pets", "default": false},
            "pace": {"type": "string", "title": "Pace", "enum": ["slow", "steady", "fast"], "default": "steady"},
            "meals": {"type": "string", "title": "Meals", "oneOf": [
                {"const": "n", "title": "None"}, {"const": "b", "title": "Breakfast"},
                {"const": "d", "title": "Breakfast and dinner"}
            ]},
            "interests": {"type": "array", "title": "Interests", "minItems": 1, "maxItems": 3, "items": {
                "type": "string", "enum": ["food", "history", "museums", "music", "nature"]
            }},
            "extras": {"type": "array", "title": "Extras", "maxItems": 2, "items": {
                "type": "string", "enum": ["car", "guide", "bicycle"]
            }}
        "#,
        r#""email", "day", "meals", "interests""#,
    )
}

pub(crate) fn sampling() -> Question {
    Question {
        call: Some(Call::Tool("find_best_flight".to_owned())),
        key: None,
        ask: Ask::Sample(Box::new(CreateMessageParams::new("Pick a flight.", 100))),
    }
}

fn leading(count: usize) -> String {
    let sites = (0..count).map(|site| format!("p{site}=https://s{site}.example&"));
    format!("https://example.com/?{}", sites.collect::<String>())
}

/// A link with a redirect target, every warning, and an address of many rows.
fn misleading() -> String {
    let path = "sign-in/".repeat(120);
    let to = (1..=5).map(|number| format!("&to={number}=https://evil-{number}.example/"));
    let to = to.collect::<String>().replace("=https", "&r=https");
    format!(
        "http://\u{430}pple.{}.example:8443/{path}?a=1{to}",
        "login".repeat(12)
    )
}

/// The properties of a form with this many numbers, each with a default.
pub(crate) fn lengths(count: usize) -> String {
    let fields =
        (1..=count).map(|n| format!(r#""n{n:02}": {{"type": "integer", "default": {n}}}"#));
    fields.collect::<Vec<_>>().join(", ")
}

fn wordy() -> Question {
    let words = "abcd ".repeat(20_000);
    let schema = format!(
        r#"{{"type": "object", "properties": {{"city": {{"type": "string", "title": "{words}", "description": "{words}"}}}}}}"#
    );
    Question {
        ask: Ask::Form {
            message: "Where to?".to_owned(),
            schema: serde_json::from_str(&schema).expect("it is a schema"),
        },
        ..form("", "", "")
    }
}

fn long_talk(messages: usize) -> Question {
    let mut question = sampling();
    if let Ask::Sample(request) = &mut question.ask {
        let says = |number| match number % 2 {
            0 => {
                SamplingMessage::assistant(format!("Answer {number}. {}", "And so on. ".repeat(10)))
            }
            _ => SamplingMessage::user(format!("Question {number}?")),
        };
        request.messages = (1..messages).map(says).collect();
        request.messages.push(SamplingMessage::user("What is new?"));
    }
    question
}

macro_rules! screens {
    ($($name:ident: $columns:expr, [$($does:expr),* $(,)?];)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(play($columns, vec![$($does),*]));
        }
    )*};
}

screens! {
    // Shows EL-03, EL-13, EL-27, EL-28, EL-30.
    a_booking: 80, [
        Asks(booking()), See, Type("y"), Press(Key::Enter), See, Type("a"), Press(Key::Ctrl('s')), See,
        Press(Key::Enter),
    ];
    a_form_on_a_narrow_screen: 40, [Asks(everything()), Press(Key::Tab), See];
    a_form_on_a_wide_screen: 120, [Asks(everything()), Press(Key::Tab), See];
    // Shows EL-05.
    an_error_in_every_field_and_its_correction: 80, [
        Asks(everything()),
        Press(Key::Ctrl('u')), Type("x"), Press(Key::Tab), Type("abc"), Press(Key::Tab), Type("ada@"),
        Press(Key::Tab), Type("kyoto"), Press(Key::Tab), Type("2026-02-30"), Press(Key::Tab), Type("soon"),
        Press(Key::Tab), Type("7"), Press(Key::Tab), Press(Key::Ctrl('u')), Type("12"), Press(Key::Ctrl('s')), See,
        Type("y"), Press(Key::Tab), Press(Key::Ctrl('u')), Type("ABC-1234"), Press(Key::Tab), Type("b.org"),
        Press(Key::Tab), Press(Key::Ctrl('u')), Type("https://kyoto.travel"), Press(Key::Tab), Press(Key::Ctrl('u')),
        Type("2026-06-15"), Press(Key::Tab), Press(Key::Ctrl('u')), Press(Key::Tab), Type("50"), Press(Key::Tab),
        Press(Key::Backspace), Press(Key::Tab), Press(Key::Left), Press(Key::Tab), Press(Key::Right),
        Press(Key::Tab), Press(Key::Right), Press(Key::Tab), Type("1"), Type("2345"), See,
        Type("4"), Type("5"), Press(Key::Tab), Press(Key::Ctrl('s')), See, Press(Key::Enter),
    ];
    dates_are_written_as_a_person_does: 80, [
        Asks(dates()), Type("tomorr"), See, Type("ow"), See, Press(Key::Tab), See, Type("9:0"), See, Type("0"), See,
        Press(Key::Ctrl('s')), See, Press(Key::Enter),
    ];
    an_option_with_a_slash_is_found: 80, [
        Asks(form("Where?", r#""zone": {"type": "string", "enum": ["Africa/Cairo", "America/Lima", "America/New_York",
            "Asia/Dili", "Asia/Tokyo", "Europe/Oslo", "Europe/Paris", "Europe/Rome"]}"#, "")),
        Type("europe/r"), See, Press(Key::Ctrl('s')), Press(Key::Enter),
    ];
    a_long_list_is_seen_in_part: 80, [
        Asks(form("Which?", r#""day": {"type": "string", "title": "Day", "enum": [
            "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Holiday", "Never"]}"#, "")),
        Type("h"), See, Press(Key::Ctrl('s')), Press(Key::Enter),
    ];
    // Shows EL-04, EL-29, EL25-17.
    declined_with_a_reason: 80, [
        Asks(booking()), Press(Key::Ctrl('d')), Type("too dear"), See, Press(Key::Enter),
    ];
    a_decline_is_taken_back: 80, [
        Asks(booking()), Press(Key::Ctrl('d')), Press(Key::Esc), See, Press(Key::Esc),
    ];
    ctrl_c_clears_then_cancels: 80, [
        Asks(form("Who?", r#""name": {"type": "string"}"#, "")), Type("Ada"), Press(Key::Ctrl('c')), See,
        Press(Key::Ctrl('c')),
    ];
    commands_work_within_a_field: 80, [
        Asks(form("Who?", r#""name": {"type": "string"}"#, "")), Type("/decline no"), See, Press(Key::Enter),
        Asks(form("Where?", r#""path": {"type": "string"}"#, "")), Type("/home/ada"), Press(Key::Enter),
        Press(Key::Enter),
        Asks(form("Which?", r#""word": {"type": "string"}"#, "")), Type("//tmp"), Press(Key::Enter), Press(Key::Enter),
        Asks(booking()), Type("y"), Press(Key::F(1)), See, Press(Key::F(8)),
    ];
    what_was_written_is_there_again: 80, [
        Asks(booking()), Type("y"), Press(Key::Tab), Withdraw(1), Asks(booking()), See, Press(Key::Esc),
        // A form that was declined starts empty again.
        Asks(booking()), See, Withdraw(3), Asks(form("Another?", r#""a": {"type": "string"}"#, "")), See, Press(Key::Esc),
        Asks(form("Sign in.", r#""password": {"type": "string"}"#, "")), Type("y"), Type("hush"), Withdraw(5),
        Asks(form("Sign in.", r#""password": {"type": "string"}"#, "")), Type("y"), See, Press(Key::Esc),
        Asks(booking()), Withdraw(7), Asks(booking()), Press(Key::Esc),
    ];
    a_reply_that_was_written_is_there_again: 80, [
        Asks(sampling()), Type("Take the"), Withdraw(1), Asks(sampling()), See, Type(" 8:10"), Press(Key::Ctrl('s')), See,
        Withdraw(2), Asks(sampling()), See, Press(Key::Backspace), See, Press(Key::Ctrl('c')), Withdraw(3),
        Asks(sampling()), See, Press(Key::Esc),
        // A rewritten part of a request is also there again.
        Model, Asks(sampling()), Type("y"), Press(Key::Ctrl('u')), Type("Be brief"), Withdraw(5), Asks(sampling()), See,
        Press(Key::Ctrl('s')), Withdraw(6), Asks(sampling()), See, Press(Key::Esc),
    ];
    each_kind_of_question_lists_its_keys: 80, [
        Asks(link("https://\u{430}pple.com/")), Type("?"), See, Type("oy?"), See, Type("?"), Press(Key::Esc),
        Asks(vacation(true)), Press(Key::F(1)), See, Type("?"), Press(Key::Ctrl('s')), Press(Key::Ctrl('c')), Press(Key::Esc),
        Asks(booking()), Type("?"), See, Type("?"), Press(Key::Ctrl('s')), Type("?"), Type("y"), Press(Key::Ctrl('s')),
        Type("?"), See, Press(Key::Ctrl('d')), Press(Key::F(1)), See, Press(Key::Esc), Press(Key::Ctrl('c')),
        Asks(roots()), Press(Key::F(1)), See, Press(Key::Esc), Press(Key::Esc),
        Model, Asks(sampling()), Type("?"), See,
    ];
    a_link_lists_its_keys_on_a_narrow_screen: 40, [Asks(link("https://example.com/")), Type("?"), See, Press(Key::Esc)];
    esc_closes_the_help_first: 80, [
        Asks(booking()), Press(Key::F(1)), Press(Key::Esc), See, Press(Key::Esc),
    ];
    a_link_is_a_code_for_a_camera: 80, [
        Asks(link("https://login.example.com/a?redirect_uri=https://evil.example/cb&state=0123456789012345")),
        Type("q"), See,
        Press(Key::Esc),
    ];
    a_link_that_leads_to_many_sites: 40, [
        Asks(link(&leading(10))), See, Press(Key::Esc), Asks(link(&leading(8))), See, Press(Key::Esc),
    ];
    a_text_of_several_lines: 80, [
        Asks(form("Notes?", r#""notes": {"type": "string"}, "more": {"type": "string"}"#, "")),
        Type("one"), Press(Key::Break), Type("two"), See, Press(Key::Left), Press(Key::Home), See,
        Press(Key::Paste("0\n".repeat(12))), See, Press(Key::Tab), See, Press(Key::Ctrl('s')), Press(Key::Enter),
    ];
    a_description_is_told_from_a_long_text: 80, [
        Asks(form("Notes?", r#""notes": {"type": "string", "description": "What we should know.", "default": "one\ntwo"}"#, "")),
        See, Press(Key::Esc),
    ];
    what_is_wanted_is_said_beside_what_is_wrong: 80, [
        Asks(form("Who?", r#""name": {"type": "string", "minLength": 2, "maxLength": 40, "pattern": "^[a-z]*$"},
            "age": {"type": "integer", "minimum": 18, "maximum": 120, "default": 40}, "mail": {"type": "string", "format": "email"},
            "seat": {"type": "string", "enum": ["by the window", "on the aisle", "wherever it is"]}"#, "")),
        Type("a"), See, Press(Key::Tab), Type("0"), See, Press(Key::Tab), Type("ada"), See, Type("@b.org"), Press(Key::Tab),
        See, Press(Key::Esc),
    ];
    a_paste_is_one_value: 80, [
        Asks(form("Note?", r#""note": {"type": "string"}"#, "")), Press(Key::Paste("one\n\n\nyes\n".into())), See,
        Press(Key::Enter), Press(Key::Enter),
    ];
    questions_queue: 80, [
        Asks(booking()), Asks(link("https://example.com/")), Asks(roots()), See, Withdraw(1), See, Press(Key::Esc),
        Type("y"),
    ];
    a_label_is_as_wide_as_the_screen_has_room: 120, [
        Asks(form("Where to?", r#""a": {"type": "string", "title": "The street and the number of the house there"},
            "b": {"type": "string", "title": "Town"}"#, "")),
        Type("Main Street 1"), See, Press(Key::Ctrl('s')), See,
    ];
    questions_are_counted_on_a_narrow_screen: 40, [
        Asks(link("https://example.com/")), Asks(roots()), See, Press(Key::Esc), See,
    ];
    who_asks_in_which_call_is_seen_on_a_narrow_screen: 40, [
        Asks(link("https://example.com/")), See, Press(Key::Esc), Asks(sampling()), See, Press(Key::Esc), Asks(roots()),
        See, Press(Key::Esc), Asks(Question { call: Some(Call::Tool("find_the_best_flight_and_hotel_in_all_cities".to_owned())),
            ..sampling() }), Asks(sampling()), See,
    ];
    what_is_being_typed_stays_when_more_is_asked: 80, [
        Asks(form("Who?", r#""name": {"type": "string"}"#, "")), Type("Ada"), Press(Key::Left), Asks(booking()),
        Type("x"), See, Press(Key::Ctrl('u')), Press(Key::End), Press(Key::Ctrl('u')), Type("/de"), Asks(roots()),
        Type("cline no"), See, Press(Key::Enter),
    ];
    // Shows EL-41.
    a_link_that_may_mislead: 80, [
        Asks(link("https://\u{430}pple.com:8443/")), See, Type("o"), See, Type("y"), See, Press(Key::Enter),
    ];
    a_link_is_read_to_its_end: 40, [
        Asks(link(&misleading())), See, Type("o"), See, Press(Key::PageDown), Type("o"), Press(Key::PageDown),
        Press(Key::Down), See, Press(Key::PageDown), Press(Key::PageDown), See, Type("o"), See, Type("y"), See,
    ];
    labels_and_descriptions_may_be_of_any_length: 80, [
        Asks(wordy()),
        See, Press(Key::Esc),
    ];
    an_agreement_is_read_to_its_end: 40, [
        Asks(form(&"It changes nothing. ".repeat(50), "", "")), Press(Key::Enter), See, Press(Key::PageDown),
        Press(Key::PageDown), See, Press(Key::Enter),
    ];
    a_default_is_reviewed_whole: 40, [
        Asks(form("Where to?", &format!(
            r#""city": {{"type": "string", "default": "{} and more"}}, "by": {{"type": "string"}}"#, "Rome, ".repeat(20),
        ), "")),
        Press(Key::Tab), Press(Key::Paste("a boat that is slow, ".repeat(5))), Press(Key::Ctrl('s')), See,
        Press(Key::Enter),
    ];
    a_default_that_was_edited_is_reviewed_whole: 40, [
        Asks(form("Where to?", &format!(
            r#""city": {{"type": "string", "default": "Rome, and {}"}}"#, "all that is beside it, ".repeat(4),
        ), "")),
        Press(Key::Home), Type("Ostia near "), See, Press(Key::Ctrl('s')), See, Press(Key::Enter),
    ];
    a_review_is_read_to_its_end: 80, [
        Asks(form("Sizes?", &lengths(40), "")), Press(Key::Ctrl('s')), See, Press(Key::Enter), Press(Key::PageDown),
        Press(Key::Enter), Press(Key::PageDown), See, Press(Key::Enter),
    ];
    blanks_are_told_before_they_are_sent: 80, [
        Asks(blanks()), Type("  "), Press(Key::Tab), Type(" Ada  L"), Press(Key::Tab), Type("all is seen"), Press(Key::Ctrl('s')), See,
        Press(Key::Enter),
    ];
    blanks_are_told_on_a_narrow_screen: 40, [
        Asks(blanks()), Type("  "), Press(Key::Tab), Type(" Ada  L"), Press(Key::Ctrl('s')), See, Press(Key::Esc),
    ];
    labels_are_read_whole_before_they_are_sent: 40, [
        Asks(long_labels()), Type("y"), Press(Key::Tab), Type("Ada Lovelace, Countess of King-Noel"), Press(Key::Tab), Type("London"),
        Press(Key::Tab), Type("A text of the person that goes on and on"), Press(Key::Tab), Type("1000"), Press(Key::Ctrl('s')),
        See, Press(Key::Enter),
    ];
    a_long_conversation_shows_what_is_new: 80, [
        Model, Asks(long_talk(60)), See, Press(Key::PageUp), See, Press(Key::Enter), See,
    ];
    // Shows EL-16.
    a_link_whose_page_is_not_finished: 80, [
        Asks(unfinished("https://login.example.com/c?id=7")), See, Type("o"), See, Press(Key::Enter),
    ];
    a_link_of_a_waiting_call_is_opened: 80, [Asks(going_on()), Type("o")];
    a_page_on_this_machine_is_said_to_be: 40, [
        Asks(link("http://127.0.0.1:8080/pay")), See, Press(Key::Esc), Elsewhere, Asks(link("http://localhost/pay")), See, Type("o"),
        See, Press(Key::Esc),
    ];
    a_link_waits_where_no_browser_is: 80, [
        NoBrowser, Asks(going_on()), Type("o"), See, Type("o"), Press(Key::Esc), Asks(going_on()), Type("o"),
        Press(Key::Enter), Asks(link("https://example.com/")), Type("o"), See, Press(Key::Enter),
    ];
    // Shows EL-38.
    a_link_is_shown_whole: 40, [
        Asks(link("https://login.example.com/a?redirect_uri=https://evil.example/cb&state=0123456789")), See, Type("c"),
        Type("d"), Press(Key::Enter),
    ];
    a_sign_in: 80, [
        Asks(sign_in("https://auth.example.com/authorize?client_id=a")), Type("o"), See,
        Press(Key::Paste("http://127.0.0.1:4321/callback?code=c".into())), Press(Key::Enter),
    ];
    a_sign_in_for_more_than_before: 80, [
        Asks(sign_in_for_more()), See, Type("o"),
    ];
    a_secret_is_warned_of: 80, [
        Asks(form("Sign in.", r#""password": {"type": "string", "title": "Your password"}"#, "")), See,
        Press(Key::Enter), Type("y"), See, Press(Key::Esc),
    ];
    a_secret_is_not_seen_until_it_is_wanted: 80, [
        Asks(form("Sign in.", r#""user": {"type": "string"}, "password": {"type": "string", "minLength": 5},
            "note": {"type": "string"}"#, "")),
        Type("yada"), Press(Key::Tab), Type("hünk"), Press(Key::Left), See, Press(Key::Ctrl('r')), See, Press(Key::Ctrl('r')),
        Press(Key::Tab), See, Press(Key::BackTab), Type("er"), Press(Key::Tab), See, Press(Key::Ctrl('s')), See,
        Press(Key::Ctrl('r')), Press(Key::F(1)), See, Press(Key::Enter),
        Asks(form("Your key?", r#""private_key": {"type": "string"}"#, "")), Type("y"), Press(Key::Paste("one\ntwo".into())), See,
        Press(Key::Ctrl('r')), See, Press(Key::Esc),
    ];
    secrets_in_lists_are_not_seen: 80, [
        Asks(listed_secrets()), Type("y"), Type("hünk, hunk"), Press(Key::Tab), Type("hunk"), Press(Key::Tab),
        Type(r#"[{"user": "ada", "password": "hunk"}]"#), See,
        Press(Key::Ctrl('s')), See, Press(Key::Esc),
    ];
    values_are_suggested_as_one_types: 80, [
        Asks(vacation(true)), Type("Ba"), See, Suggest(0, "B", &["stale"]),
        Suggest(0, "Ba", &["Barcelona", "Bath\x1b[2J", "Basel"]), See,
        Press(Key::Down), Press(Key::Down), Press(Key::Down), Press(Key::Up), See, Press(Key::Up), Press(Key::Enter), See,
        Press(Key::Tab), Press(Key::Ctrl('s')), Press(Key::Enter),
    ];
    tab_takes_what_completes_the_text: 80, [
        Asks(vacation(true)), Type("Ba"), Suggest(0, "Ba", &["Lima", "Barcelona", "Basel"]), Pass(300), See, Press(Key::Tab), See,
        Press(Key::Tab), Type("x"), Suggest(1, "x", &["June"]), Pass(300), Press(Key::Tab), Press(Key::Ctrl('s')), Press(Key::Enter),
    ];
    values_are_suggested_before_a_key_is_pressed: 80, [
        Asks(vacation(true)), Suggest(0, "", &["Barcelona", "Basel"]), See, Press(Key::Down), Press(Key::Tab), Press(Key::Tab),
        Suggest(1, "", &["June", "July"]), Press(Key::Down), Press(Key::BackTab), See, Press(Key::Esc),
    ];
    a_form_that_was_not_sent_can_be_gone_through: 80, [
        Asks(vacation(true)), Press(Key::Ctrl('s')), Press(Key::Tab), See, Suggest(1, "", &["June"]), See, Press(Key::BackTab),
        Suggest(0, "", &["Basel"]), See, Press(Key::Tab), Press(Key::Ctrl('s')), See, Press(Key::Esc),
    ];
    what_is_suggested_is_reviewed_whole: 40, [
        Asks(vacation(true)), Type("Ba"), Suggest(0, "Ba", &["Barcelona, a flight there, a hotel, and all else that there is"]),
        Press(Key::Down), Press(Key::Enter), Press(Key::Ctrl('s')), See, Press(Key::Esc),
    ];
    nothing_is_suggested_where_nobody_does: 80, [
        Asks(vacation(false)), Type("Ba"), Suggest(0, "Ba", &["Barcelona"]), See, Press(Key::Esc),
    ];
    an_empty_form_takes_a_yes: 80, [Asks(form("Delete it?", "", "")), See, Press(Key::Enter)];
    what_cannot_be_drawn_is_written_as_json: 80, [
        Asks(nested()), Type("Ada"), Press(Key::Tab), Type(r#"{"street": "#), See, Type(r#""Main Street"}"#),
        Press(Key::Ctrl('s')), See, Press(Key::Enter),
    ];
    // Shows SA-02, SA-03.
    a_model_is_asked: 80, [
        Asks(sampling()), Type("Take"), Press(Key::Enter), Type("the 08:10."), See, Press(Key::Ctrl('s')), See,
        Type("e"), Type("!"), Press(Key::Ctrl('s')), Press(Key::Enter),
    ];
    a_request_and_a_reply_are_looked_over: 80, [
        Model, Asks(sampling()), See, Type("e"), See, Type(" Be brief."), Press(Key::Ctrl('s')), See, Press(Key::Enter), See,
        Do::Reply("Take the 08:10."), See, Type("e"), Press(Key::Backspace), Type("!"), Press(Key::Ctrl('s')), See,
        Press(Key::Enter),
    ];
    a_reply_that_was_not_changed_is_the_model_s: 80, [
        Model, Asks(sampling()), Press(Key::Enter), Do::Reply("Take the 08:10."), See, Press(Key::Enter),
        // Changed and changed back; then changed and run again.
        Asks(sampling()), Press(Key::Enter), Do::Reply("One."), See, Type("e!"), Press(Key::Backspace), Press(Key::Ctrl('s')),
        Press(Key::Enter), Asks(sampling()), Press(Key::Enter), Do::Reply("Two."), See, Type("e!"), Press(Key::Ctrl('s')),
        Type("r"), See, Do::Reply("Three."), See, Press(Key::Enter),
    ];
    what_is_permitted_is_not_asked_again: 40, [
        Model, Asks(sampling()), See, Type("aA"), Do::Reply("One."), Asks(sampling()), See, Do::Reply("Two."),
    ];
    a_model_is_never_asked: 80, [Model, Asks(sampling()), Type("nN"), Asks(sampling())];
    // Shows SA-03.
    tools_are_offered_to_a_person: 80, [
        Asks(offering("auto", called())), See, Type("Take the 08:10."), Press(Key::Ctrl('s')), See, Press(Key::Enter),
    ];
    a_tool_has_to_be_called: 40, [
        Asks(offering("required", called())), See, Type("None."), Press(Key::Ctrl('s')), Press(Key::Enter), See,
        Press(Key::Ctrl('d')), Press(Key::Enter),
    ];
    a_reply_of_ones_own_is_gone_on_with: 80, [
        Model, Asks(offering("auto", Vec::new())), See, Type("w"), Type("Mine."), Press(Key::Ctrl('s')), Type("e"),
        Press(Key::Ctrl('b')), See, Type("w"), See, Press(Key::Enter),
    ];
    a_folder_is_allowed: 80, [Asks(roots()), See, Press(Key::Enter), See, Type("y")];
    another_folder_is_asked_for: 80, [Asks(roots()), Type("~/other"), See, Press(Key::Enter), Press(Key::Esc)];
}

/// Runs these steps and then, for each key that the question shows, the same steps and that key.
/// Fails if the key changes nothing.
fn check_keys(does: fn() -> Vec<Do<'static>>) {
    let shown_after = |key: Option<&Key>| {
        let mut seat = Seat::new(80);
        run(&mut seat, does());
        if let Some(key) = key {
            seat.log.clear();
            seat.press(key);
        }
        let front = seat.talk.seen().front();
        let asker = seat.talk.seen().asker();
        let view = front.map(|front| view::view(asker, &front, Reader::default()));
        let actions = view.iter().flat_map(|view| &view.actions);
        let labels: Vec<_> = actions.map(|it| (it.act, it.key.to_string())).collect();
        (labels, seat.look(), seat.log)
    };
    let (labels, before, _) = shown_after(None);
    assert!(!labels.is_empty(), "there is no question: {before}");
    for (act, label) in labels {
        let key = match &*label {
            "Enter" => Key::Enter,
            "Esc" => Key::Esc,
            "F1" => Key::F(1),
            label => match label.strip_prefix('^') {
                Some(letter) => Key::Ctrl(letter.to_ascii_lowercase().parse().unwrap()),
                None => Key::Char(label.parse().unwrap()),
            },
        };
        let (_, after, log) = shown_after(Some(&key));
        assert!(
            before != after || !log.is_empty(),
            "{label} does not {act:?} at\n{before}"
        );
    }
}

fn secret() -> Question {
    form("Sign in.", r#""password": {"type": "string"}"#, "")
}

#[test]
fn every_key_that_a_question_shows_does_something() {
    check_keys(|| vec![Asks(booking())]);
    check_keys(|| vec![Asks(booking()), Type("y"), Press(Key::Ctrl('s'))]);
    check_keys(|| vec![Asks(booking()), Press(Key::Ctrl('d'))]);
    check_keys(|| vec![Asks(form("Delete it?", "", ""))]);
    check_keys(|| vec![Asks(secret())]);
    check_keys(|| vec![Asks(secret()), Type("yhush")]);
    check_keys(|| vec![Asks(link("https://example.com/"))]);
    check_keys(|| vec![Asks(link("https://example.com/")), Type("o")]);
    check_keys(|| vec![Asks(link("https://\u{430}pple.com/")), Type("o")]);
    check_keys(|| {
        vec![
            Asks(sign_in("https://example.com/a?client_id=a")),
            Type("o"),
        ]
    });
    check_keys(|| vec![Asks(roots())]);
    check_keys(|| vec![Asks(roots()), Type("/elsewhere")]);
    check_keys(|| vec![Asks(sampling()), Type("Mine")]);
    check_keys(|| vec![Asks(sampling()), Type("Mine"), Press(Key::Ctrl('s'))]);
    check_keys(|| vec![Model, Asks(sampling())]);
    check_keys(|| vec![Model, Asks(sampling()), Type("e!")]);
    check_keys(|| vec![Model, Asks(sampling()), Press(Key::Enter)]);
    check_keys(|| {
        vec![
            Model,
            Asks(sampling()),
            Press(Key::Enter),
            Do::Reply("One."),
        ]
    });
    check_keys(|| vec![Asks(vacation(true)), Type("x")]);
    check_keys(|| vec![Asks(vacation(true)), Type("x"), Press(Key::Ctrl('s'))]);
}

#[test]
fn tab_takes_no_suggestion_that_has_just_come() {
    for (millis, is_taken) in [(0, false), (299, false), (300, true)] {
        let mut seat = Seat::new(80);
        seat.happen(Event::Asked(1, vacation(true)));
        seat.begin();
        seat.press(&Key::Char('B'));
        seat.pass(10_000);
        seat.happen(suggested(0, "B", &["Barcelona"]));
        seat.frame();
        seat.pass(millis);
        assert_eq!(seat.look().contains("Barcelona  Tab"), is_taken, "{millis}");
        seat.press(&Key::Tab);
        let is_written = seat.log.contains("suggest destination \"Barcelona\"");
        assert_eq!(is_written, is_taken, "{millis}");
        // It went to the next field otherwise.
        let is_there = seat.log.contains("suggest month");
        assert_eq!(is_there, !is_taken, "{millis}");
        // Down and Enter choose it at any time.
        if !is_taken {
            seat.press(&Key::BackTab);
            seat.happen(suggested(0, "B", &["Barcelona"]));
            seat.press(&Key::Down);
            seat.press(&Key::Enter);
            assert!(seat.log.contains("suggest destination \"Barcelona\""));
        }
    }
}

#[test]
fn a_line_is_looked_for_among_what_there_is() {
    let mut seat = Seat::new(80);
    seat.prompt = Some(given("travel").short());
    let peer = |text: &str| About::Peer(text.into());
    let offer = |line: &str, about: About| Offer {
        line: line.to_owned(),
        goes_on: true,
        about,
        ..Offer::default()
    };
    seat.talk.update(Change::Offered(vec![
        offer("/call book_holiday", peer("Book a holiday")),
        offer("/call tailor_trip", peer("Tailor a trip\x1b[2J")),
        offer("/plan_vacation", peer("Plan a vacation")),
        offer("/help", About::Ours("this list")),
    ]));
    seat.talk
        .update(Change::Entered(vec!["/read a://b".to_owned()]));
    seat.talk.update(Change::Described(
        "Tools 2  Prompts 1  Resources 0  Folders shared: none  Log: info".into(),
    ));
    let mut told = seat.look();
    let keys = |seat: &mut Seat, keys: &[Key]| {
        for key in keys {
            seat.press(key);
        }
        seat.look() + &std::mem::take(&mut seat.log)
    };
    told += &keys(&mut seat, &[Key::Char('t'), Key::Char('r'), Key::Char('i')]);
    told += &keys(&mut seat, &[Key::Enter]);
    told += &keys(&mut seat, &[Key::Enter]);
    told += &keys(&mut seat, &[Key::Down, Key::Down, Key::Tab]);
    told += &keys(&mut seat, &[Key::Ctrl('c'), Key::Up, Key::Up]);
    told += &keys(&mut seat, &[Key::Esc, Key::Ctrl('r'), Key::Char('t')]);
    told += &keys(&mut seat, &[Key::Esc, Key::Ctrl('c')]);
    insta::assert_snapshot!(told);
}

fn listed(columns: usize) -> String {
    let mut seat = Seat::new(columns);
    seat.prompt = Some(given("zoo").short());
    let offer = |line: &str, arguments: &str, hints: &'static str, about: &str| Offer {
        line: line.to_owned(),
        goes_on: true,
        arguments: arguments.into(),
        hints: hints.into(),
        about: About::Peer(about.into()),
        last: None,
        others: Vec::new(),
    };
    seat.talk.update(Change::Offered(vec![
        offer(
            "/call args",
            "s*, obj*, n, f, b, arr, en",
            "destructive",
            "Every kind of argument",
        ),
        offer(
            "/call progress",
            "n",
            "read-only, idempotent",
            "Tell how far it is\x1b[2J",
        ),
        offer("/call all", "", "", "Every elicitation field"),
        offer(
            "/call a_name_that_is_longer_than_half_of_any_screen_that_is_narrow_or_usual",
            "x*",
            "",
            "",
        ),
        Offer {
            about: About::Ours("this list"),
            ..offer("/help", "", "", "")
        },
    ]));
    seat.talk.update(Change::Described(
        "Tools 4  Prompts 0  Resources 0  Templates 0  Folders shared: none".into(),
    ));
    for (name, took, how) in [
        ("progress", 4100, How::Done),
        ("all", 0, How::Error),
        ("gone", 0, How::Done),
    ] {
        seat.talk.update(Change::Called {
            server: SERVER,
            call: Call::Tool(name.to_owned()),
            line: Some(format!("/call {name}")),
            is_repeated: false,
        });
        seat.pass(took);
        seat.talk.update(Change::Ended(SERVER, how));
    }
    let mut told = seat.look();
    seat.press(&Key::Down);
    told += &seat.look();
    seat.press(&Key::Esc);
    told += &seat.look();
    told
}

#[test]
fn what_there_is_is_listed_with_its_arguments_and_its_last_call() {
    for columns in [40, 80, 120] {
        insta::assert_snapshot!(format!("what_there_is_{columns}"), listed(columns));
    }
}

/// A call in progress, at a width: at its start, with reported progress, and with questions and
/// typed text.
fn under_way(columns: usize) -> String {
    let mut seat = Seat::new(columns);
    let mut told = String::new();
    let mut look = |seat: &mut Seat, waits: bool| {
        let waiting = words!("Waiting for travel.");
        let waiting = waits.then_some(&waiting);
        let frame = seat
            .screen
            .frame(&seat.talk, None, waiting, seat.size, false, false);
        told += &format!("{}\n{}", "-".repeat(columns), shown(&frame));
    };
    look(&mut seat, true);
    seat.talk.update(Change::Called {
        server: SERVER,
        call: Call::Tool("tailor_trip\x1b[2J".to_owned()),
        line: None,
        is_repeated: false,
    });
    // A call that ends at once is not shown.
    look(&mut seat, false);
    seat.pass(12_300);
    look(&mut seat, true);
    for (progress, total, message) in [
        (3.0, Some(10.0), Some("Looking for hotels\x1b[2J")),
        (7.5, None, None),
        (10.0, Some(3.0), Some("More than there is")),
        (f64::MAX, Some(f64::MIN_POSITIVE), None),
        (10.0, Some(10.0), None),
    ] {
        let far = Far {
            progress,
            total,
            message: message.map(Into::into),
        };
        seat.talk.update(Change::Far(SERVER, far));
        look(&mut seat, false);
    }
    for (id, said) in [
        (1, vec![Action::Yes]),
        (2, vec![Action::Cancel]),
        (3, Vec::new()),
    ] {
        seat.happen(Event::Asked(id, form("Agree?", "", "")));
        seat.pass(60_000);
        for said in said {
            seat.happen(Event::Action(said));
        }
    }
    seat.happen(Event::Ended(3, QuestionEnd::Withdrawn));
    for key in "/tools\n/wi".chars() {
        seat.press(&match key {
            '\n' => Key::Enter,
            key => Key::Char(key),
        });
    }
    look(&mut seat, true);
    told
}

#[test]
fn a_call_is_seen_while_it_goes_on() {
    for columns in [40, 80, 120] {
        insta::assert_snapshot!(format!("a_call_goes_on_{columns}"), under_way(columns));
    }
}

#[test]
fn ctrl_c_clears_what_is_typed_before_it_stops_a_call() {
    let mut seat = Seat::new(80);
    for key in "/wi".chars() {
        seat.press(&Key::Char(key));
    }
    seat.press(&Key::Ctrl('c'));
    assert_eq!(seat.log, "");
    seat.press(&Key::Ctrl('c'));
    assert_eq!(seat.log, "= Interrupt\n");
}

#[test]
fn nothing_is_typed_where_only_questions_are_answered() {
    let mut seat = Seat::new(80);
    seat.talk.wait_for_questions();
    for key in "/help\n".chars() {
        seat.press(&match key {
            '\n' => Key::Enter,
            key => Key::Char(key),
        });
    }
    assert_eq!((seat.look(), &*seat.log), (String::new(), ""));
    seat.press(&Key::Ctrl('c'));
    assert_eq!(seat.log, "= Interrupt\n");
}

#[test]
fn ctrl_c_over_a_filled_form_leaves_a_question_that_stays() {
    let mut seat = Seat::new(80);
    let desk = Desk::new(travel(), None, None, Limits::default());
    seat.talk = talk(desk.with_open_questions());
    seat.happen(Event::Asked(1, booking()));
    seat.press(&Key::Char('y'));
    for _ in 0..2 {
        seat.press(&Key::Ctrl('c'));
        assert!(seat.look().contains("to leave"), "{}", seat.look());
        seat.press(&Key::Esc);
        assert!(seat.look().contains("to cancel"), "{}", seat.look());
    }
    seat.press(&Key::Ctrl('c'));
    assert!(seat.talk.seen().front().is_some(), "{}", seat.log);
    seat.press(&Key::Ctrl('c'));
    assert!(seat.talk.seen().front().is_none(), "it leaves");
}

#[test]
fn the_messages_are_asked_for_at_a_question() {
    let log = play(
        80,
        vec![
            Asks(form("Who?", r#""name": {"type": "string"}"#, "")),
            Press(Key::F(2)),
            Type("/wire 3"),
            Press(Key::Enter),
            Type("/wire save x"),
            Press(Key::Enter),
            See,
        ],
    );
    assert!(
        log.starts_with("= Wire(Last)\n= Wire(One(3))\n---"),
        "{log}"
    );
    assert!(
        log.contains("× at a question, write /wire, /wire all or /wire NUMBER\n"),
        "{log}"
    );
}

#[test]
fn a_question_that_was_just_shown_shows_nothing_that_disappears_later() {
    for length in (0..400).step_by(10) {
        let mut seat = Seat::new(40);
        seat.size.rows = 12;
        let url = format!("https://example.com/{}", "a".repeat(length));
        seat.happen(Event::Asked(1, link(&url)));
        let settling = seat.settling().height();
        assert_eq!(settling, seat.frame().height(), "{length}");
        let shown = seat.look();
        let shows_end = !shown.contains('▼');
        seat.press(&Key::Char('o'));
        assert_eq!(seat.log.contains("= open"), shows_end, "{length}: {shown}");
    }
}

// Shows EL-40.
#[test]
fn the_site_of_a_link_stands_out() {
    let mut seat = Seat::new(80);
    seat.happen(Event::Asked(
        1,
        link("https://paypal.com.login.evil.example/?to=https://a.example"),
    ));
    let frame = seat
        .screen
        .frame(&seat.talk, None, None, seat.size, true, false);
    let cells = (0..frame.height()).flat_map(|row| frame.cells(row));
    let seen: String = cells.map(|cell| cell.text.as_str()).collect();
    for part in [
        // On the line with only the site.
        "| \x1b[0m\x1b[1mevil.example\x1b[0m",
        "\x1b[2mpaypal.com.login.\x1b[0m\x1b[1mevil.example\x1b[0m",
        "\x1b[2mhttps://paypal.com.login.\x1b[0m\x1b[1mevil.example\x1b[0m",
        "\x1b[33m! May send you on to \x1b[0m",
    ] {
        assert!(seen.contains(part), "{part:?} in {seen:?}");
    }
}

#[test]
fn a_command_is_written_at_a_choice() {
    let mut seat = Seat::new(80);
    let fields = r#""seat": {"type": "string", "enum": ["window", "aisle"]}"#;
    seat.happen(Event::Asked(1, form("Where to sit?", fields, "")));
    seat.press(&Key::Char('w'));
    for key in "/decline".chars() {
        seat.press(&Key::Char(key));
    }
    assert!(
        seat.look().contains("Enter runs /decline"),
        "{}",
        seat.look()
    );
    seat.press(&Key::Ctrl('c'));
    assert!(seat.look().contains("(x) window"), "{}", seat.look());
    for key in "/decline".chars() {
        seat.press(&Key::Char(key));
    }
    seat.press(&Key::Enter);
    assert!(seat.look().contains("Why not?"), "{}", seat.look());
}

#[test]
fn the_commands_of_lines_work_in_a_field() {
    /// Checks what is shown after a command is entered in the second of two fields.
    #[track_caller]
    fn check(command: &str, seen: &str) {
        let fields =
            r#""a": {"type": "string", "default": "x"}, "b": {"type": "string", "default": "y"}"#;
        let mut seat = Seat::new(80);
        seat.happen(Event::Asked(1, form("Which?", fields, "")));
        seat.press(&Key::Tab);
        seat.press(&Key::Ctrl('u'));
        for c in command.chars() {
            seat.press(&Key::Char(c));
        }
        seat.press(&Key::Enter);
        let screen = seat.look();
        let all = seat.log + &screen;
        assert!(all.contains(seen), "{command}\n{all}");
    }
    check("/back", "›  1 | a");
    check("/none", "›  2 | b  ▌");
    check("/review", "[Enter] Send");
    check("/suggest c", "no values are suggested here");
    check("/decline too late", "declined, with your reason");
    check("/cancel", "cancelled | Which?");
    check("/help", "Shift-Tab");
    check("/lines", "Alt-Enter breaks a line");
    check("/quit", "answer it first, or type /cancel");
    check("/unknown", "unknown command");
}

#[test]
fn a_picked_line_is_behind_the_gutter() {
    let mut seat = Seat::new(80);
    seat.prompt = Some(given("travel").short());
    let offer = Offer {
        line: "/call book> Sent".to_owned(),
        about: About::Peer("Books".into()),
        ..Offer::default()
    };
    seat.talk.update(Change::Offered(vec![offer]));
    seat.press(&Key::Down);
    seat.press(&Key::Enter);
    for c in "/tools".chars() {
        seat.press(&Key::Char(c));
    }
    seat.press(&Key::Enter);
    let first = "travel> | /call book> Sent\n= Line(\"/call book> Sent\")\n";
    let second = "travel> /tools\n= Line(\"/tools\")\n";
    assert_eq!(seat.log, [first, second].concat());
}

#[test]
fn r_repeats_the_last_call_if_its_line_is_picked() {
    #[track_caller]
    fn check(keys: &[Key], log: &str, shown: &str) {
        let mut seat = Seat::new(80);
        seat.prompt = Some(given("travel").short());
        let offer = |line: &str| Offer {
            line: line.to_owned(),
            about: About::Peer("Books".into()),
            ..Offer::default()
        };
        let offers = vec![offer("/call book"), offer("/call rest")];
        seat.talk.update(Change::Offered(offers));
        for name in ["rest", "book"] {
            seat.talk.update(Change::Called {
                server: SERVER,
                call: Call::Tool(name.to_owned()),
                line: Some(format!("/call {name}")),
                is_repeated: false,
            });
            seat.talk.update(Change::Ended(SERVER, How::Done));
        }
        for key in keys {
            seat.press(key);
        }
        assert_eq!(seat.log, log);
        assert!(seat.look().contains(shown), "{}", seat.look());
    }
    let repeats = "r repeats it, with the same answers";
    check(&[Key::Down], "", repeats);
    let again = "travel> /again\n= Line(\"/again\")\n";
    check(&[Key::Down, Key::Char('r')], again, repeats);
    // On any other line, `r` starts a search.
    let found = "travel> r▌\n  | /call rest   | Books";
    check(&[Key::Down, Key::Down, Key::Char('r')], "", found);
    check(&[Key::Char('r')], "", found);
}

#[test]
fn a_form_of_many_fields_takes_few_keys() {
    for columns in [40, 80, 120] {
        let mut seat = Seat::new(columns);
        seat.happen(Event::Asked(1, form("Sizes?", &lengths(60), "")));
        let mut keys = 0;
        let mut press = |seat: &mut Seat, key| {
            keys += 1;
            seat.press(&key);
            assert!(keys <= 10, "{}", seat.look());
        };
        press(&mut seat, Key::Char('7'));
        press(&mut seat, Key::Ctrl('s'));
        while !seat.look().contains("60 | n60") {
            press(&mut seat, Key::PageDown);
        }
        press(&mut seat, Key::Enter);
        let sent = seat.log.contains("= 1: accept {\"n01\":17,\"n02\":2");
        assert!(sent, "{}", seat.log);
    }
}

#[test]
fn a_partly_typed_line_is_restored_after_a_question() {
    let mut seat = Seat::new(80);
    seat.prompt = Some(given("travel").short());
    for c in "/call bo".chars() {
        seat.press(&Key::Char(c));
    }
    seat.happen(Event::Asked(1, booking()));
    seat.press(&Key::Esc);
    assert!(seat.look().contains("> /call bo▌"), "{}", seat.look());
}

proptest! {
    #![proptest_config(safety::config())]

    // Shows EL-42.
    #[test]
    fn nothing_of_a_server_stands_outside_its_gutter(text in safety::hostile(), columns in 30usize..130) {
        for question in [safety::question(&text), link(&text)] {
            let mut seat = Seat::new(columns);
            seat.happen(Event::Asked(1, question));
            for key in [Key::Tab, Key::Tab, Key::Tab, Key::Ctrl('s'), Key::F(4)] {
                let frame = seat.frame();
                prop_assert!(frame.height() < seat.size.rows, "{}", shown(&frame));
                for row in 0..frame.height() {
                    let cells = frame.cells(row);
                    for cell in cells {
                        let acts = |c: char| c.is_control() || text::turns(c);
                        prop_assert!(!cell.text.contains(acts), "{:?}", cell.text);
                        let ends = cell.column + text::columns(&cell.text);
                        prop_assert!(ends <= columns, "{ends} of {columns}: {:?}", cell.text);
                    }
                    let line: String = cells.iter().map(|cell| cell.text.as_str()).collect();
                    for word in ["evil.example", "gnp.exe", "yes<U+000A>Sent to"] {
                        if let Some(at) = line.find(word) {
                            prop_assert!(line[..at].contains(text::GUTTER), "{line:?}");
                        }
                    }
                }
                seat.press(&key);
            }
        }
    }
}
