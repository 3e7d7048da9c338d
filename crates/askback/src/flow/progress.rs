//! A call's progress: reported by its handler, or because a question waits.

use serde::{Deserialize, Serialize};

use crate::mutex::Mutex;

/// Each note that is sent while a question waits moves the progress by one part in this many towards the next value
/// that the handler will probably report.
const NOTES_PER_STEP: f64 = 1024.0;

/// The progress of a call. Every value is larger than the previous one (2025-11-25, basic/utilities/progress, Progress
/// Flow), for reports of the handler and for notes that a question waits.
pub(crate) struct Progress(Mutex<ProgressState>);

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct ProgressState {
    reported: Option<(f64, Option<f64>)>,
    sent: Option<f64>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn state(&self) -> ProgressState {
        let state = self.with(|told| *told);
        // JSON cannot represent other numbers.
        let total = |total: Option<f64>| total.filter(|it| it.is_finite());
        let reported = state.reported.filter(|(value, _)| value.is_finite());
        ProgressState {
            reported: reported.map(|(value, of)| (value, total(of))),
            sent: state.sent.filter(|sent| sent.is_finite()),
        }
    }

    pub(crate) fn resume(&self, other: &Self) {
        let sent = other.with(|told| told.sent);
        self.with(|told| told.sent = sent);
    }

    /// Takes a value of the handler, and returns the one to send; `None` if the value does not grow.
    pub(crate) fn report(&self, value: f64, total: Option<f64>, is_sent: bool) -> Option<f64> {
        self.with(|told| {
            let last = told.reported.map_or(f64::NEG_INFINITY, |(last, _)| last);
            if value.partial_cmp(&last) != Some(std::cmp::Ordering::Greater) {
                return None;
            }
            told.reported = Some((value, total));
            if !is_sent {
                return None;
            }
            // A waiting note may have advanced a little further.
            let next = told.sent.map_or(value, |sent| value.max(sent.next_up()));
            told.sent = Some(next);
            Some(next)
        })
    }

    /// Returns the value and total for a note that a question waits: slightly more than the last value, and less than
    /// the handler's likely next one.
    pub(crate) fn wait(&self) -> (f64, Option<f64>) {
        self.with(|told| {
            let (reported, total) = told.reported.unwrap_or((0.0, None));
            let last = told.sent.unwrap_or(reported).max(reported);
            let total = total.filter(|total| *total > last);
            let end = total.map_or(reported + 1.0, |total| total.min(reported + 1.0));
            let next = (last + (end - last) / NOTES_PER_STEP).max(last.next_up());
            let next = shortest(next, last, end);
            told.sent = Some(next);
            (next, total.filter(|total| *total > next))
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut ProgressState) -> T) -> T {
        change(&mut self.0.lock())
    }
}

#[cfg(feature = "http-server")]
impl ProgressState {
    /// Returns the value and total after this many waiting notes, and the state after them.
    pub(crate) fn wait(self, notes: u64) -> ((f64, Option<f64>), Self) {
        let progress = Progress(Mutex::new(self));
        let mut last = (0.0, None);
        for _ in 0..notes.max(1) {
            last = progress.wait();
        }
        (last, progress.state())
    }

    /// Returns this state after a report of `sent`, if that is later.
    pub(crate) fn behind(self, sent: Self) -> Self {
        let later = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        Self {
            sent: later(self.sent, sent.sent),
            ..self
        }
    }
}

/// Returns the value with the fewest digits near `value` and between the bounds, because some clients show it.
fn shortest(value: f64, above: f64, below: f64) -> f64 {
    let mut rounded = (0..=9).filter_map(|digits| format!("{value:.digits$}").parse().ok());
    let fits = |short: &f64| *short > above && *short < below;
    rounded.find(fits).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::Progress;

    /// Sends these handler values, each followed by waiting notes. The values must grow, no note may reach the next
    /// value or the total, and no handler value may be lost.
    fn check(values: &[f64], total: Option<f64>, notes: u32) {
        let progress = Progress::new();
        let mut last = f64::NEG_INFINITY;
        for (at, &value) in values.iter().enumerate() {
            let sent = progress.report(value, total, true).unwrap();
            assert!(sent > last && sent >= value, "{sent} after {last}");
            last = sent;
            for _ in 0..notes {
                let (note, end) = progress.wait();
                assert!(note > last, "{note} after {last}");
                assert!(end.is_none_or(|end| note < end), "{note} of {end:?}");
                if let Some(next) = values.get(at + 1).filter(|next| **next - value >= 1.0) {
                    assert!(note < *next, "{note} before {next}");
                }
                last = note;
            }
        }
    }

    #[test]
    fn every_note_grows_and_leaves_room() {
        for notes in [0, 1, 40, 5000] {
            check(&[0.0, 3.0, 4.0, 10.0], Some(10.0), notes);
            check(&[0.0, 3.0, 4.0], None, notes);
            check(&[0.1, 0.11, 1.0], Some(1.0), notes);
            check(&[-5.0, 1e300, 1.5e300], None, notes);
            check(&[5.0, 7.0], Some(5.0), notes);
        }
    }

    #[test]
    fn a_note_has_few_digits() {
        let check = |reported: Option<f64>, total: Option<f64>, notes: &[&str]| {
            let progress = Progress::new();
            if let Some(value) = reported {
                progress.report(value, total, true).unwrap();
            }
            let told = notes.iter().map(|_| progress.wait().0.to_string());
            assert_eq!(told.collect::<Vec<_>>(), notes);
        };
        check(None, None, &["0.001", "0.002", "0.003", "0.004"]);
        check(Some(3.0), Some(10.0), &["3.001", "3.002"]);
        check(Some(0.9), Some(1.0), &["0.9001", "0.9002"]);
        check(Some(1e300), None, &[&1e300_f64.next_up().to_string()]);
    }

    #[test]
    fn progress_that_does_not_grow_or_is_not_a_number_is_dropped() {
        let progress = Progress::new();
        let (first, total) = progress.wait();
        assert!(first > 0.0 && first < 1.0 && total.is_none());
        // A handler that begins at zero after a question is still reported.
        assert!(progress.report(0.0, None, true).unwrap() > first);
        for value in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(progress.report(value, None, true), None);
        }
        assert_eq!(progress.report(2.0, None, false), None);
        assert_eq!(progress.report(2.0, None, true), None);
    }
}
