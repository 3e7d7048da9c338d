mod file;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use askback::{Error, Form, Principal, Result, forms::Date};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, MutexGuard};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Booking {
    pub(crate) reference: String,
    pub(crate) destination: String,
    /// Such as 2026-06-15.
    pub(crate) depart: String,
    pub(crate) nights: u8,
    pub(crate) travellers: u8,
    pub(crate) seat_preference: Seat,
    pub(crate) room_type: Room,
    pub(crate) travel_insurance: bool,
    /// In US dollars.
    pub(crate) total: u32,
    pub(crate) contact: Contact,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) deposit_paid: bool,
}

/// Most bookings have the flag unset, so it is omitted.
fn is_false(value: &bool) -> bool {
    !value
}

/// Where to sit on the plane.
#[derive(Debug, Clone, Copy, Form, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Seat {
    #[form(title = "At the window")]
    Window,
    #[form(title = "On the aisle")]
    Aisle,
    #[form(title = "No preference")]
    NoPreference,
}

/// What to see from the room.
#[allow(
    clippy::enum_variant_names,
    reason = "their names are what answers say"
)]
#[derive(Debug, Clone, Copy, Form, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Room {
    #[form(title = "The sea")]
    SeaView,
    #[form(title = "The city")]
    CityView,
    #[form(title = "The garden")]
    GardenView,
}

/// Who travels: the second question.
#[derive(Debug, Clone, Form, Serialize, Deserialize)]
pub(crate) struct Contact {
    #[form(title = "Full name", min_length = 1, max_length = 100)]
    name: String,
    /// Where the tickets go to.
    #[form(title = "Email", format = "email")]
    pub(crate) email: String,
    #[form(title = "Phone", max_length = 40)]
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    /// Whom to call if something happens.
    #[form(title = "Emergency contact", max_length = 200)]
    #[serde(skip_serializing_if = "Option::is_none")]
    emergency_contact: Option<String>,
}

/// The owner of a booking. All clients of a person see the same bookings. Without authentication, all callers have the
/// same owner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Owner {
    tenant: Option<String>,
    issuer: Option<String>,
    subject: Option<String>,
}

const MOST: usize = 5000;
/// The maximum number of bookings of unauthenticated callers together. The rest is for authenticated ones.
const MOST_OF_UNKNOWN: usize = 2500;
const MOST_OF_ONE: usize = 200;
/// The maximum number of lines in a file, including removed bookings. At this number the file is rewritten, which is
/// rare, because at least half of the lines are then no longer needed.
const MOST_LINES: usize = 2 * MOST;
const BOOKING_BYTES: usize = 4 << 10;

/// All bookings: in memory, shared by clones, or in a file that survives a restart.
#[derive(Debug, Clone, Default)]
pub struct Bookings {
    file: Option<PathBuf>,
    book: Arc<Mutex<Book>>,
}

