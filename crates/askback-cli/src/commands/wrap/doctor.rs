//! `askback wrap --doctor`: reports which clients are set up on this machine, and any problems.

use std::path::PathBuf;

use askback_check::find_program;
use askback_host::{
    page::{Page, Style, out},
    text::{Words, given, line},
    words,
};
use clap::ValueEnum as _;
use serde_json::Value;

use super::{install::ClientFile, policy};
use crate::{
    error::{Error, Outcome},
    known_clients::KnownClient,
    locate::folders,
    role::Ability,
    servers::{EntryShape, Folders},
};

/// Reports on one client, or on all. A problem counts as a fault.
pub fn run(client: Option<&'static KnownClient>, outcome: &mut Outcome) -> Result<(), Error> {
    let folders = folders()?;
    let mut page = out::stdout_page();
    let clients = match &client {
        Some(client) => std::slice::from_ref(client),
        None => <&KnownClient>::value_variants(),
    };
    let mut absent = Vec::new();
    for known in clients {
        let is_here = put(&mut page, known, &folders, client.is_some(), outcome);
        if !is_here {
            absent.push(Words::from(known.title()));
        }
    }
    if !absent.is_empty() {
        page.blank();
        let absent = Words::join(absent, ", ");
        page.say(Style::Plain, words!("Not found here: {}", absent));
    }
    Ok(out::print(&page.take().alone())?)
}

/// Puts nothing if the client is not on this machine.
fn put(
    page: &mut Page,
    client: &'static KnownClient,
    folders: &Folders,
    is_named: bool,
    outcome: &mut Outcome,
) -> bool {
    let program = client.program.and_then(find_program);
    let sources = client.sources(folders);
    if program.is_none() && sources.is_empty() && !is_named {
        return false;
    }
    page.blank();
    page.line(match (&program, client.program) {
        (Some(path), _) => words!("{}: {}", client.title(), given(path.display())),
        (None, Some(name)) => words!("{}: there is no `{}` in PATH", client.title(), name),
        (None, None) => Words::from(client.title()),
    });
    page.note(Style::Plain, shown(client));
    page.note(Style::Plain, client.waits_words());
    for source in sources {
        let path = given(source.path.display());
        match ClientFile::read(source) {
            Ok(file) => {
                page.line(words!("  {}", path));
                let entries = file.entries(folders);
                if entries.is_empty() {
                    page.line("    It names no server.");
                }
                for (_, name, entry) in entries {
                    put_entry(page, client, &name, entry, outcome);
                }
            }
            Err(error) => {
                outcome.tool_error = true;
                page.line(words!("  ! {}", error.message));
            }
        }
    }
    true
}

/// The questions that a client itself shows to the user, as a sentence.
fn shown(client: &KnownClient) -> Words {
    if client.revision.is_none() {
        return "It was not tried which questions it shows by itself.".into();
    }
    let undrawn = [Ability::Numbers, Ability::Lists].map(|kind| (kind, client.can(kind)));
    let undrawn = undrawn.into_iter().filter(|(_, can)| !can);
    let undrawn = Words::join(undrawn.map(|(kind, _)| kind.as_str().into()), " and ");
    let kinds = [Ability::Forms, Ability::Links, Ability::Sampling];
    let kinds = kinds.into_iter().filter(|kind| client.can(*kind));
    let kinds = kinds.map(|kind| match kind {
        Ability::Forms if !undrawn.is_empty() => words!("forms without {}", undrawn.clone()),
        kind => kind.as_str().into(),
    });
    let kinds = Words::join(kinds, ", ");
    match kinds.is_empty() {
        true => "By itself it shows no question.".into(),
        false => words!(
            "By itself it shows {}{}.",
            kinds,
            client.unseen_links_words()
        ),
    }
}

/// The options for a wrapped entry in the file that its command reads.
fn of_policy(
    shape: &EntryShape,
    entry_name: &str,
    entry: &Value,
) -> Result<policy::Options, Error> {
    let file = shape.option(entry, "--policy").map(PathBuf::from);
    let name = shape.option(entry, "--name");
    policy::options(file.as_deref(), name.as_deref().unwrap_or(entry_name))
}

fn put_entry(
    page: &mut Page,
    client: &KnownClient,
    name: &str,
    entry: &Value,
    outcome: &mut Outcome,
) {
    let shape = &client.entry;
    let (wraps, program) = shape.wraps(entry);
    let policy = match wraps {
        0 => Ok(policy::Options::default()),
        _ => of_policy(shape, name, entry),
    };
    let set = policy.as_ref().ok().and_then(|policy| policy.hold);
    let hold = client.hold_of(entry, set);
    let is_server = shape.words(entry).is_some() || shape.url(entry).is_some();
    let state = match (wraps, EntryShape::is_disabled(entry)) {
        _ if !is_server => "has neither a command nor a URL".into(),
        (0, false) => "not through askback".into(),
        (0, true) => "not through askback; disabled".into(),
        (_, _) => words!("through askback, which gives a call back after {} s", hold),
    };
    page.quote_line("    ", format!("{}: {state}", line(name)));
    if wraps == 0 {
        return;
    }
    let mut problems: Vec<Words> = Vec::new();
    if wraps > 1 {
        problems.push("askback wrap is in its command more than once".into());
    }
    if let Some(program) = program.filter(|program| find_program(program).is_none()) {
        problems.push(words!(
            "there is no program {}, so it cannot be started: wrap it again",
            given(program)
        ));
    }
    if let Some(limit) = client.limit_of(entry).filter(|limit| *limit <= hold) {
        problems.push(words!(
            "{} gives up after {} s, before the call is given back: set a longer timeout, or a shorter --hold",
            client.title(),
            limit
        ));
    }
    if EntryShape::is_disabled(entry) {
        problems.push(words!(
            "it is disabled, so {} does not start it",
            client.title()
        ));
    }
    outcome.tool_error |= !problems.is_empty();
    for problem in problems {
        page.line(words!("      ! {}", problem));
    }
    if let Err(error) = policy {
        outcome.tool_error = true;
        page.line(words!(
            "      ! it does not start, because {}",
            error.message
        ));
        if let Some(why) = error.quoted {
            page.quote_line("        ", why);
        }
    }
}
