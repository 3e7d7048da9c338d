//! The steps of a request to a model.

use askback_core::protocol::CreateMessageResult;

use super::{Stage, Turn, edit};
use crate::{
    model::{
        Reply,
        calling::{Arguments, Calling},
        sampling::{Part, Sampling},
        step::{Effect, Notice, Said},
    },
    text::{PeerText, Words},
};

/// Before a request goes to a model.
pub(super) fn request_said(mut sampling: Sampling, said: Said) -> Turn {
    match said {
        Said::Run(_) => run(sampling),
        Said::Rewrite(part @ (Part::System | Part::Message)) => rewrite(sampling, part),
        Said::WriteMyself => Turn::to(match sampling.take_up() {
            true => Stage::Replied(sampling),
            false => Stage::by_hand(sampling),
        }),
        _ => Turn::stay(Stage::Request(sampling)),
    }
}

/// While the model is at work.
pub(super) fn running_said(sampling: Sampling, said: Said) -> Turn {
    match said {
        Said::Back => Turn::to(before(sampling)),
        _ => Turn::stay(Stage::Running(sampling)),
    }
}

/// While a reply is written in place of a model.
pub(super) fn write_said(mut sampling: Sampling, said: Said) -> Turn {
    match said {
        Said::Draft(text) => {
            sampling.so_far = text;
            Turn::stay(Stage::Write(sampling))
        }
        Said::Fill(text) if sampling.offered().is_empty() => {
            Turn::to(Stage::Reread(text, sampling))
        }
        Said::Fill(text) => {
            sampling.write(text);
            Turn::to(Stage::Replied(sampling))
        }
        Said::Back if sampling.has_model => Turn::to(Stage::Request(sampling)),
        Said::Back => match sampling.kept() {
            Some(text) => Turn::to(Stage::Reread(text, sampling)),
            None => Turn::stay(Stage::Write(sampling)),
        },
        Said::Pick => pick(sampling, Stage::Write),
        _ => Turn::stay(Stage::Write(sampling)),
    }
}

/// While a tool is chosen.
pub(super) fn pick_said(sampling: Sampling, said: Said) -> Turn {
    match said {
        Said::Call(tool) => match Calling::begin(Box::new(sampling), tool) {
            Ok(calling) => called(calling),
            Err(sampling) => {
                Turn::stay(Stage::Pick(*sampling)).because("the request offers no such tool")
            }
        },
        Said::Back if sampling.reply.is_some() => Turn::to(Stage::Replied(sampling)),
        Said::Back => Turn::to(Stage::Write(sampling)),
        _ => Turn::stay(Stage::Pick(sampling)),
    }
}

/// While the arguments of a call are written.
pub(super) fn calling_said(mut calling: Calling, said: Said) -> Turn {
    if said == Said::Back {
        return Turn::to(match calling.is_change() {
            true => Stage::Replied(*calling.leave()),
            false => Stage::Pick(*calling.leave()),
        });
    }
    match (&mut calling.arguments, said) {
        (Arguments::Json(so_far), Said::Draft(text)) => {
            *so_far = text;
            Turn::stay(Stage::Calling(calling))
        }
        (Arguments::Json(_), Said::Fill(text)) => match calling.read(text) {
            Ok(sampling) => Turn::to(Stage::Replied(*sampling)),
            Err((calling, wrong)) => Turn::to(Stage::Calling(calling)).because(wrong),
        },
        (Arguments::Fields(draft), Said::Fold(field)) if !draft.is_nested(field) => {
            calling.unfold();
            Turn::to(Stage::Calling(calling))
        }
        (Arguments::Fields(draft), said) => match edit(draft, said) {
            Ok(true) => Turn::to(Stage::Replied(*calling.done())),
            Ok(false) => Turn::stay(Stage::Calling(calling)),
            Err(issue) => Turn::stay(Stage::Calling(calling)).because(issue),
        },
        _ => Turn::stay(Stage::Calling(calling)),
    }
}

/// Goes on with a call: one of a tool without arguments is there at once.
pub(super) fn called(calling: Calling) -> Turn {
    Turn::to(match &calling.arguments {
        Arguments::Fields(draft) if draft.fields().is_empty() => Stage::Replied(*calling.done()),
        _ => Stage::Calling(calling),
    })
}

/// Has a tool be chosen, if one may be called; else the person stays where they are.
pub(super) fn pick(sampling: Sampling, stays: fn(Sampling) -> Stage) -> Turn {
    match (sampling.offered(), &sampling.request.tools) {
        ([_, ..], _) => Turn::to(Stage::Pick(sampling)),
        ([], Some(tools)) if !tools.is_empty() => {
            Turn::stay(stays(sampling)).because("the server wants no tool called")
        }
        _ => Turn::stay(stays(sampling)).because("the request offers no tools"),
    }
}

/// Before a reply goes to the server.
pub(super) fn replied_said(mut sampling: Sampling, said: Said) -> Turn {
    match said {
        Said::Send => match (sampling.fault(), sampling.reply.take()) {
            (None, Some(reply)) => Turn::reply(Reply::Sampled(Box::new(reply))),
            (fault, reply) => {
                sampling.reply = reply;
                Turn::stay(Stage::Replied(sampling)).because(fault.unwrap_or_default())
            }
        },
        Said::Run(_) if sampling.has_model => {
            sampling.put_aside();
            run(sampling)
        }
        Said::Back if sampling.has_model => {
            sampling.put_aside();
            Turn::to(Stage::Request(sampling))
        }
        Said::Rewrite(Part::Reply) => rewrite(sampling, Part::Reply),
        Said::Pick => pick(sampling, Stage::Replied),
        Said::Change(call) => match Calling::change(Box::new(sampling), call) {
            Ok(calling) => Turn::to(Stage::Calling(calling)),
            Err(sampling) => {
                let issue = match sampling.calls().nth(call) {
                    Some(_) => "its tool is not offered: the call can only be taken out",
                    None => "there is no such call",
                };
                Turn::stay(Stage::Replied(*sampling)).because(issue)
            }
        },
        Said::TakeOut(call) => match sampling.take_out(call) {
            true => Turn::to(Stage::Replied(sampling)),
            false => Turn::stay(Stage::Replied(sampling)).because("there is no such call"),
        },
        _ => Turn::stay(Stage::Replied(sampling)),
    }
}

/// While a part is rewritten.
pub(super) fn rewriting_said(
    mut sampling: Sampling,
    (part, text): (Part, String),
    said: Said,
) -> Turn {
    match said {
        Said::Fill(text) => {
            sampling.rewrite(part, text);
            Turn::to(before(sampling))
        }
        Said::Back => Turn::to(before(sampling)),
        Said::Draft(text) => Turn::stay(Stage::Rewriting(sampling, part, text)),
        _ => Turn::stay(Stage::Rewriting(sampling, part, text)),
    }
}

/// Takes in why a model did not reply: the person may try again.
pub(in crate::model) fn failed(sampling: Sampling, why: Words, quoted: Option<PeerText>) -> Turn {
    let turn = Turn::to(Stage::Request(sampling));
    match quoted {
        Some(quoted) => turn.with(Effect::Tell(Notice::ModelFailed(why, quoted))),
        None => turn.because(why),
    }
}

/// Takes in the reply to a request. One that cannot be sent comes before the person, whatever is permitted.
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

/// The checkpoint at which a person stands with a sampling.
pub(super) fn before(sampling: Sampling) -> Stage {
    match sampling.reply {
        Some(_) => Stage::Replied(sampling),
        None => Stage::Request(sampling),
    }
}
