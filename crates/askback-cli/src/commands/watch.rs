//! `askback watch` prints the changes at a server.

use std::{future::pending, time::Duration};

use askback::{
    client::{Client, ClientError, Event, Subscription},
    internal::revision::Era,
    protocol::SubscriptionFilter,
};
use askback_host::{
    page::{Rows, Style, out},
    text::{self, PeerText, Words, given},
    words,
};
use serde::Serialize;
use tokio::{sync::mpsc, time::sleep};

use super::{answers, as_json};
use crate::{
    error::{Error, Kind},
    session::{Session, SessionArgs, failed},
};

const MOST_CHANGES: i64 = 1_000_000;

/// Print a line for each change of a server's lists or resources
///
/// Runs until Ctrl-C (exit code 130) or --count. A note on standard error says what is watched, and
/// which changes the server does not report. If it reports none of them, the exit code is 2.
#[derive(Debug, Clone, clap::Args)]
#[command(
    override_usage = "askback watch [OPTIONS] [SERVER] [URI]... [-- <CMD>...]",
    after_help = "Examples:\n  askback watch server.py --lists\n  askback watch file:///notes.txt --url https://example.com/mcp"
)]
pub struct WatchArgs {
    /// The resources to watch; without any, the lists of tools, prompts and resources
    #[arg(value_name = "URI")]
    uris: Vec<String>,
    /// Watch the lists as well as the resources
    #[arg(long)]
    lists: bool,
    /// Exit after this many changes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_CHANGES))]
    count: Option<u32>,
    /// Print each change as a line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// How long to wait for the first response of a silent server. Servers that fail usually fail early.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two requests to a silent server. Each pause is twice the previous one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

enum News {
    Change(Change),
    /// The server answered.
    Alive,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "changed", rename_all = "lowercase")]
enum Change {
    Tools,
    Prompts,
    Resources,
    Resource { uri: String },
}

pub async fn run(mut args: WatchArgs) -> Result<(), Error> {
    args.session.target.name_by(&mut args.uris)?;
    if let Some(word) = args.uris.iter().find(|word| !word.contains(':')) {
        let error = Error::usage(words!("`{}` is not the URI of a resource", given(word)));
        return Err(
            error.hint("Without a URI, the lists of tools, prompts and resources are watched.")
        );
    }
    let target = args.session.target()?;
    let (told, mut changes) = mpsc::unbounded_channel();
    let take = move |event| match Change::of(event) {
        Ok(change) => {
            // The receiver is gone.
            let _ = told.send(change);
            None
        }
        Err(other) => Some(other),
    };
    let answers = answers(None)?;
    let mut session = Session::open_taking(target, &args.session, answers, take).await?;
    let watched = watch(&mut session, &args, &mut changes).await;
    session.close().await;
    watched
}

async fn watch(
    session: &mut Session,
    args: &WatchArgs,
    changes: &mut mpsc::UnboundedReceiver<Change>,
) -> Result<(), Error> {
    let mut subscription = subscribe(session, args).await?;
    let Session { client, host, .. } = session;
    let client = &*client;
    let mut left = args.count;
    let mut pause = FIRST_PAUSE;
    while left != Some(0) {
        let next = async {
            tokio::select! {
                biased;
                Some(change) = changes.recv() => Ok(News::Change(change)),
                ended = subscription.ended() => Err(match ended {
                    Ok(()) => Error::new(Kind::Connection, "the server ended the subscription"),
                    Err(error) => failed(error),
                }),
                answered = answers_after(pause, client) => match answered {
                    // Any response means that the server is there.
                    Ok(()) | Err(ClientError::Server(_)) => Ok(News::Alive),
                    Err(error) => Err(failed(error)),
                },
            }
        };
        match host.attend_silently(next).await?? {
            News::Change(change) if args.wants(&change) => {
                host.print(change.rows(args.json)?)?;
                left = left.map(|left| left.saturating_sub(1));
            }
            News::Change(_) => {}
            News::Alive => pause = pause.saturating_mul(2).min(LONGEST_PAUSE),
        }
    }
    Ok(())
}

/// Pauses, then waits for a response from a server with a session. The server may have disappeared silently. The
/// request restarts it together with its subscriptions. In the newest revision a subscription is an open request,
/// which ends with the server.
async fn answers_after(pause: Duration, client: &Client) -> Result<(), ClientError> {
    match client.revision().era() {
        Era::Legacy => {
            sleep(pause).await;
            client.ping().await
        }
        Era::Modern => pending().await,
    }
}