#[derive(Debug, Default)]
struct Book {
    by_owner: HashMap<Owner, Vec<Booking>>,
    count: usize,
    /// How much of the file has been read, up to the end of a line.
    read: u64,
    lines: usize,
    head: Vec<u8>,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The day of a time in milliseconds since the Unix epoch, in UTC.
pub(crate) fn day(now: u64) -> Date {
    let epoch = Date::constant(1970, 1, 1);
    epoch
        .checked_add(Duration::from_millis(now))
        .unwrap_or(epoch)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Made {
    #[serde(default)]
    owner: Owner,
    #[serde(flatten)]
    booking: Booking,
}

#[derive(Serialize, Deserialize)]
struct Paid {
    owner: Owner,
    paid: String,
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

    fn is_known(&self) -> bool {
        *self != Self::default()
    }

    fn most(&self) -> usize {
        match self.is_known() {
            true => MOST_OF_ONE,
            false => MOST_OF_UNKNOWN,
        }
    }
}

impl Booking {
    /// Returns the deposit in US dollars: a tenth of the total.
    #[cfg(feature = "connect")]
    pub(crate) fn deposit(&self) -> u32 {
        self.total.div_ceil(10)
    }

    /// Whether the trip is over in every time zone.
    fn is_over(&self, today: Date) -> bool {
        let days = DAY * (u32::from(self.nights) + 1);
        let depart = self.depart.parse::<Date>();
        let after = depart.and_then(|depart| depart.checked_add(days));
        after.is_ok_and(|after| after < today)
    }
}

impl Bookings {
    /// Opens the bookings in an existing directory, so that a restarted agency knows them. Blocks on disk access, so do
    /// not call it in an async task.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read.
    pub fn in_directory(directory: &Path) -> io::Result<Self> {
        fs::read_dir(directory)?;
        Ok(Self::in_file(directory.join("bookings.jsonl")))
    }

    /// Opens the bookings in a file, which the first booking creates.
    fn in_file(path: PathBuf) -> Self {
        Self {
            file: Some(path),
            book: Arc::default(),
        }
    }

    pub(crate) async fn all(&self, owner: &Owner) -> Result<Vec<Booking>> {
        let book = self.book().await?;
        Ok(book.of(owner).to_vec())
    }

    pub(crate) async fn find(&self, owner: &Owner, reference: &str) -> Result<Option<Booking>> {
        let book = self.book().await?;
        Ok(book.find(owner, reference).cloned())
    }

    /// Checks that an owner can book, before the user is asked. If there is no room, bookings of past trips are
    /// removed.
    ///
    /// # Errors
    ///
    /// If there is no room: the message says whose bookings have reached the maximum.
    pub(crate) async fn make_room(&self, owner: &Owner, today: Date) -> Result<()> {
        self.book().await?.make_room(owner, today)
    }

    /// Adds a booking. If the reference exists, returns the existing booking.
    ///
    /// # Errors
    ///
    /// The errors of [`Bookings::make_room`] and of the disk, and an error if the booking is too long.
    pub(crate) async fn add(&self, owner: Owner, booking: Booking, today: Date) -> Result<Booking> {
        // Only one process at a time checks for room and takes it. Only one call in this process waits for that, so
        // that calls do not use up the blocking threads.
        let mut book = self.book.lock().await;
        let _turn = match &self.file {
            Some(path) => Some(book.read_locked(path).await?),
            None => None,
        };
        if let Some(known) = book.find(&owner, &booking.reference) {
            return Ok(known.clone());
        }
        book.make_room(&owner, today)?;
        let made = Made { owner, booking };
        let line = serde_json::to_string(&made)?;
        if line.len() > BOOKING_BYTES {
            return Err(Error::invalid_params(
                "nothing was booked: what you say of yourself is too long",
            ));
        }
        let Some(path) = &self.file else {
            book.add(made.clone());
            return Ok(made.booking);
        };
        if book.lines >= MOST_LINES {
            book.rewrite(path).await?;
        }
        // The next read adds it.
        file::append(path, &line).await?;
        Ok(made.booking)
    }

    /// Records that the deposit of a booking was paid, at most once.
    ///
    /// # Errors
    ///
    /// The errors of the disk, and an error if the booking was removed in the meantime.
    #[cfg(feature = "connect")]
    pub(crate) async fn pay(&self, owner: Owner, reference: &str) -> Result<()> {
        let mut book = self.book.lock().await;
        let _turn = match &self.file {
            Some(path) => Some(book.read_locked(path).await?),
            None => None,
        };
        let known = book.find(&owner, reference).ok_or_else(|| {
            Error::new(format!(
                "the deposit is not noted: the booking `{reference}` was forgotten, as its trip is over"
            ))
        })?;
        if known.deposit_paid {
            return Ok(());
        }
        let paid = Paid {
            owner,
            paid: reference.to_owned(),
        };
        let Some(path) = &self.file else {
            book.pay(&paid);
            return Ok(());
        };
        if book.lines >= MOST_LINES {
            book.rewrite(path).await?;
        }
        // The next read adds it.
        file::append(path, &serde_json::to_string(&paid)?).await
    }

    /// Returns the current bookings, including those that other processes have written.
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

    fn make_room(&mut self, owner: &Owner, today: Date) -> Result<()> {
        let most = owner.most();
        if self.of(owner).len() >= most {
            self.forget(|of| of == owner, today);
        }
        if self.count >= MOST {
            self.forget(|_| true, today);
        }
        if self.of(owner).len() >= most {
            return Err(Error::new(match owner.is_known() {
                true => format!(
                    "nothing is booked: you have {most} bookings, as many as the agency keeps of \
                     one traveller"
                ),
                false => format!(
                    "nothing is booked: the agency has {most} bookings of travellers it does not \
                     know, as many as it keeps of them; sign in, or ask its operator to make room"
                ),
            }));
        }
        if self.count >= MOST {
            return Err(Error::new(format!(
                "nothing is booked: the agency has {MOST} bookings, as many as it keeps; its \
                 operator can make room"
            )));
        }
        Ok(())
    }

    fn forget(&mut self, of: impl Fn(&Owner) -> bool, today: Date) {
        self.by_owner.retain(|owner, bookings| {
            if of(owner) {
                bookings.retain(|booking| !booking.is_over(today));
            }
            !bookings.is_empty()
        });
        self.count = self.by_owner.values().map(Vec::len).sum();
    }

    fn pay(&mut self, Paid { owner, paid }: &Paid) {
        let theirs = self.by_owner.get_mut(owner).into_iter().flatten();
        for booking in theirs.filter(|booking| booking.reference == *paid) {
            booking.deposit_paid = true;
        }
    }

    fn add(&mut self, made: Made) {
        self.by_owner
            .entry(made.owner)
            .or_default()
            .push(made.booking);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    /// Before all trips.
    const SPRING: Date = Date::constant(2026, 4, 1);
    /// After all trips.
    const AUTUMN: Date = Date::constant(2026, 10, 1);

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

    fn lines(references: Range<usize>) -> String {
        let made = references.map(|reference| Made {
            owner: Owner::default(),
            booking: booking(&reference.to_string(), "Rome"),
        });
        let lines = made.map(|made| serde_json::to_string(&made).unwrap());
        lines.map(|line| format!("\n{line}\n")).collect()
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
                .add(Owner::default(), booking("A", "Rome"), SPRING)
                .await
                .unwrap();
            bookings
                .add(Owner::default(), booking("B", "Lisbon"), SPRING)
                .await
                .unwrap();
            let first = bookings
                .add(Owner::default(), booking("A", "Kyoto"), SPRING)
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

    #[cfg(feature = "connect")]
    #[tokio::test]
    async fn a_deposit_is_noted_once_and_stays_noted() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        let lines = || std::fs::read_to_string(&file).unwrap().lines().count();
        let owner = Owner::default;
        for bookings in [Bookings::default(), Bookings::in_file(file.clone())] {
            for reference in ["A", "B"] {
                let booking = booking(reference, "Rome");
                bookings.add(owner(), booking, SPRING).await.unwrap();
            }
            bookings.pay(owner(), "A").await.unwrap();
            let all = bookings.all(&owner()).await.unwrap();
            let paid: Vec<_> = all.iter().map(|booking| booking.deposit_paid).collect();
            assert_eq!(paid, [true, false]);
            assert!(bookings.pay(owner(), "C").await.is_err());
            let stranger = Owner::of(Some(&Principal::new("alice")));
            assert!(bookings.pay(stranger, "B").await.is_err());
        }
        let before = lines();
        Bookings::in_file(file.clone())
            .pay(owner(), "A")
            .await
            .unwrap();
        assert_eq!(lines(), before);
        // In the rewritten file, the booking itself contains the deposit.
        let mut book = Book::default();
        let turn = book.read_locked(&file).await.unwrap();
        book.rewrite(&file).await.unwrap();
        drop(turn);
        let all = Bookings::in_file(file).all(&owner()).await.unwrap();
        assert!(all[0].deposit_paid && !all[1].deposit_paid);
    }

    #[tokio::test]
    async fn a_line_cut_short_costs_only_itself() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        Bookings::in_file(file.clone())
            .add(Owner::default(), booking("A", "Rome"), SPRING)
            .await
            .unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{whole}{}", &whole[..40])).unwrap();
        let bookings = Bookings::in_file(file);
        bookings
            .add(Owner::default(), booking("B", "Lisbon"), SPRING)
            .await
            .unwrap();
        assert_eq!(references(&bookings).await, ["A", "B"]);
    }

    #[tokio::test]
    async fn a_booking_belongs_to_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        let alice = Owner::of(Some(&Principal::new("alice")));
        let nobody = Owner::default();
        for bookings in [Bookings::default(), Bookings::in_file(file)] {
            bookings
                .add(alice.clone(), booking("A", "Rome"), SPRING)
                .await
                .unwrap();
            bookings
                .add(nobody.clone(), booking("B", "Lisbon"), SPRING)
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
            bookings.make_room(&mallory, SPRING).await.unwrap();
            bookings.add(mallory.clone(), booked, SPRING).await.unwrap();
        }
        assert!(bookings.make_room(&mallory, SPRING).await.is_err());
        let refused = bookings
            .add(mallory.clone(), booking("200", "Rome"), SPRING)
            .await;
        let told = refused.map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("you have 200 bookings"), "{told}");
        // A repeated booking changes nothing, and needs no room.
        let again = bookings
            .add(mallory.clone(), booking("7", "Kyoto"), SPRING)
            .await;
        assert_eq!(again.unwrap().destination, "Rome");
        bookings
            .add(alice, booking("A", "Rome"), SPRING)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_list_reads_what_is_new() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        let (one, other) = (
            Bookings::in_file(file.clone()),
            Bookings::in_file(file.clone()),
        );
        one.add(Owner::default(), booking("A", "Rome"), SPRING)
            .await
            .unwrap();
        assert_eq!(references(&other).await, ["A"]);
        // A file that could be read may become unreadable.
        let mut bytes = std::fs::read(&file).unwrap();
        let end = bytes.len() - 1;
        bytes[file::HEAD as usize..end].fill(b' ');
        std::fs::write(&file, bytes).unwrap();
        one.add(Owner::default(), booking("B", "Rome"), SPRING)
            .await
            .unwrap();
        assert_eq!(references(&other).await, ["A", "B"]);
        assert_eq!(references(&Bookings::in_file(file)).await, ["B"]);
    }

