//! Tokens that a vault does not keep are revoked, unless that would also revoke the ones it keeps.

use std::sync::Arc;

use askback_connect::vault::{
    AccountKey, AuditEvent, Change, Filter, Grant, Holder, IntentRoom, IntentRow, RenewalError,
    Renewer, Revocation, RevocationFailure, RevocationOutcome, Revoker, TokenKind, Vault,
    VaultError, VaultStore, WriteOutcome,
};
use askback_core::{clock::Clock as _, future::BoxFuture};
use askback_oauth::Secret;

use crate::stage::{HOUR, Hands, Provider, Stage, ada, keys, person, tokens};

const ACCESS: TokenKind = TokenKind::Access;
const REFRESH: TokenKind = TokenKind::Refresh;

async fn put(vault: &Vault, account: &str, granted: Grant) -> Result<(), VaultError> {
    vault.put(&ada(), "github", account, granted).await
}

async fn lines(vault: &Vault, event: AuditEvent) -> usize {
    let lines = vault.audit(Some("acme"), 0, 1000).await.unwrap();
    lines.iter().filter(|it| it.record.event == event).count()
}

fn revoked(numbers: &[usize]) -> Vec<(TokenKind, String)> {
    let both = |number| {
        [
            (REFRESH, format!("canary-refresh-{number}")),
            (ACCESS, format!("canary-access-{number}")),
        ]
    };
    numbers.iter().copied().flat_map(both).collect()
}

/// Puts two grants of one account, sends the pending revocations, and disconnects the account.
async fn check(is_single: bool, second: fn() -> Grant, first: &[(TokenKind, String)], all: usize) {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        *provider.is_single.lock().unwrap() = is_single;
        put(&vault, "ada-l", tokens(0)).await.unwrap();
        put(&vault, "ada-l", second()).await.unwrap();
        // The pending revocation of the first grant is not listed as an account.
        assert_eq!(vault.accounts(&ada()).await.unwrap().len(), 1);
        vault.revoke_due(&*provider).await.unwrap();
        assert_eq!(*provider.revoked.lock().unwrap(), first);
        let spared = lines(&vault, AuditEvent::RevocationSpared).await;
        assert_eq!(spared, usize::from(!is_single));

        vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
        let left = vault.revoke_due(&*provider).await.unwrap();
        assert_eq!(left, 1 + spared);
        assert_eq!(provider.revoked.lock().unwrap().len(), all);
        assert!(vault.accounts(&ada()).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn replaced_tokens_are_revoked_if_no_account_can_be_lost() {
    check(true, || tokens(1), &revoked(&[0]), 4).await;
    // The others are revoked once no account can be lost.
    check(false, || tokens(1), &[], 4).await;
    // The provider returned the same refresh token again.
    let same = || {
        let refresh = Some(Secret::new("canary-refresh-0"));
        Grant::tokens(Secret::new("canary-access-1"), refresh)
    };
    check(true, same, &revoked(&[0])[1..], 3).await;
}

#[tokio::test]
async fn connecting_again_keeps_the_new_tokens() {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        put(&vault, "ada-l", tokens(0)).await.unwrap();
        *provider.is_down.lock().unwrap() = true;
        vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 0);
        put(&vault, "ada-l", tokens(1)).await.unwrap();
        *provider.is_down.lock().unwrap() = false;
        stage.clock.turn(HOUR);
        // The provider may revoke the user's whole grant to this client.
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 0);
        assert!(provider.revoked.lock().unwrap().is_empty());
        assert_eq!(lines(&vault, AuditEvent::RevocationSpared).await, 1);
        // The revocation is checked repeatedly, but recorded once.
        for _ in 0..3 {
            stage.clock.turn(2 * HOUR);
            assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 0);
        }
        assert_eq!(lines(&vault, AuditEvent::RevocationSpared).await, 1);
        vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 2);
    }
}

