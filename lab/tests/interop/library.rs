//! What a command cannot be scripted to do, with the library's client.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use askback::{
    client::{Answering, Client, Event, Host, HostQuestion, Protocol},
    protocol::{ClientCapabilities, PromptReference, Reference},
    transport::{Child, Http},
};
use serde_json::json;
use tokio::{sync::Notify, time::timeout};

use crate::{Result, as_server::Server, plan::Run};

/// How long any of these may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Hears of progress, and answers nothing.
#[derive(Clone, Default)]
struct Ear {
    heard: Arc<Mutex<Vec<f64>>>,
    first: Arc<Notify>,
}

impl Host for Ear {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    fn answer(&self, question: HostQuestion) -> Answering<'_> {
        let error = askback::ErrorObject::method_not_found(question.request.method());
        Box::pin(async { Err(error) })
    }

    fn event(&self, event: Event) {
        if let Event::Progress { progress, .. } = event {
            let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push(progress);
            self.first.notify_one();
        }
    }
}

/// An argument of a prompt is completed.
pub(crate) async fn completion(run: &Run, server: &Server) -> Result<()> {
    timeout(LIMIT, async {
        let client = connect(run, server, Ear::default()).await?;
        let reference = Reference::Prompt(PromptReference {
            name: "greeting".into(),
            ..PromptReference::default()
        });
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

/// All that is told arrives.
pub(crate) async fn progress(run: &Run, server: &Server) -> Result<()> {
    timeout(LIMIT, async {
        let ear = Ear::default();
        let client = connect(run, server, ear.clone()).await?;
        client.call_tool("progress", None).await?;
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

/// A call that is given up ends at the server, too.
pub(crate) async fn cancellation(run: &Run, server: &Server) -> Result<()> {
    timeout(LIMIT, async {
        let ear = Ear::default();
        let client = connect(run, server, ear.clone()).await?;
        tokio::select! {
            ended = client.call_tool("slow", None) => {
                return Err(format!("it ended by itself: {:?}", ended.map(|it| it.raw)).into());
            }
            () = ear.first.notified() => {}
        }
        let stopped = client.call_tool("stopped", None).await?;
        client.close().await;
        let stopped: serde_json::Value = serde_json::from_str(stopped.raw.get())?;
        match &stopped["content"][0]["text"] {
            text if *text == json!("1") => Ok(()),
            text => Err(format!("{text} calls were stopped").into()),
        }
    })
    .await?
}

async fn connect(run: &Run, server: &Server, ear: Ear) -> Result<Client> {
    let builder = Client::builder("interop", "1.0.0").host(ear);
    let builder = match run.pinned() {
        Some(revision) => builder.protocol(Protocol::Only(revision)),
        None => builder,
    };
    Ok(match server {
        Server::Stdio(program) => {
            let [command, arguments @ ..] = program.words() else {
                return Err("a program without a name".into());
            };
            builder
                .connect(Child::command(command).args(arguments))
                .await?
        }
        Server::Http(serving) => builder.connect(Http::new(&serving.url)?).await?,
    })
}
