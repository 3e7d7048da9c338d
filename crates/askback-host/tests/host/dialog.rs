//! The line front end: typed lines, and the screen after them.

use askback::{
    forms::Content,
    limits::Limits,
    protocol::{
        CreateMessageParams, ModelHint, ModelPreferences, Root, SamplingBlock, SamplingMessage,
    },
};
use askback_host::{
    ending::QuestionEnd,
    model::{
        Action, Ask, Call, Desk, Effect, Event, Notice, Question, Reply, Step, SuggestionRequest,
        Why, WorstEnd,
    },
    models::ModelError,
    page::{Look, Page},
    plain::Dialog,
    view::Reader,
};
use serde_json::{Value, json};

use crate::{
    blanks, booking, called, dates, evening, form, full::lengths, going_on, in_full, link,
    link_of_error, nested, of_model, offering, reply_of_a_model, roots, sign_in, sign_in_for_more,
    suggested, travel, unfinished, vacation,
};

enum Do<'a> {
    /// The server asks. Questions are numbered from 1.
    Ask(Question),
    Type(&'a str),
    End,
    Withdraw(u64),
    Lose,
    Done(&'a str),
    /// The folder exists.
    Found(&'a str),
    /// The user reached this machine from another one.
    Elsewhere,
    Browser(bool),
    Settle(u64),
    /// Suggested values that start with this text.
    Suggest(usize, &'a str, &'a [&'a str]),
    Model,
    /// The model replies, with a tool call if set.
    Reply(&'a str, bool),
    Fail(&'a str),
}

use Do::{
    Ask as Asks, Browser, Done, Elsewhere, End, Fail, Found, Lose, Model, Settle, Suggest, Type,
    Withdraw,
};

const WIDE: Look = Look {
    columns: 80,
    styled: false,
};
const NARROW: Look = Look {
    columns: 40,
    styled: false,
};

struct Seat {
    desk: Desk,
    dialog: Dialog,
}

impl Seat {
    fn new(look: Look) -> Self {
        let limits = Limits::default();
        let offer = Root::new("file:///home/ada/trip");
        Self {
            dialog: Dialog::new(
                Page::new(look),
                limits.host.message_shown,
                Reader::default(),
            ),
            desk: Desk::new(travel(), Some(offer), None, limits).with_clock(evening()),
        }
    }

    fn happen(&mut self, event: Event) -> Vec<Effect> {
        let happened = self.desk.update(event);
        self.dialog.happened(&self.desk, &happened);
        happened.effects
    }

    fn hear(&mut self, line: &str) -> Vec<Effect> {
        let said = self.dialog.hear(&self.desk, line);
        let effects = said
            .into_iter()
            .map(|said| self.happen(Event::Action(said)));
        effects.collect::<Vec<_>>().concat()
    }

    fn screen(&mut self) -> String {
        self.dialog.show(&self.desk, false);
        self.dialog.page().take().to_string()
    }
}

/// Runs a conversation and returns the screen. Effects are lines that start with `=`.
fn play(look: Look, does: Vec<Do<'_>>) -> String {
    let mut seat = Seat::new(look);
    let mut screen = String::new();
    let mut questions = 0;
    for does in does {
        let effects = match does {
            Asks(question) => {
                questions += 1;
                seat.happen(Event::Asked(questions, question))
            }
            Type(line) => {
                screen.push_str(line);
                screen.push('\n');
                seat.hear(line)
            }
            Elsewhere => {
                let shown = Limits::default().host.message_shown;
                seat.dialog = Dialog::new(Page::new(look), shown, crate::ELSEWHERE);
                Vec::new()
            }
            End => seat.happen(Event::EndOfInput),
            Withdraw(id) => seat.happen(Event::Ended(id, QuestionEnd::Withdrawn)),
            Lose => seat.happen(Event::Lost),
            Done(id) => seat.happen(Event::LinkDone(id.to_owned())),
            Settle(id) => seat.happen(Event::Settled(id)),
            Browser(is_there) => seat.happen(Event::Browser(is_there)),
            Model => {
                let desk = Desk::new(travel(), None, None, Limits::default());
                seat.desk = crate::with_model(desk);
                Vec::new()
            }
            Do::Reply(text, tool) => seat.happen(reply_of_a_model(text, tool)),
            Fail(why) => {
                let words = "the provider did not take the key".into();
                seat.happen(Event::Sampled(Err(ModelError {
                    words,
                    quoted: Some(why.into()),
                })))
            }
            Found(uri) => seat.happen(Event::Folder(Ok(Root::new(uri)))),
            Suggest(field, text, values) => seat.happen(suggested(field, text, values)),
        };
        for effect in &effects {
            if screen.ends_with("> ") {
                screen.push('\n');
            }
            screen.push_str(&done(effect));
        }
        screen.push_str(&seat.screen());
    }
    assert!(
        seat.desk.front().is_none(),
        "a question is still open:\n{screen}"
    );
    screen
}

fn done(effect: &Effect) -> String {
    if let Some(done) = of_model(effect) {
        return done;
    }
    match effect {
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
    }
}

fn everything() -> Question {
    form(
        "Tell us everything.",
        r#"
            "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 20},
            "mail": {"type": "string", "format": "email"},
            "page": {"type": "string", "format": "uri"},
            "day": {"type": "string", "format": "date", "default": "2026-06-15"},
            "moment": {"type": "string", "format": "date-time"},
            "budget": {"type": "number", "minimum": 0.5},
            "people": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
            "flexible": {"type": "boolean"},
            "size": {"type": "string", "enum": ["S", "M", "L"]},
            "stars": {"type": "string", "enum": ["3", "4", "5"], "default": "4"},
            "room": {"type": "string", "enum": ["sea", "city"], "enumNames": ["Sea view", "City view"]},
            "extras": {
                "type": "array", "items": {"type": "string", "enum": ["bike", "boat", "bus"]},
                "minItems": 1, "maxItems": 2
            },
            "meals": {"type": "array", "items": {"anyOf": [
                {"const": "b", "title": "Breakfast"}, {"const": "d", "title": "Dinner"}
            ]}, "default": ["b"]},
            "note": {"type": "string"}
        "#,
        r#""name", "mail", "page", "moment", "budget", "flexible", "size", "room", "extras""#,
    )
}

fn sampling() -> Question {
    let mut messages = vec![SamplingMessage::user("Pick the best flight:\n08:10\n12:40")];
    messages.push(SamplingMessage::user(vec![
        SamplingBlock::text("Here is a map."),
        serde_json::from_value(json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}))
            .expect("it is a block"),
    ]));
    Question {
        call: Some(Call::Tool("find_best_flight".to_owned())),
        key: None,
        ask: Ask::Sample(Box::new(CreateMessageParams {
            messages,
            system_prompt: Some("You know flights.".to_owned()),
            temperature: Some(0.5),
            model_preferences: Some(ModelPreferences {
                hints: Some(vec![ModelHint {
                    name: Some("sonnet".to_owned()),
                }]),
                cost_priority: Some(0.3),
                speed_priority: Some(0.2),
                intelligence_priority: Some(0.9),
            }),
            ..CreateMessageParams::new("", 1500)
        })),
    }
}

fn many_tools() -> Question {
    let tools = (0..100).map(|number| {
        let name = match number {
            0 => "login".to_owned(),
            number => format!("tool {number}\u{1b}[2J"),
        };
        let schema = json!({"type": "object", "properties": {"password": {"type": "string"}}});
        json!({"name": name, "description": "d".repeat(300), "inputSchema": schema})
    });
    let tools = serde_json::from_value(tools.collect()).expect("they are tools");
    Question {
        ask: Ask::Sample(Box::new(CreateMessageParams {
            tools: Some(tools),
            ..CreateMessageParams::new("Sign in.", 100)
        })),
        ..sampling()
    }
}

#[test]
fn the_host_is_repeated_below_a_long_link() {
    #[track_caller]
    fn check(question: Question, typed: &[&str]) {
        let mut does = vec![Asks(question)];
        does.extend(typed.iter().map(|&line| Type(line)));
        does.push(Type("/cancel"));
        let screen = play(NARROW, does);
        let (shown, _) = screen.rsplit_once("> /cancel").expect("it was typed");
        let end: Vec<_> = shown.lines().rev().take(3).collect();
        assert!(end.contains(&"Opens | login.example.com"), "{screen}");
    }
    let long = format!("https://login.example.com/{}", "a".repeat(1800));
    check(link("https://login.example.com/"), &[]);
    check(link(&long), &[]);
    check(link(&long), &["/more"]);
    check(link(&long), &["what?"]);
    check(link(&long.replace(".com", ".com:8443")), &["yes"]);
    check(sign_in(&long), &[]);
}

macro_rules! screens {
    ($($name:ident: $look:expr, [$($does:expr),* $(,)?];)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(play($look, vec![$($does),*]));
        }
    )*};
}

screens! {
    a_page_on_this_machine_is_said_to_be: WIDE, [
        Asks(link("http://127.0.0.1:8080/pay")), Type("/cancel"), Elsewhere, Asks(link("http://localhost/pay")), Type("/cancel"),
    ];
    blanks_are_told_before_they_are_sent: NARROW, [
        Asks(blanks()), Type("  "), Type(" Ada  L"), Type("all is seen"), Type(""),
    ];
    the_server_of_an_error_is_not_told_of_a_no: WIDE, [
        Asks(link_of_error("https://example.com/")), Type("/decline"),
        Asks(link_of_error("https://example.com/")), Type("/decline I have no calendar"),
        Asks(link_of_error("https://example.com/")), Type("/cancel"),
    ];
    // Shows EL-03, EL-13, EL-27, EL-30.
    a_booking: WIDE, [
        Asks(booking()), Type("yes"), Type("2"), Type(""), Type(""),
    ];
    a_booking_on_a_narrow_terminal: NARROW, [
        Asks(booking()), Type("yes"), Type("aisle"), Type(""), Type(""),
    ];
    // Shows EL-13.
    every_kind_of_field: WIDE, [
        Asks(everything()), Type("Ada"), Type("ada@example.com"), Type("https://example.com/a"), Type(""),
        Type("2026-06-15T09:30:00Z"), Type("1200.50"), Type("3"), Type("y"), Type("m"), Type("c"),
        Type("sea view"), Type("1 3"), Type("Breakfast, Dinner"), Type(""), Type(""),
    ];
    bad_values_are_asked_again: WIDE, [
        Asks(everything()), Type(""), Type("A"), Type("Ada"), Type("nobody"), Type("ada@example.com"),
        Type("example"), Type("https://example.com/a"), Type("next week"), Type("2026-02-30"), Type(""),
        Type("soon"), Type("2026-06-15T09:30:00Z"), Type("0"), Type("much"), Type("1"), Type("10"), Type("2.5"),
        Type("9"), Type("perhaps"), Type("no"), Type("XL"), Type("4"), Type("3"), Type("1"), Type("b"), Type("4"),
        Type("1"), Type("1,2,3"), Type("train"), Type("boat"), Type(""), Type(""), Type(""),
    ];
    dates_are_written_as_a_person_does: WIDE, [
        Asks(dates()), Type("tomorrow"), Type("tomorrow"), Type("2026-06-15"), Type("9:75"), Type("tomorrow 9:00"),
        Type("1"), Type("Today"), Type("2"), Type("2026-06-15 14:30"), Type("2"), Type("now"), Type(""),
    ];
    // Shows EL-05, EL25-16.
    a_field_is_reopened_from_the_review: WIDE, [
        Asks(booking()), Type("yes"), Type(""), Type(""), Type("2"), Type("1"), Type("Travel insurance"),
        Type("yes"), Type("7"), Type("what?"), Type("1"), Type("/back"), Type(""),
    ];
    back_and_none: WIDE, [
        Asks(booking()), Type("/back"), Type("yes"), Type("/back"), Type("no"), Type("1"), Type("/none"), Type("2"),
        Type("/none"), Type("1"), Type("/none"), Type(""), Type(""),
    ];
    // Shows EL-04, EL25-17.
    declined_with_a_reason: WIDE, [
        Asks(booking()), Type("/decline"), Type("too expensive"),
    ];
    // Shows EL-29.
    declined_with_the_reason_at_once: WIDE, [
        Asks(booking()), Type("yes"), Type("/decline too expensive"),
    ];
    declined_without_a_reason: WIDE, [
        Asks(booking()), Type("/decline"), Type(""),
    ];
    a_decline_is_taken_back: WIDE, [
        Asks(booking()), Type("/decline"), Type("/back"), Type("/cancel"),
    ];
    // Shows EL-04, EL25-17.
    cancelled: WIDE, [
        Asks(booking()), Type("/cancel"),
    ];
    // Shows EL-28.
    the_end_of_input_cancels: WIDE, [
        Asks(booking()), Type("yes"), End,
    ];
    the_end_of_input_keeps_a_no: WIDE, [
        Asks(booking()), Type("/decline"), End,
    ];
    withdrawn: WIDE, [
        Asks(booking()), Type("yes"), Withdraw(1),
    ];
    lost: WIDE, [
        Asks(booking()), Asks(roots()), Type("yes"), Lose, Withdraw(1), Withdraw(2),
    ];
    questions_queue: WIDE, [
        Asks(booking()), Asks(link("https://example.com/")), Asks(roots()), Withdraw(2), Type("/cancel"),
        Type("yes"), Asks(roots()),
    ];
    muted: WIDE, [
        Asks(booking()), Asks(roots()), Type("/mute"), Asks(booking()),
    ];
    help_and_what_is_not_understood: WIDE, [
        Asks(booking()), Type("/help"), Type("/frobnicate"), Type("/none"), Type("/edit"), Type("/cancel"),
    ];
    a_text_of_several_lines: WIDE, [
        Asks(form("Anything else?", r#""note": {"type": "string"}"#, "")),
        Type("/lines"), Type("First."), Type("//second"), Type("."), Type("1"), Type("//important"), Type(""),
    ];
    a_default_that_does_not_fit_is_shown: WIDE, [
        Asks(form("How long?", r#""nights": {"type": "integer", "maximum": 30, "default": 45}"#, "")),
        Type("/review"), Type(""),
    ];
    the_other_fields_are_left_as_they_are: WIDE, [
        Asks(booking()), Type("/review"), Type("yes"), Type("/review"), Type(""),
    ];
    a_form_of_many_fields_takes_few_lines: WIDE, [
        Asks(form("Sizes?", &lengths(60), "")), Type("7"), Type("/review"), Type(""),
    ];
    an_empty_form_takes_a_yes: WIDE, [
        Asks(form("Delete it?", "", "")), Type(""), Type("yes"),
    ];
    an_empty_form_takes_a_no: WIDE, [
        Asks(form("Delete it?", "", "")), Type("no"), Type("still needed"),
    ];
    a_yes_or_no_by_itself: WIDE, [
        Asks(form(
            "Delete notes.txt?",
            r#""confirm": {"type": "boolean", "title": "Confirm", "default": false}"#,
            "",
        )),
        Type("yes"), Type(""),
    ];
    a_choice_by_itself: WIDE, [
        Asks(form(
            "Which seat?",
            r#""answer": {"type": "string", "title": "Answer", "enum": ["12A", "12C"]}"#,
            r#""answer""#,
        )),
        Type("2"), Type(""),
    ];
    a_secret_is_warned_of: WIDE, [
        Asks(form(
            "Sign in.",
            r#""user": {"type": "string"}, "password": {"type": "string", "title": "Your password"}"#,
            "",
        )),
        Type(""), Type("yes"), Type("ada"), Type("/decline"), Type(""),
    ];
    a_secret_that_only_the_message_names_is_warned_of: WIDE, [
        Asks(form("Type your password.", r#""value": {"type": "string", "title": "Answer"}"#, "")),
        Type("/decline"), Type(""),
    ];
    // Shows EL-16, EL25-05.
    a_link_is_opened: WIDE, [
        Asks(link("https://login.calendar.example.com/connect?id=7")), Type(""), Type("yes"), Type("what?"),
        Type("/open"), Type(""),
    ];
    a_link_is_shown_alone_to_be_copied: NARROW, [
        Asks(link("https://login.calendar.example.com/connect?id=7&to=a-long-way-from-here")), Type("/link"),
        Type("/cancel"),
    ];
    a_link_is_done_says_the_server: WIDE, [
        Asks(link("https://example.com/")), Done("one"), Type("y"), Done("other"), Done("one"),
    ];
    a_link_whose_page_is_not_finished: WIDE, [
        Asks(link("https://login.example.com/c?id=7")), Type("yes"), Type(""),
        Asks(unfinished("https://login.example.com/c?id=7")), Type("yes"), Type("/open"), Type(""),
        Asks(unfinished("https://login.example.com/c?id=7")), Type("/cancel"),
    ];
    // Shows EL-41.
    a_link_that_may_mislead: WIDE, [
        Asks(link("https://\u{430}pple.com:8443/")), Type("yes"), Type(""), Type("yes"), Type("/cancel"),
    ];
    a_link_that_is_refused: WIDE, [
        Asks(link("https://good.com@evil.com/")), Asks(link("https://a.com/\x1b[31m")),
    ];
    a_link_of_a_waiting_call: WIDE, [
        Asks(going_on()), Type("yes"), Browser(true),
        Asks(going_on()), Type("yes"), Browser(false), Type("/open"), Browser(false), Type(""),
    ];
    a_sign_in: WIDE, [
        Asks(sign_in("https://auth.example.com/authorize?client_id=a&scope=trips%3Aread")), Type(""), Type("yes"),
        Type(""), Type("/open"), Type("https://auth.example.com/done"), Settle(1),
    ];
    a_sign_in_for_more_than_before: WIDE, [
        Asks(sign_in_for_more()), Type("no"),
    ];
    a_sign_in_whose_address_is_pasted: WIDE, [
        Asks(sign_in("https://auth.example.com/authorize")), Type("yes"),
        Type("http://127.0.0.1:4321/callback?code=c&state=s"),
    ];
    a_sign_in_that_may_mislead: NARROW, [
        Asks(sign_in("https://xn--pple-43d.com:8443/authorize")), Type("yes"), Type("no"),
    ];
    a_sign_in_that_is_refused: WIDE, [
        Asks(sign_in("javascript:alert(1)")),
    ];
    what_cannot_be_drawn_is_written_as_json: WIDE, [
        Asks(nested()), Type("Ada"), Type("Main Street"), Type(r#"{"street": "Main Street", "number": 9007199254740993}"#), Type(""),
    ];
    // Shows SA-02, SA-03, SA-05, SA-17.
    a_model_is_asked: WIDE, [
        Asks(sampling()), Type("Take the 08:10."), Type("."), Type("?"), Type("/edit"), Type("Take"), Type("the 12:40."),
        Type("."), Type(""),
    ];
    // Shows SA-02, SA-17.
    a_model_is_refused: WIDE, [
        Asks(sampling()), Type("Take"), Type("/decline"), Type("no model here"),
    ];
    // Shows SA-02, SA-03, SA-05.
    a_request_and_a_reply_are_looked_over: WIDE, [
        Model, Asks(sampling()), Type("what?"), Type("/edit"), Type("Pick the cheapest."), Type("."), Type("/system"),
        Type("/back"), Type(""), Type("hurry"), Do::Reply("Take the 08:10.", false), Type("/edit"), Type("Take the 12:40."),
        Type("."), Type(""),
    ];
    a_model_that_does_not_reply_is_asked_again: WIDE, [
        Model, Asks(sampling()), Type(""), Fail("invalid x-api-key\x1b[2J"), Type(""), Do::Reply("The first.", false),
        Type("/again"), Do::Reply("The second.", false), Type("/back"), Type("/write"), Type("Mine."), Type("."), Type(""),
    ];
    a_reply_is_written_anew_after_all_or_not: WIDE, [
        Asks(sampling()), Type("Mine."), Type("."), Type("/edit"), Type("/help"), Type("/back"), Type(""),
        Model, Asks(sampling()), Type("/write"), Type("Also mine."), Type("."), Type("/back"), Type("/back"), Type("/write"),
        Type(""),
    ];
    // Shows SA-13.
    a_model_uses_a_tool: WIDE, [
        Model, Asks(offering("auto", Vec::new())), Type(""), Do::Reply("Are there seats?", true), Type("?"), Type("/help"),
        Type("/edit"), Type("Are there any?"), Type("."), Type(""),
        Asks(offering("none", Vec::new())), Type(""), Do::Reply("Are there seats?", true), Type(""), Type("/again"),
        Do::Reply("Take the 08:10.", false), Type(""),
    ];
    // Shows SA-12.
    a_tool_has_to_be_called: NARROW, [
        Asks(offering("required", called())), Type("None."), Type("."), Type(""), Type("/decline"), Type("no model here"),
        Model, Asks(offering("required", Vec::new())), Type(""), Do::Reply("Take the 08:10.", false), Type(""), Type("/again"),
        Do::Reply("Are there seats?", true), Type(""),
    ];
    // Shows SA-03.
    tools_are_offered_to_a_person: WIDE, [
        Asks(offering("auto", called())), Type("/call seats"), Type("Take the 08:10."), Type("."), Type(""),
    ];
    many_tools_are_offered: NARROW, [
        Asks(many_tools()), Type("/cancel"),
    ];
    what_is_permitted_is_not_asked_again: WIDE, [
        Model, Asks(sampling()), Asks(sampling()), Type("/session"), Do::Reply("One.", false), Do::Reply("Two.", false),
    ];
    a_model_is_never_asked: WIDE, [
        Model, Asks(sampling()), Asks(sampling()), Type("/never"), Asks(sampling()),
    ];
    a_model_that_is_at_work_is_stopped: WIDE, [
        Model, Asks(sampling()), Type("/always"), Type("/back"), Type("/decline"), Type(""),
    ];
    // Shows RO-04, RO-06, RO-11.
    folders_are_allowed: WIDE, [
        Asks(roots()), Type(""), Type("yes"), Asks(roots()),
    ];
    one_yes_allows_a_folder_to_all_who_ask: WIDE, [
        Asks(roots()), Asks(booking()), Asks(roots()), Type("yes"), Type("/cancel"),
    ];
    // Shows RO-12.
    another_folder_is_allowed: WIDE, [
        Asks(roots()), Type("../other"), Found("file:///home/ada/other"),
    ];
    the_arguments_of_a_call: WIDE, [
        Asks(Question {
            call: Some(Call::Tool("book_holiday".to_owned())),
            key: None,
            ask: match booking().ask {
                Ask::Form { message, schema } => Ask::Arguments {
                    about: Some(message),
                    schema,
                    preset: Content::from_iter([("seat_preference".to_owned(), json!("aisle"))]),
                    suggests: false,
                    given: Content::new(),
                    is_destructive: false,
                },
                _ => unreachable!("a booking is a form"),
            },
        }),
        Type("yes"), Type(""), Type(""), Type(""),
    ];
    values_are_suggested: WIDE, [
        Asks(vacation(true)), Type("/suggest B"), Suggest(0, "B", &["Barcelona", "Bath\x1b[2J"]),
        Type("Barcelona"), Type("/suggest"), Suggest(0, "", &["Late"]), Suggest(1, "", &[]), Type(""), Type(""),
    ];
    nothing_is_suggested_where_nobody_does: WIDE, [
        Asks(vacation(false)), Type("/suggest B"), Suggest(0, "B", &["Barcelona"]), Type("/cancel"),
    ];
}

#[test]
fn a_paste_ends_before_a_line_that_would_have_an_effect() {
    #[track_caller]
    fn check(question: Question, lines: &[&str], ends: &[usize]) {
        let mut seat = Seat::new(WIDE);
        seat.happen(Event::Asked(1, question));
        let mut ended = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            if seat.dialog.is_new(&seat.desk) {
                ended.push(index);
            }
            // In the first field of a question, a line sends nothing.
            let is_field = matches!(
                seat.desk.front().map(|front| front.step),
                Some(Step::Filling(_) | Step::Write(_))
            );
            let sends = seat.dialog.is_new(&seat.desk) && !is_field;
            assert_eq!(seat.dialog.begins_to_send(&seat.desk), sends, "{line}");
            seat.screen();
            assert!(!seat.dialog.is_new(&seat.desk));
            seat.hear(line);
        }
        assert_eq!(ended, ends);
    }
    check(booking(), &["yes", "", "", ""], &[0, 3]);
    check(form("Sure?", "", ""), &["yes"], &[0]);
    check(
        link("http://example.com:8080/"),
        &["yes", "yes", ""],
        &[0, 1, 2],
    );
    check(sampling(), &["a", "b", ".", ""], &[0, 3]);
    check(roots(), &["yes"], &[0]);
}

#[test]
fn a_long_message_is_shown_on_demand() {
    let limits = Limits::default();
    let message = format!("{}the end", "bla ".repeat(limits.host.message_shown / 4));
    let ask = || Asks(form(&message, "", ""));
    let cut = play(WIDE, vec![ask(), Type("/cancel")]);
    assert!(cut.contains("  7 more characters; /more shows the whole") && !cut.contains("the end"));
    let whole = play(WIDE, vec![ask(), Type("/more"), Type("/cancel")]);
    assert!(whole.contains("the end"));
}

#[test]
fn a_question_that_was_just_shown_has_no_prompt_yet() {
    let mut seat = Seat::new(WIDE);
    seat.happen(Event::Asked(1, booking()));
    let mut told = String::new();
    for is_settling in [true, true, false, false] {
        seat.dialog.show(&seat.desk, is_settling);
        told += &seat.dialog.page().take().to_string();
        told += "---\n";
    }
    let parts: Vec<_> = told.split("---\n").collect();
    let &[question, nothing, prompt, no_more, ""] = parts.as_slice() else {
        panic!("{told}");
    };
    assert!(
        question.contains("Shall we book?") && question.contains("Confirm booking"),
        "{told}"
    );
    assert!(!question.contains("> "), "{told}");
    assert!(prompt.ends_with("\n> "), "{told}");
    assert_eq!((nothing, no_more), ("", ""), "{told}");
}

#[test]
fn what_is_shown_of_a_question_is_bounded_in_all() {
    let most = Limits::default().host.message_shown;
    let asking = |messages: Vec<SamplingMessage>, hints: usize| Question {
        ask: Ask::Sample(Box::new(CreateMessageParams {
            messages,
            model_preferences: Some(ModelPreferences {
                hints: Some(vec![
                    ModelHint {
                        name: Some("sonnet".to_owned()),
                    };
                    hints
                ]),
                ..ModelPreferences::default()
            }),
            ..CreateMessageParams::new("", 1500)
        })),
        ..sampling()
    };
    let says = |text: &str, count: usize| vec![SamplingMessage::user(text); count];
    let blocks = SamplingMessage::user(vec![SamplingBlock::text("hello"); 20_000]);
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let image: SamplingBlock = serde_json::from_value(image).expect("it is a block");
    for (name, question) in [
        ("short", asking(says("hello", 20_000), 0)),
        ("empty", asking(says("", 20_000), 0)),
        ("blocks", asking(vec![blocks], 0)),
        (
            "images",
            asking(vec![SamplingMessage::user(vec![image; 20_000])], 0),
        ),
        ("hints", asking(says("hello", 1), 20_000)),
        (
            "lines",
            asking(says(&format!("one{}two", "\n".repeat(20_000)), 1), 0),
        ),
    ] {
        let ask = || Asks(question.clone());
        let cut = play(WIDE, vec![ask(), Type("/cancel")]);
        // The rest is marks, gutters and our own words.
        assert!(cut.len() < 4 * most, "{name}: {} bytes", cut.len());
        assert!(name != "lines" || cut.lines().count() < 100, "{cut}");
        assert!(
            cut.contains(" more characters; /more shows the whole\n"),
            "{name}: {cut}"
        );
        let whole = play(WIDE, vec![ask(), Type("/more"), Type("/cancel")]);
        assert!(whole.lines().count() > 20_000, "{name}");
        let log = in_full(&travel(), &question, WIDE);
        assert!(log.len() < 4 * most, "{name}: {} bytes", log.len());
        assert!(
            log.contains(" more characters are left out\n"),
            "{name}: {log}"
        );
    }
}

#[test]
fn what_is_said_of_one_field_does_not_fill_the_terminal() {
    let text = "two\n".repeat(5_000);
    let field = json!({"type": "string", "title": "Name", "description": text});
    let question = form("Who?", &format!(r#""name": {field}"#), "");
    let screen = play(WIDE, vec![Asks(question), Type("/cancel")]);
    assert!(screen.lines().count() < 60, "{screen}");
    assert!(
        screen.contains(" more characters are left out\n"),
        "{screen}"
    );
}

#[test]
fn a_link_longer_than_a_person_reads_is_declined() {
    let url = format!("https://a.com/{}", "x".repeat(1 << 20));
    let screen = play(WIDE, vec![Asks(link(&url))]);
    assert!(
        screen.contains("× it is longer than 8192 characters\n"),
        "{screen}"
    );
    assert!(screen.len() < 4096, "{} bytes", screen.len());
}

#[test]
fn a_flood_is_capped() {
    let limits = Limits::default();
    let mut desk = Desk::new(travel(), None, None, limits.clone());
    for id in 0..=limits.host.questions_waiting as u64 {
        assert_eq!(desk.update(Event::Asked(id, booking())).effects, []);
    }
    // Reported once until the user answers.
    let mut more = |id: u64| desk.update(Event::Asked(id, booking())).effects;
    let refused = |id: u64| Effect::Answer(id, Reply::Cancelled(Why::Flood));
    let told = Effect::Tell(Notice::Flood);
    assert_eq!(more(99), [refused(99), told.clone()]);
    assert_eq!(more(100), [refused(100)]);
    desk.update(Event::Action(Action::Cancel));
    let mut more = |id: u64| desk.update(Event::Asked(id, booking())).effects;
    assert_eq!(more(101), []);
    assert_eq!(more(102), [refused(102), told]);
    assert_eq!(desk.ended(), WorstEnd::Unanswered);
    assert_eq!(
        desk.front().map(|front| front.total),
        Some(limits.host.questions_waiting + 2)
    );
}

#[test]
fn a_flood_is_told_in_a_line() {
    let mut seat = Seat::new(WIDE);
    let asks = |seat: &mut Seat, ids: std::ops::Range<u64>| {
        for id in ids {
            seat.happen(Event::Asked(id, booking()));
        }
    };
    asks(&mut seat, 0..1);
    let before = seat.screen();
    asks(&mut seat, 1..1000);
    let told = seat.screen();
    let flood = "travel asks too much at once; more is cancelled until you have answered.";
    assert_eq!(told.matches(flood).count(), 1, "{told}");
    assert!(told.lines().count() < before.lines().count() + 4, "{told}");
    assert!(!told.contains("Cancelled"), "{told}");
    // The first questions that are cancelled because the user muted the server have a line each.
    seat.happen(Event::Action(Action::Mute));
    seat.screen();
    asks(&mut seat, 1000..1100);
    let told = seat.screen();
    let most = Limits::default().host.refusals;
    assert_eq!(told.lines().count(), most, "{told}");
}

// Shows EL-40.
#[test]
fn styles_are_the_only_escapes() {
    let look = Look {
        columns: 80,
        styled: true,
    };
    let mut seat = Seat::new(look);
    seat.happen(Event::Asked(1, link("https://login.calendar.example.com/")));
    insta::assert_snapshot!(seat.screen().replace('\x1b', "␛"));
}

// Shows SA-15.
#[test]
fn nothing_of_one_prompt_is_in_the_next() {
    let mut seat = Seat::new(WIDE);
    seat.happen(Event::Asked(1, sampling()));
    let page = seat.screen();
    assert!(page.contains("Pick the best flight"), "{page}");
    for line in ["Take the 08:10.", ".", ""] {
        seat.hear(line);
    }
    let page = seat.screen();
    assert!(seat.desk.front().is_none(), "{page}");
    let mut second = sampling();
    second.ask = Ask::Sample(Box::new(CreateMessageParams::new("Name a hotel.", 10)));
    seat.happen(Event::Asked(2, second));
    let page = seat.screen();
    assert!(page.contains("Name a hotel."), "{page}");
    for before in ["flight", "08:10", "You know", "map"] {
        let own = page.replace("find_best_flight", "");
        assert!(!own.contains(before), "{before}: {page}");
    }
}

// Shows EL-38.
#[test]
fn a_link_is_shown_whole_before_it_is_agreed_to() {
    let path = "connect/".repeat(230);
    let url = format!("https://login.calendar.example.com/{path}?to=the%20end#here");
    for look in [NARROW, WIDE] {
        let mut seat = Seat::new(look);
        let mut effects = seat.happen(Event::Asked(1, link(&url)));
        let page = seat.screen();
        let quoted: String = page
            .lines()
            .filter_map(|row| Some(row.split_once("| ")?.1))
            .collect();
        assert!(quoted.contains(&url), "{page}");
        effects.extend(seat.hear(""));
        let opens = |effect: &Effect| matches!(effect, Effect::Open(_));
        assert!(!effects.iter().any(opens), "{effects:?}");
        let opened = seat.hear("yes");
        assert!(opened.contains(&Effect::Open(url.clone())), "{opened:?}");
    }
}

// Shows EL-30.
#[test]
fn a_question_in_full() {
    for (name, question) in [
        ("form", everything()),
        ("link", link("https://a.com/\x1b[31m")),
        ("sampling", sampling()),
        ("roots", roots()),
    ] {
        insta::assert_snapshot!(
            format!("in_full_{name}"),
            in_full(&travel(), &question, WIDE)
        );
    }
}
