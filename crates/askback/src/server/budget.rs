//! The memory budget for data that a server keeps for its clients, divided among owners.
//!
//! Data that is kept after a client's message was handled holds a [`Charge`]. The charge grows with
//! the data, and is returned when it is dropped.
//!
//! An owner's share depends on the room that is left. Three quarters of the room are given in order
//! of arrival: a single owner may have its share of the whole, one part in
//! [`limits.server.owner_share`](crate::limits::ServerLimits::owner_share), and each later owner
//! about the same part of the rest. The last quarter is for small holdings: each owner may have a
//! thousandth of the whole, whatever others have. So hundreds of owners have to act together before
//! there is no room for one more.
//!
//! All unauthenticated callers are one owner, which may have all but one share. On a server that
//! authenticates no callers, such as a local one, it is the only owner.

use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use askback_core::{ask::Principal, engine::server, limits::Limits};

use crate::mutex::Mutex;

/// Bytes are counted in steps of this size, so that small changes cost nothing.
const GRAIN: usize = 4 << 10;

/// One part in this many is reserved for small holdings.
const RESERVE: usize = 4;

/// A holding is small up to one part in this many of the whole.
const SMALL: usize = 1024;

/// How many extra steps a charge keeps for growth.
const SLACK: usize = 4;

#[derive(Clone)]
pub(crate) struct Budget(Arc<Inner>);

struct Inner {
    most: usize,
    share: usize,
    grain: usize,
    used: AtomicUsize,
    unknown: Arc<Account>,
    known: Mutex<HashMap<Owner, Weak<Account>>>,
}

struct Account {
    used: AtomicUsize,
    /// The table and the key of this account, if the owner is known.
    of: Option<(Weak<Inner>, Owner)>,
}

/// The owner of kept data: a principal, whichever client acts for it.
#[derive(Clone)]
pub(crate) struct Owner(Arc<Principal>);

pub(crate) struct Charge {
    budget: Arc<Inner>,
    account: Arc<Account>,
    units: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoRoom {
    #[error("the quota of this principal is used up; end calls or sessions, or try again later")]
    Share,
    #[error("the server's memory quota is used up; try again later")]
    All,
}

#[cfg(feature = "http-server")]
pub(crate) struct Shortage {
    pub(crate) why: NoRoom,
    pub(crate) own: usize,
    /// How much other owners must give back before there is room, which may be more than they have.
    /// `None` if no amount is enough.
    pub(crate) lacks: Option<usize>,
}

impl Budget {
    pub(crate) fn of_bytes(limits: &Limits) -> Self {
        Self::new(limits.server.kept_bytes, limits.server.owner_share, GRAIN)
    }

    pub(crate) fn of_things(most: usize, limits: &Limits) -> Self {
        Self::new(most, limits.server.owner_share, 1)
    }

    /// A budget for request heads, whose owner is not known yet.
    #[cfg(feature = "http-server")]
    pub(crate) fn of_heads(limits: &Limits) -> Self {
        Self::new(
            limits.server.kept_bytes / limits.server.owner_share.max(1),
            1,
            GRAIN,
        )
    }

    fn new(most: usize, share: usize, grain: usize) -> Self {
        Self(Arc::new(Inner {
            most,
            share: share.max(1),
            grain,
            used: AtomicUsize::new(0),
            unknown: Arc::new(Account {
                used: AtomicUsize::new(0),
                of: None,
            }),
            known: Mutex::default(),
        }))
    }

