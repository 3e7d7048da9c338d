//! The contract of buses, and what happens when their engine restarts.

use std::{env, fs, net::TcpListener, process::Command, sync::Arc, time::Duration};

use askback::{
    journal::{Bus, HeardHints, StoreError, Topic},
    testing::check_bus,
};
use askback_fleet::{NatsBus, PostgresBus, PostgresSettings, RedisBus, RedisCallCounter, Secret};
use tokio::time::{sleep, timeout};

use crate::{cluster::Cluster, engine::Engine, log::Log, place};

/// The machine that runs the tests may be slow.
const PATIENCE: Duration = Duration::from_secs(60);

async fn nats(engine: &Engine, service: &str) -> Arc<dyn Bus> {
    let address = Secret::new(format!("nats://127.0.0.1:{}", engine.port));
    let bus = NatsBus::connect(&address, service).await;
    Arc::new(bus.expect("it connects"))
}

async fn redis(engine: &Engine, service: &str) -> Arc<dyn Bus> {
    let address = Secret::new(format!("redis://127.0.0.1:{}", engine.port));
    let bus = RedisBus::connect(&address, service).await;
    Arc::new(bus.expect("it connects"))
}

async fn postgres(settings: &PostgresSettings) -> Arc<dyn Bus> {
    let bus = PostgresBus::connect(settings.clone()).await;
    Arc::new(bus.expect("it connects"))
}

