//! The claims of a token, and their rules (RFC 9068, 2.2 and 4).

use std::time::Duration;

use askback_core::{
    ask::{Millis, Principal},
    auth::Scopes,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    authorization::server::access::{TokenError, invalid},
    clock::millis,
};

#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Claims(Map<String, Value>);

pub(crate) struct ExpectedClaims<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) resource: &'a str,
    /// Other names of this server.
    pub(crate) audiences: &'a [String],
    pub(crate) now: Millis,
    pub(crate) leeway: Duration,
}

impl Claims {
    pub(crate) fn check(&self, expected: &ExpectedClaims<'_>) -> Result<Millis, TokenError> {
        if self.text("iss")? != expected.issuer {
            return Err(invalid("another issuer has issued it (`iss`)"));
        }
        self.check_audience(expected)?;
        self.check_time(expected)
    }

    pub(crate) fn check_audience(&self, expected: &ExpectedClaims<'_>) -> Result<(), TokenError> {
        let is_us = |name: &Value| {
            let name = name.as_str();
            name.is_some_and(|name| {
                name == expected.resource || expected.audiences.iter().any(|other| other == name)
            })
        };
        let ours = match self.0.get("aud") {
            Some(Value::Array(names)) => names.iter().any(is_us),
            Some(name) => is_us(name),
            None => false,
        };
        if ours {
            Ok(())
        } else {
            Err(invalid("it is not for this server (`aud`)"))
        }
    }

    pub(crate) fn check_time(&self, expected: &ExpectedClaims<'_>) -> Result<Millis, TokenError> {
        let leeway = millis(expected.leeway);
        let Some(ends) = self.moment("exp")? else {
            return Err(invalid("it has no expiry (`exp`)"));
        };
        let ends = ends.saturating_add(leeway);
        if expected.now >= ends {
            return Err(TokenError::Expired);
        }
        match self.moment("nbf")? {
            Some(begins) if begins > expected.now.saturating_add(leeway) => {
                Err(invalid("it is not valid yet (`nbf`)"))
            }
            _ => Ok(ends),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, TokenError> {
        match self.0.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            _ => Err(TokenError::Invalid(format!(
                "it has no `{name}`, or no text in it"
            ))),
        }
    }

    /// If a tenant claim is configured, it must be present.
    pub(crate) fn principal(
        &self,
        issuer: &str,
        tenant_claim: Option<&str>,
    ) -> Result<Principal, TokenError> {
        Ok(Principal {
            client_id: self.client()?.map(str::to_owned),
            ..self.person(issuer, "sub", tenant_claim)?
        })
    }

    /// Returns the principal without its client, from the given subject claim.
    pub(super) fn person(
        &self,
        issuer: &str,
        subject_claim: &str,
        tenant_claim: Option<&str>,
    ) -> Result<Principal, TokenError> {
        let tenant = tenant_claim.map(|name| self.text(name)).transpose()?;
        Ok(Principal {
            tenant: tenant.map(str::to_owned),
            issuer: Some(issuer.to_owned()),
            subject: self.text(subject_claim)?.to_owned(),
            client_id: None,
        })
    }

    fn client(&self) -> Result<Option<&str>, TokenError> {
        let name = ["client_id", "azp"];
        let name = name.into_iter().find(|name| self.0.contains_key(*name));
        name.map(|name| self.text(name)).transpose()
    }

    /// Returns the thumbprint of the key that the token is bound to, if any (RFC 9449, 6). An unsupported kind of
    /// binding is an error, so that the token is not accepted as unbound.
    pub(crate) fn bound_to(&self) -> Result<Option<String>, TokenError> {
        let Some(confirmation) = self.0.get("cnf") else {
            return Ok(None);
        };
        let thumbprint = confirmation.get("jkt").and_then(Value::as_str);
        let thumbprint =
            thumbprint.filter(|_| confirmation.as_object().is_some_and(|it| it.len() == 1));
        let thumbprint =
            thumbprint.ok_or_else(|| invalid("it is bound in an unknown way (`cnf`)"))?;
        Ok(Some(thumbprint.to_owned()))
    }

    pub(crate) fn scopes(&self, name: &str) -> Result<Scopes, TokenError> {
        let scopes = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(Scopes::new()),
            Some(Value::String(text)) => Scopes::parse(text),
            Some(Value::Array(names)) => {
                // An entry that is not a string becomes an invalid scope, and is refused.
                Scopes::of(names.iter().map(|name| name.as_str().unwrap_or_default()))
            }
            Some(_) => return Err(TokenError::Invalid(format!("`{name}` holds no scopes"))),
        };
        scopes.map_err(|bad| TokenError::Invalid(bad.to_string()))
    }

    /// Returns a time in seconds since the Unix epoch, possibly with a fraction (RFC 7519, 2).
    pub(crate) fn moment(&self, name: &str) -> Result<Option<Millis>, TokenError> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let whole = value.as_u64().map(|seconds| seconds.saturating_mul(1000));
        let broken = || {
            let seconds = value.as_f64().filter(|seconds| *seconds >= 0.0)?;
            // The cast turns larger values into the maximum.
            Some((seconds * 1000.0) as Millis)
        };
        let moment = whole.or_else(broken);
        let no_moment = || TokenError::Invalid(format!("`{name}` is not a time"));
        moment.map(Some).ok_or_else(no_moment)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}
