//! The link of a question: its destination, the link alone to be copied, and its code.

use crate::{
    code,
    model::{Front, Step, link::Link},
    page::{Page, Style},
    text::Words,
    view::{Address, Destination, LinkStep, LinkView, WarningView},
    words,
};

/// The link that a step is about.
pub(crate) fn link<'a>(step: &Step<'a>) -> Option<&'a Link> {
    match *step {
        Step::Consent(link) | Step::Sure(link) | Step::Opened(link) | Step::Returning(link) => {
            Some(link)
        }
        _ => None,
    }
}

/// Puts on the page what is wanted of a link now.
pub(super) fn step(page: &mut Page, link: &LinkView) {
    if link.step == LinkStep::Consent {
        destination(page, &link.destination);
        page.link(&link.destination.address);
        if let Some(here) = &link.here {
            page.note(Style::Plain, here.clone());
        }
    }
    if let Some(next) = &link.next {
        page.blank();
        page.say(Style::Plain, next.clone());
    }
}

/// Puts on the page where a link goes: its site, before a host that may begin as another, and what to be careful of.
pub fn destination(page: &mut Page, link: &Destination) {
    for part in [&link.site].into_iter().chain(&link.host) {
        page.quote_line(words!("{} ", part.label), part.text.clone());
    }
    warnings(page, &link.warnings);
    for site in &link.leads_on {
        page.quote_line(leads_on(site), site.text.clone());
    }
    if let Some(more) = &link.leads_on_more {
        page.say(Style::Warning, words!("! {}", *more));
    }
}

/// The mark before a site that a link may lead on to.
pub(crate) fn leads_on(site: &Address) -> Words {
    words!("! {} ", site.label)
}

/// Puts on the page why a link takes a second yes.
pub fn warnings(page: &mut Page, warnings: &[WarningView]) {
    for warning in warnings {
        page.item("! ", Style::Warning, warning.words.clone());
        if let Some(of) = &warning.of {
            page.quote_line("  ", of.clone());
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
