//! Scenarios that need the library's client, because the command cannot be scripted to do them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use askback::{
    client::{Client, Event, Protocol},
    protocol::Reference,
    transport::{Child, Http},
};
use tokio::{sync::Notify, time::timeout};

use crate::{Result, as_server::Server, plan::Run};

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, Default)]
struct Ear {
    heard: Arc<Mutex<Vec<f64>>>,
    first: Arc<Notify>,
}

impl Ear {
    fn hear(&self, event: Event) {
        if let Event::Progress { progress, .. } = event {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(progress);
            self.first.notify_one();
        }
    }
}

pub(crate) async fn completion(run: &Run, server: &Server) -> Result<()> {
    timeout(LIMIT, async {
        let client = connect(run, server, Ear::default()).await?;
        let reference = Reference::prompt("greeting");
        let completed = client
            .complete(reference, ("name", "Ad"), BTreeMap::new())
            .await?;
        client.close().await;
        match completed.values == ["Ada", "Adele"] {
            true => Ok(()),
            false => Err(format!("completed with {:?}", completed.values).into()),
        }
    })
    .await?
}

pub(crate) async fn progress(run: &Run, server: &Server) -> Result<()> {
    timeout(LIMIT, async {
        let ear = Ear::default();
        let client = connect(run, server, ear.clone()).await?;
        client.call_tool("progress", ()).await?;
        client.close().await;
        let heard = ear
            .heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match heard == [1.0, 2.0, 3.0] {
            true => Ok(()),
            false => Err(format!("heard {heard:?}").into()),
        }
    })
    .await?
}

/// A cancelled call also ends at the server.
pub(crate) async fn cancellation(run: &Run, server: &Server) -> Result<()> {
    timeout(LIMIT, async {
        let ear = Ear::default();
        let client = connect(run, server, ear.clone()).await?;
        tokio::select! {
            ended = client.call_tool("slow", ()) => {
                return Err(format!("it ended by itself: {:?}", ended.map(|it| it.raw)).into());
            }
            () = ear.first.notified() => {}
        }
        let stopped = client.call_tool("stopped", ()).await?;
        client.close().await;
        match stopped.text()?.as_str() {
            "1" => Ok(()),
            text => Err(format!("{text} calls were stopped").into()),
        }
    })
    .await?
}

async fn connect(run: &Run, server: &Server, ear: Ear) -> Result<Client> {
    let builder = Client::builder("interop", "1.0.0").on_event(move |event| ear.hear(event));
    let builder = match run.pinned() {
        Some(revision) => builder.protocol(Protocol::Only(revision)),
        None => builder,
    };
    Ok(match server {
        Server::Stdio(program) => {
            let [command, arguments @ ..] = &program.words()[..] else {
                return Err("a program without a name".into());
            };
            builder
                .connect(Child::command(command).args(arguments))
                .await?
        }
        Server::Http(serving) => builder.connect(Http::new(&serving.url)?).await?,
    })
}
