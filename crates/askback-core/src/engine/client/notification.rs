//! Notifications of a server.

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::time::Duration;

use serde_json::value::RawValue;

use super::{
    CallId, Connection, Event, Output, State,
    cache::{Key, StaleResult},
    call::{Call, Stage},
};
use crate::{
    jsonrpc::{Notification, RequestId},
    protocol::{
        ClientRequest, HasMeta, LoggingMessageParams, ProgressParams, ServerNotification,
        SubscriptionFilter, SubscriptionsAcknowledgedParams,
    },
    revision::Revision,
    wire,
};

impl Connection {
    /// Notifications have no response; invalid ones are ignored.
    pub(super) fn handle_notification(&mut self, notification: &Notification, now: Duration) {
        let revision = match (&self.state, &self.greeting) {
            (State::Modern | State::Legacy(_), Some(greeting)) => greeting.revision,
            // A server may log before the session is open.
            _ => Revision::LATEST_LEGACY,
        };
        let params = notification.params.as_deref();
        let Ok(heard) = wire::read::<ServerNotification>(revision, &notification.method, params)
        else {
            return;
        };
        match heard {
            ServerNotification::Cancelled(params) => {
                let reason = params.logged_reason();
                let is_ours = params
                    .request_id
                    .is_some_and(|id| self.handle_cancelled(&id, now));
                if let Some(reason) = reason.filter(|_| is_ours) {
                    self.event(Event::Cancelled { reason });
                }
            }
            ServerNotification::Progress(params) => self.handle_progress(params, now),
            ServerNotification::Message(params) => {
                let LoggingMessageParams {
                    level,
                    logger,
                    data,
                    ..
                } = params;
                self.event(Event::Log {
                    level,
                    logger,
                    data,
                });
            }
            ServerNotification::SubscriptionsAcknowledged(params) => {
                self.handle_acknowledged(params, now);
            }
            ServerNotification::ElicitationComplete(params) => {
                self.handle_link_completed(params.elicitation_id);
            }
            ServerNotification::TaskStatus(_) | ServerNotification::Task(_) => {}
            changed @ (ServerNotification::ToolsListChanged(_)
            | ServerNotification::PromptsListChanged(_)
            | ServerNotification::ResourcesListChanged(_)
            | ServerNotification::ResourceUpdated(_)) => self.handle_changed(changed),
        }
    }

