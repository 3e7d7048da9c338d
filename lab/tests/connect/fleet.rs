//! Fifty calls in three processes share one account, and processes are killed at each step of a renewal. The
//! authorization server treats a refresh token that is used twice as stolen. Whenever the tokens survive, the other
//! processes continue with the right one, after a single renewal per expiry. If they are lost with a process, the user
//! has to connect again.

use std::{
    collections::VecDeque,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use askback_connect::vault::{
    Grant, LocalKeys, PostgresSettings, PostgresVault, SqliteVault, Vault, VaultSettings,
    VaultStore,
};
use askback_core::{
    ask::{
        Millis,
        keys::{Key, KeyRing},
    },
    clock::Clock,
};
use askback_oauth::Secret;
use lab::{
    airline::{Airline, SCOPE},
    fleet::{KEY, LASTS, PROVIDER, person},
    issuers::{Event, Maker, Role},
    loopback,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin},
    sync::mpsc,
    time::timeout,
};

use crate::{
    Result, browser,
    by_hand::ByHand,
    cluster::{ADMINISTRATOR, Cluster, PASSWORD},
    wire::{Place, Wire},
};

const CALLS: [usize; 3] = [17, 17, 16];
const RENEWALS: usize = 4;

/// The start time of all clocks, when the first token has expired.
const NOW: Millis = 1_800_000_000_000;

/// How long a call waits for another process's renewal, and how much longer a lease lasts, as in [`VaultSettings`].
const WAIT: Millis = 20_000;
const REST_OF_LEASE: Millis = 10_000;

const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It has the lease, but has not sent the request.
    Leased,
    Sent,
    /// The provider has issued new tokens, but the response has not arrived.
    Answered,
    /// It has the new tokens, but has not stored them.
    Given,
    Stored,
    /// It waits for another process to renew the token.
    Waiting,
}

#[derive(Clone, Copy)]
enum Database {
    Sqlite,
    Postgres,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Called {
    Token(String),
    Unavailable,
    Reconnect,
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Millis {
        NOW
    }
}

struct Shared {
    by_hand: ByHand,
    airline: Airline,
    database: String,
    vault: Vault,
    _cluster: Option<Arc<Cluster>>,
}

struct Fleet {
    shared: Shared,
    wire: Wire,
    members: Vec<Member>,
    /// The output lines of the members, with the number of the member.
    said: mpsc::UnboundedReceiver<(usize, String)>,
    saying: mpsc::UnboundedSender<(usize, String)>,
    /// Lines that arrived while waiting for another one.
    early: VecDeque<(usize, String)>,
    now: Millis,
}

struct Member {
    process: Child,
    told: ChildStdin,
}

impl Shared {
    async fn set(name: &str, database: Database) -> Result<Option<Self>> {
        let role = Role::third_party(&[SCOPE]);
        let by_hand = ByHand::start(Maker::OidcProvider, role, |client| client).await?;
        let Some(by_hand) = by_hand else {
            return Ok(None);
        };
        let airline = Airline::start(by_hand.endpoint("introspection")?).await?;
        let (database, cluster, store) = match database {
            Database::Sqlite => {
                let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
                let directory = directory.join(format!("connect-fleet-{name}"));
                let _ = fs::remove_dir_all(&directory);
                fs::create_dir_all(&directory)?;
                let path = directory.join("vault.db").display().to_string();
                let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::open(&path)?);
                (path, None, store)
            }
            Database::Postgres => {
                let Some(cluster) = Cluster::join() else {
                    return Ok(None);
                };
                let database = schema(&cluster)?;
                let settings = PostgresSettings::new(Secret::new(&*database));
                let store = PostgresVault::connect(settings).await?;
                (database, Some(cluster), Arc::new(store) as _)
            }
        };
        let keys = Arc::new(LocalKeys::new(KeyRing::new(Key::new(&KEY))));
        let settings = VaultSettings::default();
        let vault = Vault::open_with(store, keys, settings, Arc::new(Still)).await?;
        Ok(Some(Self {
            by_hand,
            airline,
            database,
            vault,
            _cluster: cluster,
        }))
    }