/// Each rule gets a service of its own.
async fn check(connect: impl AsyncFn(&str) -> Arc<dyn Bus>) {
    let count = std::cell::Cell::new(0);
    let connect = &connect;
    let checked = check_bus(async || {
        count.set(count.get() + 1);
        let service = format!("agency.{} *>", count.get());
        async move || connect(&service).await
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_keeps_the_contract_of_buses() {
    let Some(engine) = Engine::start("nats-server", &[]) else {
        return;
    };
    check(async |service| nats(&engine, service).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_the_contract_of_buses() {
    let Some(engine) = Engine::start("redis-server", &[]) else {
        return;
    };
    check(async |service| redis(&engine, service).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_the_contract_of_buses() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let checked = check_bus(async || {
        let settings = place(&cluster);
        async move || postgres(&settings).await
    });
    checked.await.unwrap_or_else(|broken| panic!("{broken}"));
}

async fn hear(bus: &dyn Bus, after: Option<u64>) -> HeardHints {
    let heard = timeout(PATIENCE, bus.hear(after)).await;
    heard.expect("something is heard").expect("the bus works")
}

/// Interrupts the connections of two processes, and checks that both receive a gap and then new hints.
async fn interrupt([bus, other]: [Arc<dyn Bus>; 2], interruption: impl FnOnce()) {
    let begin = hear(&*other, None).await.cursor;
    interruption();
    let gap = hear(&*other, Some(begin)).await;
    assert!(gap.has_gap);
    bus.publish(Topic::Changed, b"after");
    let mut cursor = gap.cursor;
    loop {
        // The other process reports a gap, too, if it noticed only now that it was disconnected.
        let heard = hear(&*other, Some(cursor)).await;
        if heard.hints == [(Topic::Changed, b"after".to_vec())] {
            break;
        }
        assert!(heard.has_gap);
        cursor = heard.cursor;
        bus.publish(Topic::Changed, b"after");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_nats_is_a_gap() {
    let Some(mut engine) = Engine::start("nats-server", &[]) else {
        return;
    };
    let buses = [nats(&engine, "a").await, nats(&engine, "a").await];
    interrupt(buses, || engine.restart()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_redis_is_a_gap() {
    let Some(mut engine) = Engine::start("redis-server", &[]) else {
        return;
    };
    let buses = [redis(&engine, "a").await, redis(&engine, "a").await];
    interrupt(buses, || engine.restart()).await;
}

const ADDRESS: &str = "ASKBACK_TEST_REDIS";

/// A process reads from its environment which authorities it trusts, so this needs one of its own.
#[tokio::test]
#[ignore = "it is started by another test"]
async fn in_a_process_of_its_own_redis_is_reached_by_tls() {
    let address = |host: &str| {
        let port = env::var(ADDRESS).expect("the test sets it");
        Secret::new(format!("rediss://{host}:{port}"))
    };
    let connect = async || RedisBus::connect(&address("localhost"), "a").await;
    let (bus, other) = (connect().await.expect("it connects"), connect().await);
    let other = other.expect("it connects");
    assert!(bus.was_reached() && other.was_reached());
    let begin = hear(&other, None).await.cursor;
    bus.publish(Topic::Changed, b"x");
    let heard = hear(&other, Some(begin)).await;
    assert_eq!(heard.hints, [(Topic::Changed, b"x".to_vec())]);
    let counter = RedisCallCounter::connect(&address("localhost"), "a").await;
    counter.expect("it connects");
    // The certificate has another name.
    let refused = RedisBus::connect(&address("127.0.0.1"), "a").await;
    assert!(!refused.expect("it connects later").was_reached());
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_is_reached_by_tls() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../askback-connect/tests/connect/tls"
    );
    let [authority, certificate, key] =
        ["authority", "certificate", "key"].map(|it| format!("{folder}/{it}.pem"));
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = free
        .local_addr()
        .expect("it has an address")
        .port()
        .to_string();
    drop(free);
    let arguments = [
        ["--tls-port", &port],
        ["--tls-cert-file", &certificate],
        ["--tls-key-file", &key],
        ["--tls-ca-cert-file", &authority],
        ["--tls-auth-clients", "no"],
    ];
    let Some(_engine) = Engine::start("redis-server", arguments.as_flattened()) else {
        return;
    };
    let test = "buses::in_a_process_of_its_own_redis_is_reached_by_tls";
    for (trusted, is_reached) in [(&authority, true), (&certificate, false)] {
        let this = env::current_exe().expect("it is running");
        let mut child = Command::new(this);
        child.args(["--exact", test, "--ignored"]);
        child.env("SSL_CERT_FILE", trusted).env(ADDRESS, &port);
        let output = child.output().expect("it starts");
        assert_eq!(output.status.success(), is_reached, "{output:?}");
    }
}

/// A process connects while its bus is down, and the bus comes up later.
async fn start_early(program: &'static str, connect: impl AsyncFn(&Engine, &str) -> Arc<dyn Bus>) {
    let Some(mut engine) = Engine::start(program, &[]) else {
        return;
    };
    engine.stop();
    let log = Log::default();
    let listening = log.listen();
    let bus = connect(&engine, "a").await;
    drop(listening);
    let said = log.text();
    assert!(said.contains("the bus cannot be reached"), "{said}");
    assert!(!said.contains("the store"), "{said}");
    assert!(!bus.was_reached() && !bus.is_refused());
    let begin = hear(&*bus, None).await.cursor;
    engine.restart();
    // Whatever happened before it was connected is unknown.
    let gap = hear(&*bus, Some(begin)).await;
    assert!(gap.has_gap);
    assert!(bus.was_reached());
    let other = connect(&engine, "a").await;
    assert!(other.was_reached());
    other.publish(Topic::Changed, b"after");
    let heard = hear(&*bus, Some(gap.cursor)).await;
    assert_eq!(heard.hints, [(Topic::Changed, b"after".to_vec())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_starts_before_nats() {
    start_early("nats-server", nats).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_starts_before_redis() {
    start_early("redis-server", redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_to_postgres_is_a_gap() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let settings = place(&cluster);
    let buses = [postgres(&settings).await, postgres(&settings).await];
    interrupt(buses, || {
        let name = crate::application(&settings);
        let statement = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{name}'"
        );
        cluster.run_as_administrator(&statement);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_knows_who_connects() {
    let users = ["--user", "agency", "--pass", "p@ss:wörd"];
    for (arguments, accepted, refused) in [
        (&users[..], "agency:p%40ss%3Aw%C3%B6rd@", "agency:canary@"),
        (&users[..], "agency:p%40ss%3Aw%C3%B6rd@", ""),
        (&["--auth", "t/oken"][..], "t%2Foken@", "canary@"),
    ] {
        let Some(engine) = Engine::start("nats-server", arguments) else {
            return;
        };
        let connect = async |who: &str| {
            let address = format!("nats://{who}127.0.0.1:{}", engine.port);
            NatsBus::connect(&Secret::new(address), "a").await
        };
        let log = Log::default();
        let listening = log.listen();
        connect(accepted).await.expect("it connects");
        drop(listening);
        // The client library logs where it connects.
        let said = log.text();
        assert!(said.contains(&engine.port.to_string()), "{said}");
        for secret in ["p%40ss", "p@ss", "t%2Foken", "t/oken"] {
            assert!(!said.contains(secret), "{said}");
        }
        let error = connect(refused).await.expect_err("it is refused");
        let said = error.to_string();
        assert!(said.contains("user"), "{said}");
        assert!(!said.contains("canary"), "{said}");
    }
}

#[tokio::test]
async fn nats_forbids_a_subject() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("nats.conf");
    let allow = |publish: &str, subscribe: &str| {
        let permissions = format!("{{ publish: [\"{publish}\"], subscribe: [\"{subscribe}\"] }}");
        let user = format!("{{ user: agency, password: canary, permissions: {permissions} }}");
        let text = format!("authorization {{ users = [{user}] }}");
        fs::write(&file, text).expect("it is written");
    };
    const REFUSES: &str = "the bus refuses this process";
    for (publish, subscribe, violation) in [
        ("other", "askback.a=2E1", "Publish"),
        ("askback.a=2E1", "other", "Subscription"),
        ("other", "other", "Subscription"),
    ] {
        allow(publish, subscribe);
        let arguments = ["--config", file.to_str().expect("it is text")];
        let Some(mut engine) = Engine::start("nats-server", &arguments) else {
            return;
        };
        let log = Log::default();
        let _listening = log.listen();
        let address = Secret::new(format!("nats://agency:canary@127.0.0.1:{}", engine.port));
        let bus = NatsBus::connect(&address, "a.1").await;
        let bus = bus.expect("the process goes on without a bus");
        assert!(bus.is_refused() && !bus.was_reached());
        let begin = hear(&bus, None).await.cursor;
        // It tries several times, and says it once.
        sleep(Duration::from_secs(1)).await;
        let said = log.text();
        let why = format!(
            "error=NATS: Permissions Violation for {violation} to \"askback.a=2E1\": allow this user to publish and to \
             subscribe to askback.a=2E1\n"
        );
        assert_eq!(said.matches(REFUSES).count(), 1, "{said}");
        assert!(said.contains(&why), "{why}: {said}");
        // These permissions are enough.
        allow("askback.a=2E1", "askback.a=2E1");
        engine.restart();
        let gap = hear(&bus, Some(begin)).await;
        assert!(gap.has_gap && bus.was_reached() && !bus.is_refused());
        bus.publish(Topic::Changed, b"after");
        let heard = hear(&bus, Some(gap.cursor)).await;
        assert_eq!(heard.hints, [(Topic::Changed, b"after".to_vec())]);
        allow(publish, subscribe);
        engine.restart();
        let refused = async {
            while !bus.is_refused() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let refused = timeout(PATIENCE, refused).await;
        refused.expect("it is refused again");
        assert!(bus.was_reached());
        assert_eq!(log.text().matches(REFUSES).count(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_knows_who_connects() {
    let Some(engine) = Engine::start("redis-server", &["--requirepass", "agency"]) else {
        return;
    };
    let client = redis::Client::open(format!("redis://:agency@127.0.0.1:{}", engine.port));
    let client = client.expect("it is an address");
    let connection = client.get_multiplexed_async_connection().await;
    let mut connection = connection.expect("it connects");
    for user in [
        "bus on >canary &askback:* +publish +subscribe",
        "counter on >canary ~askback:calls:* +eval +time +get +set",
        "reader on >canary ~* &* +subscribe +eval +time +get",
    ] {
        let mut create = redis::cmd("ACL");
        create.arg("SETUSER");
        for rule in user.split(' ') {
            create.arg(rule);
        }
        let created = create.exec_async(&mut connection).await;
        created.expect("it is created");
    }
    for (who, has_bus, has_counter) in [
        (":agency@", true, true),
        ("bus:canary@", true, false),
        ("counter:canary@", false, true),
        ("reader:canary@", false, false),
        (":canary@", false, false),
        ("", false, false),
    ] {
        let address = Secret::new(format!("redis://{who}127.0.0.1:{}", engine.port));
        let bus = RedisBus::connect(&address, "a").await;
        // A user that Redis knows, and forbids this.
        let is_forbidden = bus.as_ref().is_ok_and(Bus::is_refused);
        assert_eq!(
            is_forbidden,
            ["counter:canary@", "reader:canary@"].contains(&who)
        );
        let counter = RedisCallCounter::connect(&address, "a").await;
        for (is_accepted, error) in [
            (has_bus || is_forbidden, bus.err()),
            (has_counter, counter.err()),
        ] {
            match error {
                None => assert!(is_accepted, "{who} is accepted"),
                Some(StoreError::Failed(why) | StoreError::Bus(why)) => {
                    let said = why.to_string();
                    assert!(
                        !is_accepted && said.contains("refuses the user"),
                        "{who}: {said}"
                    );
                    assert!(!said.contains("canary"), "{said}");
                }
                Some(other) => panic!("{who}: {other}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_forbids_a_channel() {
    const REFUSES: &str = "the bus refuses this process";
    let Some(engine) = Engine::start("redis-server", &[]) else {
        return;
    };
    let client = redis::Client::open(format!("redis://127.0.0.1:{}", engine.port));
    let client = client.expect("it is an address");
    let connection = client.get_multiplexed_async_connection().await;
    let connection = connection.expect("it connects");
    let allow = async |rules: &str| {
        let mut create = redis::cmd("ACL");
        create.arg("SETUSER").arg("agency").arg("reset");
        for rule in "on >canary".split(' ').chain(rules.split(' ')) {
            create.arg(rule);
        }
        let created = create.exec_async(&mut connection.clone()).await;
        created.expect("it is created");
    };
    let address = Secret::new(format!("redis://agency:canary@127.0.0.1:{}", engine.port));
    for forbidding in [
        "&askback:a +subscribe",
        "&askback:a +publish",
        "&other +publish +subscribe",
    ] {
        allow(forbidding).await;
        let log = Log::default();
        let _listening = log.listen();
        let bus = RedisBus::connect(&address, "a").await;
        let bus = bus.expect("the process goes on without a bus");
        assert!(bus.is_refused() && !bus.was_reached());
        let begin = hear(&bus, None).await.cursor;
        // It tries several times, and says it once.
        sleep(Duration::from_secs(1)).await;
        let said = log.text();
        assert_eq!(said.matches(REFUSES).count(), 1, "{said}");
        let remedy = ": allow this user to publish and to subscribe to askback:a\n";
        assert!(said.contains(remedy) && !said.contains("canary"), "{said}");
        // These permissions are enough.
        allow("&askback:a +publish +subscribe").await;
        let gap = hear(&bus, Some(begin)).await;
        assert!(gap.has_gap && bus.was_reached() && !bus.is_refused());
        bus.publish(Topic::Changed, b"after");
        let heard = hear(&bus, Some(gap.cursor)).await;
        assert_eq!(heard.hints, [(Topic::Changed, b"after".to_vec())]);
        // Redis does not end a subscription whose command was forbidden later.
        allow("&askback:a +subscribe").await;
        let refused = async {
            while !bus.is_refused() {
                bus.publish(Topic::Changed, b"refused");
                sleep(Duration::from_millis(10)).await;
            }
        };
        let refused = timeout(PATIENCE, refused).await;
        refused.expect("it is refused again");
        assert!(bus.was_reached());
    }
}

#[tokio::test]
async fn an_address_of_another_kind_is_refused_and_not_shown() {
    for address in ["http://me:canary@host", "canary", "nats://me:canary@host:x"] {
        let address = Secret::new(address);
        let refused = [
            NatsBus::connect(&address, "a").await.err(),
            RedisBus::connect(&address, "a").await.err(),
        ];
        for error in refused {
            let said = format!("{:?}", error.expect("it is refused"));
            assert!(said.contains("cannot be read"), "{said}");
            assert!(!said.contains("canary"), "{said}");
        }
    }
}