    #[tokio::test]
    async fn the_number_of_bookings_is_limited() {
        #[track_caller]
        fn check(booked: Result<Booking>, says: &str) {
            let told = booked.map(|_| ()).unwrap_err().to_string();
            assert!(told.contains(says), "{told}");
        }
        let bookings = Bookings::default();
        let add = async |owner: &Owner, number: usize, today: Date| {
            let booked = booking(&number.to_string(), "Rome");
            bookings.add(owner.clone(), booked, today).await
        };
        let unknown = Owner::default();
        for number in 0..MOST_OF_UNKNOWN {
            add(&unknown, number, SPRING).await.unwrap();
        }
        let refused = add(&unknown, MOST, SPRING).await;
        check(refused, "2500 bookings of travellers it does not know");
        let known = |number: usize| Owner::of(Some(&Principal::new((number / 200).to_string())));
        for number in MOST_OF_UNKNOWN..MOST {
            add(&known(number), number, SPRING).await.unwrap();
        }
        let alice = Owner::of(Some(&Principal::new("alice")));
        let refused = add(&alice, MOST, SPRING).await;
        check(refused, "the agency has 5000 bookings");
        // Past trips make room for any owner.
        add(&alice, MOST, AUTUMN).await.unwrap();
        assert!(references(&bookings).await.is_empty());
        assert_eq!(bookings.all(&alice).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_traveller_who_needs_room_forgets_their_own_trips_alone() {
        let bookings = Bookings::default();
        let alice = Owner::of(Some(&Principal::new("alice")));
        let booked = booking("A", "Rome");
        bookings
            .add(Owner::default(), booked, SPRING)
            .await
            .unwrap();
        for number in 0..=MOST_OF_ONE {
            let booked = booking(&number.to_string(), "Rome");
            bookings.add(alice.clone(), booked, AUTUMN).await.unwrap();
        }
        assert_eq!(bookings.all(&alice).await.unwrap().len(), 1);
        assert_eq!(references(&bookings).await, ["A"]);
    }

    #[test]
    fn a_trip_is_over_when_the_travellers_are_back_everywhere() {
        for (depart, nights, today, is_over) in [
            ("2026-06-15", 7, Date::constant(2026, 6, 22), false),
            ("2026-06-15", 7, Date::constant(2026, 6, 23), false),
            ("2026-06-15", 7, Date::constant(2026, 6, 24), true),
            ("2026-06-15", 0, Date::constant(2026, 6, 17), true),
            ("9999-12-31", 30, Date::MAX, false),
            ("some day", 7, Date::MAX, false),
        ] {
            let mut booked = booking("A", "Rome");
            booked.depart = depart.to_owned();
            booked.nights = nights;
            assert_eq!(booked.is_over(today), is_over, "{depart} {today}");
        }
    }

    #[tokio::test]
    async fn removed_bookings_are_eventually_removed_from_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        std::fs::write(&file, lines(0..MOST_LINES)).unwrap();
        let (one, other) = (
            Bookings::in_file(file.clone()),
            Bookings::in_file(file.clone()),
        );
        assert_eq!(references(&other).await.len(), MOST_LINES);
        for (round, reference) in ["A", "B"].into_iter().enumerate() {
            let booked = booking(reference, "Rome");
            one.add(Owner::default(), booked, AUTUMN).await.unwrap();
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.lines().count() < 10, "{text}");
            // Another process reads it completely, however long it has become.
            let more = lines(0..MOST_LINES + round);
            std::fs::write(&file, text + &more).unwrap();
            let known = references(&other).await;
            assert_eq!(
                (&*known[0], known.len()),
                (reference, MOST_LINES + round + 1)
            );
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn calls_wait_for_one_another_up_to_a_limit() {
        let directory = tempfile::tempdir().unwrap();
        let bookings = Bookings::in_file(directory.path().join("bookings.jsonl"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let adding = (0..4).map(|number| {
                let (bookings, booked) = (bookings.clone(), booking(&number.to_string(), "Rome"));
                tokio::spawn(async move { bookings.add(Owner::default(), booked, SPRING).await })
            });
            for adding in Vec::from_iter(adding) {
                let added = tokio::time::timeout(Duration::from_secs(30), adding).await;
                added.expect("it ends").unwrap().unwrap();
            }
        });
    }

    #[tokio::test]
    async fn only_one_of_several_processes_takes_the_last_place() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        std::fs::write(&file, lines(1..MOST_OF_UNKNOWN)).unwrap();
        let adding = (0..4).map(|number| {
            let bookings = Bookings::in_file(file.clone());
            let booked = booking(&format!("A{number}"), "Rome");
            tokio::spawn(async move { bookings.add(Owner::default(), booked, SPRING).await })
        });
        let mut added = 0;
        for adding in Vec::from_iter(adding) {
            added += usize::from(adding.await.unwrap().is_ok());
        }
        assert_eq!(added, 1);
        let count = references(&Bookings::in_file(file)).await.len();
        assert_eq!(count, MOST_OF_UNKNOWN);
    }

    #[tokio::test]
    async fn the_size_of_a_booking_is_limited() {
        let bookings = Bookings::default();
        let long = booking("A", &"R".repeat(4096));
        let refused = bookings.add(Owner::default(), long, SPRING).await;
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
            bookings
                .add(Owner::default(), booked, SPRING)
                .await
                .unwrap();
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