#[tokio::test]
async fn another_user_of_the_same_account_keeps_it() {
    // The user who connects the same account, whether the provider names its accounts, and whether the first user's
    // tokens are revoked while the other user still has the account.
    for (other, is_named, is_revoked) in [
        (person("acme", "bob"), true, false),
        (person("else", "ada"), true, false),
        (person("acme", "bob"), false, true),
    ] {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            *provider.names_accounts.lock().unwrap() = is_named;
            put(&vault, "team", tokens(0)).await.unwrap();
            vault
                .put(&other, "github", "team", tokens(1))
                .await
                .unwrap();
            vault.disconnect(&ada(), "github", "team").await.unwrap();
            let done = vault.revoke_due(&*provider).await.unwrap();
            assert_eq!(done, usize::from(is_revoked));
            let first = if is_revoked { revoked(&[0]) } else { vec![] };
            assert_eq!(*provider.revoked.lock().unwrap(), first);
            vault.disconnect(&other, "github", "team").await.unwrap();
            stage.clock.turn(2 * HOUR);
            vault.revoke_due(&*provider).await.unwrap();
            let mut told = provider.revoked.lock().unwrap().clone();
            told.sort_by_key(|(_, token)| token.rsplit('-').next().map(str::to_owned));
            assert_eq!(told, revoked(&[0, 1]));
        }
    }
}

#[tokio::test]
async fn nothing_is_revoked_while_the_provider_is_giving_tokens() {
    for is_single in [false, true] {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            *provider.is_single.lock().unwrap() = is_single;
            put(&vault, "ada-l", tokens(0)).await.unwrap();
            vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
            let now = stage.clock.now();
            let intent = IntentRow {
                id: [1; 16],
                holder: Holder::from(&ada()),
                provider: "github".to_owned(),
                expires: now + HOUR,
                busy_until: now + 60_000,
                version: 1,
                is_open: true,
                body: Vec::new(),
            };
            let room = IntentRoom {
                open: 9,
                closed: 9,
                at_work: 0,
                before: 0,
            };
            let added = stage
                .store
                .write(Change::add_intent(&intent, room, now))
                .await;
            assert!(added.unwrap().is_kept());
            let done = vault.revoke_due(&*provider).await.unwrap();
            assert_eq!(done, usize::from(is_single));
            stage.clock.turn(60_000);
            let done = vault.revoke_due(&*provider).await.unwrap();
            assert_eq!(done, usize::from(!is_single));
            assert_eq!(*provider.revoked.lock().unwrap(), revoked(&[0]));
        }
    }
}

#[tokio::test]
async fn a_token_that_another_record_uses_is_not_revoked() {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        *provider.is_single.lock().unwrap() = true;
        let bob = person("else", "bob");
        put(&vault, "team", tokens(0)).await.unwrap();
        let same = Secret::new("canary-refresh-0");
        let granted = Grant::tokens(Secret::new("canary-access-1"), Some(same));
        vault.put(&bob, "github", "team", granted).await.unwrap();
        vault.disconnect(&ada(), "github", "team").await.unwrap();
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 1);
        assert_eq!(*provider.revoked.lock().unwrap(), revoked(&[0])[1..]);
    }
}

#[tokio::test]
async fn tokens_that_are_not_stored_are_revoked() {
    for stage in Stage::all().await {
        let within = |settings: &mut askback_connect::vault::VaultSettings| settings.accounts = 1;
        let vault = stage.vault_within(Arc::new(keys(7)), within).await;
        let provider = Provider::new(&stage);
        let (ada, key) = (ada(), Grant::api_key(Secret::new("canary-key")));
        let discarded = vault.discard(&ada, "github", "fewer", tokens(0)).await;
        discarded.unwrap();
        // Only the user can revoke a key.
        vault.discard(&ada, "pay", "pay", key).await.unwrap();
        put(&vault, "one", tokens(1)).await.unwrap();
        let refused = put(&vault, "two", tokens(2)).await;
        assert!(matches!(refused, Err(VaultError::Refused { .. })));
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 2);
        let mut told = provider.revoked.lock().unwrap().clone();
        told.sort_by_key(|(_, token)| token.rsplit('-').next().map(str::to_owned));
        assert_eq!(told, revoked(&[0, 2]));
    }
}

