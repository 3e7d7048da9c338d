//! The travel agency: a server with tools that ask a person in the middle, prompts with completion,
//! and resources that come and go.
//!
//! It is the example to read first. Nothing in it knows which revision of the protocol a client
//! speaks, or over what it is connected: [`server`] gives a [`Server`] that serves them all.
//!
//! | file | shows |
//! |---|---|
//! | `tools/book_holiday.rs` | two forms in one call, a price that is kept, a booking made once |
//! | `tools/tailor_trip.rs` | a form with every kind of field |
//! | `tools/find_best_flight.rs` | the client's model asked for advice |
//! | `tools/save_itinerary.rs` | the client's folders, when they may be opened, and how to stay within them |
//! | `prompts.rs` | prompts with typed arguments, pictures and resources |
//! | `completion.rs` | completion of their arguments, while they are typed |
//! | `resources.rs` | resources, templates, and a list that changes |
//! | `connect/tools.rs` | the person's account and API key at a third party, and a page of one's own (feature `connect`) |
//! | `main.rs` | a program that serves the agency with them |

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

/// How many items a page of a list has: somebody may have many bookings.
const PAGE_SIZE: usize = 100;

/// What an operator is told of an agency that cannot be set up.
pub type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// How the agency is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How many items a page of a list has; 100 unless given.
    pub page_size: Option<usize>,
    /// The only revisions it speaks; all unless given.
    pub revisions: Option<Vec<Revision>>,
    /// An existing directory in which bookings are kept, so that a restarted agency knows them. Without
    /// one, they last as long as the server.
    pub directory: Option<PathBuf>,
    /// Where itineraries are saved.
    pub itineraries: Itineraries,
}

/// Where itineraries are saved, and so whether there is a tool that saves them.
#[derive(Debug, Clone, Default)]
pub enum Itineraries {
    /// In the folders that a client shares. Only a client that starts the agency itself can have
    /// them saved there: the folders of any other are on another machine.
    #[default]
    SharedFolders,
    /// In this existing folder, in which each person has a folder of their own. Where clients need
    /// tokens, saving takes one with the scope `travel:save`.
    Folder(PathBuf),
    /// Nowhere: there is no such tool.
    Nowhere,
}

/// The agency, ready to be served.
///
/// # Errors
///
/// Fails where the directory cannot be used, and where no revision is left to speak.
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

/// The agency, to be changed before it is built: with keys, a clock or limits of one's own.
///
/// There is no store of commits that outlives the server: a booking has the reference of its call, and
/// the bookings hold each reference once, whichever process adds it and however often.
pub fn builder(bookings: Bookings, itineraries: Itineraries) -> ServerBuilder {
    let listed = bookings.clone();
    let builder = Server::new("askback-travel", env!("CARGO_PKG_VERSION"))
        .title("Travel agency")
        .description("Books holidays, and asks before it does.")
        .instructions(
            "Book with book_holiday: it asks the person for their wishes and contact by itself. \
             The resource travel://destinations lists where one can go.",
        )
        // Where clients need tokens, booking takes one that is meant for it.
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
