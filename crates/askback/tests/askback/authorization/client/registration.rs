//! Client registration with an issuer.

use std::{io, sync::Arc};

use askback::{
    BoxFuture,
    authorization::{
        Secret,
        client::{
            Authorization, CredentialKey, CredentialStore, KeyLock, MemoryCredentials,
            RegisteredClient,
        },
    },
};
use serde_json::{Value, json};

use super::{AuthorizationError, World, form, value};
use crate::client::http::server::{Asked, Reply};

const DOCUMENT: &str = "https://app.example.com/client.json";

fn registrations(world: &World) -> Vec<Value> {
    let asked = world.server.asked();
    let sent = asked.into_iter().filter(|asked| asked.path == "/register");
    sent.map(|asked| asked.body).collect()
}

// Shows AR-01, AR-02, AR-03, AR-05, AR-10, AR-17, AR-18, AZ-05.
// Shows AZ25-03, AZ25-04, AZ25-05, AZ25-07, AZ25-09, AZ25-13.
#[tokio::test]
async fn there_is_an_order_of_becoming_known() {
    for (by_hand, takes_documents, registers, expected) in [
        (true, true, true, Ok("by-hand")),
        (false, true, true, Ok(DOCUMENT)),
        (false, false, true, Ok("registered")),
        (false, true, false, Ok(DOCUMENT)),
        (false, false, false, Err(())),
    ] {
        let world = World::new().await;
        world.issuer(|it| {
            it["client_id_metadata_document_supported"] = json!(takes_documents);
            if !registers {
                it["registration_endpoint"] = json!(null);
            }
        });
        let mut authorization = world.authorization().metadata_document(DOCUMENT).unwrap();
        if by_hand {
            let client = RegisteredClient::new("by-hand").with_issuer(world.base());
            authorization = authorization.client(client);
        }
        let connected = world.connect_with(&authorization).await;
        match expected {
            Ok(id) => {
                connected.unwrap().close().await;
                assert_eq!(world.browser.asked("client_id"), [Some(id.to_owned())]);
                let token = &world.posted("/token")[0];
                assert_eq!(value(token, "client_id"), Some(id));
                let registered = usize::from(id == "registered");
                assert_eq!(registrations(&world).len(), registered);
            }
            Err(()) => {
                let error = super::why(connected);
                assert_eq!(error, AuthorizationError::NoRegistration(world.base()));
            }
        }
    }
}