#[tokio::test]
async fn tokens_without_a_name_are_revoked_where_each_grant_is_safe() {
    // Whether tokens are revoked one by one, the connected account's tokens, and the revoked ones.
    let cases = [
        (false, None, revoked(&[0])),
        (false, Some(1), vec![]),
        (true, Some(1), revoked(&[0])),
        // They are the connected account's tokens.
        (true, Some(0), vec![]),
    ];
    for (is_single, kept, expected) in cases {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            *provider.is_single.lock().unwrap() = is_single;
            if let Some(number) = kept {
                put(&vault, "ada-l", tokens(number)).await.unwrap();
            }
            let discarded = vault.discard_unnamed(&ada(), "github", tokens(0)).await;
            discarded.unwrap();
            vault.revoke_due(&*provider).await.unwrap();
            assert_eq!(*provider.revoked.lock().unwrap(), expected);
            let spared = lines(&vault, AuditEvent::RevocationSpared).await;
            assert_eq!(spared, usize::from(kept.is_some() && !is_single));
        }
    }
}

#[tokio::test]
async fn tokens_whose_account_has_a_name_that_is_refused_are_revoked() {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        for (number, name) in ["x".repeat(1025), "a\0b".to_owned()].iter().enumerate() {
            let refused = put(&vault, name, tokens(number)).await;
            assert!(matches!(refused, Err(VaultError::Refused { .. })));
            assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 1);
        }
        assert_eq!(*provider.revoked.lock().unwrap(), revoked(&[0, 1]));
    }
}

/// Disconnects an account with valid or expired tokens, at a provider that revokes only access tokens and has these
/// responses to expired ones. Checks the requests and the audit.
async fn check_access_alone(
    expires: Option<u64>,
    dead: &[(&str, RevocationOutcome)],
    renewals: Vec<RenewalError>,
    expected: &[&str],
    event: AuditEvent,
) {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        *provider.takes_access_alone.lock().unwrap() = true;
        let dead = dead
            .iter()
            .map(|(token, heard)| ((*token).to_owned(), *heard));
        provider.dead.lock().unwrap().extend(dead);
        *provider.renewals.lock().unwrap() = renewals.clone();
        let granted = match expires {
            Some(after) => tokens(0).expires(stage.clock.now() + after),
            None => tokens(0),
        };
        put(&vault, "ada-l", granted).await.unwrap();
        stage.clock.turn(HOUR);
        vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
        let done = vault.revoke_due(&*provider).await.unwrap();
        assert_eq!(done, usize::from(event == AuditEvent::Revoked));
        let told = provider.revoked.lock().unwrap().clone();
        let told: Vec<_> = told.iter().map(|(_, token)| &**token).collect();
        assert_eq!(told, expected);
        assert_eq!(lines(&vault, event).await, 1, "{event:?}");
        let is_open = event == AuditEvent::RevocationFailed;
        assert_eq!(
            vault.accounts(&ada()).await.unwrap().len(),
            usize::from(is_open)
        );
    }
}

#[tokio::test]
async fn what_is_told_of_a_dead_token_is_told_of_a_live_one() {
    use AuditEvent::{NothingToRevoke, RevocationFailed, Revoked};
    const OLD: &str = "canary-access-0";
    const NEW: &str = "canary-access-1";
    let refused = || vec![RenewalError::Refused];
    let failed = || vec![RenewalError::Failed { retry_after: None }];
    // As far as is known, the token is valid.
    check_access_alone(None, &[], vec![], &[OLD], Revoked).await;
    check_access_alone(Some(2 * HOUR), &[], vec![], &[OLD], Revoked).await;
    // The token has expired, whatever the provider says.
    for heard in [RevocationOutcome::Unknown, RevocationOutcome::Revoked] {
        for expires in [0, HOUR] {
            let dead = [(OLD, heard)];
            check_access_alone(Some(expires), &dead, vec![], &[OLD, NEW], Revoked).await;
            check_access_alone(Some(expires), &dead, refused(), &[OLD], NothingToRevoke).await;
            check_access_alone(Some(expires), &dead, failed(), &[OLD], RevocationFailed).await;
        }
    }
    // The token should be valid, but the provider does not know it.
    let dead = [(OLD, RevocationOutcome::Unknown)];
    check_access_alone(None, &dead, vec![], &[OLD, NEW], Revoked).await;
    let both = [
        (OLD, RevocationOutcome::Unknown),
        (NEW, RevocationOutcome::Unknown),
    ];
    check_access_alone(None, &both, vec![], &[OLD, NEW], NothingToRevoke).await;
    // The provider revokes no tokens, so none is renewed for revocation.
    let none = [(OLD, RevocationOutcome::NotTaken)];
    check_access_alone(Some(0), &none, vec![], &[OLD], NothingToRevoke).await;
}