    /// Connects the user's account, with a token that expires at `ends`.
    async fn connect(&self, login: &str, ends: Millis) -> Result<()> {
        let browser = browser().await?.ok_or("there is no browser")?;
        let ada = browser.person(login).await?;
        let tokens = self.by_hand.tokens(&ada, login, SCOPE).await?;
        let token = |name: &str| tokens[name].as_str().map(Secret::new);
        let access = token("access_token").ok_or("there is no token")?;
        let granted = Grant::tokens(access, token("refresh_token")).expires(ends);
        Ok(self.vault.put(&person(), PROVIDER, "ada", granted).await?)
    }

    async fn is_good(&self, token: &str) -> Result<bool> {
        let bearer = format!("Bearer {token}");
        let answer = loopback::get(&self.airline.miles, &[("Authorization", &bearer)]).await?;
        Ok(answer.status == 200)
    }
}

/// Creates an empty schema, and returns its connection string.
fn schema(cluster: &Cluster) -> Result<String> {
    let (directory, schema) = (&cluster.directory, cluster.new_name());
    let made = Command::new(cluster.programs.join("psql"))
        .args(["--quiet", "--no-psqlrc", "--host", directory])
        .args(["--username", "postgres", "--set", "ON_ERROR_STOP=1"])
        .arg("--command")
        .arg(format!("CREATE SCHEMA {schema} AUTHORIZATION vault"))
        .env("PGPASSWORD", ADMINISTRATOR)
        .stdin(Stdio::null())
        .status()?;
    assert!(made.success(), "{made}");
    Ok(format!(
        "host={directory} user=vault password={PASSWORD} dbname=postgres options='-csearch_path={schema}'"
    ))
}

impl Fleet {
    /// Starts three processes; `None` with a note if something they need is missing.
    async fn start(name: &str, database: Database) -> Result<Option<Self>> {
        if browser().await?.is_none() {
            return Ok(None);
        }
        let Some(shared) = Shared::set(name, database).await? else {
            return Ok(None);
        };
        shared.connect("ada", NOW).await?;
        let wire = Wire::to(shared.by_hand.endpoint("token")?).await?;
        let (saying, said) = mpsc::unbounded_channel();
        let mut fleet = Self {
            shared,
            wire,
            members: Vec::new(),
            said,
            saying,
            early: VecDeque::new(),
            now: NOW,
        };
        for _ in CALLS {
            fleet.join().await?;
        }
        Ok(Some(fleet))
    }

    async fn join(&mut self) -> Result<()> {
        let mut process = tokio::process::Command::new(env!("CARGO_BIN_EXE_fleet-member"))
            .arg(&self.shared.database)
            .arg(&self.shared.by_hand.issuer.name)
            .arg(&self.wire.url)
            .arg(self.now.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let told = process.stdin.take().ok_or("it is piped")?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("it is piped")?).lines();
        let (number, saying) = (self.members.len(), self.saying.clone());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                // The test may be over.
                let _ = saying.send((number, line));
            }
        });
        self.members.push(Member { process, told });
        assert_eq!(self.hear().await?, (number, "ready".to_owned()));
        Ok(())
    }

    async fn tell(&mut self, member: usize, line: &str) -> Result<()> {
        let told = &mut self.members[member].told;
        Ok(told.write_all(format!("{line}\n").as_bytes()).await?)
    }

    async fn hear(&mut self) -> Result<(usize, String)> {
        if let Some(early) = self.early.pop_front() {
            return Ok(early);
        }
        let heard = timeout(PATIENCE, self.said.recv()).await;
        Ok(heard
            .map_err(|_| "a process hangs")?
            .ok_or("all are gone")?)
    }

    async fn hear_of(&mut self, wanted: &str) -> Result<usize> {
        let (member, line) = self.hear().await?;
        assert_eq!(line, wanted, "process {member}");
        Ok(member)
    }

    async fn kill(&mut self, member: usize) -> Result<()> {
        Ok(self.members[member].process.kill().await?)
    }

    /// Starts this many calls that need the token, in each process.
    async fn call(&mut self, calls: &[(usize, usize)]) -> Result<()> {
        for (member, calls) in calls {
            self.tell(*member, &format!("call {calls}")).await?;
        }
        Ok(())
    }

    /// Returns the outcomes of `calls` calls, and the number of requests to the provider in the meantime.
    async fn called(&mut self, calls: usize) -> Result<(Vec<Called>, usize)> {
        let (mut called, mut asked) = (Vec::new(), 0);
        while called.len() < calls {
            let (member, line) = self.hear().await?;
            called.push(match line.split_once(' ').unwrap_or((&line, "")) {
                ("token", token) => Called::Token(token.to_owned()),
                ("unavailable", "") => Called::Unavailable,
                ("reconnect", "") => Called::Reconnect,
                ("asking", "") => {
                    asked += 1;
                    continue;
                }
                ("given", "") => continue,
                _ => return Err(format!("process {member}: {line}").into()),
            });
        }
        Ok((called, asked))
    }

    /// Advances the clocks of these processes. Their other output is kept for later.
    async fn turn(&mut self, members: &[usize], by: Millis) -> Result<()> {
        self.now += by;
        for member in members {
            self.tell(*member, &format!("turn {by}")).await?;
        }
        let (mut turned, mut early) = (Vec::new(), VecDeque::new());
        while turned.len() < members.len() {
            let (member, line) = self.hear().await?;
            match &*line {
                "turned" => turned.push(member),
                _ => early.push_back((member, line)),
            }
        }
        turned.sort_unstable();
        assert_eq!(turned, members);
        self.early = early;
        Ok(())
    }

    /// Whether all calls got the same token, and the airline accepts it.
    async fn have_one_good_token(&self, called: &[Called]) -> Result<bool> {
        let Some(Called::Token(first)) = called.first() else {
            return Ok(false);
        };
        let is_same = called.iter().all(|it| *it == called[0]);
        Ok(is_same && self.shared.is_good(first).await?)
    }

    /// Returns the authorization server's log since the account was connected.
    async fn log(&self) -> Result<Vec<Event>> {
        let log = self.shared.by_hand.issuer.log().await?;
        let codes = |it: &Event| matches!(it, Event::Token { grant: Some(grant), .. } if grant == "authorization_code");
        let last = log.iter().rposition(codes);
        Ok(log.into_iter().skip(last.map_or(0, |at| at + 1)).collect())
    }
}

