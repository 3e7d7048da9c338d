//! PostgreSQL only: lost connections, users and their rights, TLS.

use std::{process::Command, sync::Arc, time::Duration};

use askback_connect::vault::{
    Filter, Grant, PostgresSettings, PostgresVault, TenantKey, Vault, VaultError, VaultRecord,
    VaultSettings, VaultStore,
};
use askback_core::ask::Principal;
use askback_oauth::Secret;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, UnixStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::{
    cluster::PASSWORD,
    place::{Place, settings},
    stage::{Provider, Stage, ada, keys, person, tokens, until, wanted},
};

async fn vault(store: Arc<dyn VaultStore>) -> Vault {
    let opened = Vault::open(store, Arc::new(keys(7)), VaultSettings::default()).await;
    opened.unwrap()
}

async fn staged() -> Option<(Arc<Place>, Stage)> {
    let place = Arc::new(Place::new().await?);
    Some((Arc::clone(&place), Stage::at(place).await))
}

/// Checks that an error contains these words, and not the password.
#[track_caller]
fn refused<T: std::fmt::Debug>(done: Result<T, VaultError>, words: &[&str]) {
    let error = done.expect_err("it is refused");
    let said = format!("{error} {error:?}");
    for word in words {
        assert!(said.contains(word), "{word:?} is missing: {said}");
    }
    assert!(!said.contains("canary"), "it shows the password: {said}");
    assert!(!said.contains(PASSWORD), "it shows the password: {said}");
}

async fn refuses(settings: PostgresSettings, words: &[&str]) {
    let printed = format!("{settings:?}");
    assert!(!printed.contains("canary"), "{printed}");
    refused(PostgresVault::connect(settings).await, words);
}

#[tokio::test]
async fn each_failure_is_told_with_what_to_do() {
    let Some(place) = Place::new().await else {
        return;
    };
    let directory = &place.cluster.directory;
    let of = |rest: &str| settings(&format!("host={directory} {rest}"));
    let cases = [
        (
            settings("host=/nowhere user=vault password=canary"),
            ["cannot be reached", "check that it runs"],
        ),
        (
            settings("postgresql://vault:canary@127.0.0.1:1/vault"),
            ["cannot be reached", "check that it runs"],
        ),
        (
            of("user=vault dbname=postgres password=canary-wrong"),
            ["refuses the user", "correct the connection string"],
        ),
        (
            of("user=nobody dbname=postgres password=canary-wrong"),
            ["refuses the user", "correct the connection string"],
        ),
        (
            of("user=vault dbname=postgres"),
            ["password missing", "database failed"],
        ),
        (
            of(&format!("user=vault dbname=none password={PASSWORD}")),
            ["no such database", "create it"],
        ),
        (
            of(&format!("user=vault dbname=postgres password={PASSWORD}")),
            ["permission denied for schema public", "grant it"],
        ),
        (
            of(&format!(
                "user=vault dbname=postgres password={PASSWORD} options='-csearch_path=none'"
            )),
            ["no place for the tables", "create a schema"],
        ),
    ];
    for (settings, words) in cases {
        refuses(settings, &words).await;
    }
}

#[tokio::test]
async fn a_connection_string_that_cannot_be_read_is_not_shown() {
    let unreadable = [
        "postgresql://vault:one@canary@localhost/vault",
        "postgresql://vault:one@two/canary@localhost/vault",
        "postgresql://localhost/vault?sslmode=canary",
        "canary",
        "host=localhost canary=canary",
    ];
    for database in unreadable {
        refuses(settings(database), &["cannot be read", "percent-encoded"]).await;
    }
}

