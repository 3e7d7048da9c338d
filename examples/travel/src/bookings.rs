//! The bookings of the agency.

use std::{path::PathBuf, sync::Arc};

use askback::Result;
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

/// All bookings: in memory, or in a file that outlives the server.
#[derive(Clone, Default)]
pub(crate) struct Bookings {
    file: Option<PathBuf>,
    made: Arc<Mutex<Vec<Booking>>>,
}

impl Bookings {
    /// The bookings in a file, which is made with the first one.
    pub(crate) fn in_file(path: PathBuf) -> Self {
        Self {
            file: Some(path),
            made: Arc::default(),
        }
    }

    /// All bookings, oldest first.
    pub(crate) async fn all(&self) -> Result<Vec<Booking>> {
        let made = self.made.lock().await;
        self.read(&made).await
    }

    /// The booking with that reference.
    pub(crate) async fn find(&self, reference: &str) -> Result<Option<Booking>> {
        let mut all = self.all().await?.into_iter();
        Ok(all.find(|booking| booking.reference == reference))
    }

    /// Adds a booking. One that is there already, by its reference, is not made again.
    pub(crate) async fn add(&self, booking: Booking) -> Result<Booking> {
        let mut made = self.made.lock().await;
        let mut all = self.read(&made).await?.into_iter();
        if let Some(known) = all.find(|known| known.reference == booking.reference) {
            return Ok(known);
        }
        match &self.file {
            None => made.push(booking.clone()),
            Some(_) => self.append(&booking).await?,
        }
        Ok(booking)
    }

    /// The file is read each time, since another process of the agency may have written to it.
    async fn read(&self, made: &[Booking]) -> Result<Vec<Booking>> {
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
    async fn append(&self, booking: &Booking) -> Result<()> {
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
        let all = bookings.all().await.unwrap().into_iter();
        all.map(|booking| booking.reference).collect()
    }

    #[tokio::test]
    async fn a_booking_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        for bookings in [Bookings::default(), Bookings::in_file(file)] {
            assert!(references(&bookings).await.is_empty());
            bookings.add(booking("A", "Rome")).await.unwrap();
            bookings.add(booking("B", "Lisbon")).await.unwrap();
            let first = bookings.add(booking("A", "Kyoto")).await.unwrap();
            assert_eq!(first.destination, "Rome");
            assert_eq!(references(&bookings).await, ["A", "B"]);
            assert!(bookings.find("C").await.unwrap().is_none());
        }
    }

    #[tokio::test]
    async fn a_line_cut_short_costs_only_itself() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bookings.jsonl");
        Bookings::in_file(file.clone())
            .add(booking("A", "Rome"))
            .await
            .unwrap();
        let whole = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{whole}{}", &whole[..40])).unwrap();
        let bookings = Bookings::in_file(file);
        bookings.add(booking("B", "Lisbon")).await.unwrap();
        assert_eq!(references(&bookings).await, ["A", "B"]);
    }
}
