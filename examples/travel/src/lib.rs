//! The travel agency: a server with tools that ask the user in the middle of a call, prompts with completion, and
//! resources that change.
//!
//! Read this example first. Its code does not depend on the protocol revision or on the transport: the [`Server`] from
//! [`server`] serves all of them.
//!
//! | file | shows |
//! |---|---|
//! | `tools/book_holiday.rs` | two forms in one call, a fixed price, a booking that is made once |
//! | `tools/tailor_trip.rs` | a form with every kind of field |
//! | `tools/find_best_flight.rs` | asking the client's model for advice |
//! | `tools/save_itinerary.rs` | the client's folders, when they can be opened, and how to stay inside them |
//! | `prompts.rs` | prompts with typed arguments, pictures and resources |
//! | `completion.rs` | completion of their arguments |
//! | `resources.rs` | resources, templates, and a list that changes |
//! | `connect/tools.rs` | the user's account and API key at a third party, and a page of the agency (feature `connect`) |
//! | `main.rs` | a program that serves the agency |

mod bookings;
mod completion;
#[cfg(feature = "connect")]
mod connect;
mod data;
mod files;
mod flights;
mod prompts;
mod resources;
mod tools;

use std::{error::Error, path::PathBuf};

use askback::{Revision, Server, ServerBuilder};

pub use crate::bookings::Bookings;
#[cfg(feature = "connect")]
pub use crate::connect::Accounts;
use crate::{
    completion::complete_reference,
    prompts::{packing_list, plan_vacation, show_destination, trip_report},
    resources::{booking, destination, destinations},
    tools::{
        Folder, book_holiday, find_best_flight, save_itinerary, save_itinerary_with_us, tailor_trip,
    },
};

/// The default page size of lists, because there may be many bookings.
const PAGE_SIZE: usize = 100;

/// The error for an operator if the agency cannot be set up.
pub type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The agency's options.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The page size of lists. The default is 100.
    pub page_size: Option<usize>,
    /// The supported revisions. The default is all of them.
    pub revisions: Option<Vec<Revision>>,
    /// An existing directory for the bookings, so that a restarted agency knows them. By default, bookings are lost
    /// when the server exits.
    pub directory: Option<PathBuf>,
    /// Where itineraries are saved.
    pub itineraries: Itineraries,
}

/// Where itineraries are saved. Without a place, there is no tool for it.
#[derive(Debug, Clone, Default)]
pub enum Itineraries {
    /// In the folders that a client shares. This only works for a client that starts the agency itself, because other
    /// clients' folders are on another machine.
    #[default]
    SharedFolders,
    /// In this existing folder, with a subfolder per person. If clients need tokens, saving requires the scope
    /// `travel:save`.
    Folder(PathBuf),
    /// There is no tool for itineraries.
    Nowhere,
}

/// Creates the agency.
///
/// # Errors
///
/// If the directory cannot be used, or no revision is left.
pub fn server(options: Options) -> Result<Server> {
    let bookings = match options.directory {
        Some(directory) => Bookings::in_directory(&directory)?,
        None => Bookings::default(),
    };
    let builder = builder(bookings, options.itineraries);
    let mut builder = builder.page_size(options.page_size.unwrap_or(PAGE_SIZE));
    if let Some(revisions) = options.revisions {
        builder = builder.revisions(revisions);
    }
    Ok(builder.build()?)
}

/// Returns the agency's builder, to set keys, a clock or limits.
///
/// The agency needs no persistent store for commits. A booking's reference comes from its call, and the bookings
/// contain each reference only once, even if several processes add it.
pub fn builder(bookings: Bookings, itineraries: Itineraries) -> ServerBuilder {
    let listed = bookings.clone();
    let builder = Server::new("askback-travel", env!("CARGO_PKG_VERSION"))
        .title("Travel agency")
        .description("Books holidays, and asks before it does.")
        .instructions(
            "Book with book_holiday: it asks the person for their wishes and contact by itself. \
             The resource travel://destinations lists where one can go.",
        )
        // If clients need tokens, booking requires its own scope.
        .tool(book_holiday().scopes(["travel:book"]))
        .tool(tailor_trip)
        .tool(find_best_flight)
        .prompt(plan_vacation)
        .prompt(trip_report().complete("reference", complete_reference))
        .prompt(show_destination)
        .prompt(packing_list)
        .resource(destinations)
        .resource_template(destination)
        .resource_template(booking)
        .list_resources_for(move |who| resources::booked(listed.clone(), who))
        .state(bookings);
    match itineraries {
        Itineraries::SharedFolders => builder.tool(save_itinerary),
        Itineraries::Folder(folder) => builder
            .state(Folder::new(folder))
            .tool(save_itinerary_with_us().scopes(["travel:save"])),
        Itineraries::Nowhere => builder,
    }
}
