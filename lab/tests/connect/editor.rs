//! A user's client: it signs in with a browser, calls a tool, and gets links.

use std::sync::{Arc, Mutex};

use askback::{
    BoxFuture, Revision,
    authorization::client::{
        Authorization, CredentialKey, CredentialStore as _, MemoryCredentials, Redirect, SignIn,
        SignInError, SignInRequest,
    },
    client::{Client, Event, Protocol},
    protocol::ElicitResult,
    transport::{Http, WireEvent},
};
use lab::{
    browser::{Browser, Person},
    issuers::Maker,
};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use crate::{
    Result,
    scene::{Scene, held},
};

pub(crate) struct Call {
    links: mpsc::UnboundedReceiver<String>,
    pub(crate) said: JoinHandle<Result<String>>,
    /// Everything that the client received.
    pub(crate) wire: Arc<Mutex<Vec<u8>>>,
    pub(crate) completed: watch::Receiver<Vec<String>>,
    pub(crate) token: String,
}

impl Call {
    pub(crate) async fn link(&mut self) -> Result<String> {
        Ok(self.links.recv().await.ok_or("no link is asked for")?)
    }

    pub(crate) async fn json(self) -> Result<Value> {
        let said: String = self.said.await??;
        Ok(serde_json::from_str(&said)
            .map_err(|_| format!("the tool did not answer with JSON: {said}"))?)
    }
}

impl Scene {
    /// Calls a tool with a user's client, which signs in with its own browser.
    ///
    /// If links come as errors, the user agrees once the server reports them as done, and the call is repeated.
    pub(crate) async fn call(
        &self,
        browser: &Browser,
        login: &str,
        revision: Revision,
        by_error: bool,
        tool: &'static str,
    ) -> Result<Call> {
        let editor = Editor {
            person: Arc::new(browser.person(login).await?),
            login: login.to_owned(),
            callback: self.editors_callback(),
            maker: self.signs_in,
        };
        let store = Arc::new(MemoryCredentials::new());
        let authorization = Authorization::person(editor)
            .client(Self::registered_editor())
            .store(Arc::clone(&store));
        let (opened, links) = mpsc::unbounded_channel();
        let (told, completed) = watch::channel(Vec::new());
        let (wire, seen) = (Arc::<Mutex<Vec<u8>>>::default(), Mutex::new(None));
        let (shown, hears) = (Arc::clone(&wire), completed.clone());
        let client = Client::builder("editor", "1")
            .protocol(Protocol::Only(revision))
            .on_elicit_url(move |question| {
                let link = question.request.url.clone();
                // In 2026-07-28 the server asks for the same link again.
                if held(&seen).replace(link.clone()).as_ref() != Some(&link) {
                    let _ = opened.send(link.clone());
                }
                let mut hears = hears.clone();
                async move {
                    let is_told = |ids: &Vec<String>| ids.iter().any(|id| link.ends_with(id));
                    if by_error {
                        let _ = hears.wait_for(is_told).await;
                    }
                    Ok(ElicitResult::agree())
                }
            })
            .on_event(move |event| {
                if let Event::UrlCompleted { elicitation_id: id } = event {
                    told.send_modify(|ids| ids.push(id));
                }
            })
            .on_wire(move |event| match event {
                WireEvent::Received(bytes) => held(&shown).extend_from_slice(bytes),
                other => held(&shown).extend_from_slice(format!("{other:?}").as_bytes()),
            });
        let http = Http::new(&self.endpoint)?.authorize(&authorization);
        let client = client.connect(http).await?;
        let key = CredentialKey::Tokens(self.endpoint.clone());
        let kept = store.load(&key).await?.ok_or("no token is kept")?;
        let mut kept = kept.expose().split('"');
        let token = kept
            .find(|it| it.starts_with("eyJ"))
            .ok_or("no token is signed")?;
        let said = tokio::spawn(async move {
            let result = client.call_tool(tool, json!({})).await?;
            let text = serde_json::to_value(&result.content)?;
            let text = text.pointer("/0/text").and_then(Value::as_str);
            Ok(text.unwrap_or_default().to_owned())
        });
        Ok(Call {
            links,
            said,
            wire,
            completed,
            token: token.to_owned(),
        })
    }
}

/// Signs the client in with a real browser.
#[derive(Clone)]
struct Editor {
    person: Arc<Person>,
    login: String,
    callback: String,
    maker: Maker,
}

impl Editor {
    async fn sign_in(&self, url: &str) -> Result<String> {
        self.person.goto(url).await?;
        self.maker.sign_in(&self.person, &self.login).await?;
        self.maker.agree(&self.person).await?;
        self.person.arrives(&self.callback).await?;
        self.person.url().await
    }
}

impl SignIn for Editor {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        let way: Box<dyn Redirect> = Box::new(self.clone());
        Box::pin(async move { Ok(way) })
    }
}

impl Redirect for Editor {
    fn uri(&self) -> &str {
        &self.callback
    }

    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>> {
        Box::pin(async move {
            let ended = self.sign_in(request.url()).await;
            ended.map_err(SignInError::host)
        })
    }
}