fn renewed(error: Option<&str>) -> Event {
    Event::Token {
        grant: Some("refresh_token".to_owned()),
        client: Some("kit".to_owned()),
        error: error.map(str::to_owned),
    }
}

async fn nobody_is_killed(name: &str, database: Database) -> Result<()> {
    let Some(mut fleet) = Fleet::start(name, database).await? else {
        return Ok(());
    };
    let calls: Vec<_> = CALLS.into_iter().enumerate().collect();
    for renewals in 1..=RENEWALS {
        fleet.call(&calls).await?;
        let (called, asked) = fleet.called(CALLS.iter().sum()).await?;
        assert!(fleet.have_one_good_token(&called).await?, "{called:?}");
        assert_eq!((asked, fleet.wire.requests()), (1, renewals));
        fleet.turn(&[0, 1, 2], LASTS).await?;
    }
    assert_eq!(fleet.log().await?, vec![renewed(None); RENEWALS]);
    Ok(())
}

async fn killed(name: &str, database: Database, step: Step) -> Result<()> {
    let Some(mut fleet) = Fleet::start(&format!("{name}-{step:?}"), database).await? else {
        return Ok(());
    };
    let all: usize = CALLS.iter().sum();
    match step {
        Step::Leased => {
            for member in 0..3 {
                fleet.tell(member, "hold asking").await?;
            }
        }
        Step::Given => {
            for member in 0..3 {
                fleet.tell(member, "hold given").await?;
            }
        }
        Step::Sent => fleet.wire.stop_next(Place::Request),
        Step::Answered | Step::Waiting => fleet.wire.stop_next(Place::Answer),
        Step::Stored => return stored(fleet).await,
    }
    let calls: Vec<_> = CALLS.into_iter().enumerate().collect();
    fleet.call(&calls).await?;
    let renewing = fleet.hear_of("asking").await?;
    match step {
        Step::Given => assert_eq!(fleet.hear_of("given").await?, renewing),
        Step::Sent | Step::Answered | Step::Waiting => {
            timeout(PATIENCE, fleet.wire.stopped()).await??;
        }
        Step::Leased | Step::Stored => {}
    }
    let others: Vec<_> = (0..3).filter(|it| *it != renewing).collect();
    for other in &others {
        fleet.tell(*other, "waits").await?;
        assert_eq!(fleet.hear_of("waits").await?, *other);
    }

    if step == Step::Waiting {
        fleet.kill(others[0]).await?;
        fleet.wire.go();
        let (called, asked) = fleet.called(all - CALLS[others[0]]).await?;
        assert!(fleet.have_one_good_token(&called).await?, "{called:?}");
        assert_eq!((asked, fleet.log().await?), (0, vec![renewed(None)]));
        return Ok(());
    }

    fleet.kill(renewing).await?;
    fleet.turn(&others, WAIT).await?;
    // Calls do not wait for a lease that no process holds.
    let (called, asked) = fleet.called(all - CALLS[renewing]).await?;
    assert!(called.iter().all(|it| *it == Called::Unavailable));
    assert_eq!(asked, 0);
    fleet.join().await?;
    let three = [others[0], others[1], 3];
    for member in three {
        fleet.tell(member, "hold nowhere").await?;
    }
    fleet.turn(&three, REST_OF_LEASE).await?;
    let calls: Vec<_> = three.into_iter().zip(CALLS).collect();
    fleet.call(&calls).await?;
    let (called, asked) = fleet.called(all).await?;
    assert_eq!(asked, 1, "{step:?}");
    if matches!(step, Step::Leased | Step::Sent) {
        assert!(fleet.have_one_good_token(&called).await?, "{called:?}");
        assert_eq!(fleet.log().await?, [renewed(None)]);
        return Ok(());
    }

    // The new tokens are lost, and the old ones are used up.
    assert!(
        called.iter().all(|it| *it == Called::Reconnect),
        "{called:?}"
    );
    let refused = renewed(Some("invalid_grant"));
    let expected = [renewed(None), Event::FamilyRevoked, refused];
    assert_eq!(fleet.log().await?, expected);
    fleet.call(&calls).await?;
    let (called, asked) = fleet.called(all).await?;
    assert!(
        called.iter().all(|it| *it == Called::Reconnect),
        "{called:?}"
    );
    assert_eq!(asked, 0);
    // After the user connects the account again, everything works.
    fleet.shared.connect("ada again", fleet.now).await?;
    fleet.call(&calls).await?;
    let (called, asked) = fleet.called(all).await?;
    assert!(fleet.have_one_good_token(&called).await?, "{called:?}");
    assert_eq!((asked, fleet.log().await?), (1, vec![renewed(None)]));
    Ok(())
}

