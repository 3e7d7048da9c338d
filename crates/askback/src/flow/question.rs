use std::{
    borrow::Cow,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use askback_core::{
    ask::{AskError, Capability, CheckedAnswer, Release},
    forms::{ChoiceField, FieldKind},
    protocol::{ElicitAction, ElicitParams, InputRequest},
};

use super::{Cell, Scope, Slot};

pub(crate) struct QuestionFuture {
    cell: Arc<Cell>,
    state: State,
}

enum State {
    New(Box<NewQuestion>),
    Waiting(Slot),
    Over,
}

struct NewQuestion {
    key: Cow<'static, str>,
    request: InputRequest,
    missing: Option<Capability>,
    /// Whether an accepting answer only counts once it is released.
    holds: bool,
    has_challenge: bool,
}

impl QuestionFuture {
    /// Creates a question that is asked when first polled. `missing` is the capability that the client lacks: such a
    /// question can only be answered from the record.
    pub(crate) fn new(
        cell: &Arc<Cell>,
        key: Cow<'static, str>,
        request: InputRequest,
        missing: Option<Capability>,
    ) -> Self {
        let new = NewQuestion {
            key,
            request,
            missing,
            holds: false,
            has_challenge: false,
        };
        Self {
            cell: Arc::clone(cell),
            state: State::New(Box::new(new)),
        }
    }

    pub(crate) fn rename(&mut self, key: Cow<'static, str>) {
        if let State::New(new) = &mut self.state {
            new.key = key;
        }
    }

    /// Turns a text field into a choice. Call before the first poll.
    ///
    /// # Errors
    ///
    /// If the form has no text field with this name.
    pub(crate) fn offer(&mut self, name: &str, mut choice: ChoiceField) -> Result<(), AskError> {
        let State::New(new) = &mut self.state else {
            return Ok(());
        };
        let InputRequest::Elicit(ElicitParams::Form(form)) = &mut new.request else {
            return Ok(());
        };
        let mut fields = form.requested_schema.make_mut().fields.iter_mut();
        let field = fields.find(|field| field.name == name);
        let Some(FieldKind::Text(text)) = field.as_ref().map(|field| &field.kind) else {
            return Err(AskError::BadRequest(format!(
                "options were given for `{name}`, and the form has no text of that name"
            )));
        };
        let is_option = |default: &String| choice.options.iter().any(|opt| opt.value == *default);
        choice.default = text.default.clone().filter(is_option);
        if let Some(field) = field {
            field.kind = FieldKind::Choice(choice);
        }
        Ok(())
    }

    pub(crate) fn name_link(&mut self, id: String) {
        if let State::New(new) = &mut self.state
            && let InputRequest::Elicit(ElicitParams::Url(link)) = &mut new.request
        {
            link.elicitation_id = Some(id);
        }
    }

    /// Holds an accepting answer until it is released. Call before the first poll.
    pub(crate) fn hold(&mut self) {
        if let State::New(new) = &mut self.state {
            new.holds = true;
        }
    }

    #[cfg(feature = "witness")]
    pub(crate) fn challenge(&mut self) {
        if let State::New(new) = &mut self.state {
            new.has_challenge = true;
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        match &self.state {
            State::Waiting(slot) => self.cell.flow().is_held(slot.id),
            _ => false,
        }
    }

    pub(crate) fn release(&self, release: Release) {
        if let State::Waiting(slot) = &self.state {
            let now = self.cell.clock().now();
            self.cell.flow().release(slot.id, release, now);
        }
    }

    pub(crate) fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    fn register(&self, new: NewQuestion) -> Result<Slot, AskError> {
        if !Scope::may_ask(&self.cell) {
            return Err(AskError::Misplaced);
        }
        let has_challenge = new.has_challenge || self.cell.answer_rule().is_some();
        if has_challenge && let Err(error) = self.cell.identity() {
            return Err(AskError::BadRequest(error.to_string()));
        }
        let mut flow = self.cell.flow();
        let id = match has_challenge {
            true => flow.ask_with_challenge(&new.key, new.request, new.missing)?,
            false => flow.ask(&new.key, new.request, new.missing)?,
        };
        if new.holds {
            flow.hold(id);
        }
        drop(flow);
        Ok(Slot::new(&self.cell, id))
    }
}

impl Future for QuestionFuture {
    type Output = Result<CheckedAnswer, AskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::New(_) = self.state {
            let State::New(new) = std::mem::replace(&mut self.state, State::Over) else {
                return Poll::Pending;
            };
            match self.register(*new) {
                Ok(slot) => self.state = State::Waiting(slot),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let State::Waiting(slot) = &self.state else {
            return Poll::Pending;
        };
        if !Scope::may_ask(&self.cell) {
            self.state = State::Over;
            return Poll::Ready(Err(AskError::Misplaced));
        }
        let polled = self.cell.flow().poll_question(slot.id, cx.waker());
        let Poll::Ready(answer) = polled else {
            return Poll::Pending;
        };
        self.state = State::Over;
        if let (Some(rule), Ok(CheckedAnswer::Elicit(result))) = (self.cell.answer_rule(), &answer)
            && result.action == ElicitAction::Accept
        {
            rule.check(result)?;
        }
        Poll::Ready(answer)
    }
}
