//! `askback` without arguments opens the travel agency, ready to book a holiday.

use std::env;

use askback::forms::Content;
use askback_host::{
    page::{Page, Style, out},
    text::{Clock, given},
    words,
};

use crate::{
    error::{Error, Kind, Outcome},
    repl::Repl,
    session::{Answers, Session, SessionArgs},
    target::Target,
};

pub async fn run(outcome: &mut Outcome) -> Result<(), Error> {
    out::speak_at_terminal();
    let program = env::current_exe().map_err(|error| {
        Error::new(
            Kind::Connection,
            words!("this program cannot find itself: {}", given(error)),
        )
    })?;
    let serve = ["serve", "travel"].map(str::to_owned);
    let mut target = Target::child(&program.to_string_lossy(), &serve);
    target.name = "travel".to_owned();
    let mut args = SessionArgs::default();
    args.keeps_wire = true;
    let mut session = Session::open(target, &args, Answers::Person).await?;
    welcome(session.host.page());
    let mut repl = Repl::new(&mut session);
    let booked = repl.call("book_holiday", &[], holiday()).await;
    let ran = match repl.heed(booked) {
        Ok(()) => {
            repl.tell("Now try /call tailor_trip, /plan_vacation or /resources; /quit leaves.");
            repl.run().await
        }
        Err(error) => Err(error),
    };
    *outcome = repl.outcome();
    session.close().await;
    ran
}

fn holiday() -> Content {
    let depart = Clock::of_this_machine().day("+1mo");
    let depart = depart.map(|day| ("depart", day.to_string()));
    [("destination", "Barcelona".to_owned())]
        .into_iter()
        .chain(depart)
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

fn welcome(page: &mut Page) {
    page.say(
        Style::Strong,
        "askback opens MCP servers and lets them ask you.",
    );
    page.blank();
    page.say(
        Style::Plain,
        "A travel agency now runs as a child of this program. Book a holiday with it: you fill in the arguments of the call, and in the middle of the call the agency asks you twice. Each answer is yours to review before it is sent, and you may say no at any time.",
    );
}
