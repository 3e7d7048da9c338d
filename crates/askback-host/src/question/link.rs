//! The link of a question: its destination, the link alone to be copied, and its code.

use crate::{
    code,
    model::{Front, Step, link::Link},
    page::{Page, Style},
    text::Words,
    view::{Address, Destination, LinkStep, LinkView, WarningView},
    words,
};

fn link<'a>(step: &Step<'a>) -> Option<&'a Link> {
    match *step {
        Step::Consent(link) | Step::Sure(link) | Step::Opened(link) | Step::Returning(link) => {
            Some(link)
        }
        _ => None,
    }
}

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

/// Puts the destination of a link on the page: the site, the host and all warnings. The site comes
/// first because a host may start like another one.
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

pub(crate) fn leads_on(site: &Address) -> Words {
    words!("! {} ", site.label)
}

/// Puts the warnings on the page that make a second yes necessary.
pub fn warnings(page: &mut Page, warnings: &[WarningView]) {
    for warning in warnings {
        page.item("! ", Style::Warning, warning.words.clone());
        if let Some(of) = &warning.of {
            page.quote_line("  ", of.clone());
        }
    }
}

pub(crate) fn link_alone(page: &mut Page, front: &Front<'_>) {
    if let Some(link) = link(&front.step) {
        page.say(Style::Plain, "The link, up to the next empty line:");
        page.link_alone(link);
        page.blank();
    }
}

pub(crate) fn link_code(page: &mut Page, front: &Front<'_>) {
    if let Some(link) = link(&front.step) {
        code::put(page, &link.url);
    }
}