#[tokio::test]
async fn waiting_for_a_silent_database_has_a_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut settings = settings(&format!("postgresql://vault:canary@127.0.0.1:{port}/vault"));
    settings.wait = Duration::from_millis(50);
    refuses(settings, &["cannot be reached", "no answer for 50ms"]).await;

    let Some(place) = Place::new().await else {
        return;
    };
    let mut settings = place.settings();
    settings.connections = 1;
    drop(place.store().await);
    settings.wait = Duration::from_secs(2);
    let store: Arc<dyn VaultStore> = Arc::new(PostgresVault::connect(settings).await.unwrap());
    place
        .admin
        .batch_execute("BEGIN; LOCK askback_vault_records")
        .await
        .unwrap();
    let holder = (&ada()).into();
    let words = ["is lost", "no answer for 2s", "next call connects again"];
    refused(store.list::<VaultRecord>(Filter::of(&holder)).await, &words);
    place.admin.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(
        store
            .list::<VaultRecord>(Filter::of(&holder))
            .await
            .unwrap(),
        vec![]
    );
}

#[tokio::test]
async fn connections_are_bounded() {
    let Some(place) = Place::new().await else {
        return;
    };
    let mut settings = place.settings();
    settings.connections = 2;
    let store: Arc<dyn VaultStore> = Arc::new(PostgresVault::connect(settings).await.unwrap());
    place
        .admin
        .batch_execute("BEGIN; LOCK askback_vault_records")
        .await
        .unwrap();
    let mut calls = Vec::new();
    for _ in 0..20 {
        let store = Arc::clone(&store);
        calls.push(tokio::spawn(async move {
            store
                .list::<VaultRecord>(Filter::of(&(&ada()).into()))
                .await
        }));
    }
    place.until_one_waits().await;
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
    let count = place
        .admin
        .query_one(count, &[&place.schema])
        .await
        .unwrap();
    assert!(count.get::<_, i64>(0) <= 2, "{count:?}");
    place.admin.batch_execute("ROLLBACK").await.unwrap();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), vec![]);
    }
}

