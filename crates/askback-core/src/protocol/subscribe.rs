//! Subscriptions to changes.

use alloc::{string::String, vec::Vec};

use serde::Deserialize;

use super::messages::messages;

messages! {
    /// The parameters of `resources/subscribe` and `resources/unsubscribe` (handshake revisions).
    #[derive(Default, Deserialize)]
    struct SubscribeParams {
        /// The URI of the resource.
        uri: String;
        meta;
    }

    /// Selects changes (2026-07-28, basic/patterns/subscriptions).
    #[derive(Eq, Default, Deserialize)]
    struct SubscriptionFilter {
        /// Changes of the tool list.
        tools_list_changed?: bool;
        /// Changes of the prompt list.
        prompts_list_changed?: bool;
        /// Changes of the resource list.
        resources_list_changed?: bool;
        /// Changes of these resources, by URI.
        resource_subscriptions?: Vec<String>;
        /// Changes of these tasks of the extension, by id.
        task_ids?: Vec<String>;
    }

    /// The parameters of `subscriptions/listen` (from 2026-07-28 on).
    #[derive(Default, Deserialize)]
    struct SubscriptionsListenParams {
        /// The requested changes.
        notifications: SubscriptionFilter;
        meta;
    }

    /// The result of `subscriptions/listen`: the server has ended it. Its `_meta` names the
    /// subscription.
    #[derive(Default, Deserialize)]
    struct SubscriptionsListenResult {
        meta;
    }

    /// The parameters of `notifications/subscriptions/acknowledged`.
    #[derive(Default, Deserialize)]
    struct SubscriptionsAcknowledgedParams {
        /// The part of the requested changes that the server will report.
        notifications: SubscriptionFilter;
        meta;
    }

    /// The parameters of `notifications/resources/updated`.
    #[derive(Default, Deserialize)]
    struct ResourceUpdatedParams {
        /// The URI of the resource.
        uri: String;
        meta;
    }
}
