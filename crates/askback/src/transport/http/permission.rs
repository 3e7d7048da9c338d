//! The permission to make requests: a token, if authorization is enabled.

use std::{io, sync::Arc};

use askback_core::{
    auth::{AuthorizationContext, AuthorizationError},
    engine::client::{ClientError, RequestLoss},
};
use askback_oauth::{self as oauth, Authorization, Authorizer};
use http::{HeaderMap, Method, Response};
use hyper::body::Incoming;
use url::Url;

use crate::transport::Pause;

pub(super) struct Permission(Option<Source>);

struct Source {
    authorizer: Arc<Authorizer>,
    /// Pauses the server's timeouts while a token is obtained.
    pause: Pause,
}

pub(super) type Pass = Option<Arc<oauth::Pass>>;

pub(super) struct Trial<'a> {
    source: Option<&'a Source>,
    trial: oauth::Attempt,
    /// Whether a refusal may start a sign-in.
    is_patient: bool,
}

impl Permission {
    pub(super) fn of(
        authorization: Option<&Authorization>,
        server: &Url,
        pause: &Pause,
    ) -> io::Result<Self> {
        let Some(authorization) = authorization else {
            return Ok(Self(None));
        };
        Ok(Self(Some(Source {
            authorizer: authorization.authorizer(server)?,
            pause: pause.clone(),
        })))
    }

    /// Returns the current context. Without tokens, it never changes.
    pub(super) fn context(&self) -> AuthorizationContext {
        let source = self.0.as_ref();
        source.map_or_else(AuthorizationContext::default, |source| {
            source.authorizer.context()
        })
    }

    pub(super) fn trial(&self, method: &Method) -> Trial<'_> {
        Trial {
            source: self.0.as_ref(),
            trial: oauth::Attempt::default(),
            // Never start a sign-in just to send the closing DELETE.
            is_patient: method != Method::DELETE,
        }
    }

    pub(super) fn headers(
        &self,
        pass: &Pass,
        method: &Method,
        url: &Url,
    ) -> Result<HeaderMap, RequestLoss> {
        match (&self.0, pass) {
            (Some(source), Some(pass)) => {
                let headers = source.authorizer.headers(pass, method, url);
                headers.map_err(failed)
            }
            _ => Ok(HeaderMap::new()),
        }
    }
}

impl Trial<'_> {
    pub(super) async fn pass(&self) -> Result<Pass, RequestLoss> {
        let Some(source) = self.source else {
            return Ok(None);
        };
        if let Some(pass) = source.authorizer.pass_at_hand() {
            return Ok(pass);
        }
        let _waiting = source.pause.begin();
        source.authorizer.pass().await.map_err(failed)
    }

    pub(super) async fn again(
        &mut self,
        pass: Pass,
        url: &Url,
        response: &Response<Incoming>,
    ) -> Result<bool, RequestLoss> {
        let Some(source) = self.source.filter(|_| self.is_patient) else {
            return Ok(false);
        };
        let status = response.status();
        let _waiting = status.is_client_error().then(|| source.pause.begin());
        let answer = (status, response.headers());
        let again = source.authorizer.again(&mut self.trial, url, answer, pass);
        again.await.map_err(failed)
    }
}

fn failed(error: AuthorizationError) -> RequestLoss {
    RequestLoss::Failed(ClientError::Authorization(error))
}
