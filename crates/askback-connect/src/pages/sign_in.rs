use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use super::browser::{Cookie, Next, Visit, is_own_form};
use super::html::{Answer, Frame, LeavePage, leave, see_other};
use super::{PageError, PageRequest, PageResult};
use crate::connections::{Door, Kit};
use crate::sign_in::{PendingSignIn, SignInRequest, WebSignIn, WebSignInError};
use crate::vault::VaultError;

#[derive(Serialize, Deserialize)]
struct SignInState {
    next: String,
    pending: SignInRequest,
}

impl PageRequest<'_> {
    pub(super) async fn sign_in(&self) -> PageResult {
        let Kit { vault, place, .. } = &**self.kit;
        let sign_in = self.issuer()?;
        let next = self.field("next").and_then(Next::read);
        let next = next.filter(|_| is_own_form(self.headers, place));
        let next = next.ok_or(PageError::Wrong)?;
        let is_anew = Cookie::Anew.is_there(place, self.headers);
        let uri = self.signed_in_uri();
        let begun = match is_anew {
            true => sign_in.begin_anew(&uri),
            false => sign_in.begin(&uri),
        };
        let (url, pending) = begun.map_err(VaultError::store)?;
        let begun = SignInState {
            next: next.written(),
            pending: pending.0,
        };
        let cookie = Cookie::SignIn(begun.pending.pending.state());
        let cookie = cookie.set(vault, place, &begun).await?;
        let leaving = LeavePage {
            frame: Frame::new(self.kit, None).await?,
            title: "You are going to the sign-in".to_owned(),
            place: "the sign-in",
            url: url.as_str(),
        };
        let mut answer = leave(&leaving, &url)?;
        answer.headers_mut().append(header::SET_COOKIE, cookie);
        Ok(answer)
    }

    /// Receives the issuer's answer, and shows the page that the user came for.
    pub(super) async fn signed_in(&self) -> PageResult {
        let Kit { vault, place, .. } = &**self.kit;
        let sign_in = self.issuer()?;
        let state = self.state().ok_or(PageError::Wrong)?;
        let cookie = Cookie::SignIn(&state);
        let begun: Option<SignInState> = cookie.read(vault, place, self.headers).await;
        let begun = begun.ok_or(PageError::Wrong)?;
        let next = Next::read(&begun.next).ok_or(PageError::Wrong)?;
        let redirected = format!("{}?{}", self.signed_in_uri(), self.query);
        let fetcher = self.kit.fetcher();
        let person = match sign_in
            .finish(fetcher, PendingSignIn(begun.pending), &redirected)
            .await
        {
            Ok(person) => person,
            Err(error) => return self.not_signed_in(&error, cookie).await,
        };
        let visit = Visit::new(&person.principal, person.name, person.signed_in)?;
        let mut answer = see_other(&next.path(place))?;
        let cookies = [
            Cookie::Visit.set(vault, place, &visit).await?,
            cookie.clear(place)?,
            Cookie::Anew.clear(place)?,
        ];
        for cookie in cookies {
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Ok(answer)
    }

    async fn not_signed_in(&self, error: &WebSignInError, cookie: Cookie<'_>) -> PageResult {
        tracing::warn!(%error, "a person could not sign in on the pages");
        let words = match error {
            WebSignInError::Declined => {
                "You are not signed in\nThe sign-in was declined, so nothing was changed."
            }
            _ => {
                "You are not signed in\nThe sign-in failed, so nothing was changed.\n\
                 Open the link again. If it goes on, tell the operator of this server."
            }
        };
        let mut answer = self.say(StatusCode::FORBIDDEN, None, words).await?;
        let clear = cookie.clear(&self.kit.place)?;
        answer.headers_mut().append(header::SET_COOKIE, clear);
        Ok(answer)
    }

    pub(super) async fn sign_out(&self) -> PageResult {
        let Kit { vault, place, .. } = &**self.kit;
        let visit = self.visit().await?.ok_or(PageError::Wrong)?;
        let token = self.field("token").unwrap_or_default();
        if !is_own_form(self.headers, place) || !visit.has_token(vault, "sign-out", token).await {
            return Err(PageError::Wrong);
        }
        vault.end_visit(visit.id).await?;
        let words = "You are signed out\nYour accounts stay connected.";
        let mut answer = self.say(StatusCode::OK, None, words).await?;
        let clear = Cookie::Visit.clear(place)?;
        answer.headers_mut().append(header::SET_COOKIE, clear);
        self.sign_in_anew(&mut answer)?;
        Ok(answer)
    }

    /// Makes the browser's next sign-in ask the user, because the issuer may still have the last user's session.
    pub(super) fn sign_in_anew(&self, answer: &mut Answer) -> Result<(), VaultError> {
        if self.kit.has_sign_in() {
            let cookie = Cookie::Anew.mark(&self.kit.place)?;
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
        Ok(())
    }

    /// The `state` of an answer, unless it appears twice.
    pub(super) fn state(&self) -> Option<String> {
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        let mut states = pairs.filter(|(name, _)| name == "state");
        let (_, state) = states.next()?;
        states.next().is_none().then(|| state.into_owned())
    }

    fn issuer(&self) -> Result<&WebSignIn, PageError> {
        match &self.kit.door {
            Door::SignIn(sign_in) => Ok(sign_in),
            Door::Machine => Err(PageError::Unknown),
        }
    }

    fn signed_in_uri(&self) -> String {
        let place = &self.kit.place;
        format!("{}{}/signed-in", place.origin, place.path)
    }
}
