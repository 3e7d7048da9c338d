use std::time::Duration;

use askback_connect::{
    providers::{ApiKey, ConnectError, Providers, ThirdParty},
    vault::{
        AccountKey, Holder, RenewalError, Renewer as _, RevocationFailure, RevocationOutcome,
        Revoker as _, TokenKind,
    },
};
use askback_core::auth::Scopes;
use askback_oauth::{Fetcher, Secret};
use serde_json::{Value, json};

use crate::issuer::{Issuer, Reply, fetcher, impatient, providers_of};
use crate::stage::ada;

fn account(provider: &str) -> AccountKey {
    Holder::from(&ada()).account(provider, "ada-l")
}

/// The third party `github`, from a file with these keys. `{own}` is its URL.
async fn github(issuer: &Issuer, fetcher: Fetcher, keys: &str) -> Providers {
    let text = format!(
        "[github]\nissuer = '{{own}}'\nauthorization_endpoint = '{{own}}/authorize'\n\
         token_endpoint = '{{own}}/token'\nclient_id = 'c-1'\nclient_secret = {{ file = 'a.secret' }}\n\
         refresh_refusals = ['bad_refresh_token']\n{keys}\n"
    );
    providers_of(issuer, fetcher, &text).await
}

#[tokio::test]
async fn a_refused_refresh_token_is_told_from_a_provider_that_fails() {
    const DAY: u64 = 86_400;
    const FAILED: RenewalError = RenewalError::Failed { retry_after: None };
    let later = |seconds| RenewalError::Failed {
        retry_after: Some(Duration::from_secs(seconds)),
    };
    let no = |code: &str| json!({"error": code});
    let tokens =
        json!({"access_token": "a-2", "token_type": "bearer", "scope": "other", "expires_in": 60});
    for (reply, expected) in [
        (Reply::Json(200, tokens), Ok("a-2")),
        (
            Reply::Json(400, no("invalid_grant")),
            Err(RenewalError::Refused),
        ),
        (
            Reply::Json(200, no("bad_refresh_token")),
            Err(RenewalError::Refused),
        ),
        // A server error: the user need not connect again.
        (Reply::Json(401, no("invalid_client")), Err(FAILED)),
        (Reply::Json(400, no("invalid_request")), Err(FAILED)),
        (Reply::Json(503, Value::Null), Err(FAILED)),
        (Reply::Json(429, no("invalid_grant")), Err(FAILED)),
        (Reply::Json(200, json!({})), Err(FAILED)),
        (Reply::Later(429, "120"), Err(later(120))),
        (Reply::Later(503, "0"), Err(later(0))),
        // The pause that a server asks for is limited.
        (
            Reply::Later(429, "99999999999999999999999"),
            Err(later(DAY)),
        ),
        (
            Reply::Later(503, "Wed, 21 Oct 2099 07:28:00 GMT"),
            Err(FAILED),
        ),
        (Reply::Later(503, "-1"), Err(FAILED)),
        (Reply::Silence, Err(FAILED)),
    ] {
        let fetcher = match reply {
            Reply::Silence => impatient(),
            Reply::Json(..) | Reply::Text(_) | Reply::Later(..) => fetcher(),
        };
        let issuer = Issuer::start(move |_, _| reply.clone()).await;
        let providers = github(&issuer, fetcher, "").await;
        let renewed = providers
            .renew(&account("github"), &Secret::new("r-1"))
            .await;
        match (renewed, expected) {
            (Ok(granted), Ok(token)) => {
                assert!(granted.refresh.is_none() && !granted.is_api_key);
                assert_eq!(granted.secret.expose(), token);
                assert!(granted.expires.is_some());
                assert_eq!(granted.scopes, Scopes::parse("other").ok());
            }
            (Err(found), Err(expected)) => assert_eq!(found, expected),
            (renewed, expected) => panic!("{expected:?}: {renewed:?}"),
        }
        let asked = &issuer.asked()[0];
        assert_eq!(asked.field("refresh_token").as_deref(), Some("r-1"));
    }
}

