mod book_holiday;
mod find_best_flight;
mod save_itinerary;
mod tailor_trip;

pub(crate) use book_holiday::book_holiday;
pub(crate) use find_best_flight::find_best_flight;
pub(crate) use save_itinerary::{Folder, save_itinerary, save_itinerary_with_us};
pub(crate) use tailor_trip::tailor_trip;
