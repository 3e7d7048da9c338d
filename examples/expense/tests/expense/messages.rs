//! The desk over messages in memory, as a program that starts it would use it.

use askback::{
    Principal, Revision, Server,
    client::{Client, Event},
    protocol::{LoggingLevel, SubscriptionFilter},
    testing::TestClock,
    transport,
};
use askback_expense::server;
use tokio::{select, sync::mpsc::UnboundedReceiver};

use crate::{bill, check_two_callers, desk, employee, has_forms};

async fn connect(
    server: &Server,
    revision: Revision,
    caller: &str,
) -> (Client, UnboundedReceiver<Event>) {
    let (near, far) = transport::memory();
    let far = far.principal(Principal::new(caller));
    let server = server.clone();
    tokio::spawn(async move { server.serve(far).await });
    let (client, heard) = employee(revision);
    (client.connect(near).await.expect("the desk serves"), heard)
}

#[tokio::test(start_paused = true)]
async fn each_caller_has_claims_and_tools_of_their_own_and_is_told_of_them() {
    for revision in Revision::ALL {
        let server = server(&desk())
            .clock(TestClock::new())
            .build()
            .expect("the desk is whole");
        let (ada, mut to_ada) = connect(&server, revision, "ada").await;
        let (bob, mut to_bob) = connect(&server, revision, "bob").await;
        let tools = SubscriptionFilter {
            tools_list_changed: Some(true),
            ..SubscriptionFilter::default()
        };
        let listening = [
            ada.listen(tools.clone()).await.expect("a subscription"),
            bob.listen(tools).await.expect("a subscription"),
        ];
        check_two_callers(&ada, &bob).await;
        drop(listening);
        for (client, heard, is_told) in [
            (ada, &mut to_ada, has_forms(revision)),
            (bob, &mut to_bob, false),
        ] {
            client.close().await;
            let mut told = Vec::new();
            while let Some(event) = heard.recv().await {
                told.extend((event == Event::ToolsChanged).then_some(event));
            }
            assert_eq!(!told.is_empty(), is_told, "{revision}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_tells_how_far_it_is_and_what_it_notes() {
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| has_forms(*revision))
    {
        let server = server(&desk())
            .clock(TestClock::new())
            .build()
            .expect("the desk is whole");
        let (client, mut heard) = connect(&server, revision, "ada").await;
        let wanted = client.set_log_level(LoggingLevel::Notice).await;
        wanted.expect("log lines");
        let filed = client.call_tool("file_expenses", bill()).await;
        filed.expect("a result").text().expect("a claim");
        client.close().await;
        let mut told = Vec::new();
        while let Some(event) = heard.recv().await {
            match event {
                Event::Progress { message, .. } => told.extend(message),
                Event::Log { data, .. } => told.push(data.decode().expect("a text")),
                _ => {}
            }
        }
        let expected = ["Checking hotel", "hotel is much", "Checking taxi"];
        assert_eq!(told, expected, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_audit_that_is_cancelled_makes_way_for_the_next() {
    for revision in Revision::ALL {
        let server = server(&desk())
            .clock(TestClock::new())
            .build()
            .expect("the desk is whole");
        let (client, mut heard) = connect(&server, revision, "ada").await;
        let audit = client.call_tool("audit", ());
        let cancelled = async {
            while !matches!(heard.recv().await, Some(Event::Progress { .. })) {}
            let second = client.call_tool("audit", ()).await.expect("a result");
            let refused = second
                .text()
                .expect_err("there is one under way")
                .to_string();
            assert!(
                refused.contains("An audit is under way."),
                "{revision}: {refused}"
            );
        };
        select! {
            ended = audit => panic!("{revision}: {ended:?}"),
            () = cancelled => {}
        }
        let next = client.call_tool("audit", ()).await.expect("a result");
        assert_eq!(
            next.text().expect("a text"),
            "0 claims are right.",
            "{revision}"
        );
    }
}
