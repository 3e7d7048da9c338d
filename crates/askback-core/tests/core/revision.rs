//! The table of methods and features by revision.

use std::collections::BTreeSet;

use askback_core::{
    protocol::{ClientNotification, ClientRequest, ServerNotification, ServerRequest},
    revision::{Era, Kind, Revision},
};

#[test]
fn revisions_have_names_and_eras() {
    let dates = [
        ("2024-11-05", Era::Legacy),
        ("2025-03-26", Era::Legacy),
        ("2025-06-18", Era::Legacy),
        ("2025-11-25", Era::Legacy),
        ("2026-07-28", Era::Modern),
    ];
    assert_eq!(Revision::ALL.len(), dates.len());
    for (revision, (date, era)) in Revision::ALL.into_iter().zip(dates) {
        assert_eq!(revision.to_string(), date);
        assert_eq!(date.parse(), Ok(revision));
        assert_eq!(revision.era(), era);
    }
    assert!(Revision::ALL.is_sorted());
    for unknown in ["", "2025-06-17", "2025-06-18 ", "draft", "latest"] {
        assert!(unknown.parse::<Revision>().is_err(), "{unknown:?}");
    }
}

#[test]
fn methods_come_and_go() {
    use Kind::{
        ClientNotification, ClientRequest, InputRequest, ServerNotification, ServerRequest,
    };
    // The revisions of a method, as digits of their index.
    let cases = [
        (ClientRequest, "initialize", "0123"),
        (ClientRequest, "server/discover", "4"),
        (ClientRequest, "ping", "0123"),
        (ClientRequest, "tools/call", "01234"),
        (ClientRequest, "skills/list", "4"),
        (ClientRequest, "resources/directory/read", "4"),
        (ClientRequest, "resources/subscribe", "0123"),
        (ClientRequest, "subscriptions/listen", "4"),
        (ClientRequest, "logging/setLevel", "0123"),
        (ClientRequest, "tasks/get", "34"),
        (ClientRequest, "tasks/result", "3"),
        (ClientRequest, "tasks/update", "4"),
        (ClientRequest, "tasks/list", "3"),
        (ClientRequest, "elicitation/create", ""),
        (ServerRequest, "ping", "0123"),
        (ServerRequest, "elicitation/create", "23"),
        (ServerRequest, "sampling/createMessage", "0123"),
        (ServerRequest, "tools/call", ""),
        (InputRequest, "elicitation/create", "4"),
        (InputRequest, "ping", ""),
        (ClientNotification, "notifications/initialized", "0123"),
        (ClientNotification, "notifications/progress", "0123"),
        (
            ClientNotification,
            "notifications/roots/list_changed",
            "0123",
        ),
        (ClientNotification, "notifications/cancelled", "01234"),
        (ServerNotification, "notifications/progress", "01234"),
        (
            ServerNotification,
            "notifications/elicitation/complete",
            "3",
        ),
        (
            ServerNotification,
            "notifications/subscriptions/acknowledged",
            "4",
        ),
        (ServerNotification, "notifications/roots/list_changed", ""),
    ];
    for (kind, method, expected) in cases {
        let found: String = (0..Revision::ALL.len())
            .filter(|index| Revision::ALL[*index].has(kind, method))
            .map(|index| index.to_string())
            .collect();
        assert_eq!(found, expected, "{kind:?} {method}");
    }
}

#[test]
fn every_method_that_can_be_read_exists_in_a_revision() {
    #[track_caller]
    fn check(kinds: &[Kind], readable: &[&'static str]) {
        let existing: BTreeSet<_> = kinds
            .iter()
            .flat_map(|kind| Revision::ALL.map(|revision| revision.methods(*kind)))
            .flatten()
            .collect();
        assert_eq!(existing, readable.iter().copied().collect());
    }
    check(&[Kind::ClientRequest], ClientRequest::METHODS);
    // A question in a result becomes a request on a session.
    check(
        &[Kind::ServerRequest, Kind::InputRequest],
        ServerRequest::METHODS,
    );
    check(&[Kind::ClientNotification], ClientNotification::METHODS);
    check(&[Kind::ServerNotification], ServerNotification::METHODS);
}

#[test]
fn facts_agree_with_the_methods() {
    use Kind::{ClientRequest, InputRequest, ServerNotification, ServerRequest};
    for revision in Revision::ALL {
        let facts = revision.facts();
        let asks =
            |method| revision.has(ServerRequest, method) || revision.has(InputRequest, method);
        let cases = [
            (
                facts.set_level,
                revision.has(ClientRequest, "logging/setLevel"),
            ),
            (facts.tasks, revision.has(ClientRequest, "tasks/result")),
            (
                facts.extensions,
                revision.has(ClientRequest, "tasks/update"),
            ),
            (
                facts.extensions,
                revision.has(ServerNotification, "notifications/tasks"),
            ),
            (
                facts.tasks,
                revision.has(ServerNotification, "notifications/tasks/status"),
            ),
            (facts.elicitation_form, asks("elicitation/create")),
            (true, asks("sampling/createMessage")),
            (facts.request_meta, revision.era() == Era::Modern),
            (
                revision.has(InputRequest, "roots/list"),
                revision.era() == Era::Modern,
            ),
            (
                revision.has(ClientRequest, "initialize"),
                revision.era() == Era::Legacy,
            ),
        ];
        for (index, (one, other)) in cases.into_iter().enumerate() {
            assert_eq!(one, other, "{revision}, line {index}");
        }
    }
}
