//! Providers of language models: their addresses and requests to them.

use std::{fmt, str::FromStr, time::Duration};

use askback::{
    internal::{address::is_loopback_host, future::BoxFuture, json},
    limits::Limits,
    protocol::{CreateMessageParams, CreateMessageResult},
};
use askback_requests::{NAME, Names, RequestError, Requests, Route, next_piece};
use bytes::Bytes;
use http::{
    HeaderValue, Request, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT},
};
use serde_json::Value;
use url::Url;

use super::{Model, ModelError, anthropic, openai};
use crate::{
    text::{PeerText, Words, given},
    words,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    OpenAi,
    Anthropic,
    Ollama,
}

/// The name of a model: the provider, a slash, and the provider's name for the model.
///
/// ```
/// use askback_host::models::{Kind, ModelName};
///
/// let name: ModelName = "ollama/qwen3:8b".parse().unwrap();
/// assert_eq!((name.provider, name.model.as_str()), (Kind::Ollama, "qwen3:8b"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    pub provider: Kind,
    /// The provider's name for the model.
    pub model: String,
}

/// An API key. It is never shown, and only sent to its provider.
#[derive(Clone)]
pub struct Key(HeaderValue);

pub struct Provider {
    name: String,
    model: String,
    uri: Uri,
    kind: Kind,
    key: Option<Key>,
    /// Whether the provider is the one that the kind is named after.
    is_itself: bool,
    requests: Requests,
    patience: Duration,
    most: usize,
}

impl Kind {
    const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Ollama];

    /// The provider's name in a [`ModelName`].
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    pub fn address(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "chat/completions",
            Self::Anthropic => "v1/messages",
            Self::Ollama => "v1/chat/completions",
        }
    }

    /// The environment variable that usually has the API key; `None` if the provider needs no key.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Ollama => None,
        }
    }
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (provider, model) = text.split_once('/').unwrap_or((text, ""));
        let known = Kind::ALL.into_iter().find(|kind| kind.name() == provider);
        match known {
            Some(provider) if !model.is_empty() => Ok(Self {
                provider,
                model: model.to_owned(),
            }),
            _ => {
                let known = Kind::ALL.map(|kind| format!("{}/…", kind.name()));
                Err(format!(
                    "write {}, with the name of a model",
                    known.join(", ")
                ))
            }
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider.name(), self.model)
    }
}

