use super::Authorizer;
use crate::{
    AuthorizationError, SignOut,
    records::{self, Grant},
    store::not_kept,
    token::{Form, TokenRequest, dress},
};

impl Authorizer {
    pub(crate) async fn sign_out(&self) -> Result<SignOut, AuthorizationError> {
        let _held = self.held.lock().await;
        let key = self.key();
        // A concurrent renewal would store new tokens after the deletion.
        let lock = self.lock().await?;
        let kept = self.config.store.load(&key).await.map_err(not_kept)?;
        self.set(None);
        let Some(kept) = kept else {
            return Ok(SignOut::WasNot);
        };
        // Delete the local tokens first: the user wants them gone, whatever the issuer says.
        self.config.store.remove(&key).await.map_err(not_kept)?;
        drop(lock);
        let Ok(grant) = records::read::<Grant>(&kept) else {
            return Ok(SignOut::Forgotten("it could not be read".to_owned()));
        };
        let forgotten = |why: &str| Ok(SignOut::Forgotten(why.to_owned()));
        let endpoint = grant.revocation_endpoint.as_deref();
        let Some(endpoint) = endpoint.and_then(|endpoint| self.fetcher.url(endpoint)) else {
            return forgotten("the authorization server cannot revoke tokens");
        };
        let Some(client) = self.client(&grant) else {
            return forgotten("the client is configured no more");
        };
        // Revoking a refresh token also revokes the access tokens made from it.
        let (token, hint) = match grant.refresh_token {
            Some(token) => (token, "refresh_token"),
            None => (grant.access_token, "access_token"),
        };
        let request = TokenRequest {
            endpoint,
            issuer: grant.issuer,
            client,
            form: Form::default()
                .with_secret("token", token)
                .with("token_type_hint", hint),
        };
        let (headers, form) = dress(&request, self.now())?;
        let posted = self.fetcher.post_form(&request.endpoint, headers, form);
        match posted.await {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(SignOut::Revoked),
            Ok(answer) => Ok(SignOut::Forgotten(format!(
                "the authorization server answered with status {}",
                answer.status
            ))),
            Err(_) => forgotten("the authorization server cannot be reached"),
        }
    }
}
