use std::fmt;

use askback_core::{ask::Identity, protocol::RawJson};
use serde::{Serialize, de::DeserializeOwned};

use super::Ctx;
use crate::{
    error::{CommitPlace, Error, Result, StepResult, read_commit},
    store::{Claim, ClaimRequest, FlowId, StoreError},
};

/// A commit in a transaction of the author's database: the claim, the effect and the value are committed together.
///
/// Handlers need not know it: SQLite has `Ctx::commit_in`, and PostgreSQL has `PostgresStore::commit_in` (crate
/// `askback-fleet`). It is for a crate that does the same for another database. In the transaction, the crate makes the
/// [claim](Self::claim_request). If [`read_claim`](Self::read_claim) returns a value, the effect has happened. If not,
/// the crate runs the effect, finishes the claim with [`write`](Self::write), and returns [`done`](Self::done). After
/// any error, it undoes the claim and the effect.
pub struct TransactionCommit<'a> {
    ctx: &'a Ctx,
    name: &'a str,
    flow: Identity,
    before: Option<CommitPlace>,
}

impl fmt::Debug for TransactionCommit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionCommit")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<'a> TransactionCommit<'a> {
    /// Begins a commit in the call of this context.
    ///
    /// # Errors
    ///
    /// If [`Ctx::commit`] has used the name in this call.
    ///
    /// # Panics
    ///
    /// If the operating system provides no random bytes, as for [`Ctx::random`].
    pub fn begin(ctx: &'a Ctx, name: &'a str) -> Result<Self> {
        let before = ctx.0.cell.committed(name);
        if before == Some(CommitPlace::Store) {
            return Err(Error::commit_name_used(name));
        }
        Ok(Self {
            ctx,
            name,
            flow: ctx.identity(),
            before,
        })
    }

    /// Returns the flow of the call.
    #[must_use]
    pub fn flow(&self) -> FlowId {
        self.flow.flow
    }

    /// Returns the claim to be made in the transaction.
    #[must_use]
    pub fn claim_request(&self) -> ClaimRequest<'a> {
        let backing = &self.ctx.0.backing;
        let lease = backing.limits.asking.run;
        backing.claim_request(self.ctx.principal(), &self.flow, (self.name, lease))
    }

    /// Returns how many bytes of claims the database may hold
    /// ([`limits.asking.store_bytes`](crate::limits::AskingLimits::store_bytes)).
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        self.ctx.0.backing.limits.asking.store_bytes
    }

    /// Returns the value if the effect has happened; `None` if the effect has to run now.
    ///
    /// # Errors
    ///
    /// If the claim could not be made or belongs to another commit with the same name, if it was made outside of a
    /// transaction and never finished, or if the stored value does not deserialize.
    pub fn read_claim<T: DeserializeOwned>(
        &self,
        claim: Result<Claim, StoreError>,
    ) -> Result<Option<T>> {
        let name = self.name;
        match claim.map_err(|why| Error::commit_not_claimed(name, why))? {
            Claim::Granted => Ok(None),
            // A commit that was rolled back may run again. A stored one is a different commit with the same name.
            Claim::Done(_) if self.before.is_some() => Err(Error::commit_name_used(name)),
            Claim::Done(value) => read_commit(name, &value, CommitPlace::Transaction).map(Some),
            Claim::Busy | Claim::Abandoned => Err(Error::new(format!(
                "`{name}` was begun outside of a transaction and has not finished: its outcome is \
                 unknown; check before you try again"
            ))),
        }
    }

    /// Returns the bytes with which the claim is finished.
    ///
    /// # Errors
    ///
    /// If the value cannot be serialized, or is longer than
    /// [`limits.asking.commit_bytes`](crate::limits::AskingLimits::commit_bytes).
    pub fn write<T: Serialize>(&self, value: &T) -> Result<Vec<u8>> {
        let recorded = RawJson::new(&StepResult::InTransaction(value))?;
        let recorded = recorded.as_str().as_bytes();
        let (bytes, most) = (
            recorded.len(),
            self.ctx.0.backing.limits.asking.commit_bytes,
        );
        if bytes > most {
            let name = self.name;
            return Err(Error::new(format!(
                "the value of `{name}` has {bytes} bytes, and {most} are kept of one: return less from \
                 its effect, which was undone"
            )));
        }
        Ok(recorded.to_vec())
    }

    /// Records that the claim was finished with these bytes. Returns the value as later attempts read it.
    ///
    /// # Errors
    ///
    /// If the bytes do not deserialize into the type.
    pub fn done<T: DeserializeOwned>(self, written: &[u8]) -> Result<T> {
        self.ctx
            .0
            .cell
            .note_commit(self.name, CommitPlace::Transaction);
        read_commit(self.name, written, CommitPlace::Transaction)
    }

    /// Returns the error of an effect that ended its transaction.
    #[must_use]
    pub fn transaction_ended(&self) -> Error {
        let name = self.name;
        Error::new(format!(
            "the effect of `{name}` ended its transaction, so its outcome is unknown: check before you \
             try again, and leave `COMMIT`, `ROLLBACK` and `OR ROLLBACK` out of it"
        ))
    }
}
