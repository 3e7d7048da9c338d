//! Intents: what a user was asked to do on a page, from the link to the outcome.
//!
//! | stage | becomes | when |
//! |---|---|---|
//! | open | redirected | the user agrees to connect an account, and goes to its provider |
//! | redirected | redirected | the user agrees again: the first answer becomes invalid |
//! | redirected | exchanging | the provider's answer arrives in the browser that was sent there |
//! | exchanging | done, or open | the provider issues tokens, or does not |
//! | open | exchanging | the user has acted on the page itself, and the result is being stored or paid |
//! | open, redirected | declined | the user declines |
//! | exchanging | misconfigured | the operator's settings do not identify the account |
//! | any of these | burned | other users have opened it five times |
//!
//! On one machine there is no sign-in. The first browser that opens a link gets it: the intent records the visit, and
//! refuses every other browser. The list of accounts has such a link too, which stays open.
//!
//! If the process dies during an exchange, no result is written. The link expires after the time for an exchange, so
//! that the waiting call ends.
//!
//! Each step replaces the version that was read, so that only one of two concurrent steps succeeds.

mod stored;

use askback_core::{ask::Millis, auth::Scopes};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::vault::Holder;

pub(crate) use stored::TRIES;

/// The account name for secrets without a provider.
pub(crate) const OWN_SECRET: &str = "secret";

/// The lifetime of a link: ten minutes.
pub(crate) const LIFETIME: Millis = 600_000;

/// The time to exchange an answer or to store a secret: one minute. It covers two requests to a provider, each ten
/// seconds by default, and a few writes.
pub(crate) const EXCHANGE: Millis = 60_000;

/// The link to the accounts must be opened within two minutes.
const OPENING: Millis = 120_000;

/// How many times other users may open a link.
const MISMATCHES: u32 = 5;

/// The id of an intent: 128 random bits, the only content of its link. The vault stores a digest, so that reading the
/// database reveals no link.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IntentId(pub(crate) [u8; 16]);

/// A page that a user was asked to use. Its content is sealed, so that only a vault can write it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    #[serde(skip)]
    pub(crate) id: IntentId,
    /// The version that was read. A write replaces exactly this version.
    #[serde(skip)]
    version: u64,
    pub(crate) holder: Holder,
    pub(crate) client: Option<String>,
    pub(crate) purpose: Purpose,
    pub(crate) expires: Millis,
    pub(crate) stage: Stage,
    pub(crate) account: Option<String>,
    mismatches: u32,
    /// When the last exchange started.
    taken: Millis,
    /// The visit of the first browser that opened it, if there is no sign-in.
    visit: Option<[u8; 16]>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Purpose {
    Account {
        provider: String,
        scopes: Scopes,
        /// The account's current scopes, which it has to keep.
        #[serde(default)]
        kept: Scopes,
        #[serde(default)]
        account: Option<String>,
    },
    Secret {
        name: String,
        title: String,
    },
    Page {
        name: String,
        path: String,
    },
    Accounts,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Stage {
    Open,
    Redirected {
        /// The digest of the `state` that the provider has to return.
        state: [u8; 32],
        visit: [u8; 16],
    },
    /// The provider is being asked for tokens, or the user's input is being stored.
    Exchanging,
    Done,
    Declined,
    Burned,
    Misconfigured,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visitor {
    Asked,
    Other,
    /// Another user, for the last time allowed.
    OtherAgain,
}

impl Purpose {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Account { provider, .. } => provider,
            Self::Secret { name, .. } | Self::Page { name, .. } => name,
            Self::Accounts => "accounts",
        }
    }

    /// The scopes that are asked for, and those that the account has to keep.
    pub(crate) fn scopes(&self) -> (Scopes, Scopes) {
        match self {
            Self::Account { scopes, kept, .. } => (scopes.clone(), kept.clone()),
            _ => Default::default(),
        }
    }

    pub(crate) fn account(&self) -> Option<&str> {
        match self {
            Self::Account { account, .. } => account.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn keeping(mut self, scopes: Scopes) -> Self {
        if let Self::Account { kept, .. } = &mut self {
            *kept = scopes;
        }
        self
    }
}

impl Stage {
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Done | Self::Declined | Self::Burned | Self::Misconfigured => true,
            Self::Open | Self::Redirected { .. } | Self::Exchanging => false,
        }
    }
}

