//! The bookings of the agency.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use askback::{Error, Principal, Result};
use serde::{Deserialize, Serialize};
use tokio::{
    fs::File,
    io::{AsyncBufReadExt, AsyncSeekExt, AsyncWriteExt, BufReader},
    sync::{Mutex, MutexGuard},
};

use crate::{
    files,
    tools::{Contact, Room, Seat},
};

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Owner {
    tenant: Option<String>,
    issuer: Option<String>,
    subject: Option<String>,
}

/// The most bookings that the agency keeps.
const MOST: usize = 5000;
/// The most bookings that it keeps of one traveller it knows.
const MOST_OF_ONE: usize = 200;
/// The longest booking that it keeps, in bytes.
const BOOKING_BYTES: usize = 4 << 10;

/// All bookings: in memory, or in a file that outlives the server.
#[derive(Clone, Default)]
pub(crate) struct Bookings {
    file: Option<PathBuf>,
    book: Arc<Mutex<Book>>,
}

/// The bookings that are known.
#[derive(Default)]
struct Book {
    by_owner: HashMap<Owner, Vec<Booking>>,
    count: usize,
    /// How much of the file has been read: whole lines.
    read: u64,
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
            book: Arc::default(),
        }
    }

    /// All bookings of somebody, oldest first.
    pub(crate) async fn all(&self, owner: &Owner) -> Result<Vec<Booking>> {
        let book = self.book().await?;
        Ok(book.of(owner).to_vec())
    }

    /// Somebody's booking with that reference.
    pub(crate) async fn find(&self, owner: &Owner, reference: &str) -> Result<Option<Booking>> {
        let book = self.book().await?;
        Ok(book.find(owner, reference).cloned())
    }

    /// Whether somebody may book once more: worth knowing before they are asked for their wishes.
    ///
    /// # Errors
    ///
    /// Says who has as many bookings as the agency keeps.
    pub(crate) async fn check_room(&self, owner: &Owner) -> Result<()> {
        self.book().await?.check_room(owner)
    }

    /// Adds a booking. One that is there already, by its reference, is not made again.
    pub(crate) async fn add(&self, owner: Owner, booking: Booking) -> Result<Booking> {
        let mut book = self.book().await?;
        if let Some(known) = book.find(&owner, &booking.reference) {
            return Ok(known.clone());
        }
        book.check_room(&owner)?;
        let made = Made { owner, booking };
        let line = serde_json::to_string(&made)?;
        if line.len() > BOOKING_BYTES {
            return Err(Error::invalid_params(
                "nothing was booked: what you say of yourself is too long",
            ));
        }
        match &self.file {
            None => book.add(made.clone()),
            // It is read from there, after what others may have written before it.
            Some(path) => append(path, &line).await?,
        }
        Ok(made.booking)
    }

    /// All that is known by now: another process of the agency may have written to the file.
    async fn book(&self) -> Result<MutexGuard<'_, Book>> {
        let mut book = self.book.lock().await;
        if let Some(path) = &self.file {
            book.read_on(path).await?;
        }
        Ok(book)
    }
}

impl Book {
    fn of(&self, owner: &Owner) -> &[Booking] {
        self.by_owner.get(owner).map_or(&[], Vec::as_slice)
    }

    fn find(&self, owner: &Owner, reference: &str) -> Option<&Booking> {
        let mut theirs = self.of(owner).iter();
        theirs.find(|booking| booking.reference == reference)
    }

    fn check_room(&self, owner: &Owner) -> Result<()> {
        let is_known = *owner != Owner::default();
        if is_known && self.of(owner).len() >= MOST_OF_ONE {
            return Err(Error::new(format!(
                "nothing is booked: you have {MOST_OF_ONE} bookings, as many as the agency keeps \
                 of one traveller"
            )));
        }
        if self.count >= MOST {
            return Err(Error::new(format!(
                "nothing is booked: the agency has {MOST} bookings, as many as it keeps; its \
                 operator can make room"
            )));
        }
        Ok(())
    }

    fn add(&mut self, made: Made) {
        self.by_owner
            .entry(made.owner)
            .or_default()
            .push(made.booking);
        self.count += 1;
    }