#[tokio::test]
async fn tokens_that_are_renewed_to_be_revoked_are_kept_until_they_are() {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        *provider.takes_access_alone.lock().unwrap() = true;
        put(&vault, "ada-l", tokens(0).expires(0)).await.unwrap();
        vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
        let going_down = GoesDown(Arc::clone(&provider));
        assert_eq!(vault.revoke_due(&going_down).await.unwrap(), 0);
        assert_eq!(provider.requests(), 1);
        *provider.is_down.lock().unwrap() = false;
        stage.clock.turn(HOUR / 2);
        // The old refresh token would be rejected, but the new access token is valid.
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 1);
        assert_eq!(provider.requests(), 1);
        let told = provider.revoked.lock().unwrap().clone();
        assert_eq!(told.last(), Some(&(ACCESS, "canary-access-1".to_owned())));
    }
}

/// A provider that fails after it has issued new tokens.
struct GoesDown(Arc<Provider>);

impl Renewer for GoesDown {
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        *self.0.is_down.lock().unwrap() = true;
        self.0.renew(account, refresh)
    }
}

impl Revoker for GoesDown {
    fn revoke<'a>(
        &'a self,
        account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<RevocationOutcome, RevocationFailure>> {
        self.0.revoke(account, token, kind)
    }
}

#[tokio::test]
async fn tokens_that_are_resealed_during_their_revocation_are_revoked() {
    for takes_access_alone in [false, true] {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            *provider.takes_access_alone.lock().unwrap() = takes_access_alone;
            put(&vault, "ada-l", tokens(0)).await.unwrap();
            vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
            let rotating = Rotates {
                provider: Arc::clone(&provider),
                vault: vault.clone(),
                clock: Arc::clone(&stage.clock),
            };
            assert_eq!(vault.revoke_due(&rotating).await.unwrap(), 1);
            let told = revoked(&[0]).split_off(usize::from(takes_access_alone));
            assert_eq!(*provider.revoked.lock().unwrap(), told);
        }
    }
}

/// A provider whose revocation takes so long that the tenant gets a new key and every process drops the old one.
struct Rotates {
    provider: Arc<Provider>,
    vault: Vault,
    clock: Arc<Hands>,
}

impl Renewer for Rotates {
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        self.provider.renew(account, refresh)
    }
}

impl Revoker for Rotates {
    fn revoke<'a>(
        &'a self,
        account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<RevocationOutcome, RevocationFailure>> {
        Box::pin(async move {
            if kind == REFRESH {
                let resealed = self.vault.rotate_compromised(Some("acme")).await;
                assert_eq!(resealed.unwrap(), 1);
                self.clock.turn(HOUR);
            }
            self.provider.revoke(account, token, kind).await
        })
    }
}

#[tokio::test]
async fn a_failed_revocation_is_not_retried_early() {
    for stage in Stage::all().await {
        let (vault, provider) = (stage.vault().await, Provider::new(&stage));
        *provider.is_single.lock().unwrap() = true;
        put(&vault, "a", tokens(0)).await.unwrap();
        put(&vault, "a", tokens(1)).await.unwrap();
        // After a long failure, the revocation is not tried again for an hour.
        *provider.is_down.lock().unwrap() = true;
        for _ in 0..9 {
            assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 0);
            stage.clock.turn(2 * HOUR);
        }
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 0);
        *provider.is_down.lock().unwrap() = false;
        vault.disconnect(&ada(), "github", "a").await.unwrap();
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 1);
        assert_eq!(*provider.revoked.lock().unwrap(), revoked(&[1]));
        stage.clock.turn(2 * HOUR);
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 1);
    }
}

