//! The lists of the servers: completions, listings, and the changes after a restart.

use std::collections::BTreeMap;

use super::{Repl, attend, grammar::HELP, line};
use crate::{
    error::Error,
    session::{Session, State},
};
use askback::{
    Limits,
    client::{Client, ClientError, List},
    forms::FormSchema,
    internal::jsonrpc::METHOD_NOT_FOUND,
    protocol::Tool,
};
use askback_host::{
    diff,
    model::{About, Catalog, Change, Offer, OtherLine, ServerOffer},
    page::{Page, Style, out},
    plain, remarks,
    text::{PeerText, Words, given},
    words,
};
use serde::Serialize;
use serde_json::Value;

impl Repl<'_> {
    /// Offers what the current server has, and our own commands.
    pub(super) fn offer(&mut self) {
        if !self.session.host.shows_offers() {
            return;
        }
        let lists = self.session.host.server().catalog();
        let mut offers = lists.map_or_else(Vec::new, |lists| self.offers(lists));
        offers.extend(HELP.iter().map(|(command, does)| {
            let (line, behind) = command.split_once(' ').unwrap_or((command, ""));
            Offer {
                line: line.to_owned(),
                goes_on: !behind.is_empty(),
                about: About::Ours(does),
                ..Offer::default()
            }
        }));
        self.session.host.change(Change::Offered(offers));
    }

    /// Returns the lines that can be typed about the items of the current server. If it is connected, tools and
    /// resources also have their other lines.
    fn offers(&self, lists: &Catalog) -> Vec<Offer> {
        let client = self.there(self.session.server());
        let reports = client.and_then(|client| client.capabilities().resources);
        let reports = reports.and_then(|resources| resources.subscribe) == Some(true);
        let other = |does, command, name: &str| -> Vec<OtherLine> {
            let line = line::named(command, name);
            line.map(|line| OtherLine { does, line })
                .into_iter()
                .collect()
        };
        let offer = |write: fn(&str) -> Option<String>, name: &str, about: [Option<&String>; 2]| {
            let about = about.into_iter().flatten().next().map(String::as_str);
            Some(Offer {
                line: write(name)?,
                about: About::Peer(about.unwrap_or_default().into()),
                ..Offer::default()
            })
        };
        let tools = lists.tools.iter().filter_map(|tool| {
            let about = [tool.title.as_ref(), tool.description.as_ref()];
            Some(Offer {
                goes_on: true,
                arguments: arguments(tool),
                hints: plain::catalog::hints(tool),
                others: match client.is_some_and(|client| client.may_be_task(tool)) {
                    true => other("Call in the background", "/begin", &tool.name),
                    false => Vec::new(),
                },
                ..offer(line::tool, &tool.name, about)?
            })
        });
        let prompts = lists.prompts.iter().filter_map(|prompt| {
            let about = [prompt.title.as_ref(), prompt.description.as_ref()];
            let arguments = prompt.arguments.iter().flatten();
            Some(Offer {
                goes_on: true,
                arguments: names(arguments.map(|it| (it.name.as_str(), it.required == Some(true)))),
                ..offer(line::prompt, &prompt.name, about)?
            })
        });
        let resources = lists.resources.iter().filter_map(|resource| {
            let about = [resource.title.as_ref(), Some(&resource.name)];
            Some(Offer {
                others: match reports {
                    true if self.known.watched.contains_key(&resource.uri) => {
                        other("Stop reports", "/unsubscribe", &resource.uri)
                    }
                    true => other("Report changes", "/subscribe", &resource.uri),
                    false => Vec::new(),
                },
                ..offer(line::resource, &resource.uri, about)?
            })
        });
        let templates = lists.templates.iter().filter_map(|template| {
            let about = [template.title.as_ref(), Some(&template.name)];
            offer(line::resource, &template.uri_template, about)
        });
        let all = tools.chain(prompts).chain(resources).chain(templates);
        all.collect()
    }

    /// Sets the text shown while nothing is typed: running tasks, and servers that are connecting or failed.
    pub(super) fn describe(&mut self) {
        let mut said = Vec::new();
        match self.at_work() {
            0 => {}
            count => said.push(words!("Tasks at work: {}", count)),
        }
        let connecting = self.named(|state| matches!(state, State::Connecting));
        if !connecting.is_empty() {
            said.push(words!("Connecting: {}", given(connecting).short()));
        }
        let failed = self.named(|state| matches!(state, State::Failed(_)));
        if !failed.is_empty() {
            said.push(words!("Not there: {}", given(failed).short()));
        }
        if let Some(lists) = self.session.host.server().catalog() {
            let shared = self.session.host.desk().shared().map_or(0, <[_]>::len);
            let folders: Words = match shared {
                0 => "none".into(),
                many => words!("{}", many),
            };
            said.push(words!(
                "Tools {}  Prompts {}  Resources {}  Templates {}  Folders shared: {}",
                lists.tools.len(),
                lists.prompts.len(),
                lists.resources.len(),
                lists.templates.len(),
                folders
            ));
        }
        if let Some(level) = self.session.host.server().log() {
            said.push(words!("Log: {}", remarks::level(level)));
        }
        if let Some(played) = self.session.role().played() {
            said.push(words!("Played: {}", played));
        }
        let words = Words::join(said, "  ");
        self.session.host.change(Change::Described(words));
        let servers = self.server_offers();
        self.session.host.change(Change::Servers(servers));
    }

    fn server_offers(&self) -> Vec<ServerOffer> {
        let chosen = self.session.server();
        let mut servers: Vec<_> = self.servers().collect();
        servers.sort_unstable();
        let offer = |server| {
            let name = &self.session.host.asker(server).name;
            let mut others = self.others.iter().map(|other| &other.connection);
            let failure = others.find_map(|connection| match &connection.state {
                State::Failed(error) if connection.server == server => {
                    Some((error.message.clone(), error.quoted.clone()))
                }
                _ => None,
            });
            ServerOffer {
                server,
                choose: line::named("/server", name).filter(|_| server != chosen),
                restart: line::named("/restart", name),
                failure,
            }
        };
        servers.into_iter().map(offer).collect()
    }

    fn named(&self, is_such: impl Fn(&State) -> bool) -> String {
        let others = self.others.iter().map(|other| &other.connection);
        let such = others.filter(|connection| is_such(&connection.state));
        let names = such.map(|connection| self.session.host.asker(connection.server).name.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Prints one part of the current server's catalog.
    pub(super) async fn list_part(&mut self, wanted: &'static [CatalogPart]) -> Result<(), Error> {
        let Session { client, host, .. } = &mut *self.session;
        let own = attend(host, read(client, wanted)).await?;
        if wanted.contains(&CatalogPart::Tools) {
            self.known.tools = Some(own.tools.clone());
        }
        self.list(|page| put(page, &own, wanted))
    }

    pub(super) fn list(&mut self, put: impl FnOnce(&mut Page)) -> Result<(), Error> {
        let mut page = out::stdout_page();
        put(&mut page);
        Ok(self.session.host.print(page.take().trimmed())?)
    }
}

/// The names of a tool's arguments. Required ones end in `*`. If the schema is not a form, only the required names
/// are known.
fn arguments(tool: &Tool) -> PeerText {
    let schema = tool.input_schema.as_str().as_bytes();
    match FormSchema::parse_arguments(schema, &Limits::default().forms) {
        Ok(form) => {
            let fields = form.fields.iter();
            names(fields.map(|field| (field.name.as_str(), field.required)))
        }
        Err(_) => {
            let schema = tool.input_schema.decode().unwrap_or(Value::Null);
            let required = schema["required"].as_array().into_iter().flatten();
            names(required.filter_map(Value::as_str).map(|name| (name, true)))
        }
    }
}

/// How many arguments are named at most.
const NAMED: usize = 16;

/// Required names end in `*`.
fn names<'a>(names: impl Iterator<Item = (&'a str, bool)>) -> PeerText {
    let names = names
        .take(NAMED)
        .map(|(name, is_required)| match is_required {
            true => format!("{name}*"),
            false => name.to_owned(),
        });
    names.collect::<Vec<_>>().join(", ").into()
}

