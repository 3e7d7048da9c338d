//! A client of an authorization server that performs each step separately, and stores nothing.

use std::collections::HashMap;

use lab::{
    airline::Airline,
    browser::Person,
    issuers::{Issuer, Maker, Registered, Role},
    loopback::{self, Answer},
};
use serde_json::Value;
use url::Url;

use crate::{
    Result,
    site::{Page, Site},
};

/// A verifier and its challenge from RFC 7636, Appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &[(&str, &str)] = &[
    (
        "code_challenge",
        "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    ),
    ("code_challenge_method", "S256"),
];

const BACK: &str = "/callback";
const PAGES: &[Page] = &[Page::at(BACK, "<!doctype html><title>Back</title>")];

pub(crate) struct ByHand {
    pub(crate) maker: Maker,
    pub(crate) issuer: Issuer,
    pub(crate) metadata: Value,
    pub(crate) site: Site,
    client: Registered,
}

impl ByHand {
    /// Starts the authorization server, and registers this client and the airline; `None` if it is not installed.
    pub(crate) async fn start(
        maker: Maker,
        role: Role,
        change: impl FnOnce(Registered) -> Registered,
    ) -> Result<Option<Self>> {
        let Some(command) = maker.command()? else {
            return Ok(None);
        };
        let site = Site::start(PAGES).await?;
        let back = format!("{}{BACK}", site.url);
        let client = change(Registered::web("kit", "a secret of the kit", &back).posting());
        let role = Role {
            clients: vec![client.clone(), Airline::registered()],
            ..role
        };
        let issuer = Issuer::start(command, &role)?;
        Ok(Some(Self {
            maker,
            metadata: issuer.metadata().await?,
            issuer,
            site,
            client,
        }))
    }

    pub(crate) async fn ask(&self, person: &Person, wanted: &[(&str, &str)]) -> Result<()> {
        let mut url = Url::parse(self.endpoint("authorization")?)?;
        let client = [
            ("response_type", "code"),
            ("client_id", &self.client.client_id),
            ("redirect_uri", &self.client.redirect_uris[0]),
            ("state", "a state"),
        ];
        url.query_pairs_mut()
            .extend_pairs(client.iter().chain(wanted));
        person.goto(url.as_str()).await
    }

    pub(crate) async fn back(&self, person: &Person) -> Result<HashMap<String, String>> {
        person.arrives(&format!("{}{BACK}", self.site.url)).await?;
        let visits = self.site.visits(BACK);
        let last = visits.last().ok_or("nobody came back")?.query();
        assert_eq!(last.get("state").map(String::as_str), Some("a state"));
        assert_eq!(
            last.get("iss"),
            Some(&self.issuer.name),
            "RFC 9207: {last:?}"
        );
        Ok(last)
    }

    pub(crate) async fn tokens(&self, person: &Person, login: &str, scope: &str) -> Result<Value> {
        let wanted = [&[("scope", scope)], CHALLENGE].concat();
        self.ask(person, &wanted).await?;
        self.maker.sign_in(person, login).await?;
        self.maker.agree(person).await?;
        let back = self.back(person).await?;
        let answer = self.exchange(&back["code"]).await?;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub(crate) async fn exchange(&self, code: &str) -> Result<Answer> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", &self.client.redirect_uris[0]),
        ];
        self.post("token", &form).await
    }

    pub(crate) async fn renew(&self, tokens: &Value) -> Result<Answer> {
        let token = tokens["refresh_token"].as_str().unwrap_or_default();
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.post("token", &form).await
    }

    pub(crate) async fn revoke(&self, tokens: &Value) -> Result<Answer> {
        let token = tokens["refresh_token"].as_str().unwrap_or_default();
        self.post("revocation", &[("token", token)]).await
    }

    pub(crate) fn endpoint(&self, name: &str) -> Result<&str> {
        let url = self.metadata[format!("{name}_endpoint")].as_str();
        Ok(url.ok_or_else(|| format!("there is no {name} endpoint: {}", self.metadata))?)
    }

    async fn post(&self, endpoint: &str, form: &[(&str, &str)]) -> Result<Answer> {
        let client = [
            ("client_id", self.client.client_id.as_str()),
            ("client_secret", &self.client.client_secret),
        ];
        loopback::post(self.endpoint(endpoint)?, &[], &[form, &client].concat()).await
    }
}
