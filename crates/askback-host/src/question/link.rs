//! The link of a question: where it goes, and alone, to be copied, or as a code.

use crate::{
    code,
    model::{
        Front, Step,
        link::{Link, Warning},
    },
    page::{Page, Style},
    text::Words,
    words,
};

/// The link that a step is about, if it is one.
pub(crate) fn link<'a>(step: &Step<'a>) -> Option<&'a Link> {
    match *step {
        Step::Consent(link) | Step::Sure(link) | Step::Opened(link) | Step::Returning(link) => {
            Some(link)
        }
        _ => None,
    }
}

/// The words on a link that leads to this machine. The person may be at another, from which they reached it by SSH.
pub(crate) fn on_this_machine(link: &Link, is_elsewhere: bool) -> Option<Words> {
    let words = match is_elsewhere {
        false => "The page is on this machine.",
        true => {
            "The page is on this machine, which you reached by SSH: a browser on yours looks for it there."
        }
    };
    link.is_of_this_machine().then(|| words.into())
}

/// Puts on the page where a link goes: its site, before a host that may begin as another, and what to be careful of.
pub fn destination(page: &mut Page, link: &Link) {
    page.quote_line("Site ", link.site());
    if link.host() != link.site() {
        page.quote_line("Host ", link.host());
    }
    warnings(page, &link.warnings);
    let (hosts, more) = leads_on(link);
    for host in hosts {
        page.quote_line(LEADS_ON, host);
    }
    if let Some(more) = more {
        page.say(Style::Warning, more);
    }
}

/// The mark before a site that a link may lead on to.
pub(crate) const LEADS_ON: &str = "! May send you on to ";

/// The most such sites that are named, so that they hide nothing else.
const NAMED: usize = 8;

/// The sites that a link may lead on to, as many as are named, and words on the others.
pub(crate) fn leads_on(link: &Link) -> (&[String], Option<Words>) {
    match link.leads_on.split_at_checked(NAMED) {
        Some((named, others @ [_, ..])) => {
            let others = words!("! May send you on to {} other sites, too", others.len());
            (named, Some(others))
        }
        _ => (&link.leads_on, None),
    }
}

/// Puts on the page why a link takes a second yes.
pub fn warnings(page: &mut Page, warnings: &[Warning]) {
    for warning in warnings {
        let (words, of) = warning.words();
        page.item("! ", Style::Warning, words);
        if let Some(of) = of {
            page.quote_line("  ", of);
        }
    }
}

/// Puts the link of a question on the page, alone and whole.
pub(crate) fn link_alone(page: &mut Page, front: &Front<'_>) {
    if let Some(link) = link(&front.step) {
        page.say(Style::Plain, "The link, up to the next empty line:");
        page.link_alone(link);
        page.blank();
    }
}

/// Puts the link of a question on the page as a code for the camera of a telephone.
pub(crate) fn link_code(page: &mut Page, front: &Front<'_>) {
    if let Some(link) = link(&front.step) {
        code::put(page, &link.url);
    }
}