// Shows AR-04, AZ25-06.
#[tokio::test]
async fn a_person_is_asked_for_a_client_last_and_once() {
    let world = World::new().await;
    world.issuer(|it| it["registration_endpoint"] = json!(null));
    // If the user enters no client, there is no client.
    assert_eq!(
        world.refused().await,
        AuthorizationError::NoRegistration(world.base())
    );
    let asked_of = || world.browser.named.lock().unwrap().len();
    assert_eq!(asked_of(), 1);
    let names = |id: &str| {
        let client = RegisteredClient::new(id).with_secret(Secret::new("pass"));
        *world.browser.client.lock().unwrap() = Some(client);
    };
    let connects = async |id: &str| {
        world.connect().await.unwrap().close().await;
        let sent = world.posted("/token");
        let form = sent.last().unwrap();
        assert_eq!(value(form, "client_id"), Some(id));
        assert_eq!(value(form, "client_secret"), Some("pass"));
    };
    world.issuer(|it| {
        it["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    });
    // A client that the issuer rejects is not saved.
    let refuses = |id: &'static str| {
        let refused = json!({"error": "invalid_client"}).to_string();
        let tokens = move |asked: &Asked, _| {
            let form = form(asked);
            let is_it = value(&form, "client_id") == Some(id);
            is_it.then(|| Reply::json(401, refused.clone()))
        };
        world.change(|rules| rules.tokens = Some(Box::new(tokens)));
    };
    refuses("wrong");
    names("wrong");
    let error = world.refused().await;
    assert!(
        matches!(error, AuthorizationError::Refused { .. }),
        "{error:?}"
    );
    assert_eq!(asked_of(), 2);
    names("by-hand");
    connects("by-hand").await;
    assert_eq!(asked_of(), 3);
    // Another sign-in, on another port, does not ask the user again.
    let tokens = CredentialKey::Tokens(world.server.url.clone());
    world.store.remove(&tokens).await.unwrap();
    *world.browser.uri.lock().unwrap() = "http://127.0.0.1:2/callback".to_owned();
    names("another");
    connects("by-hand").await;
    assert_eq!(asked_of(), 3);
    // If the issuer no longer knows a client, it is deleted and the user is asked for another.
    world.store.remove(&tokens).await.unwrap();
    refuses("by-hand");
    connects("another").await;
    assert_eq!(*world.browser.named.lock().unwrap(), vec![world.base(); 4]);
}

// Shows AR-06, AR-07, AR-08, AR-10.
#[tokio::test]
async fn a_document_is_named_by_its_https_url() {
    let world = World::new().await;
    for bad in [
        "http://app.example.com/client.json",
        "https://app.example.com",
        "https://app.example.com/",
        "https://app.example.com/client.json#x",
        "https://user@app.example.com/client.json",
        "https://app.example.com/a/../client.json",
        "client.json",
    ] {
        let refused = world.authorization().metadata_document(bad);
        assert!(
            matches!(refused, Err(AuthorizationError::Url { .. })),
            "{bad}"
        );
    }
}

// Shows AR-19, AR-20, AR-21.
#[tokio::test]
async fn a_registration_says_what_kind_of_client_it_is() {
    for (redirect, kind) in [
        ("http://127.0.0.1:4000/callback", "native"),
        ("http://localhost:4000/callback", "native"),
        ("https://app.example.com/callback", "web"),
    ] {
        let world = World::new().await;
        *world.browser.uri.lock().unwrap() = redirect.to_owned();
        let authorization = world.authorization().introduced_as("Guide", None);
        world
            .connect_with(&authorization)
            .await
            .unwrap()
            .close()
            .await;
        assert_eq!(
            registrations(&world),
            [json!({
                "client_name": "Guide",
                "redirect_uris": [redirect],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": kind,
            })]
        );
    }
}

// Shows AS-10.
#[tokio::test]
async fn a_browser_comes_back_to_the_own_machine_or_over_https() {
    for redirect in [
        "http://app.example.com/callback",
        "app:callback",
        "https://a.com/#x",
    ] {
        let world = World::new().await;
        *world.browser.uri.lock().unwrap() = redirect.to_owned();
        let error = world.refused().await;
        assert!(matches!(error, AuthorizationError::SignIn(_)), "{error:?}");
        assert_eq!(world.browser.times(), 0);
    }
}

// Shows AR-22, AR-23.
#[tokio::test]
async fn why_a_registration_was_refused_is_told() {
    let world = World::new().await;
    let body =
        json!({"error": "invalid_redirect_uri", "error_description": "no <b>native</b>\u{7}"});
    world.change(|rules| rules.registration = (400, body));
    let expected = AuthorizationError::Refused {
        what: "the registration",
        code: "invalid_redirect_uri".to_owned(),
        description: "no <b>native</b>".to_owned(),
    };
    assert_eq!(world.refused().await, expected);

    for body in [
        json!({}),
        json!({"client_id": ""}),
        json!({"client_id": "a\nb"}),
        json!([]),
    ] {
        let world = World::new().await;
        world.change(|rules| rules.registration = (201, body));
        let error = world.refused().await;
        assert!(
            matches!(error, AuthorizationError::Document { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_secret_is_sent_as_the_issuer_wants() {
    let basic = Some("Basic cmVnaXN0ZXJlZDphJTNBJTJGYg==");
    let (in_header, in_form) = ((basic, None), (None, Some("a:/b")));
    let (by_basic, by_post) = ("client_secret_basic", "client_secret_post");
    // The supported, requested and granted values, and where the secret is sent.
    let cases = [
        (json!([by_basic]), by_basic, json!(null), in_header),
        (json!([by_post]), by_post, json!(null), in_form),
        (json!(null), "none", json!(null), in_header),
        (json!([by_basic]), by_basic, json!(by_post), in_form),
        (json!([by_post]), by_post, json!(by_basic), in_header),
        (json!([by_post, by_basic]), by_post, json!(null), in_form),
        (
            json!(["private_key_jwt", by_basic, by_post]),
            by_basic,
            json!(null),
            in_header,
        ),
        (
            json!([by_post, "none"]),
            "none",
            json!("none"),
            (None, None),
        ),
        (json!(["none"]), "none", json!("none"), (None, None)),
    ];
    for (taken, asked_for, named, (header, posted)) in cases {
        let world = World::new().await;
        world.issuer(|it| it["token_endpoint_auth_methods_supported"] = taken);
        let registered = json!({
            "client_id": "registered",
            "client_secret": "a:/b",
            "token_endpoint_auth_method": named,
        });
        world.change(|rules| rules.registration = (201, registered));
        world.connect().await.unwrap().close().await;
        let registration = &registrations(&world)[0];
        assert_eq!(registration["token_endpoint_auth_method"], asked_for);
        let asked = world.server.asked();
        let exchange = asked.iter().find(|asked| asked.path == "/token").unwrap();
        assert_eq!(exchange.header("authorization"), header);
        let form = &world.posted("/token")[0];
        assert_eq!(value(form, "client_secret"), posted);
        let in_form = header.is_none().then_some("registered");
        assert_eq!(value(form, "client_id"), in_form);
    }
    let world = World::new().await;
    let odd = json!({"client_id": "a", "token_endpoint_auth_method": "tls_client_auth"});
    world.change(|rules| rules.registration = (201, odd));
    let error = world.refused().await;
    assert!(
        matches!(error, AuthorizationError::Unsupported { .. }),
        "{error:?}"
    );
}

async fn forget_tokens(world: &World) {
    let key = CredentialKey::Tokens(world.server.url.clone());
    world.store.remove(&key).await.unwrap();
}

#[tokio::test]
async fn a_registration_is_kept_and_used_as_long_as_it_holds() {
    let world = World::new().await;
    world.connect().await.unwrap().close().await;
    forget_tokens(&world).await;
    world.connect().await.unwrap().close().await;
    assert_eq!(registrations(&world).len(), 1);

    // Another redirect URI is not registered.
    *world.browser.uri.lock().unwrap() = "http://127.0.0.1:2/callback".to_owned();
    forget_tokens(&world).await;
    world.connect().await.unwrap().close().await;
    assert_eq!(registrations(&world).len(), 2);

    // The registration is for the registered scopes. Many issuers allow a client no others.
    let key = CredentialKey::Registration(world.base());
    world.store.remove(&key).await.unwrap();
    for (scopes, count) in [("a b", 3), ("b", 3), ("b c", 4)] {
        let challenge = world.rules.lock().unwrap().challenge.clone();
        let (challenge, _) = challenge.split_once(", scope").unwrap_or((&challenge, ""));
        let challenge = format!("{challenge}, scope=\"{scopes}\"");
        world.change(|rules| rules.challenge = challenge);
        forget_tokens(&world).await;
        world.connect().await.unwrap().close().await;
        assert_eq!(registrations(&world).len(), count, "{scopes}");
    }

    // An expired registration, or one that the issuer no longer knows, is not used either.
    let ended = json!({"client_id": "x", "client_secret": "y", "client_secret_expires_at": 1});
    world.change(|rules| rules.registration = (201, ended));
    world.store.remove(&key).await.unwrap();
    for _ in 0..2 {
        forget_tokens(&world).await;
        world.connect().await.unwrap().close().await;
    }
    assert_eq!(registrations(&world).len(), 6);
}

#[tokio::test]
async fn a_client_the_issuer_forgot_registers_again() {
    let world = World::new().await;
    world.connect().await.unwrap().close().await;
    forget_tokens(&world).await;
    world.change(|rules| {
        rules.registration = (201, json!({"client_id": "anew"}));
        rules.tokens = Some(Box::new(|asked, _| {
            let form = super::form(asked);
            let unknown = value(&form, "client_id") == Some("registered");
            let error = json!({"error": "invalid_client"}).to_string();
            unknown.then(|| super::Reply::json(401, error))
        }));
    });
    world.connect().await.unwrap().close().await;
    assert_eq!(registrations(&world).len(), 2);
    let ids = world.browser.asked("client_id");
    assert_eq!(ids.last(), Some(&Some("anew".to_owned())));
}

// Shows AR-24, AR-25, AD-03.
#[tokio::test]
async fn nothing_of_one_issuer_is_shown_to_another() {
    let world = World::new().await;
    let other = World::new().await;
    world.change(|rules| {
        rules.registration = (
            201,
            json!({"client_id": "of-first", "client_secret": "s-1"}),
        );
    });
    other.change(|rules| {
        rules.registration = (
            201,
            json!({"client_id": "of-second", "client_secret": "s-2"}),
        );
    });
    let challenge = world.rules.lock().unwrap().challenge.clone();
    let wants = |scope: &str| {
        let challenge = format!("{challenge}, scope=\"{scope}\"");
        world.change(|rules| rules.challenge = challenge);
    };
    wants("a");
    let client = world.connect().await.unwrap();
    wants("b");
    // The server changes to another issuer, and accepts only its tokens.
    let issuer = other.base();
    world.resource(|it| it["authorization_servers"] = json!([issuer]));
    world.change(|rules| {
        rules.good = Some("access-1-of-second".to_owned());
        rules.refresh = None;
    });
    other.change(|rules| {
        rules.tokens = Some(Box::new(|_, _| {
            let token = json!({"access_token": "access-1-of-second", "token_type": "Bearer"});
            Some(super::Reply::json(200, token.to_string()))
        }));
    });
    crate::client::http::call(&client, "book").await.unwrap();
    assert_eq!(
        world.browser.asked("client_id"),
        [Some("of-first".to_owned()), Some("of-second".to_owned())]
    );
    let scopes = [Some("a".to_owned()), Some("b".to_owned())];
    assert_eq!(world.browser.asked("scope"), scopes);
    for asked in other.server.asked() {
        let all = format!(
            "{} {} {:?}",
            asked.path,
            asked.text,
            asked.header("authorization")
        );
        for foreign in ["of-first", "s-1", "access-1\"", "refresh-1"] {
            assert!(!all.contains(foreign), "{all}");
        }
    }
}

// Shows AR-26.
#[tokio::test]
async fn a_client_registered_by_hand_stays_with_its_issuer() {
    let world = World::new().await;
    let secret = || Secret::new("by-hand-secret");
    let elsewhere = RegisteredClient::new("by-hand")
        .with_secret(secret())
        .with_issuer("https://auth.example.com");
    let authorization = world.authorization().client(elsewhere);
    let expected = AuthorizationError::NotRegisteredThere {
        registered: "https://auth.example.com".to_owned(),
        wanted: world.base(),
    };
    assert_eq!(
        super::why(world.connect_with(&authorization).await),
        expected
    );
    assert_eq!(world.browser.times(), 0);

    // A client without an issuer belongs to the first issuer.
    let other = World::new().await;
    let anywhere = RegisteredClient::new("by-hand").with_secret(secret());
    let authorization = world.authorization().client(anywhere);
    let client = world.connect_with(&authorization).await.unwrap();
    let issuer = other.base();
    world.resource(|it| it["authorization_servers"] = json!([issuer]));
    world.change(|rules| {
        rules.good = None;
        rules.refresh = None;
    });
    let called = crate::client::http::call(&client, "book")
        .await
        .unwrap_err();
    assert!(called.to_string().contains("registered with"), "{called}");
    assert!(other.posted("/token").is_empty());

    // The next run keeps that binding.
    let anywhere = RegisteredClient::new("by-hand").with_secret(secret());
    let authorization = world.authorization().client(anywhere);
    let error = super::why(world.connect_with(&authorization).await);
    assert!(
        matches!(error, AuthorizationError::NotRegisteredThere { .. }),
        "{error:?}"
    );
}

/// A registered client with a secret, but without an issuer.
fn anywhere() -> RegisteredClient {
    RegisteredClient::new("by-hand").with_secret(Secret::new("by-hand-secret"))
}

/// Lets the issuer of `other` give tokens for the server, and makes the server reject the current one.
fn move_to(world: &World, other: &World) {
    let issuer = other.base();
    world.resource(|it| it["authorization_servers"] = json!([issuer]));
    world.change(|rules| {
        rules.good = None;
        rules.refresh = None;
    });
}

#[track_caller]
fn is_of_another(error: &AuthorizationError) {
    let is = matches!(error, AuthorizationError::NotRegisteredThere { .. });
    assert!(is, "{error:?}");
}

// Shows AR-26.
#[tokio::test]
async fn where_a_client_belongs_outlives_its_tokens() {
    let [world, other] = [World::new().await, World::new().await];
    let authorization = world.authorization().client(anywhere());
    let client = world.connect_with(&authorization).await.unwrap();
    client.close().await;
    authorization.sign_out(&world.server.url).await.unwrap();
    move_to(&world, &other);
    let authorization = world.authorization().client(anywhere());
    is_of_another(&super::why(world.connect_with(&authorization).await));
    assert!(other.posted("/token").is_empty());

    // The host may bind the client to another issuer.
    let told = || anywhere().with_issuer(other.base());
    let authorization = world.authorization().client(told());
    let issuer = other.base();
    world.change(|rules| rules.good = Some("access-1".to_owned()));
    let client = world.connect_with(&authorization).await.unwrap();
    client.close().await;
    let kept = world
        .store
        .load(&CredentialKey::Issuer("by-hand".to_owned()))
        .await;
    assert_eq!(kept.unwrap().unwrap().expose(), issuer);
}

#[tokio::test]
async fn a_client_for_this_issuer_comes_before_one_for_any() {
    let world = World::new().await;
    let here = RegisteredClient::new("here").with_issuer(world.base());
    let authorization = world.authorization().client(anywhere()).client(here);
    let client = world.connect_with(&authorization).await.unwrap();
    client.close().await;
    assert_eq!(world.browser.asked("client_id"), [Some("here".to_owned())]);
}

#[tokio::test]
async fn a_client_belongs_to_the_first_issuer_of_any_server() {
    let [world, other] = [World::new().await, World::new().await];
    let authorization = world.authorization().client(anywhere());
    let client = world.connect_with(&authorization).await.unwrap();
    client.close().await;
    is_of_another(&super::why(other.connect_with(&authorization).await));
    assert!(other.posted("/token").is_empty());
    assert_eq!(other.browser.times(), 0);
}

/// A slow store, in which concurrent accesses overlap.
struct Slow(Arc<MemoryCredentials>);

impl CredentialStore for Slow {
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>> {
        Box::pin(async move {
            let loaded = self.0.load(key).await;
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            loaded
        })
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>> {
        self.0.save(key, value)
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>> {
        self.0.remove(key)
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>> {
        self.0.lock(key)
    }
}

/// A store that cannot keep registrations.
struct WithoutRegistrations(Arc<MemoryCredentials>);

impl CredentialStore for WithoutRegistrations {
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>> {
        self.0.load(key)
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>> {
        match key {
            CredentialKey::Registration(_) => {
                Box::pin(async { Err(io::Error::other("the disk is full")) })
            }
            _ => self.0.save(key, value),
        }
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>> {
        self.0.remove(key)
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>> {
        self.0.lock(key)
    }
}

// The code is used, so the user would have to sign in again.
#[tokio::test]
async fn tokens_are_kept_if_the_client_that_a_person_named_cannot_be() {
    let world = World::new().await;
    world.issuer(|it| it["registration_endpoint"] = json!(null));
    *world.browser.client.lock().unwrap() = Some(RegisteredClient::new("by-hand"));
    for _ in 0..2 {
        let store = WithoutRegistrations(Arc::clone(&world.store));
        let authorization = Authorization::person(world.browser.clone()).store(store);
        let client = world.connect_with(&authorization).await.unwrap();
        client.close().await;
        assert_eq!(world.posted("/token").len(), 1);
    }
    let tokens = CredentialKey::Tokens(world.server.url.clone());
    assert!(world.store.load(&tokens).await.unwrap().is_some());
    let registration = CredentialKey::Registration(world.base());
    assert!(world.store.load(&registration).await.unwrap().is_none());
    assert_eq!(world.browser.named.lock().unwrap().len(), 1);
}

// Two processes share a store. Their servers have different issuers.
#[tokio::test]
async fn one_of_two_processes_binds_a_client_to_its_issuer() {
    let [world, other] = [World::new().await, World::new().await];
    let of = |at: &World| {
        let store = Slow(Arc::clone(&world.store));
        Authorization::person(at.browser.clone())
            .store(store)
            .client(anywhere())
    };
    let (one, another) = (of(&world), of(&other));
    let connected = tokio::join!(world.connect_with(&one), other.connect_with(&another));
    let connected = [connected.0.is_ok(), connected.1.is_ok()];
    let shown = [world.posted("/token").len(), other.posted("/token").len()];
    assert_eq!(connected.map(usize::from), shown);
    assert_eq!(shown.iter().sum::<usize>(), 1, "{shown:?}");
}

#[tokio::test]
async fn a_client_belongs_to_the_first_issuer_that_saw_it_even_without_a_token() {
    let [world, other] = [World::new().await, World::new().await];
    world.change(|rules| {
        rules.tokens = Some(Box::new(|_, _| {
            let error = json!({"error": "invalid_client"}).to_string();
            Some(super::Reply::json(401, error))
        }));
    });
    let jobs = || Authorization::client_credentials(anywhere()).store(Arc::clone(&world.store));
    let error = super::why(world.connect_with(&jobs()).await);
    assert!(
        matches!(error, AuthorizationError::Refused { .. }),
        "{error:?}"
    );
    move_to(&world, &other);
    is_of_another(&super::why(world.connect_with(&jobs()).await));
    assert!(other.posted("/token").is_empty());
}
