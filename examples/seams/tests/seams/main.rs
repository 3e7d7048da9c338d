//! A server with a custom store and a custom transport.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use askback::{
    Answer, Ctx, Form, Limits, Revision, Server, Tool,
    client::{Client, Protocol},
    protocol::ElicitResult,
};
use askback_seams::{Frames, Rows, serve};
use tokio::net::TcpListener;

#[derive(Form)]
struct Seat {
    /// By the window?
    window: bool,
}

#[tokio::test]
async fn a_call_asks_and_commits_over_them() {
    let reserved = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&reserved);
    let reserve = move |ctx: Ctx| {
        let counted = Arc::clone(&counted);
        async move {
            let window = match ctx.elicit::<Seat>("Which seat?").await {
                Ok(Answer::Accepted(seat)) => seat.window,
                // The first two revisions cannot ask.
                Err(_) | Ok(_) => false,
            };
            let number = ctx.commit("reserve", move || async move {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(if window { "12A" } else { "12C" }.to_owned())
            });
            number.await
        }
    };
    let server = Server::new("airline", "1.0.0")
        .tool(Tool::new("reserve", reserve))
        .store(Rows::new(1 << 20))
        .build()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve(server, listener, Limits::default()));
    for (calls, revision) in (1..).zip(Revision::ALL) {
        let client = Client::builder("traveller", "1.0.0")
            .protocol(Protocol::Only(revision))
            // The user sits by the window.
            .on_elicit(|_| async { Ok(ElicitResult::form(&Seat { window: true })) })
            .connect(Frames(address))
            .await
            .unwrap();
        let result = client.call_tool("reserve", ()).await.unwrap();
        let seat = if revision < Revision::V2025_06_18 {
            "12C"
        } else {
            "12A"
        };
        assert_eq!(result.text().unwrap(), seat, "{revision}");
        assert_eq!(reserved.load(Ordering::Relaxed), calls);
        client.close().await;
    }
    serving.abort();
}