    /// Reads what was added to the file. One that has become shorter is read anew.
    async fn read_on(&mut self, path: &Path) -> Result<()> {
        let mut file = match File::open(path).await {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                *self = Self::default();
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let length = file.metadata().await?.len();
        if length < self.read {
            *self = Self::default();
        }
        if length == self.read {
            return Ok(());
        }
        file.seek(io::SeekFrom::Start(self.read)).await?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        // A line without its end is still being written, or was cut short when a process was killed:
        // then the next one ends it, and it is no booking.
        while lines.read_until(b'\n', &mut line).await? > 0 && line.ends_with(b"\n") {
            self.read += line.len() as u64;
            if let Ok(made) = serde_json::from_slice(&line) {
                self.add(made);
            }
            line.clear();
        }
        Ok(())
    }
}

/// Each booking is a line. It begins with a line break too, so that it does not continue a line
/// that was cut short.
async fn append(path: &Path, line: &str) -> Result<()> {
    let line = format!("\n{line}\n");
    let mut options = files::private();
    let mut file = options.append(true).create(true).open(path).await?;
    file.write_all(line.as_bytes()).await?;
    file.sync_all().await?;
    Ok(())
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

    #[tokio::test]
    async fn one_traveller_leaves_room_for_others() {
        let bookings = Bookings::default();
        let alice = Owner::of(Some(&Principal::new("alice")));
        let mallory = Owner::of(Some(&Principal::new("mallory")));
        for number in 0..200 {
            let booked = booking(&number.to_string(), "Rome");
            bookings.check_room(&mallory).await.unwrap();
            bookings.add(mallory.clone(), booked).await.unwrap();
        }
        assert!(bookings.check_room(&mallory).await.is_err());
        let refused = bookings.add(mallory.clone(), booking("200", "Rome")).await;
        let told = refused.map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("you have 200 bookings"), "{told}");
        // What was booked is not booked again, and needs no room.
        let again = bookings.add(mallory.clone(), booking("7", "Kyoto")).await;
        assert_eq!(again.unwrap().destination, "Rome");
        bookings.add(alice, booking("A", "Rome")).await.unwrap();
    }

    #[tokio::test]
    async fn a_list_reads_what_is_new() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        let (one, other) = (
            Bookings::in_file(file.clone()),
            Bookings::in_file(file.clone()),
        );
        one.add(Owner::default(), booking("A", "Rome"))
            .await
            .unwrap();
        assert_eq!(references(&other).await, ["A"]);
        // What was read once may become unreadable.
        let length = std::fs::metadata(&file).unwrap().len();
        let blank = vec![b' '; usize::try_from(length).unwrap() - 1];
        std::fs::write(&file, [&blank[..], b"\n"].concat()).unwrap();
        one.add(Owner::default(), booking("B", "Rome"))
            .await
            .unwrap();
        assert_eq!(references(&other).await, ["A", "B"]);
        assert_eq!(references(&Bookings::in_file(file)).await, ["B"]);
    }

    #[tokio::test]
    async fn the_agency_keeps_so_many_bookings() {
        let bookings = Bookings::default();
        for number in 0..5000 {
            let booked = booking(&number.to_string(), "Rome");
            bookings.add(Owner::default(), booked).await.unwrap();
        }
        let refused = bookings.add(Owner::default(), booking("A", "Rome")).await;
        let told = refused.map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("the agency has 5000 bookings"), "{told}");
    }

    #[tokio::test]
    async fn a_booking_is_so_long() {
        let bookings = Bookings::default();
        let long = booking("A", &"R".repeat(4096));
        let refused = bookings.add(Owner::default(), long).await;
        let told = refused.map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("too long"), "{told}");
    }

    #[tokio::test]
    async fn bookings_that_were_taken_out_of_the_file_are_gone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        let bookings = Bookings::in_file(file.clone());
        for reference in ["A", "B"] {
            let booked = booking(reference, "Rome");
            bookings.add(Owner::default(), booked).await.unwrap();
        }
        assert_eq!(references(&bookings).await, ["A", "B"]);
        let lines = std::fs::read_to_string(&file).unwrap();
        let second = lines.lines().rfind(|line| !line.is_empty()).unwrap();
        std::fs::write(&file, format!("{second}\n")).unwrap();
        assert_eq!(references(&bookings).await, ["B"]);
        std::fs::remove_file(&file).unwrap();
        assert!(references(&bookings).await.is_empty());
    }
}
