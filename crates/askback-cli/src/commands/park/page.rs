//! Shows a pending call to the user.

use askback::{
    Limits,
    forms::FormSchema,
    protocol::{ElicitParams, InputRequest},
};
use askback_host::{
    model::{Ask, Asker, Call, Origin, Question},
    page::{Excerpt, Page, Style},
    question,
    text::given,
    view::{self, Body},
    words,
};

use super::ParkedCallReport;
use crate::{error::Error, parked::ParkedCall};

pub(super) fn put(page: &mut Page, id: &str, call: &ParkedCall) -> Result<(), Error> {
    let (questions, _) = call.asks()?;
    for (key, request) in questions {
        put_question(page, id, call, key, request);
    }
    let shown = ParkedCallReport::of(id, call)?;
    page.blank();
    let words = words!("Waits until {}. To answer:", given(&shown.expires));
    page.say(Style::Plain, words);
    page.note(Style::Strong, given(&shown.answer));
    Ok(())
}

fn put_question(page: &mut Page, id: &str, call: &ParkedCall, key: String, request: InputRequest) {
    let delivery = call.delivery(&key);
    page.say(
        Style::Strong,
        words!("{} asks", given(&call.server).short()),
    );
    page.quote_line("  for the tool ", &call.tool);
    let ask = match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => {
            let schema = FormSchema::clone(&form.requested_schema);
            let message = form.message;
            Ask::Form { message, schema }
        }
        InputRequest::Elicit(ElicitParams::Url(link)) => Ask::Link {
            message: link.message,
            url: link.url,
            id: None,
            retried: true,
            again: false,
        },
        other => return page.quote_line("  ", other.method()),
    };
    let mut excerpt = Excerpt::new(page, Limits::default().host.message_shown);
    let question = Question {
        call: Some(Call::Tool(call.tool.clone())),
        key: Some(key),
        ask,
    };
    let asker = Asker {
        name: call.server.clone(),
        reached: Origin::Typed(call.line.join(" ")),
        claims: None,
    };
    let view = view::outline(&asker, &question);
    question::body(&mut excerpt, &view, 0);
    let whole = words!(
        " are left out: askback answer {} --json shows them",
        given(id)
    );
    excerpt.end(whole);
    if let Body::Outline(outline) = &view.body {
        if let Some(secret) = &outline.secret {
            question::secret(page, secret);
        }
        if let Some(destination) = &outline.destination {
            question::destination(page, destination);
        }
    }
    if let Some(delivery) = delivery {
        page.note(Style::Plain, delivery);
    }
}