    pub(crate) fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    pub(crate) fn open(&self, owner: Option<&Arc<Principal>>) -> Charge {
        let account = match owner {
            None => Arc::clone(&self.0.unknown),
            Some(principal) => self.account(Owner(Arc::clone(principal))),
        };
        Charge {
            budget: Arc::clone(&self.0),
            account,
            units: 0,
        }
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn take(
        &self,
        owner: Option<&Arc<Principal>>,
        units: usize,
    ) -> Result<Charge, NoRoom> {
        let mut charge = self.open(owner);
        charge.cover(units)?;
        Ok(charge)
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn largest(&self) -> (Option<Owner>, usize) {
        // Dropping an account locks the table.
        let known = &self.0.known;
        let known: Vec<_> = known.lock().values().filter_map(Weak::upgrade).collect();
        let accounts = known.into_iter().chain([Arc::clone(&self.0.unknown)]);
        let largest = accounts.max_by_key(|account| account.used.load(Ordering::Relaxed));
        largest.map_or((None, 0), |account| {
            let owner = account.of.as_ref().map(|(_, owner)| owner.clone());
            (owner, account.used.load(Ordering::Relaxed))
        })
    }

    fn account(&self, owner: Owner) -> Arc<Account> {
        let mut known = self.0.known.lock();
        if let Some(account) = known.get(&owner).and_then(Weak::upgrade) {
            return account;
        }
        let account = Arc::new(Account {
            used: AtomicUsize::new(0),
            of: Some((Arc::downgrade(&self.0), owner.clone())),
        });
        known.insert(owner, Arc::downgrade(&account));
        account
    }
}

impl Inner {
    fn take(&self, account: &Account, units: usize) -> Result<(), NoRoom> {
        let fits = |used: usize| used.checked_add(units).filter(|used| *used <= self.most);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        let before = taken.map_err(|_| NoRoom::All)?;
        let own = account.used.fetch_add(units, Ordering::Relaxed) + units;
        let most = self.most_beside(account, own);
        if most.is_some_and(|most| before + units <= most) {
            return Ok(());
        }
        self.give_back(account, units);
        Err(match account.of {
            Some(_) => NoRoom::Share,
            None => NoRoom::All,
        })
    }

    /// The largest total for an owner that now has `own`. `None` if the owner may not have that
    /// much, however little others have.
    fn most_beside(&self, account: &Account, own: usize) -> Option<usize> {
        let is_small = own <= (self.most / SMALL).max(self.grain);
        match account.of {
            _ if self.share == 1 => Some(self.most),
            None => (own <= self.most - self.most / self.share).then_some(self.most),
            Some(_) if is_small => Some(self.most),
            Some(_) => {
                // With this weight, a single owner gets `most / share`.
                let weight = (RESERVE - 1).saturating_mul(self.share) - RESERVE;
                let left = own.saturating_mul(weight).div_ceil(RESERVE);
                (self.most - self.most / RESERVE).checked_sub(left)
            }
        }
    }

    fn give_back(&self, account: &Account, units: usize) {
        account.used.fetch_sub(units, Ordering::Relaxed);
        self.used.fetch_sub(units, Ordering::Relaxed);
    }
}

impl Charge {
    /// Grows the charge to this total, or shrinks it if much less is needed.
    ///
    /// # Errors
    ///
    /// [`NoRoom`]. The charge is then unchanged.
    pub(crate) fn cover(&mut self, units: usize) -> Result<(), NoRoom> {
        let grain = self.budget.grain;
        let wanted = units.checked_next_multiple_of(grain).unwrap_or(usize::MAX);
        if wanted > self.units {
            self.budget.take(&self.account, wanted - self.units)?;
            self.units = wanted;
        } else if self.units - wanted > SLACK * grain {
            self.shrink_to(wanted);
        }
        Ok(())
    }

    pub(crate) fn shrink_to(&mut self, units: usize) {
        let wanted = units.next_multiple_of(self.budget.grain);
        if let Some(over) = self.units.checked_sub(wanted) {
            self.budget.give_back(&self.account, over);
            self.units = wanted;
        }
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn split_off(&mut self, units: usize) -> Self {
        let wanted = units.checked_next_multiple_of(self.budget.grain);
        let units = self.units.min(wanted.unwrap_or(usize::MAX));
        self.units -= units;
        Self {
            budget: Arc::clone(&self.budget),
            account: Arc::clone(&self.account),
            units,
        }
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn shortage(&self, units: usize, why: NoRoom) -> Shortage {
        let own = self.account.used.load(Ordering::Relaxed);
        let wanted = units.checked_next_multiple_of(self.budget.grain);
        let lacks = wanted.and_then(|wanted| {
            let more = wanted.saturating_sub(self.units);
            let used = self.budget.used.load(Ordering::Relaxed).checked_add(more)?;
            let most = self.budget.most_beside(&self.account, own + more)?;
            Some(used.saturating_sub(most))
        });
        Shortage { why, own, lacks }
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn beyond(&self, units: usize) -> usize {
        let stays = units.checked_next_multiple_of(self.budget.grain);
        self.units.saturating_sub(stays.unwrap_or(usize::MAX))
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(&self.account, self.units);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let Some((budget, owner)) = &self.of else {
            return;
        };
        if let Some(budget) = budget.upgrade() {
            let mut known = budget.known.lock();
            // A new account may have taken its place.
            if known
                .get(owner)
                .is_some_and(|account| account.strong_count() == 0)
            {
                known.remove(owner);
            }
        }
    }
}

impl server::Room for Charge {
    fn resize(&mut self, bytes: usize) -> Result<(), server::RoomError> {
        self.cover(bytes).map_err(|_| server::RoomError)
    }
}

impl Owner {
    #[cfg(feature = "http-server")]
    pub(crate) fn of(principal: Option<&Arc<Principal>>) -> Option<Self> {
        principal.map(|principal| Self(Arc::clone(principal)))
    }
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.0.owner() == other.0.owner()
    }
}

impl Eq for Owner {}

impl Hash for Owner {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.owner().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: usize) -> Option<Arc<Principal>> {
        Some(Arc::new(Principal::new(name.to_string())))
    }

    fn fill(charge: &mut Charge) -> usize {
        while charge.cover(charge.units + 1).is_ok() {}
        charge.units
    }

    fn accounts(budget: &Budget) -> usize {
        budget.0.known.lock().len()
    }

    #[test]
    fn an_owner_has_its_share_and_no_more() {
        const MOST: usize = 1 << 20;
        // Owner, share, and the limit out of one mebibyte.
        let cases = [
            (owner(1), 8, MOST / 8),
            (owner(1), 2, MOST / 2),
            (owner(1), 1, MOST),
            (owner(1), 0, MOST),
            (owner(1), usize::MAX, MOST / SMALL),
            (None, 8, MOST - MOST / 8),
            (None, 1, MOST),
            (None, usize::MAX, MOST),
        ];
        for (who, share, most) in cases {
            let budget = Budget::new(MOST, share, 1);
            let mut charge = budget.open(who.as_ref());
            // A principal with a second client gets no second share.
            let mut other = who.map(|who| {
                let mut other = Principal::clone(&who);
                other.client_id = Some("other".to_owned());
                budget.open(Some(&Arc::new(other)))
            });
            let taken = fill(&mut charge);
            assert!(taken <= most && taken + 2 > most, "{share}: {taken}");
            assert_eq!(other.as_mut().map_or(0, fill), 0, "{share}");
            charge.shrink_to(most / 2);
            assert_eq!(budget.used(), most / 2);
            drop((charge, other));
            assert_eq!(budget.used(), 0);
        }
    }

    #[test]
    fn others_leave_room_for_a_new_owner() {
        const MOST: usize = 1 << 20;
        for unknown in [false, true] {
            let budget = Budget::new(MOST, 8, 1);
            let mut all = budget.open(None);
            if unknown {
                fill(&mut all);
            }
            let mut charges = Vec::new();
            let mut last = MOST / 8;
            // As many owners as fit in the reserved part.
            for name in 0..if unknown { 128 } else { 256 } {
                let mut charge = budget.open(owner(name).as_ref());
                let own = fill(&mut charge);
                assert!((MOST / SMALL..=last).contains(&own), "{name} has {own}");
                last = own;
                charges.push(charge);
            }
            assert!(budget.used() <= MOST);
            drop((charges, all));
            assert_eq!((budget.used(), accounts(&budget)), (0, 0));
        }
    }

    #[test]
    fn small_changes_do_not_touch_the_budget() {
        let budget = Budget::new(1 << 20, 8, GRAIN);
        let mut charge = budget.open(None);
        for (units, taken) in [
            (0, 0),
            (1, 1),
            (4096, 1),
            (9000, 3),
            (1, 3),
            (20_000, 5),
            (1, 5),
        ] {
            charge.cover(units).unwrap();
            assert_eq!(budget.used(), taken * GRAIN, "{units}");
        }
        charge.cover(1 << 19).unwrap();
        charge.cover(1).unwrap();
        assert_eq!(budget.used(), GRAIN);
        assert_eq!(charge.cover(usize::MAX), Err(NoRoom::All));
        assert_eq!(budget.used(), GRAIN);
    }

    #[test]
    fn threads_take_and_give_back_what_they_took() {
        let budget = Budget::new(1 << 12, 8, 1);
        std::thread::scope(|scope| {
            for name in 0..8 {
                let budget = &budget;
                scope.spawn(move || {
                    for units in (0..64).cycle().take(5000) {
                        let mut charge = budget.open(owner(name % 4).as_ref());
                        let _ = charge.cover(units);
                        assert!(budget.used() <= 1 << 12);
                    }
                });
            }
        });
        assert_eq!(budget.used(), 0);
        assert_eq!(accounts(&budget), 0);
    }
}