#[tokio::test]
async fn tokens_are_given_back_as_each_third_party_takes_them() {
    use RevocationOutcome::{NotTaken, Revoked, Unknown};
    use TokenKind::{Access, Refresh};
    let standard = "revocation_endpoint = '{own}/revoke'";
    let bearer = "revocation = { by = 'bearer', url = '{own}/gone' }";
    let client = "revocation = { by = 'client', url = '{own}/apps/{client_id}/token' }";
    let none = "";
    let no = |code: &str| json!({"error": code});
    let says_no = |code: &str| json!({"ok": false, "error": code});
    for (way, kind, status, body, line, heard) in [
        (
            standard,
            Refresh,
            200,
            Value::Null,
            "POST /revoke",
            Some(Revoked),
        ),
        (
            standard,
            Access,
            200,
            Value::Null,
            "POST /revoke",
            Some(Revoked),
        ),
        (
            standard,
            Access,
            400,
            no("invalid_token"),
            "POST /revoke",
            Some(Unknown),
        ),
        (
            standard,
            Refresh,
            400,
            no("unsupported_token_type"),
            "POST /revoke",
            Some(NotTaken),
        ),
        (
            standard,
            Access,
            400,
            no("invalid_request"),
            "POST /revoke",
            None,
        ),
        (standard, Access, 503, Value::Null, "POST /revoke", None),
        (
            bearer,
            Access,
            200,
            json!({"ok": true}),
            "POST /gone",
            Some(Revoked),
        ),
        (
            bearer,
            Access,
            200,
            says_no("token_revoked"),
            "POST /gone",
            Some(Unknown),
        ),
        (
            bearer,
            Access,
            200,
            says_no("ratelimited"),
            "POST /gone",
            None,
        ),
        (
            bearer,
            Access,
            401,
            Value::Null,
            "POST /gone",
            Some(Unknown),
        ),
        (bearer, Access, 302, Value::Null, "POST /gone", None),
        (bearer, Refresh, 200, Value::Null, "", Some(NotTaken)),
        (
            client,
            Access,
            204,
            Value::Null,
            "DELETE /apps/c-1/token",
            Some(Revoked),
        ),
        (
            client,
            Access,
            404,
            Value::Null,
            "DELETE /apps/c-1/token",
            Some(Unknown),
        ),
        (
            client,
            Access,
            401,
            Value::Null,
            "DELETE /apps/c-1/token",
            None,
        ),
        (
            client,
            Access,
            422,
            Value::Null,
            "DELETE /apps/c-1/token",
            None,
        ),
        (client, Refresh, 204, Value::Null, "", Some(NotTaken)),
        (none, Access, 200, Value::Null, "", Some(NotTaken)),
    ] {
        let reply = Reply::Json(status, body);
        let issuer = Issuer::start(move |_, _| reply.clone()).await;
        let providers = github(&issuer, fetcher(), way).await;
        let revoked = providers
            .revoke(&account("github"), &Secret::new("t-1"), kind)
            .await;
        assert_eq!(revoked.ok(), heard, "{line} {status}");
        let asked = issuer.asked();
        let Some(asked) = asked.first() else {
            assert_eq!(line, "");
            continue;
        };
        assert_eq!(asked.line, line);
        let (header, body) = match line {
            "POST /revoke" => ("authorization: Basic Yy0xOnMtMQ==", "token=t-1"),
            "POST /gone" => ("authorization: Bearer t-1", ""),
            _ => (
                "authorization: Basic Yy0xOnMtMQ==",
                r#"{"access_token":"t-1"}"#,
            ),
        };
        assert!(asked.head.contains(header), "{}", asked.head);
        assert_eq!(asked.body, body);
    }
}

#[tokio::test]
async fn a_set_has_one_of_each_name() {
    let issuer = Issuer::start(|_, _| Reply::Silence).await;
    let key = ThirdParty::api_key("invoices", "Invoices", ApiKey::new()).expect("a name");
    let providers = github(&issuer, fetcher(), "").await;
    let providers = providers.with(key.clone()).expect("two");
    let names: Vec<_> = providers.iter().map(ThirdParty::name).collect();
    assert_eq!(names, ["github", "invoices"]);
    let twice = providers.clone().with(key);
    assert!(
        matches!(twice, Err(ConnectError::Description { .. })),
        "{twice:?}"
    );

    // No user is there to be asked, and only the user can revoke a key.
    let token = Secret::new("t");
    for (name, is_done) in [("missing", false), ("invoices", true)] {
        let account = account(name);
        let renewed = providers.renew(&account, &token).await;
        assert!(
            matches!(renewed, Err(RenewalError::Failed { .. })),
            "{renewed:?}"
        );
        let revoked = providers.revoke(&account, &token, TokenKind::Access).await;
        assert_eq!(
            revoked,
            if is_done {
                Ok(RevocationOutcome::NotTaken)
            } else {
                Err(RevocationFailure)
            }
        );
    }
    assert!(issuer.asked().is_empty());
}
