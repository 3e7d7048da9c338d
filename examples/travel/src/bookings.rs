//! The bookings of the agency.

use std::{path::PathBuf, sync::Arc};

use askback::{Principal, Result};
use serde::{Deserialize, Serialize};
use tokio::{
    fs::{self, OpenOptions},
    io::AsyncWriteExt,
    sync::Mutex,
};

use crate::tools::{Contact, Room, Seat};

/// A holiday that was booked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Booking {
    pub(crate) reference: String,
    pub(crate) destination: String,
    /// The day of departure, such as 2026-06-15.
    pub(crate) depart: String,
    pub(crate) nights: u8,
    pub(crate) travellers: u8,
    pub(crate) seat_preference: Seat,
    pub(crate) room_type: Room,
    pub(crate) travel_insurance: bool,
    /// What it costs in all, in US dollars.
    pub(crate) total: u32,
    pub(crate) contact: Contact,
}

/// Who booked: whoever acts for the same person sees the same bookings. Nobody in particular where
/// the agency does not know who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    tenant: Option<String>,
    issuer: Option<String>,
    subject: Option<String>,
}

/// All bookings: in memory, or in a file that outlives the server.
#[derive(Clone, Default)]
pub(crate) struct Bookings {
    file: Option<PathBuf>,
    made: Arc<Mutex<Vec<Made>>>,
}

/// A booking as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Made {
    #[serde(default)]
    owner: Owner,
    #[serde(flatten)]
    booking: Booking,
}

impl Owner {
    pub(crate) fn of(principal: Option<&Principal>) -> Self {
        let Some(principal) = principal.cloned() else {
            return Self::default();
        };
        Self {
            tenant: principal.tenant,
            issuer: principal.issuer,
            subject: Some(principal.subject),
        }
    }
}

impl Bookings {
    /// The bookings in a file, which is made with the first one.
    pub(crate) fn in_file(path: PathBuf) -> Self {
        Self {
            file: Some(path),
            made: Arc::default(),
        }
    }

    /// All bookings of somebody, oldest first.
    pub(crate) async fn all(&self, owner: &Owner) -> Result<Vec<Booking>> {
        let made = self.made.lock().await;
        let all = self.read(&made).await?.into_iter();
        let theirs = all.filter(|made| made.owner == *owner);
        Ok(theirs.map(|made| made.booking).collect())
    }

    /// Somebody's booking with that reference.
    pub(crate) async fn find(&self, owner: &Owner, reference: &str) -> Result<Option<Booking>> {
        let mut all = self.all(owner).await?.into_iter();
        Ok(all.find(|booking| booking.reference == reference))
    }

    /// Adds a booking. One that is there already, by its reference, is not made again.
    pub(crate) async fn add(&self, owner: Owner, booking: Booking) -> Result<Booking> {
        let mut made = self.made.lock().await;
        let mut all = self.read(&made).await?.into_iter();
        let is_it =
            |known: &Made| known.owner == owner && known.booking.reference == booking.reference;
        if let Some(known) = all.find(is_it) {
            return Ok(known.booking);
        }
        let new = Made { owner, booking };
        match &self.file {
            None => made.push(new.clone()),
            Some(_) => self.append(&new).await?,
        }
        Ok(new.booking)
    }

    /// The file is read each time, since another process of the agency may have written to it.
    async fn read(&self, made: &[Made]) -> Result<Vec<Made>> {
        let Some(path) = &self.file else {
            return Ok(made.to_vec());
        };
        let lines = match fs::read_to_string(path).await {
            Ok(lines) => lines,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error.into()),
        };
        // A line that was cut short when a process was killed is no booking.
        let bookings = lines
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(bookings.collect())
    }

    /// Each booking is a line. It begins with a line break too, so that it does not continue a line
    /// that was cut short.
    async fn append(&self, booking: &Made) -> Result<()> {
        let Some(path) = &self.file else {
            return Ok(());
        };
        let line = format!("\n{}\n", serde_json::to_string(booking)?);
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        // Names and addresses are nobody else's business.
        #[cfg(unix)]
        options.mode(0o600);
        let mut file = options.open(path).await?;
        file.write_all(line.as_bytes()).await?;
        file.sync_all().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn booking(reference: &str, destination: &str) -> Booking {
        let json = serde_json::json!({
            "reference": reference,
            "destination": destination,
            "depart": "2026-06-15",
            "nights": 7,
            "travellers": 2,
            "seat_preference": "no_preference",
            "room_type": "city_view",
            "travel_insurance": false,
            "total": 3000,
            "contact": {"name": "Ada", "email": "ada@example.com"},
        });
        serde_json::from_value(json).unwrap()
    }

    async fn references(bookings: &Bookings) -> Vec<String> {
        let all = bookings.all(&Owner::default()).await.unwrap().into_iter();
        all.map(|booking| booking.reference).collect()
    }

    #[tokio::test]
    async fn a_booking_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        for bookings in [Bookings::default(), Bookings::in_file(file)] {
            assert!(references(&bookings).await.is_empty());
            bookings
                .add(Owner::default(), booking("A", "Rome"))
                .await
                .unwrap();
            bookings
                .add(Owner::default(), booking("B", "Lisbon"))
                .await
                .unwrap();
            let first = bookings
                .add(Owner::default(), booking("A", "Kyoto"))
                .await
                .unwrap();
            assert_eq!(first.destination, "Rome");
            assert_eq!(references(&bookings).await, ["A", "B"]);
            assert!(
                bookings
                    .find(&Owner::default(), "C")
                    .await
                    .unwrap()
                    .is_none()
            );
        }
    }

    #[tokio::test]
    async fn a_line_cut_short_costs_only_itself() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        Bookings::in_file(file.clone())
            .add(Owner::default(), booking("A", "Rome"))
            .await
            .unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{whole}{}", &whole[..40])).unwrap();
        let bookings = Bookings::in_file(file);
        bookings
            .add(Owner::default(), booking("B", "Lisbon"))
            .await
            .unwrap();
        assert_eq!(references(&bookings).await, ["A", "B"]);
    }

    #[tokio::test]
    async fn a_booking_is_its_owners() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        let alice = Owner::of(Some(&Principal::new("alice")));
        let nobody = Owner::default();
        for bookings in [Bookings::default(), Bookings::in_file(file)] {
            bookings
                .add(alice.clone(), booking("A", "Rome"))
                .await
                .unwrap();
            bookings
                .add(nobody.clone(), booking("B", "Lisbon"))
                .await
                .unwrap();
            for (owner, theirs, other) in [(&alice, "A", "B"), (&nobody, "B", "A")] {
                assert_eq!(bookings.all(owner).await.unwrap().len(), 1);
                assert!(bookings.find(owner, theirs).await.unwrap().is_some());
                assert!(bookings.find(owner, other).await.unwrap().is_none());
            }
        }
    }
}
