use askback::protocol::CreateMessageResult;

use super::{Desk, Open, declined};
use crate::{
    model::{
        Ask, By,
        stage::{self, Stage, Turn},
        step::{Action, Effect, Permission},
    },
    text::{PeerText, Words},
};

impl Desk {
    /// Lets a model reply to the server's sampling requests, as far as the user permits.
    #[must_use]
    pub fn with_model(mut self, model: String, permission: Permission) -> Self {
        self.ask_model(model);
        self.permission = permission;
        self
    }

    /// Lets this model reply from now on.
    pub fn ask_model(&mut self, model: String) {
        self.model = Some(model);
    }

    /// How far the server may use a model without asking.
    pub fn permission(&self) -> Permission {
        self.permission
    }

    /// Sets how far the server may use a model without asking.
    pub fn permit(&mut self, permission: Permission) {
        self.permission = permission;
    }

    /// Runs the request in front, and saves the permission.
    pub(super) fn run(&mut self, permission: Permission) -> Vec<Effect> {
        let is_request = |open: &Open| matches!(open.stage, Stage::Request(_));
        let mut effects = Vec::new();
        if self.front.as_ref().is_some_and(is_request) && permission != Permission::Ask {
            self.permission = permission;
            effects.extend(permission.is_kept().then_some(Effect::Remember(permission)));
        }
        let said = Action::Run(permission);
        effects.extend(self.turn(|stage, question, offer| stage.said(question, offer, said)));
        effects
    }

    /// Declines the request in front and all later sampling requests of the server.
    pub(super) fn never(&mut self) -> Vec<Effect> {
        let is_sampling = |open: &Open| matches!(open.question.ask, Ask::Sample(_));
        if !self.front.as_ref().is_some_and(is_sampling) {
            return Vec::new();
        }
        self.permission = Permission::Never;
        let mut effects = vec![Effect::Remember(Permission::Never)];
        effects.extend(self.turn(|_, _, _| Turn::reply(declined(By::Person))));
        effects
    }

    pub(super) fn sampled(
        &mut self,
        reply: Result<Box<CreateMessageResult>, (Words, Option<PeerText>)>,
    ) -> Vec<Effect> {
        let is_permitted = self.permission.is_given();
        self.turn(|stage, _, _| match (stage, reply) {
            (Stage::Running(sampling), Ok(reply)) => stage::came(sampling, *reply, is_permitted),
            (Stage::Running(sampling), Err((why, quoted))) => stage::failed(sampling, why, quoted),
            (stage, _) => Turn::stay(stage),
        })
    }
}
