//! The reasons for which a server is not reached, as far as they can be told.

use askback_host::{text::given, words};

use crate::{
    error::{Error, Kind},
    target::Reach,
};

/// The error of a command that is to be started in a folder that is missing: the program is not to blame.
pub fn no_folder(reach: &Reach) -> Option<Error> {
    let Reach::Start(command) = reach else {
        return None;
    };
    let folder = command.missing_folder()?;
    let words = words!("the folder {} does not exist", given(folder.display()));
    let hint = "The server is to be started in it: make it, or change `cwd`.";
    Some(Error::new(Kind::Connection, words).hint(hint))
}

/// The way out of what HTTP says of a server that was not reached, where there is one.
pub fn hint(why: &str) -> Option<&'static str> {
    // The words of rustls for an answer that is no TLS.
    why.contains("InvalidContentType").then_some(
        "There seems to be no TLS at this port: write http: in the place of https: then.",
    )
}