impl Key {
    /// Surrounding blanks are removed. Fails if the key is empty or cannot be sent in a header.
    pub fn new(key: &str) -> Result<Self, Words> {
        let value = HeaderValue::from_str(key.trim());
        match value {
            Ok(mut value) if !value.is_empty() => {
                value.set_sensitive(true);
                Ok(Self(value))
            }
            _ => Err("the model's key has characters that no HTTP header can carry".into()),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Provider {
    /// Must be called within the runtime. `address` replaces the provider's default base URL.
    /// Fails if the address is not `https` (or `http` on this machine), if it has more than a host and a
    /// path, or if no HTTP client can be created.
    pub fn new(
        name: &ModelName,
        address: Option<&str>,
        key: Option<Key>,
        limits: &Limits,
    ) -> Result<Self, Words> {
        let own = name.provider.address();
        let address = address.unwrap_or(own);
        let uri = below(address, name.provider.path())?;
        let requests = Requests::new(&Route::Environment, Names::system(), &limits.http);
        Ok(Self {
            name: name.to_string(),
            model: name.model.clone(),
            uri,
            kind: name.provider,
            key,
            is_itself: address == own,
            requests: requests.map_err(|error| words!("{}", given(error)))?,
            patience: limits.host.model,
            most: limits.host.model_bytes,
        })
    }

    fn request(&self, body: &Value) -> Result<Request<Bytes>, Words> {
        let mut request = Request::post(&self.uri)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, NAME);
        if let Some(Key(key)) = &self.key {
            request = match self.kind {
                Kind::Anthropic => request.header("x-api-key", key),
                Kind::OpenAi | Kind::Ollama => request.header(AUTHORIZATION, bearer(key)?),
            };
        }
        if self.kind == Kind::Anthropic {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let request = request.body(Bytes::from(body.to_string()));
        let mut request = request.map_err(|error| words!("{}", given(error)))?;
        let proxy = self.requests.proxy_headers(&self.uri);
        request.headers_mut().extend(proxy);
        Ok(request)
    }
}

impl Model for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    fn reply(
        &self,
        request: CreateMessageParams,
    ) -> BoxFuture<'static, Result<CreateMessageResult, ModelError>> {
        let name = given(&self.name).short();
        let written = match self.kind {
            Kind::Anthropic => anthropic::write(&self.model, &request),
            kind => {
                let is_openai_itself = kind == Kind::OpenAi && self.is_itself;
                openai::write(
                    &self.model,
                    &request,
                    kind == Kind::Ollama,
                    is_openai_itself,
                )
            }
        };
        let written = written
            .map_err(|unfit| {
                words!(
                    "{} does not take {}; reply yourself, or decline",
                    name.clone(),
                    unfit.0
                )
            })
            .and_then(|body| self.request(&body));
        let request = match written {
            Ok(request) => request,
            Err(words) => return Box::pin(async { Err(words.into()) }),
        };
        let (requests, kind) = (self.requests.clone(), self.kind);
        let (patience, most) = (self.patience, self.most);
        Box::pin(async move {
            let asked = ask(&requests, request, &name, most);
            let Ok(asked) = tokio::time::timeout(patience, asked).await else {
                let words = words!(
                    "{} did not reply within {} s; run again",
                    name,
                    patience.as_secs()
                );
                return Err(words.into());
            };
            let told = || words!("{} sent a reply that cannot be read:", name);
            let read = match kind {
                Kind::Anthropic => anthropic::read(&asked?),
                Kind::OpenAi | Kind::Ollama => openai::read(&asked?),
            };
            read.map_err(|why| failed(told(), why))
        })
    }
}

/// Appends an API path to a base URL.
fn below(address: &str, path: &str) -> Result<Uri, Words> {
    let shown = given(address);
    let url = Url::parse(address).map_err(|error| words!("{}: {}", shown.clone(), given(error)))?;
    let host = url.host_str().unwrap_or_default();
    let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_loopback_host(host);
    if !is_safe {
        return Err(words!(
            "{} cannot be the address of a model: use https, or http on this machine",
            shown
        ));
    }
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !is_bare {
        return Err(words!("{} has more than a host and a path", shown));
    }
    let uri = format!("{}/{path}", url.as_str().trim_end_matches('/'));
    uri.parse()
        .map_err(|error| words!("{}: {}", shown, given(error)))
}

fn bearer(key: &HeaderValue) -> Result<HeaderValue, Words> {
    let value = [b"Bearer ", key.as_bytes()].concat();
    let value = HeaderValue::from_bytes(&value);
    let mut value = value
        .map_err(|_| Words::from("the model's key has characters that no HTTP header can carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Sends a request and reads the body of a successful response. Redirects are not followed.
async fn ask(
    requests: &Requests,
    request: Request<Bytes>,
    name: &Words,
    most: usize,
) -> Result<Vec<u8>, ModelError> {
    let sent = requests.send(request).await;
    let mut response = sent.map_err(|error| {
        let (words, why) = match error {
            RequestError::Unreachable(why) => (words!("{} cannot be reached:", name.clone()), why),
            RequestError::Broken(why) => (words!("the connection to {} broke:", name.clone()), why),
            other => (
                words!("{} did not answer:", name.clone()),
                other.to_string(),
            ),
        };
        failed(words, why)
    })?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(piece) = next_piece(response.body_mut()).await.map_err(|error| {
        let words = words!("the connection to {} broke:", name.clone());
        failed(words, error.to_string())
    })? {
        if body.len().saturating_add(piece.len()) > most {
            return Err(words!(
                "the reply of {} is longer than {} bytes",
                name.clone(),
                most
            )
            .into());
        }
        body.extend_from_slice(&piece);
    }
    match status {
        200..300 => Ok(body),
        _ => Err(ModelError {
            words: refusal(name.clone(), status),
            quoted: said(&body),
        }),
    }
}

fn failed(words: Words, why: String) -> ModelError {
    ModelError {
        words,
        quoted: Some(why.into()),
    }
}

fn refusal(name: Words, status: u16) -> Words {
    let advice = match status {
        401 | 403 => "; check the key",
        404 => "; check its name and --model-url",
        429 => "; try again later, or check your quota",
        500.. => "; try again later",
        _ => "",
    };
    words!("{} answered with HTTP status {}{}", name, status, advice)
}

/// The message in a provider's error, or else the whole body.
fn said(body: &[u8]) -> Option<PeerText> {
    let text = String::from_utf8_lossy(body);
    let json: Value = json::parse(body).unwrap_or_default();
    let message = [&json["error"]["message"], &json["error"], &json["message"]];
    let message = message.into_iter().find_map(Value::as_str);
    let said = message.unwrap_or(&text).trim();
    (!said.is_empty()).then(|| said.into())
}
