//! The stages of a sampling request.

use askback::protocol::CreateMessageResult;

use super::{Stage, Turn};
use crate::{
    model::{
        Reply,
        sampling::{Part, Sampling},
        step::{Action, Effect, Notice},
    },
    text::{PeerText, Words},
};

pub(super) fn request_said(mut sampling: Sampling, said: Action) -> Turn {
    match said {
        Action::Run(_) => run(sampling),
        Action::Rewrite(part @ (Part::System | Part::Message)) => rewrite(sampling, part),
        Action::WriteMyself => Turn::to(match sampling.kept() {
            Some(text) => Stage::Reread(text, sampling),
            None => Stage::Write(sampling),
        }),
        _ => Turn::stay(Stage::Request(sampling)),
    }
}

pub(super) fn running_said(sampling: Sampling, said: Action) -> Turn {
    match said {
        Action::Back => Turn::to(before(sampling)),
        _ => Turn::stay(Stage::Running(sampling)),
    }
}

pub(super) fn write_said(mut sampling: Sampling, said: Action) -> Turn {
    match said {
        Action::Draft(text) => {
            sampling.so_far = text;
            Turn::stay(Stage::Write(sampling))
        }
        Action::Fill(text) => Turn::to(Stage::Reread(text, sampling)),
        Action::Back if sampling.has_model => Turn::to(Stage::Request(sampling)),
        Action::Back => match sampling.kept() {
            Some(text) => Turn::to(Stage::Reread(text, sampling)),
            None => Turn::stay(Stage::Write(sampling)),
        },
        _ => Turn::stay(Stage::Write(sampling)),
    }
}

pub(super) fn replied_said(mut sampling: Sampling, said: Action) -> Turn {
    match said {
        Action::Send => match (sampling.fault(), sampling.reply.take()) {
            (None, Some(reply)) => Turn::reply(Reply::Sampled(Box::new(reply))),
            (fault, reply) => {
                sampling.reply = reply;
                Turn::stay(Stage::Replied(sampling)).because(fault.unwrap_or_default())
            }
        },
        Action::Run(_) if sampling.has_model => {
            sampling.reply = None;
            run(sampling)
        }
        Action::Back if sampling.has_model => {
            sampling.reply = None;
            Turn::to(Stage::Request(sampling))
        }
        Action::Rewrite(Part::Reply) => rewrite(sampling, Part::Reply),
        _ => Turn::stay(Stage::Replied(sampling)),
    }
}

pub(super) fn rewriting_said(
    mut sampling: Sampling,
    (part, text): (Part, String),
    said: Action,
) -> Turn {
    match said {
        Action::Fill(text) => {
            sampling.rewrite(part, text);
            Turn::to(before(sampling))
        }
        Action::Back => Turn::to(before(sampling)),
        Action::Draft(text) => Turn::stay(Stage::Rewriting(sampling, part, text)),
        _ => Turn::stay(Stage::Rewriting(sampling, part, text)),
    }
}

/// The model did not reply. The user may try again.
pub(in crate::model) fn failed(sampling: Sampling, why: Words, quoted: Option<PeerText>) -> Turn {
    let turn = Turn::to(Stage::Request(sampling));
    match quoted {
        Some(quoted) => turn.with(Effect::Tell(Notice::ModelFailed(why, quoted))),
        None => turn.because(why),
    }
}

/// The model replied. A reply that cannot be sent goes to the user even if replies need no review.
pub(in crate::model) fn came(
    mut sampling: Sampling,
    reply: CreateMessageResult,
    is_permitted: bool,
) -> Turn {
    sampling.take_reply(reply);
    let fault = sampling.fault();
    match (fault, sampling.reply.take()) {
        (None, Some(reply)) if is_permitted => Turn::reply(Reply::Sampled(Box::new(reply))),
        (fault, reply) => {
            sampling.reply = reply;
            Turn {
                issue: fault,
                ..Turn::to(Stage::Replied(sampling))
            }
        }
    }
}

pub(super) fn run(sampling: Sampling) -> Turn {
    let request = Box::new(sampling.request.clone());
    Turn::to(Stage::Running(sampling)).with(Effect::Run(request))
}

pub(super) fn rewrite(sampling: Sampling, part: Part) -> Turn {
    match sampling.text(part) {
        Some(text) => Turn::to(Stage::Rewriting(sampling, part, text)),
        None => Turn::stay(before(sampling)).because("there is no text to rewrite"),
    }
}

/// The stage at which the user reviews the reply, or the request if no reply has arrived.
pub(super) fn before(sampling: Sampling) -> Stage {
    match sampling.reply {
        Some(_) => Stage::Replied(sampling),
        None => Stage::Request(sampling),
    }
}
