//! Being told of changes.

use alloc::{string::String, vec::Vec};

use serde::Deserialize;

use super::messages::messages;

messages! {
    /// The parameters of `resources/subscribe` and `resources/unsubscribe` (handshake revisions).
    #[derive(Default, Deserialize)]
    struct SubscribeParams {
        /// The resource to watch, or no longer to watch.
        uri: String;
        meta;
    }

    /// Of which changes to be told (2026-07-28, basic/patterns/subscriptions).
    #[derive(Eq, Default, Deserialize)]
    struct SubscriptionFilter {
        /// The list of tools.
        tools_list_changed?: bool;
        /// The list of prompts.
        prompts_list_changed?: bool;
        /// The list of resources.
        resources_list_changed?: bool;
        /// These resources.
        resource_subscriptions?: Vec<String>;
        /// These tasks of the extension.
        task_ids?: Vec<String>;
    }

    /// The parameters of `subscriptions/listen` (from 2026-07-28 on).
    #[derive(Default, Deserialize)]
    struct SubscriptionsListenParams {
        /// Of which changes to be told.
        notifications: SubscriptionFilter;
        meta;
    }

    /// The result of `subscriptions/listen`: the server has ended it. Its `_meta` names the
    /// subscription.
    #[derive(Default, Deserialize)]
    struct SubscriptionsListenResult {
        meta;
    }

    /// The parameters of `notifications/subscriptions/acknowledged`: the part of the wish that is
    /// granted.
    #[derive(Default, Deserialize)]
    struct SubscriptionsAcknowledgedParams {
        /// Of which changes the client will be told.
        notifications: SubscriptionFilter;
        meta;
    }

    /// The parameters of `notifications/resources/updated`.
    #[derive(Default, Deserialize)]
    struct ResourceUpdatedParams {
        /// The resource that changed.
        uri: String;
        meta;
    }
}
