use std::time::Duration;

use askback_core::ask::Millis;

/// The limits and timeouts of a vault.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VaultSettings {
    /// How long before its expiry a token is renewed. At most a quarter of its lifetime. Default: 60 seconds.
    pub margin: Duration,
    /// The maximum random extension of the margin, pauses and cooldowns, in percent. Default: 10.
    pub jitter: u32,
    /// The timeout of a renewal or revocation request. Default: 10 seconds.
    pub request: Duration,
    /// How long a renewal leases its record. Must be longer than a request. Default: 30 seconds.
    pub lease: Duration,
    /// How long a call waits for another task's renewal. Default: 20 seconds.
    pub wait: Duration,
    /// The interval at which a waiting call checks for that renewal. Default: 100 milliseconds.
    pub poll: Duration,
    /// The pause after a failed renewal or revocation. Doubles with each failure. Default: 30 seconds.
    pub cooldown: Duration,
    /// The maximum of [`cooldown`](Self::cooldown), as it doubles. Default: one hour.
    pub longest_cooldown: Duration,
    /// How long a token that replaced a rejected one, or an account that was connected again, is doubted. A rejection
    /// in that time does not cause another renewal or question. Default: 10 minutes.
    pub doubt: Duration,
    /// The maximum size of a secret, in bytes. Default: 16 KiB.
    pub secret_bytes: usize,
    /// The maximum number of accounts of one user. Default: 64.
    pub accounts: usize,
    /// The maximum number of pending revocations of one user. Default: 64.
    pub revocations: usize,
    /// The maximum size of all pending revocations' sealed secrets, in bytes. Default: 16 MiB.
    pub revocation_bytes: u64,
    /// The maximum number of closed intents of one user. The oldest are deleted. Default: 64.
    pub closed_intents: usize,
    /// The maximum number of audit records of one user and event. The oldest are deleted. Default: 256.
    pub audit_lines: usize,
    /// How long audit records are stored. Default: one year.
    pub audit_age: Duration,
}

impl Default for VaultSettings {
    fn default() -> Self {
        Self {
            margin: Duration::from_secs(60),
            jitter: 10,
            request: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            wait: Duration::from_secs(20),
            poll: Duration::from_millis(100),
            cooldown: Duration::from_secs(30),
            longest_cooldown: Duration::from_secs(3600),
            doubt: Duration::from_secs(600),
            secret_bytes: 16 << 10,
            accounts: 64,
            revocations: 64,
            revocation_bytes: 16 << 20,
            closed_intents: 64,
            audit_lines: 256,
            audit_age: Duration::from_secs(365 * 86_400),
        }
    }
}

impl VaultSettings {
    /// Extends a duration by a random part of the jitter.
    pub(super) fn jittered(&self, duration: Duration, random: [u8; 4]) -> Duration {
        let part = u64::from(u32::from_le_bytes(random)) * u64::from(self.jitter.min(100));
        let most = u128::from(part) * duration.as_millis() / 100;
        duration + Duration::from_millis(u64::try_from(most >> 32).unwrap_or(u64::MAX))
    }

    /// Returns the pause after this many failures (at least one), without jitter.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let doubled = 1_u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.cooldown
            .saturating_mul(doubled)
            .min(self.longest_cooldown)
    }
}

pub(super) fn after(now: Millis, duration: Duration) -> Millis {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    now.saturating_add(milliseconds)
}
