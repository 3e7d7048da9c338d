//! How long things take, and how much is kept.

use std::time::Duration;

use askback_core::ask::Millis;

/// The bounds and the delays of a vault.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VaultSettings {
    /// How long before its end a token is renewed; less for tokens that last less than four times as long. 60 seconds.
    pub margin: Duration,
    /// By how much the margin, pauses and cooldowns are lengthened at random at most, in percent. 10.
    pub jitter: u32,
    /// How long a provider may take for a renewal, or for a revocation. 10 seconds.
    pub request: Duration,
    /// How long a renewal has its record to itself; longer than a request. 30 seconds.
    pub lease: Duration,
    /// How long a call waits for somebody else's renewal. 20 seconds.
    pub wait: Duration,
    /// The pause between two looks at whether that is done. 100 milliseconds.
    pub poll: Duration,
    /// The pause after a failed renewal or revocation; it doubles with each that fails. 30 seconds.
    pub cooldown: Duration,
    /// The longest such pause. An hour.
    pub longest_cooldown: Duration,
    /// How long a token that replaced a refused one, or an account that was connected again, is doubted: another refusal
    /// then leads to no further renewal or question. 10 minutes.
    pub doubt: Duration,
    /// The longest secret, in bytes. 16 KiB.
    pub secret_bytes: usize,
    /// The most accounts of one person. 64.
    pub accounts: usize,
    /// The most revocations of one person that a provider has not heard of. 64.
    pub revocations: usize,
    /// The most bytes that the secrets of all such revocations take, sealed. 16 MiB.
    pub revocation_bytes: u64,
    /// The most intents of one person that are kept after their end: the oldest give way. 64.
    pub closed_intents: usize,
    /// The most lines of the audit about one person that have the same event: the oldest give way. 256.
    pub audit_lines: usize,
    /// How long a line of the audit is kept. A year.
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
    /// Returns a duration lengthened by a part of the jitter that `random` chooses.
    pub(super) fn jittered(&self, duration: Duration, random: [u8; 4]) -> Duration {
        let part = u64::from(u32::from_le_bytes(random)) * u64::from(self.jitter.min(100));
        let most = u128::from(part) * duration.as_millis() / 100;
        duration + Duration::from_millis(u64::try_from(most >> 32).unwrap_or(u64::MAX))
    }

    /// Returns the pause after so many failures, at least one, without jitter.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        let doubled = 1_u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.cooldown
            .saturating_mul(doubled)
            .min(self.longest_cooldown)
    }
}

/// A moment so much later.
pub(super) fn after(now: Millis, duration: Duration) -> Millis {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    now.saturating_add(milliseconds)
}