#[tokio::test]
async fn a_call_whose_connection_is_lost_says_so_and_the_next_one_connects_again() {
    let Some(place) = Place::new().await else {
        return;
    };
    let vault = vault(place.store().await).await;
    vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    let read = async |vault: Vault| vault.accounts(&ada()).await.map(|all| all.len());
    let write = async |vault: Vault| {
        vault
            .put(&ada(), "gitlab", "a", tokens(1))
            .await
            .map(|()| 1)
    };
    let lock = "BEGIN; LOCK askback_vault_records";
    for is_write in [false, true] {
        place.admin.batch_execute(lock).await.unwrap();
        let call = async {
            match is_write {
                true => write(vault.clone()).await,
                false => read(vault.clone()).await,
            }
        };
        let cut = async {
            place.until_one_waits().await;
            place.cut().await
        };
        let (done, cut) = tokio::join!(call, cut);
        assert!(cut > 0);
        refused(
            done,
            &[
                "connection to PostgreSQL is lost",
                "next call connects again",
            ],
        );
        place.admin.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(read(vault.clone()).await.unwrap(), 1);
    }
    assert_eq!(write(vault.clone()).await.unwrap(), 1);
    assert_eq!(read(vault).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_tokens_are_kept_though_the_connection_is_lost_while_they_are_written() {
    let Some((place, stage)) = staged().await else {
        return;
    };
    let vault = stage.vault().await;
    vault
        .put(&ada(), "github", "a", tokens(0).expires(1))
        .await
        .unwrap();
    let provider = Provider::held(&stage);
    let call = {
        let (vault, renewer) = (vault.clone(), provider.renewer());
        tokio::spawn(async move { vault.get(&wanted(&ada()), &renewer).await })
    };
    until(|| provider.requests() == 1).await;
    place
        .admin
        .batch_execute("BEGIN; LOCK askback_vault_records")
        .await
        .unwrap();
    provider.answers.add_permits(1);
    place.until_one_waits().await;
    assert!(place.cut().await > 0);
    place.admin.batch_execute("ROLLBACK").await.unwrap();
    let given = call.await.unwrap().unwrap();
    assert_eq!(given.secret.expose(), "canary-access-1");
    assert_eq!(provider.requests(), 1);
}

#[tokio::test]
async fn a_dump_shows_no_secret() {
    let Some((place, stage)) = staged().await else {
        return;
    };
    let vault = stage.vault().await;
    let provider = Provider::new(&stage);
    vault
        .put(&ada(), "github", "a", tokens(0).expires(1))
        .await
        .unwrap();
    vault
        .get(&wanted(&ada()), &provider.renewer())
        .await
        .unwrap();
    let key = Grant::api_key(Secret::new("canary-key"));
    vault.put(&ada(), "weather", "a", key).await.unwrap();
    vault.put(&ada(), "gitlab", "a", tokens(5)).await.unwrap();
    vault.disconnect(&ada(), "gitlab", "a").await.unwrap();
    let wrapped = stage
        .store
        .list::<TenantKey>(Filter::tenant(Some("acme")))
        .await
        .unwrap()
        .remove(0)
        .wrapped;
    let dump = Command::new(place.cluster.programs.join("pg_dump"))
        .args(["--host", &place.cluster.directory, "--username", "postgres"])
        .args(["--schema", &place.schema, "postgres"])
        .env("PGPASSWORD", "administrator")
        .output()
        .unwrap();
    assert!(dump.status.success(), "{dump:?}");
    let dump = String::from_utf8(dump.stdout).unwrap();
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    // The dump contains the records, and shows bytes as hexadecimal digits.
    for there in ["github", "weather", "gitlab", &hex(&wrapped.bytes)] {
        assert!(dump.contains(there), "{there}");
    }
    for secret in ["canary", &hex(b"canary"), &hex(&[7; 32])] {
        assert!(!dump.contains(secret), "the dump shows {secret}");
    }
}

#[tokio::test]
async fn a_row_that_is_copied_to_another_person_does_not_open() {
    let Some((place, stage)) = staged().await else {
        return;
    };
    let vault = stage.vault().await;
    let provider = Provider::new(&stage);
    vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    let other = |tenant: &str, subject: &str| -> Principal { person(tenant, subject) };
    vault
        .put(&other("else", "eve"), "x", "x", tokens(1))
        .await
        .unwrap();
    // The key is copied with the row, so only the seal protects it.
    let copies = [
        "INSERT INTO askback_vault_records
             SELECT tenant, issuer, 'bob', provider, account, name, version, state, until, failures, scopes,
                 obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until
             FROM askback_vault_records WHERE subject = 'ada'",
        "INSERT INTO askback_vault_keys SELECT '=else', 99, id, kek_id, wrapped, made FROM askback_vault_keys
             WHERE tenant = '=acme'",
        "INSERT INTO askback_vault_records
             SELECT '=else', issuer, subject, provider, account, name, version, state, until, failures, scopes,
                 obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until
             FROM askback_vault_records WHERE subject = 'ada'",
    ];
    for copy in copies {
        assert_eq!(place.admin.execute(copy, &[]).await.unwrap(), 1);
    }
    for thief in [other("acme", "bob"), other("else", "ada")] {
        let refused = vault.get(&wanted(&thief), &provider.renewer()).await;
        assert!(refused.is_err(), "{refused:?}");
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, VaultError::NotAuthentic | VaultError::Keys(_)),
            "{refused:?}"
        );
    }
    let given = vault
        .get(&wanted(&ada()), &provider.renewer())
        .await
        .unwrap();
    assert_eq!(given.secret.expose(), "canary-access-0");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_make_the_tables_at_the_same_time() {
    let Some(place) = Place::new().await else {
        return;
    };
    let mut openers = tokio::task::JoinSet::new();
    for _ in 0..6 {
        openers.spawn(PostgresVault::connect(place.settings()));
    }
    let stores = openers.join_all().await;
    let first = vault(Arc::new(stores.into_iter().next().unwrap().unwrap())).await;
    first.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    let again = vault(place.store().await).await;
    assert_eq!(again.accounts(&ada()).await.unwrap().len(), 1);
    let versions = place
        .admin
        .query("SELECT version FROM askback_schemas", &[])
        .await
        .unwrap();
    let versions: Vec<i64> = versions.iter().map(|row| row.get(0)).collect();
    assert_eq!(versions, [11]);
}

#[tokio::test]
async fn tables_of_another_version_are_refused() {
    let Some(place) = Place::new().await else {
        return;
    };
    drop(place.store().await);
    for (version, remedy) in [(12, "update the program"), (10, "move them away")] {
        let update = format!("UPDATE askback_schemas SET version = {version}");
        place.admin.execute(&update, &[]).await.unwrap();
        refuses(
            place.settings(),
            &[&format!("have version {version},"), remedy],
        )
        .await;
    }
}

#[tokio::test]
async fn a_database_user_who_may_not_create_tables_can_use_existing_ones() {
    let Some(place) = Place::new().await else {
        return;
    };
    let schema = &place.schema;
    let grant = format!("GRANT USAGE ON SCHEMA {schema} TO server");
    place.admin.batch_execute(&grant).await.unwrap();
    let database = place.database().replace("user=vault", "user=server");
    let settings = settings(&format!("{database} password={PASSWORD}"));
    refuses(
        settings.clone(),
        &["permission denied for schema", "grant it"],
    )
    .await;
    drop(place.store().await);
    let grant =
        format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO server");
    place.admin.batch_execute(&grant).await.unwrap();
    let vault = vault(Arc::new(PostgresVault::connect(settings).await.unwrap())).await;
    vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    assert!(vault.disconnect(&ada(), "github", "a").await.unwrap());
    assert!(vault.delete_tenant(Some("acme")).await.unwrap());
    assert_eq!(vault.audit(Some("acme"), 0, 9).await.unwrap().len(), 3);
}

const CERTIFICATE: &[u8] = include_bytes!("tls/certificate.pem");
const KEY: &[u8] = include_bytes!("tls/key.pem");

fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Forwards TCP to a cluster, with TLS if there is an acceptor. Returns its port.
async fn proxy(place: &Place, acceptor: Option<TlsAcceptor>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = format!("{}/.s.PGSQL.5432", place.cluster.directory);
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let (acceptor, socket) = (acceptor.clone(), socket.clone());
            tokio::spawn(async move {
                let mut server = UnixStream::connect(socket).await.unwrap();
                let Some(acceptor) = acceptor else {
                    // PostgreSQL itself replies that it has no TLS.
                    return copy_bidirectional(&mut client, &mut server).await.map(drop);
                };
                client.read_exact(&mut [0; 8]).await?;
                client.write_all(b"S").await?;
                let mut client = acceptor.accept(client).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            });
        }
    });
    port
}

