//! Signs the user in to a server with a browser. The redirect goes to a listener on the loopback interface, or the user
//! pastes its URL.

mod args;
mod listen;

use std::{future::ready, io, net::Ipv4Addr, sync::Arc};

use askback::{
    BoxFuture,
    authorization::client::{Redirect, RegisteredClient, SignIn, SignInError, SignInRequest},
};
use askback_host::{
    model::{Ask, Question, Reply, Why},
    relay::Relay,
};
use serde_json::Value;
use tokio::net::TcpListener;

pub use args::{SignInArgs, SignInEntry};

const PATH: &str = "/callback";

/// Signs in with the browser of the user at the front end.
#[derive(Debug, Clone)]
pub struct Browser {
    relay: Relay,
    /// The port of the redirect. 0 means any port.
    port: u16,
}

/// Never signs in, because no user is present. The server's metadata is still read, to report whether sign-in is
/// possible.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

/// A sign-in that is prepared or in progress.
struct Way {
    relay: Relay,
    listener: TcpListener,
    uri: String,
}

impl Browser {
    /// Signs in through this front end. The redirect goes to this port of the loopback interface, or to any port if it
    /// is 0.
    pub fn new(relay: Relay, port: u16) -> Self {
        Self { relay, port }
    }

    async fn way(&self) -> Result<Box<dyn Redirect>, SignInError> {
        let port = self.port;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let unheard = |error: io::Error| {
            SignInError::Host(format!("the port {port} cannot be listened on: {error}"))
        };
        let listener = listener.map_err(unheard)?;
        let address = listener.local_addr().map_err(unheard)?;
        Ok(Box::new(Way {
            relay: self.relay.clone(),
            listener,
            uri: format!("http://{address}{PATH}"),
        }))
    }
}

impl SignIn for Browser {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        Box::pin(self.way())
    }
}

impl SignIn for Nobody {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        Box::pin(ready(Ok(Box::new(Self) as Box<dyn Redirect>)))
    }
}

impl Redirect for Nobody {
    /// No browser is ever redirected there.
    fn uri(&self) -> &str {
        "http://127.0.0.1/callback"
    }

    fn agree<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, Result<(), SignInError>> {
        Box::pin(ready(Err(SignInError::Unattended)))
    }

    fn show(self: Box<Self>, _: SignInRequest) -> BoxFuture<'static, Result<String, SignInError>> {
        Box::pin(ready(Err(SignInError::Unattended)))
    }
}

impl Redirect for Way {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn agree<'a>(&'a mut self, issuer: &'a str) -> BoxFuture<'a, Result<(), SignInError>> {
        Box::pin(async move {
            let issuer = issuer.to_owned();
            let question = Question {
                call: None,
                key: None,
                ask: Ask::Register { issuer },
            };
            match self.relay.confirm(question).await {
                Reply::Form(_) => Ok(()),
                reply => Err(refused(reply)),
            }
        })
    }

    fn client<'a>(
        &'a mut self,
        issuer: &'a str,
    ) -> BoxFuture<'a, Result<Option<RegisteredClient>, SignInError>> {
        Box::pin(async move {
            let question = Question {
                call: None,
                key: None,
                ask: Ask::Client {
                    issuer: issuer.to_owned(),
                    returns_to: self.uri.clone(),
                },
            };
            match self.relay.confirm(question).await {
                Reply::Form(content) => Ok(content
                    .get(Ask::CLIENT_ID)
                    .and_then(Value::as_str)
                    .map(|id| RegisteredClient::new(id.trim()))),
                // No user is present who could enter a client id.
                Reply::Cancelled(Why::Nobody) => Ok(None),
                reply => Err(refused(reply)),
            }
        })
    }

    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>> {
        Box::pin(async move {
            let Self {
                relay,
                listener,
                uri,
            } = *self;
            let question = question(&request, &uri);
            let request = Arc::new(request);
            let known = Arc::clone(&request);
            let returned =
                listen::returned(listener, &uri, move |address| known.is_answer(address));
            match relay.sign_in(question, returned).await {
                Reply::Returned(address) if request.is_answer(&address) => Ok(address),
                Reply::Returned(_) => Err(SignInError::OtherSignIn),
                reply => Err(refused(reply)),
            }
        })
    }
}

fn refused(reply: Reply) -> SignInError {
    match reply {
        Reply::Declined { reason, .. } => SignInError::Declined(reason),
        Reply::Cancelled(Why::Nobody) => SignInError::Unattended,
        _ => SignInError::Declined(None),
    }
}

fn question(request: &SignInRequest, returns_to: &str) -> Question {
    Question {
        call: None,
        key: None,
        ask: Ask::SignIn {
            url: request.url().to_owned(),
            issuer: request.issuer.clone(),
            scopes: request.scopes.as_ref().map(ToString::to_string),
            more: request.more.as_ref().map(ToString::to_string),
            returns_to: returns_to.to_owned(),
        },
    }
}
