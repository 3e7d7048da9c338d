use std::ops::Range;

use serde::Serialize;

use super::{Labelled, Reader, name};
use crate::{
    model::{
        Asker, Front,
        link::{Link, Warning},
    },
    page::Style,
    text::{PeerText, Words},
    words,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkView {
    #[serde(skip)]
    pub step: LinkStep,
    pub destination: Destination,
    /// Says that it leads to this machine.
    pub here: Option<Words>,
    /// The host, repeated next to the prompt.
    #[serde(skip)]
    pub opens: Labelled,
    /// Says that the server asks again because the page is not finished.
    #[serde(skip)]
    pub unfinished: Option<Words>,
    /// The sentence shown while the user is at the page.
    #[serde(skip)]
    pub waits: Option<(Style, Words)>,
    /// The sentence for the line front end while the user is at the page, with what to do next.
    #[serde(skip)]
    pub next: Option<Words>,
    /// The question before the actions.
    #[serde(skip)]
    pub sure: Option<Words>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStep {
    Consent,
    /// Agree again, because the link may mislead.
    Sure,
    /// Finish the page behind it.
    Opened,
    /// Return from a sign-in.
    Returning,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Destination {
    /// The registrable domain.
    pub site: Address,
    /// The host, if it is not the registrable domain itself.
    pub host: Option<Address>,
    pub warnings: Vec<WarningView>,
    /// Other sites that it may redirect to.
    pub leads_on: Vec<Address>,
    /// Says how many more sites there are.
    pub leads_on_more: Option<Words>,
    pub address: Address,
}

/// A link or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Address {
    pub label: Words,
    /// The text, in printable ASCII.
    pub text: PeerText,
    /// The position of the registrable domain in the text.
    pub domain: Range<usize>,
}

/// A reason to ask for a second confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WarningView {
    pub words: Words,
    /// The part of the link that the warning is about.
    pub of: Option<PeerText>,
}

/// How many redirect targets are named. More would push other information away.
const MAX_NAMED_SITES: usize = 8;

pub(super) fn link(
    asker: &Asker,
    front: &Front<'_>,
    link: &Link,
    step: LinkStep,
    reader: Reader,
) -> LinkView {
    let here = match reader.is_elsewhere {
        false => "The page is on this machine.",
        true => {
            "The page is on this machine, which you reached by SSH: a browser on yours looks for it there."
        }
    };
    let unfinished = words!("{} still waits: the page is not finished.", name(asker));
    let waits: Option<(_, Words)> = match step {
        LinkStep::Opened if front.is_unfinished() => Some((
            Style::Warning,
            "The page is not finished yet. Finish it there, then press Enter again.".into(),
        )),
        LinkStep::Opened if front.goes_on() => {
            Some((Style::Plain, "Waiting for you to open it.".into()))
        }
        LinkStep::Opened => Some((Style::Plain, "Waiting for you to finish there.".into())),
        _ => None,
    };
    let next = match step {
        LinkStep::Opened if front.goes_on() => Some("When you have opened it, press Enter."),
        LinkStep::Opened => Some("When you are done there, come back and press Enter."),
        LinkStep::Returning => Some(
            "Waiting for the browser. If it is on another machine, paste the whole address it ends at.",
        ),
        LinkStep::Consent | LinkStep::Sure => None,
    };
    LinkView {
        step,
        destination: destination(link),
        here: link.is_of_this_machine().then(|| here.into()),
        opens: Labelled::new("Opens", link.host()),
        unfinished: front.is_unfinished().then_some(unfinished),
        waits,
        next: next.map(Words::from),
        sure: (step == LinkStep::Sure).then(|| "Sure?".into()),
    }
}

/// Describes where a link leads: its site, then its host, because a host can start like another
/// site, then the warnings.
pub fn destination(link: &Link) -> Destination {
    let address = |label: &'static str, text: &str, domain| Address {
        label: label.into(),
        text: text.into(),
        domain,
    };
    let whole = |label, text: &str| address(label, text, 0..text.len());
    let (site, host) = (link.site(), link.host());
    let start = link.domain.start.saturating_sub(link.host.start);
    let domain = start..start.saturating_add(site.len());
    let (named, others) = match link.leads_on.split_at_checked(MAX_NAMED_SITES) {
        Some((named, others)) => (named, others.len()),
        None => (link.leads_on.as_slice(), 0),
    };
    Destination {
        site: whole("Site", site),
        host: (host != site).then(|| address("Host", host, domain)),
        warnings: link.warnings.iter().map(warning).collect(),
        leads_on: named
            .iter()
            .map(|host| whole("May send you on to", host))
            .collect(),
        leads_on_more: (others > 0)
            .then(|| words!("May send you on to {} other sites, too", others)),
        address: address("Address", &link.url, link.domain.clone()),
    }
}

fn warning(warning: &Warning) -> WarningView {
    let (words, of) = warning.words();
    WarningView { words, of }
}