    /// The server withdraws a question of its session or ends a subscription. Returns whether there
    /// was one.
    fn handle_cancelled(&mut self, id: &RequestId, now: Duration) -> bool {
        match (&self.state, id) {
            (State::Legacy(_), id) => self.withdraw_session_question(id, now),
            (State::Modern, RequestId::Number(number)) => match self.listener(*number) {
                Some(call) => {
                    self.finish(call, Ok(RawValue::NULL.to_owned()));
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    /// Progress is ignored unless its round is in flight and the value grows.
    fn handle_progress(&mut self, params: ProgressParams, now: Duration) {
        let RequestId::Number(number) = params.progress_token else {
            return;
        };
        let Some(&id) = self.sent.get(&number) else {
            return;
        };
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let target = call.target();
        let wants_progress = call.wants_progress();
        let Stage::Sent(sent) = &mut call.stage else {
            return;
        };
        if !wants_progress || params.progress <= sent.progress {
            return;
        }
        sent.progress = params.progress;
        call.patience.renew(now);
        let ProgressParams {
            progress,
            total,
            message,
            ..
        } = params;
        self.event(Event::Progress {
            call: id,
            target,
            progress,
            total,
            message,
        });
    }

    fn handle_acknowledged(&mut self, params: SubscriptionsAcknowledgedParams, now: Duration) {
        let Some(RequestId::Number(number)) = params.meta.and_then(|meta| meta.subscription_id)
        else {
            return;
        };
        let Some(id) = self.listener(number) else {
            return;
        };
        if let Some(call) = self.calls.get_mut(id)
            && let Stage::Sent(sent) = &mut call.stage
            && let ClientRequest::Listen(wish) = &*call.request
            && sent.listening.is_none()
        {
            let granted = both(&wish.notifications, params.notifications);
            // From here on there is no timeout.
            sent.listening = Some(now);
            let is_stale = sent.context != self.authorization_context;
            call.patience.pause(now);
            call.losses = 0;
            call.away = None;
            let has_reopened = core::mem::replace(&mut call.reopened, is_stale);
            self.out.push_back(Output::Granted(id, granted));
            // The authorization context in which it was opened is unknown. Reopen it only once, in
            // case the server requires a new sign-in each time.
            if is_stale && !has_reopened {
                self.reopen(id, now);
            }
        }
    }

    pub(super) fn reopen_subscriptions(&mut self, now: Duration) {
        let begun = |call: &Call| call.sent().is_some_and(|sent| sent.listening.is_some());
        let begun: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, call)| begun(call))
            .map(|(id, _)| id)
            .collect();
        for id in begun {
            self.reopen(id, now);
        }
    }

    fn reopen(&mut self, id: CallId, now: Duration) {
        let Some(number) = self.calls.get(id).and_then(Call::sent).map(|sent| sent.id) else {
            return;
        };
        self.sent.remove(&number);
        self.write_cancelled(number, "the client's authorization changed");
        self.send(id, now);
    }

    /// Marks the results in flight as stale, so that they are not cached.
    pub(super) fn overtake_all(&mut self) {
        let calls = self.calls.iter_mut().map(|(_, call)| call);
        let sent = calls.filter(|call| call.sent().is_some());
        sent.for_each(|call| call.overtaken = true);
    }

    /// Drops the cached results that changed, whichever stream the notification came on. The host
    /// is notified only of changes it subscribed to (2026-07-28, basic/patterns/subscriptions,
    /// Receiving Notifications).
    fn handle_changed(&mut self, changed: ServerNotification) {
        let asked_for = match (
            &self.state,
            changed.meta().and_then(|it| it.subscription_id.as_ref()),
        ) {
            (State::Modern, Some(RequestId::Number(number))) => self.listener(*number).is_some(),
            (State::Modern, _) => false,
            _ => true,
        };
        let event = match changed {
            ServerNotification::ToolsListChanged(_) => {
                self.forget(&StaleResult::Pages("tools/list"));
                Event::ToolsChanged
            }
            ServerNotification::PromptsListChanged(_) => {
                self.forget(&StaleResult::Pages("prompts/list"));
                Event::PromptsChanged
            }
            ServerNotification::ResourcesListChanged(_) => {
                self.forget(&StaleResult::Pages("resources/list"));
                self.forget(&StaleResult::Pages("resources/templates/list"));
                Event::ResourcesChanged
            }
            ServerNotification::ResourceUpdated(params) => {
                self.forget(&StaleResult::Read(&params.uri));
                Event::ResourceUpdated(params.uri)
            }
            _ => return,
        };
        if asked_for {
            self.event(event);
        }
    }

    /// Drops stale results from the cache, and marks results in flight as stale, because the server
    /// may have produced them before the change.
    fn forget(&mut self, stale: &StaleResult<'_>) {
        self.cache.forget(stale);
        for (_, call) in self.calls.iter_mut() {
            if Key::of(&call.request).is_some_and(|key| key.is_stale(stale)) {
                call.overtaken = true;
            }
        }
    }

    fn listener(&self, number: i64) -> Option<CallId> {
        let id = *self.sent.get(&number)?;
        let call = self.calls.get(id)?;
        call.is_subscription().then_some(id)
    }

    pub(super) fn event(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }
}

/// Returns the granted part of the wish. Grants beyond the wish are ignored.
fn both(wish: &SubscriptionFilter, granted: SubscriptionFilter) -> SubscriptionFilter {
    let flag = |wish: Option<bool>, granted: Option<bool>| granted.filter(|_| wish == Some(true));
    let names = |wish: &Option<Vec<String>>, granted: Option<Vec<String>>| {
        let wish = wish.as_deref().unwrap_or_default();
        granted.map(|granted| {
            let is_wished = |name: &&String| granted.contains(*name);
            wish.iter().filter(is_wished).cloned().collect()
        })
    };
    SubscriptionFilter {
        tools_list_changed: flag(wish.tools_list_changed, granted.tools_list_changed),
        prompts_list_changed: flag(wish.prompts_list_changed, granted.prompts_list_changed),
        resources_list_changed: flag(wish.resources_list_changed, granted.resources_list_changed),
        resource_subscriptions: names(&wish.resource_subscriptions, granted.resource_subscriptions),
        task_ids: names(&wish.task_ids, granted.task_ids),
    }
}
