//! The link of a question, alone: to be copied, or as a code.

use crate::{
    code,
    model::{Front, Step, link::Link},
    page::{Page, Style},
    text::Words,
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
