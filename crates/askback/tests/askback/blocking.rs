//! Handlers that block their thread. Builds without debug assertions do not check this.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use askback::{Clock, Result, Server, State, Tool, client::Client, transport};
use tokio::sync::Notify;

use crate::log::Log;

#[derive(Clone, Default)]
struct Hands(Arc<AtomicU64>);

impl Hands {
    fn pass(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for Hands {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

type Doors = Arc<(Notify, Notify)>;

async fn waits(State(hands): State<Hands>, State(doors): State<Doors>) -> Result<()> {
    hands.pass(60);
    doors.0.notify_one();
    doors.1.notified().await;
    hands.pass(60);
    Ok(())
}

async fn quick(State(hands): State<Hands>) -> Result<()> {
    hands.pass(99);
    Ok(())
}

async fn slow(State(hands): State<Hands>) -> Result<()> {
    hands.pass(250);
    Ok(())
}

#[tokio::test]
async fn a_handler_that_blocks_its_thread_is_named_once() {
    let log = Log::default();
    let _listening = log.listen();
    let (hands, doors) = (Hands::default(), Doors::default());
    let server = Server::new("office", "1")
        .clock(hands.clone())
        .state(hands.clone())
        .state(Arc::clone(&doors))
        .tool(Tool::new("waits", waits))
        .tool(Tool::new("quick", quick))
        .tool(Tool::new("slow", slow))
        .build()
        .unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let client = Client::builder("test", "1").connect(near).await.unwrap();

    let call = async |tool| client.call_tool(tool, ()).await.unwrap().text().unwrap();
    let meanwhile = async {
        doors.0.notified().await;
        hands.pass(1000);
        doors.1.notify_one();
    };
    tokio::join!(call("waits"), meanwhile);
    call("quick").await;
    let warned = || log.text().matches("blocked its thread").count();
    assert_eq!(warned(), 0, "{}", log.text());

    call("slow").await;
    call("slow").await;
    assert_eq!(warned(), 1, "{}", log.text());
    let told = "the handler blocked its thread for 250 ms, and everything else that runs on it: move blocking or long work to `tokio::task::spawn_blocking` target=\"slow\"";
    assert!(log.text().contains(told), "{}", log.text());
}

/// Both calls block until both have begun, so they need two threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_does_not_hold_up_its_connection_every_time() {
    let computes = async || -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(2) {
            std::hint::spin_loop();
        }
        Ok(())
    };
    let meets = async |State(both): State<Arc<Barrier>>| -> Result<()> {
        both.wait();
        Ok(())
    };
    let server = Server::new("office", "1")
        .state(Arc::new(Barrier::new(2)))
        .tool(Tool::new("computes", computes))
        .tool(Tool::new("meets", meets))
        .build()
        .unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let client = Client::builder("test", "1").connect(near).await.unwrap();
    client.call_tool("computes", ()).await.unwrap();
    for _ in 0..5 {
        let (one, other) =
            tokio::join!(client.call_tool("meets", ()), client.call_tool("meets", ()));
        one.unwrap();
        other.unwrap();
    }
}