pub fn put(page: &mut Page, lists: &Catalog, wanted: &[CatalogPart]) {
    let has = |part| wanted.contains(&part);
    if has(CatalogPart::Tools) {
        plain::catalog::tools(page, &lists.tools);
    }
    if has(CatalogPart::Prompts) {
        plain::catalog::prompts(page, &lists.prompts);
    }
    if has(CatalogPart::Resources) {
        plain::catalog::resources(page, &lists.resources, &lists.templates);
    } else if has(CatalogPart::Templates) {
        plain::catalog::templates(page, &lists.templates);
    }
    if has(CatalogPart::Skills) {
        plain::catalog::skills(page, &lists.skills);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CatalogPart {
    Tools,
    Prompts,
    Resources,
    Templates,
    Skills,
}

/// How many changes are printed at most.
const NAMES: usize = 20;

/// Reads these lists, or those that the server declares if `wanted` is empty. Nearly every server has tools. A list that
/// the server does not know is empty.
pub async fn read(client: &Client, wanted: &[CatalogPart]) -> Result<Catalog, ClientError> {
    fn known<T>(listed: Result<List<T>, ClientError>) -> Result<Vec<T>, ClientError> {
        match listed {
            Err(ClientError::Server(error)) if error.code == METHOD_NOT_FOUND => Ok(Vec::new()),
            listed => Ok(listed?.items),
        }
    }
    let can = client.capabilities();
    let is_wanted = |part, is_declared| match wanted {
        [] => is_declared,
        wanted => wanted.contains(&part),
    };
    let mut catalog = Catalog::default();
    if is_wanted(CatalogPart::Tools, true) {
        catalog.tools = known(client.tools().await)?;
    }
    if is_wanted(CatalogPart::Prompts, can.prompts.is_some()) {
        catalog.prompts = known(client.prompts().await)?;
    }
    if is_wanted(CatalogPart::Resources, can.resources.is_some()) {
        catalog.resources = known(client.resources().await)?;
    }
    if is_wanted(CatalogPart::Templates, can.resources.is_some()) {
        catalog.templates = known(client.resource_templates().await)?;
    }
    if is_wanted(CatalogPart::Skills, true) {
        catalog.skills = known(client.skills().await)?;
    }
    Ok(catalog)
}

pub(super) fn compare(before: &Catalog, now: &Catalog, page: &mut Page) {
    let (before, now) = (entries(before), entries(now));
    let was: BTreeMap<_, _> = before.iter().map(|(key, value)| (key, value)).collect();
    let is: BTreeMap<_, _> = now.iter().map(|(key, value)| (key, value)).collect();
    let changed = now.iter().filter_map(|(key, value)| match was.get(key) {
        None => Some(("new", key, None)),
        Some(before) if *before != value => Some(("changed", key, Some((*before, value)))),
        Some(_) => None,
    });
    let gone = before.iter().filter(|(key, _)| !is.contains_key(key));
    let gone = gone.map(|(key, _)| ("gone", key, None));
    let mut all = changed.chain(gone).peekable();
    if all.peek().is_none() {
        page.note(Style::Dim, "It has the same as before.");
    }
    for (what, (noun, name), values) in all.by_ref().take(NAMES) {
        page.quote_line(words!("  {} {} ", what, *noun), PeerText::from(*name));
        if let Some((before, now)) = values {
            diff::put_all(page, before, now);
        }
    }
    match all.count() {
        0 => {}
        more => page.note(Style::Dim, words!("more changes: {}", more)),
    }
}

fn entries(lists: &Catalog) -> Vec<((&'static str, &str), Value)> {
    fn of<'a, T: Serialize>(
        noun: &'static str,
        all: &'a [T],
        name: impl Fn(&'a T) -> &'a String,
    ) -> impl Iterator<Item = ((&'static str, &'a str), Value)> {
        // Serializing fails only for maps whose keys are not strings.
        let value = |one| serde_json::to_value(one).unwrap_or_default();
        all.iter()
            .map(move |one| ((noun, name(one).as_str()), value(one)))
    }
    of("tool", &lists.tools, |it| &it.name)
        .chain(of("prompt", &lists.prompts, |it| &it.name))
        .chain(of("resource", &lists.resources, |it| &it.uri))
        .chain(of("template", &lists.templates, |it| &it.uri_template))
        .chain(of("skill", &lists.skills, |it| &it.uri))
        .collect()
}
