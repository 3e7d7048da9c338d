//! Signs in to the suite's servers without a user, and agrees to everything.

use askback::{
    BoxFuture,
    authorization::{
        Secret,
        client::{
            Algorithm, Authorization, IdentityProvider, Redirect, RegisteredClient, SignIn,
            SignInError, SignInRequest, SigningKey,
        },
    },
};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::Wish;

/// The URL of the client's metadata document, as the suite knows it. The document does not exist.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The redirect URI; no browser ever opens it.
const REDIRECT: &str = "http://localhost:3000/callback";

/// The client of a scenario, as far as the scenario defines one.
#[derive(Deserialize)]
struct Client {
    client_id: String,
    client_secret: Option<String>,
}

#[derive(Deserialize)]
struct Key {
    private_key_pem: String,
    signing_algorithm: String,
}

#[derive(Deserialize)]
struct Company {
    idp_client_id: String,
    idp_id_token: String,
    idp_issuer: String,
    idp_token_endpoint: String,
}

#[derive(Deserialize)]
struct Workload {
    valid_jwt: String,
}

/// Returns the client's authorization in a scenario.
///
/// # Errors
///
/// If the suite's context lacks what the scenario needs.
pub(super) fn authorization(wish: &Wish) -> Result<Authorization, String> {
    let context = &wish.context;
    Ok(match wish.scenario.as_str() {
        "auth/pre-registration" => Authorization::person(Yes).client(client(context)?),
        "auth/client-credentials-basic" => Authorization::client_credentials(client(context)?),
        "auth/client-credentials-jwt" => {
            let key: Key = read(context)?;
            let algorithm = Algorithm::named(&key.signing_algorithm).ok_or("an odd algorithm")?;
            let key = SigningKey::from_pem(&Secret::new(key.private_key_pem), algorithm);
            let key = key.map_err(|error| error.to_string())?;
            Authorization::client_credentials(client(context)?.with_key(key))
        }
        "auth/enterprise-managed-authorization" => {
            let company: Company = read(context)?;
            let provider = IdentityProvider::new(
                company.idp_issuer,
                company.idp_token_endpoint,
                RegisteredClient::new(company.idp_client_id),
            );
            let identity = Secret::new(company.idp_id_token);
            Authorization::company(provider, identity, client(context)?)
        }
        "auth/wif-jwt-bearer" => {
            let workload: Workload = read(context)?;
            Authorization::vouched(Secret::new(workload.valid_jwt), client(context)?)
        }
        _ => Authorization::person(Yes)
            .metadata_document(DOCUMENT)
            .map_err(|error| error.to_string())?,
    })
}

fn client(context: &Value) -> Result<RegisteredClient, String> {
    let client: Client = read(context)?;
    let registered = RegisteredClient::new(client.client_id);
    Ok(match client.client_secret {
        Some(secret) => registered.with_secret(Secret::new(secret)),
        None => registered,
    })
}

fn read<T: for<'de> Deserialize<'de>>(context: &Value) -> Result<T, String> {
    T::deserialize(context).map_err(|error| error.to_string())
}

struct Yes;

impl SignIn for Yes {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        Box::pin(async { Ok(Box::new(Yes) as Box<dyn Redirect>) })
    }
}

impl Redirect for Yes {
    fn uri(&self) -> &str {
        REDIRECT
    }

    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>> {
        Box::pin(async move {
            let answer = get(request.url()).await.map_err(SignInError::host)?;
            let headers = answer.lines().take_while(|line| !line.is_empty());
            let mut headers = headers.filter_map(|line| line.split_once(": "));
            headers
                .find(|(name, _)| name.eq_ignore_ascii_case("location"))
                .map(|(_, location)| location.to_owned())
                .ok_or_else(|| SignInError::host("the browser was not sent back"))
        })
    }
}

/// Returns the response of a URL of the suite, without following redirects.
async fn get(url: &str) -> std::io::Result<String> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