/// One process renews the token, and is killed after storing it. The others use it at once, without advancing any
/// clock.
async fn stored(mut fleet: Fleet) -> Result<()> {
    fleet.call(&[(0, CALLS[0])]).await?;
    assert_eq!(fleet.hear_of("asking").await?, 0);
    assert_eq!(fleet.hear_of("given").await?, 0);
    let (first, _) = fleet.called(1).await?;
    fleet.kill(0).await?;
    // The earlier output of the process does not matter.
    let others = CALLS[1] + CALLS[2];
    fleet.call(&[(1, CALLS[1]), (2, CALLS[2])]).await?;
    let mut called = first;
    while called.len() < 1 + others {
        let (member, line) = fleet.hear().await?;
        match line.strip_prefix("token ") {
            Some(token) if member != 0 => called.push(Called::Token(token.to_owned())),
            Some(_) => {}
            None => return Err(format!("process {member}: {line}").into()),
        }
    }
    assert!(fleet.have_one_good_token(&called).await?, "{called:?}");
    assert_eq!(fleet.log().await?, [renewed(None)]);
    Ok(())
}

async fn at_each_step(name: &str, database: Database) -> Result<()> {
    for step in [
        Step::Leased,
        Step::Sent,
        Step::Answered,
        Step::Given,
        Step::Stored,
        Step::Waiting,
    ] {
        let done = killed(name, database, step).await;
        done.map_err(|error| format!("{step:?}: {error}"))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_renew_a_token_once_an_expiry() -> Result<()> {
    nobody_is_killed("all", Database::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn three_processes_on_postgres_renew_a_token_once_an_expiry() -> Result<()> {
    nobody_is_killed("all-postgres", Database::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_may_be_killed_at_each_step_of_a_renewal() -> Result<()> {
    at_each_step("sqlite", Database::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_on_postgres_may_be_killed_at_each_step_of_a_renewal() -> Result<()> {
    at_each_step("postgres", Database::Postgres).await
}