impl Intent {
    pub(crate) fn new(
        id: IntentId,
        holder: Holder,
        client: Option<String>,
        purpose: Purpose,
        now: Millis,
    ) -> Self {
        Self {
            id,
            version: 1,
            holder,
            client,
            purpose,
            expires: now.saturating_add(LIFETIME),
            stage: Stage::Open,
            account: None,
            mismatches: 0,
            taken: 0,
            visit: None,
        }
    }

    pub(crate) fn is_over(&self, now: Millis) -> bool {
        let ends = match self.purpose {
            _ if self.is_at_work() => self.expires.max(self.taken.saturating_add(LIFETIME)),
            Purpose::Accounts if self.visit.is_none() => self.asked_at().saturating_add(OPENING),
            _ => self.expires,
        };
        self.stage.is_final() || now >= ends || self.is_cut_off(now)
    }

    /// Whether the process that made the exchange is gone. Does not apply to an author's page, because a payment may
    /// take longer.
    pub(crate) fn is_cut_off(&self, now: Millis) -> bool {
        let until = self.taken.saturating_add(EXCHANGE);
        self.stage == Stage::Exchanging && !self.is_at_work() && now >= until
    }

    /// When the running exchange times out; 0 without one.
    fn busy_until(&self) -> Millis {
        match (&self.stage, &self.purpose) {
            (Stage::Exchanging, Purpose::Account { .. }) => {
                self.expires.min(self.taken.saturating_add(EXCHANGE))
            }
            _ => 0,
        }
    }

    /// Whether an author's page is processing the user's input, such as a payment.
    fn is_at_work(&self) -> bool {
        self.stage == Stage::Exchanging && matches!(self.purpose, Purpose::Page { .. })
    }

    /// Binds the link to the visit of a browser. Returns whether it was unbound.
    pub(crate) fn bind(&mut self, visit: [u8; 16]) -> bool {
        let is_first = self.visit.is_none();
        self.visit.get_or_insert(visit);
        is_first
    }

    /// Whether the browser of this visit may disconnect the account: on the list of accounts, or just after connecting
    /// that account.
    pub(crate) fn may_disconnect(
        &self,
        visit: [u8; 16],
        provider: &str,
        account: &str,
        now: Millis,
    ) -> bool {
        let is_meant = match &self.purpose {
            Purpose::Accounts => !self.is_over(now),
            Purpose::Account { provider: own, .. } => {
                self.stage == Stage::Done
                    && own == provider
                    && self.account.as_deref() == Some(account)
            }
            Purpose::Secret { .. } | Purpose::Page { .. } => false,
        };
        is_meant && self.visit == Some(visit)
    }

    /// Compares a visitor with the user who was asked, and the browser with the one that has the link.
    pub(crate) fn opened_by(&mut self, visitor: &Holder, visit: [u8; 16]) -> Visitor {
        if *visitor == self.holder && self.visit.is_none_or(|bound| bound == visit) {
            return Visitor::Asked;
        }
        self.mismatches = self.mismatches.saturating_add(1);
        // During an exchange, the right user's answer is already here.
        if self.mismatches < MISMATCHES || self.stage == Stage::Exchanging {
            return Visitor::Other;
        }
        self.stage = Stage::Burned;
        Visitor::OtherAgain
    }

    /// Records that the user is sent to the provider with this `state`. Returns whether that is allowed.
    pub(crate) fn redirect(&mut self, state: &str, visit: [u8; 16]) -> bool {
        let may = matches!(self.stage, Stage::Open | Stage::Redirected { .. });
        if may {
            self.stage = Stage::Redirected {
                state: digest(state),
                visit,
            };
        }
        may
    }

    /// Accepts the provider's answer once. Returns whether it matches the last redirect, in the same visit.
    pub(crate) fn answered(&mut self, state: &str, visit: [u8; 16], now: Millis) -> bool {
        let expected = Stage::Redirected {
            state: digest(state),
            visit,
        };
        let is_expected = self.stage == expected;
        if is_expected {
            self.stage = Stage::Exchanging;
            self.taken = now;
        }
        is_expected
    }

    /// Records the outcome of an exchange: done, misconfigured, or open if the user may try again. Returns whether an
    /// exchange was running and its link has not expired.
    pub(crate) fn exchanged(&mut self, to: Stage, now: Millis) -> bool {
        let was = self.is_exchanged(now);
        if was {
            self.stage = to;
        }
        was
    }

    /// Whether an exchange is running and may still succeed. A payment has no time limit.
    pub(crate) fn is_exchanged(&self, now: Millis) -> bool {
        self.stage == Stage::Exchanging && (self.is_at_work() || !self.is_over(now))
    }