#[tokio::test]
async fn another_machine_is_reached_by_tls_alone() {
    let Some(place) = Place::new().await else {
        return;
    };
    let (secured, plain) = (
        proxy(&place, Some(acceptor())).await,
        proxy(&place, None).await,
    );
    let authorities = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/connect/tls/authority.pem"
    );
    let schema = &place.schema;
    let of = |host: &str, port: u16, rest: &str| {
        let mut settings = settings(&format!(
            "postgresql://vault:{PASSWORD}@{host}:{port}/postgres?hostaddr=127.0.0.1&options=-csearch_path%3D{schema}{rest}"
        ));
        settings.authorities = Some(authorities.into());
        settings
    };
    let store = PostgresVault::connect(of("localhost", secured, ""))
        .await
        .unwrap();
    let vault = vault(Arc::new(store)).await;
    vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    for given in ["", "&sslmode=prefer", "&sslmode=require"] {
        let words = ["does not support TLS", "sslmode=disable"];
        refuses(of("localhost", plain, given), &words).await;
    }
    let store = PostgresVault::connect(of("localhost", plain, "&sslmode=disable")).await;
    assert!(store.is_ok(), "{store:?}");
    let words = ["by TLS", "certificate", "PostgresSettings::authorities"];
    refuses(of("db.example", secured, ""), &words).await;
    let mut stranger = of("localhost", secured, "");
    stranger.authorities = None;
    refuses(stranger, &words).await;
}

#[tokio::test]
async fn a_file_without_authorities_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (file, why) in [
        (empty, "holds no certificate"),
        (directory.path().join("none.pem"), "No such file"),
    ] {
        let mut settings = settings("postgresql://vault:canary@localhost/vault");
        settings.authorities = Some(file);
        refuses(settings, &[why, "give a PEM file"]).await;
    }
}