async fn subscribe(session: &mut Session, args: &WatchArgs) -> Result<Subscription, Error> {
    let Session { client, host, .. } = session;
    let can = client.capabilities();
    let resources = can.resources.unwrap_or_default();
    let lists = |tells: Option<bool>| tells.filter(|tells| *tells && args.wants_lists());
    let can_watch = resources.subscribe == Some(true) && !args.uris.is_empty();
    let wish = SubscriptionFilter {
        tools_list_changed: lists(can.tools.and_then(|it| it.list_changed)),
        prompts_list_changed: lists(can.prompts.and_then(|it| it.list_changed)),
        resources_list_changed: lists(resources.list_changed),
        resource_subscriptions: can_watch.then(|| args.uris.clone()),
        task_ids: None,
    };
    // A server that declares no changes need not know subscriptions.
    let subscription = match wish == SubscriptionFilter::default() {
        true => None,
        false => Some(host.attend(client.listen(wish)).await?.map_err(failed)?),
    };
    let granted = subscription.as_ref().map(Subscription::granted);
    let is_watched = |change: &Change| granted.is_some_and(|granted| change.is_among(granted));
    let (watched, untold): (Vec<_>, Vec<_>) = args.wished().partition(is_watched);
    let name = given(&host.desk().asker().name).short();
    let page = host.page();
    for change in untold {
        let words = words!(
            "{} does not report changes of {}",
            name.clone(),
            change.noun()
        );
        page.note(Style::Warning, words);
    }
    let Some(subscription) = subscription.filter(|_| !watched.is_empty()) else {
        return Err(Error::usage("there is nothing to watch")
            .hint("askback list --all shows which changes the server reports."));
    };
    let nouns = Words::join(watched.iter().map(Change::noun), ", ");
    page.note(Style::Dim, words!("Watching {}. Ctrl-C ends it.", nouns));
    host.flush();
    Ok(subscription)
}

impl WatchArgs {
    fn wants_lists(&self) -> bool {
        self.lists || self.uris.is_empty()
    }

    fn wished(&self) -> impl Iterator<Item = Change> {
        let lists = [Change::Tools, Change::Prompts, Change::Resources];
        let uris = self.uris.iter().cloned();
        let lists = lists.into_iter().filter(|_| self.wants_lists());
        lists.chain(uris.map(|uri| Change::Resource { uri }))
    }

    /// Whether this change was requested. It may name a part of a watched resource.
    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Resource { .. } => !self.uris.is_empty(),
            _ => self.wants_lists(),
        }
    }
}

impl Change {
    /// The change that an event reports. Returns any other event unchanged.
    fn of(event: Event) -> Result<Self, Event> {
        Ok(match event {
            Event::ToolsChanged => Self::Tools,
            Event::PromptsChanged => Self::Prompts,
            Event::ResourcesChanged => Self::Resources,
            Event::ResourceUpdated(uri) => Self::Resource { uri },
            other => return Err(other),
        })
    }

    fn is_among(&self, granted: &SubscriptionFilter) -> bool {
        match self {
            Self::Tools => granted.tools_list_changed == Some(true),
            Self::Prompts => granted.prompts_list_changed == Some(true),
            Self::Resources => granted.resources_list_changed == Some(true),
            Self::Resource { uri } => {
                let uris = granted.resource_subscriptions.as_ref();
                uris.is_some_and(|uris| uris.contains(uri))
            }
        }
    }

    fn noun(&self) -> Words {
        match self {
            Self::Tools => "tools".into(),
            Self::Prompts => "prompts".into(),
            Self::Resources => "resources".into(),
            Self::Resource { uri } => given(uri),
        }
    }

    fn rows(&self, json: bool) -> Result<Rows, Error> {
        if json {
            return Ok(out::of_json(&as_json(self)?));
        }
        let line = match self {
            Self::Tools => "tools".into(),
            Self::Prompts => "prompts".into(),
            Self::Resources => "resources".into(),
            Self::Resource { uri } => format!("resource {}", text::line(uri)),
        };
        Ok(out::of_text(PeerText::from(line)))
    }
}