    /// Accepts the user's input on a page, once. Returns whether it was expected.
    pub(crate) fn claim(&mut self, now: Millis) -> bool {
        let may = self.stage == Stage::Open && !self.is_over(now);
        if may {
            self.stage = Stage::Exchanging;
            self.taken = now;
        }
        may
    }

    pub(crate) fn asked_at(&self) -> Millis {
        self.expires.saturating_sub(LIFETIME)
    }

    /// Records that the user declined. Returns whether they still could.
    pub(crate) fn decline(&mut self) -> bool {
        let may = matches!(self.stage, Stage::Open | Stage::Redirected { .. });
        if may {
            self.stage = Stage::Declined;
        }
        may
    }
}

fn digest(state: &str) -> [u8; 32] {
    Sha256::digest(state.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1000;
    const VISIT: [u8; 16] = [1; 16];

    fn holder(tenant: &str, subject: &str) -> Holder {
        Holder {
            tenant: Some(tenant.to_owned()),
            issuer: Some("i".to_owned()),
            subject: subject.to_owned(),
        }
    }

    fn intent() -> Intent {
        let purpose = Purpose::Account {
            provider: "github".to_owned(),
            scopes: Scopes::new(),
            kept: Scopes::new(),
            account: None,
        };
        Intent::new(IntentId([1; 16]), holder("t", "ada"), None, purpose, NOW)
    }

    /// Each row has the steps, those that are refused marked by `!`, and the final stage.
    #[test]
    fn an_answer_of_the_provider_is_taken_once_and_an_ended_intent_does_not_change() {
        const ROWS: &str = "
            redirect a, answer a, done => Done
            redirect a, answer a, misconfigured, !redirect b => Misconfigured
            redirect a, answer a, !answer a, !decline =>
            redirect a, answer a, !redirect b, !claim =>
            redirect a, answer a, done, !done, !answer a, !redirect b => Done
            redirect a, answer a, open, !answer a, redirect b =>
            redirect a, !elsewhere a =>
            redirect a, redirect b, !answer a =>
            !answer a, !done =>
            redirect a, !claim =>
            claim, !redirect a, !claim, !decline =>
            claim, done, !redirect a, !claim, !decline => Done
            decline, !redirect a, !claim, !decline => Declined
            redirect a, decline, !answer a => Declined
        ";
        for row in ROWS.trim().lines() {
            let (steps, ended) = row.split_once(" =>").expect("a row");
            let mut intent = intent();
            for step in steps.split(',').map(str::trim) {
                let before = intent.clone();
                let (name, state) = step.split_once(' ').unwrap_or((step, ""));
                let taken = match name.trim_start_matches('!') {
                    "redirect" => intent.redirect(state, VISIT),
                    "answer" => intent.answered(state, VISIT, NOW),
                    "elsewhere" => intent.answered(state, [2; 16], NOW),
                    "done" => intent.exchanged(Stage::Done, NOW),
                    "open" => intent.exchanged(Stage::Open, NOW),
                    "misconfigured" => intent.exchanged(Stage::Misconfigured, NOW),
                    "claim" => intent.claim(NOW),
                    "decline" => intent.decline(),
                    other => panic!("{other} is no step"),
                };
                assert_eq!(taken, !step.starts_with('!'), "{step} in {row}");
                assert!(taken || intent == before, "{step} changed {before:?}");
            }
            let stage = intent.stage.is_final().then_some(intent.stage);
            let stage = stage.map_or(String::new(), |stage| format!("{stage:?}"));
            assert_eq!(stage, ended.trim(), "{row}");
        }
    }

    #[test]
    fn visits_of_other_users_end_a_link() {
        let mut intent = intent();
        let by = |intent: &mut Intent, tenant, subject| {
            intent.opened_by(&holder(tenant, subject), VISIT)
        };
        assert_eq!(by(&mut intent, "t", "ada"), Visitor::Asked);
        let others = [("t", "bob"), ("u", "ada"), ("t", "Ada"), ("t", "")];
        for (tenant, subject) in others {
            assert_eq!(by(&mut intent, tenant, subject), Visitor::Other);
            assert!(!intent.is_over(NOW));
        }
        assert_eq!(by(&mut intent, "t", "bob"), Visitor::OtherAgain);
        assert!(intent.is_over(NOW) && !intent.redirect("a", VISIT) && !intent.claim(NOW));
    }

    #[test]
    fn a_link_is_for_the_browser_that_has_it() {
        const OTHER: [u8; 16] = [2; 16];
        let ada = holder("t", "ada");
        let mut intent = intent();
        assert_eq!(intent.opened_by(&ada, OTHER), Visitor::Asked);
        assert!(intent.bind(VISIT));
        assert!(!intent.bind(OTHER));
        assert_eq!(intent.opened_by(&ada, VISIT), Visitor::Asked);
        assert_eq!(intent.opened_by(&ada, OTHER), Visitor::Other);
        assert_eq!(intent.opened_by(&holder("t", "bob"), VISIT), Visitor::Other);
    }

    #[test]
    fn an_account_is_disconnected_where_it_was_connected_or_on_the_list() {
        let connected = Intent {
            stage: Stage::Done,
            account: Some("octocat".to_owned()),
            visit: Some(VISIT),
            ..intent()
        };
        let list = Intent {
            purpose: Purpose::Accounts,
            visit: Some(VISIT),
            ..intent()
        };
        let open = Intent {
            stage: Stage::Open,
            ..connected.clone()
        };
        let unopened = Intent {
            visit: None,
            ..list.clone()
        };
        let late = NOW + LIFETIME;
        for (intent, visit, account, now, may) in [
            (&connected, VISIT, "octocat", NOW, true),
            (&connected, VISIT, "octocat", late, true),
            (&connected, VISIT, "other", NOW, false),
            (&connected, [2; 16], "octocat", NOW, false),
            (&open, VISIT, "octocat", NOW, false),
            (&list, VISIT, "any", NOW, true),
            (&list, VISIT, "any", late - 1, true),
            (&list, VISIT, "any", late, false),
            (&list, [2; 16], "any", NOW, false),
            (&unopened, VISIT, "any", NOW, false),
        ] {
            let found = intent.may_disconnect(visit, "github", account, now);
            assert_eq!(found, may, "{intent:?} {account}");
        }
        assert!(!connected.may_disconnect(VISIT, "gitlab", "octocat", NOW));
        assert!(!unopened.is_over(NOW + OPENING - 1) && unopened.is_over(NOW + OPENING));
    }

    #[test]
    fn a_link_ends_after_ten_minutes() {
        let intent = intent();
        assert!(!intent.is_over(NOW + LIFETIME - 1));
        assert!(intent.is_over(NOW + LIFETIME));
    }

    #[test]
    fn a_payment_at_the_last_moment_counts() {
        let page = Intent {
            purpose: Purpose::Page {
                name: "page".to_owned(),
                path: "/pay".to_owned(),
            },
            ..intent()
        };
        let last = NOW + LIFETIME - 1;
        assert!(!page.clone().claim(last + 1));
        let mut claimed = page;
        assert!(claimed.claim(last));
        // From then on, the call waits as long as the user had to open the link.
        assert!(!claimed.is_over(last + LIFETIME - 1));
        assert!(claimed.is_over(last + LIFETIME));
        // The outcome is recorded even then, because a user must not pay twice.
        assert!(claimed.clone().exchanged(Stage::Done, last + 2 * LIFETIME));
        assert!(claimed.exchanged(Stage::Open, last + 2 * LIFETIME));
        assert!(claimed.is_over(last + 2 * LIFETIME));
    }

    #[test]
    fn a_link_ends_if_its_exchange_is_interrupted() {
        let secret = Purpose::Secret {
            name: "stripe".to_owned(),
            title: "Stripe key".to_owned(),
        };
        let page = Purpose::Page {
            name: "page".to_owned(),
            path: "/pay".to_owned(),
        };
        for (purpose, is_cut_off) in [(intent().purpose, true), (secret, true), (page, false)] {
            let mut intent = Intent {
                purpose,
                ..intent()
            };
            assert!(!intent.is_cut_off(NOW + LIFETIME) && intent.claim(NOW + 1));
            assert!(!intent.is_over(NOW + EXCHANGE));
            assert!(intent.clone().exchanged(Stage::Done, NOW + EXCHANGE));
            let late = NOW + EXCHANGE + 1;
            assert_eq!(intent.is_over(late), is_cut_off, "{:?}", intent.purpose);
            // A later result is ignored, and the link does not open again.
            assert_eq!(intent.clone().exchanged(Stage::Done, late), !is_cut_off);
            assert_eq!(intent.exchanged(Stage::Open, late), !is_cut_off);
        }
    }
}
