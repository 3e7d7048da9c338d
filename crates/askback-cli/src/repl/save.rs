//! The last result, written to a file.

use std::{io::Write, path::Path};

use askback_host::{content, page::Style, text::given, words};

use super::Repl;
use crate::{error::Error, private_file};

impl Repl<'_> {
    /// Writes what the last result holds to a new file that only its owner can read: an image, a recording or a file as it is, or
    /// else the whole result as JSON. Of several the `number`th is written, from 1.
    pub(super) fn save(&mut self, file: &str, number: Option<usize>) -> Result<(), Error> {
        let Some(result) = self.known.last.as_ref().and_then(|last| last.result()) else {
            return Err(Error::usage("there is no result that could be saved"));
        };
        let parts = content::files(result);
        let bytes = match (&parts[..], number) {
            ([], None) => {
                let json = serde_json::to_string_pretty(result).unwrap_or_default();
                (json + "\n").into_bytes()
            }
            ([one], None | Some(1)) => one.clone(),
            (all, Some(number)) => match number.checked_sub(1).and_then(|at| all.get(at)) {
                Some(part) => part.clone(),
                None => {
                    let words = words!("the result holds {} files, counted from 1", all.len());
                    return Err(Error::usage(words));
                }
            },
            (all, None) => {
                let words = words!(
                    "the result holds {} files: name one by its number",
                    all.len()
                );
                return Err(Error::usage(words).hint("/save FILE 1 writes the first."));
            }
        };
        let unwritten = |error| {
            let file = given(file);
            Error::usage(words!("{} cannot be written: {}", file, given(error)))
        };
        // What is there already is somebody's, and a result may be for the person alone.
        let new = private_file::create_new(Path::new(file));
        new.and_then(|mut file| file.write_all(&bytes))
            .map_err(unwritten)?;
        let words = words!("{} bytes are in {} now.", bytes.len(), given(file));
        self.session.host.page().say(Style::Plain, words);
        Ok(())
    }
}