/// A provider that gets the revocation of a refresh token while another process uses it for a renewal, whose access
/// token expires at this time, and the tenant gets a new key.
struct RenewsElsewhere {
    rotating: Rotates,
    store: Arc<dyn VaultStore>,
    ends: Option<u64>,
}

impl Renewer for RenewsElsewhere {
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        self.rotating.renew(account, refresh)
    }
}

impl Revoker for RenewsElsewhere {
    fn revoke<'a>(
        &'a self,
        account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<RevocationOutcome, RevocationFailure>> {
        Box::pin(async move {
            let heard = self.rotating.revoke(account, token, kind).await;
            if kind == REFRESH {
                let owed = self
                    .store
                    .list::<Revocation>(Filter::of(&account.holder))
                    .await
                    .unwrap();
                let mut renewed = owed[0].clone();
                renewed.expires = self.ends;
                let done = self
                    .store
                    .write(Change::replace(&renewed, u64::from(renewed.attempts)))
                    .await;
                assert_eq!(done.unwrap(), WriteOutcome::Kept);
            }
            heard
        })
    }
}

#[tokio::test]
async fn tokens_that_are_read_again_end_when_they_do() {
    // When the old and the new access tokens expire, and the number of renewals.
    for (before, ends, renewals) in [
        (Some(0), Some(u64::MAX), 0),
        (Some(0), None, 0),
        (Some(u64::MAX), Some(0), 1),
        (None, Some(0), 1),
    ] {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            *provider.takes_access_alone.lock().unwrap() = true;
            let mut granted = tokens(0);
            granted.expires = before;
            put(&vault, "ada-l", granted).await.unwrap();
            vault.disconnect(&ada(), "github", "ada-l").await.unwrap();
            let rotating = Rotates {
                provider: Arc::clone(&provider),
                vault: vault.clone(),
                clock: Arc::clone(&stage.clock),
            };
            let renewing = RenewsElsewhere {
                rotating,
                store: Arc::clone(&stage.store),
                ends,
            };
            assert_eq!(vault.revoke_due(&renewing).await.unwrap(), 1);
            assert_eq!(provider.requests(), renewals, "{before:?} {ends:?}");
        }
    }
}

#[tokio::test]
async fn the_queue_of_failed_revocations_is_bounded() {
    const MOST: usize = 3;
    // A sealed token takes about 100 bytes here.
    for (revocations, bytes) in [(MOST, u64::MAX), (usize::MAX, 400)] {
        for stage in Stage::all().await {
            let vault = stage
                .vault_within(Arc::new(keys(7)), |settings| {
                    settings.revocations = revocations;
                    settings.revocation_bytes = bytes;
                })
                .await;
            let provider = Provider::new(&stage);
            *provider.is_down.lock().unwrap() = true;
            vault
                .discard(&ada(), "github", "a", tokens(0))
                .await
                .unwrap();
            vault.revoke_due(&*provider).await.unwrap();
            for number in 1..=9 {
                stage.clock.turn(1);
                let discarded = vault.discard(&ada(), "github", "a", tokens(number)).await;
                discarded.unwrap();
                let kept = vault.accounts(&ada()).await.unwrap().len();
                assert!((1..=MOST).contains(&kept), "{kept}");
            }
            let kept = vault.accounts(&ada()).await.unwrap().len();
            assert_eq!(
                lines(&vault, AuditEvent::RevocationGivenUp).await,
                10 - kept
            );
            // The newest remain: the others have more attempts, or have been due for longer.
            *provider.is_down.lock().unwrap() = false;
            assert_eq!(vault.revoke_due(&*provider).await.unwrap(), kept);
            let numbers: Vec<_> = (10 - kept..10).collect();
            assert_eq!(*provider.revoked.lock().unwrap(), revoked(&numbers));
        }
    }
}
