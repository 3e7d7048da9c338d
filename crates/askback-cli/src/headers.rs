//! Headers of the command line, for servers at an address.

use std::{collections::BTreeMap, convert::Infallible};

use askback::authorization::Secret;
use serde_json::json;

use crate::{
    error::Error,
    secret,
    servers::Names,
    substitute,
    target::{Reach, Target},
};

/// How a header with a token is given, for errors that say so.
pub const HOW: &str = "A token that you have goes in --header 'Authorization: Bearer ${TOKEN}', or in `headers` of mcp.json.";

/// A header as it was typed. It may hold a secret, so that it is never printed, not even where it is wrong.
#[derive(Debug, Clone)]
pub struct TypedHeader(Secret);

impl TypedHeader {
    pub fn read(text: &str) -> Result<Self, Infallible> {
        Ok(Self(Secret::new(text)))
    }

    /// Whether anything of its value is in the command line, but for the word before a token.
    pub fn is_spelled_out(&self) -> bool {
        let Ok((_, value)) = self.parts() else {
            return true;
        };
        let (_, token) = secret::after_scheme(value);
        let inside = token.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
        let is_one = inside.is_some_and(|inside| !inside.contains(['$', '{', '}']));
        // One with a default is optional.
        let names = Names::of(&json!({"headers": [token]}));
        !is_one || names.variables.is_empty()
    }

    fn parts(&self) -> Result<(&str, &str), Error> {
        let parts = self.0.expose().split_once(':');
        let parts = parts.map(|(name, value)| (name.trim(), value.trim()));
        parts.filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            Error::usage("--header takes a name and a value")
                .hint("Write --header 'Name: value'; ${NAME} in the value stands for a variable.")
        })
    }
}

/// Has each request to a server carry these headers, with the values of their variables. They take the place of those of
/// a file.
pub fn add(headers: &[TypedHeader], target: &mut Target) -> Result<(), Error> {
    if headers.is_empty() {
        return Ok(());
    }
    let Reach::Address(address) = &mut target.reach else {
        return Err(Error::usage(
            "--header is for a server at a URL, not one that is started here",
        )
        .hint(
            "A server that is started has the variables of your environment; --env sets others.",
        ));
    };
    let mut typed = BTreeMap::new();
    for header in headers {
        let (name, value) = header.parts()?;
        typed.insert(name.to_lowercase(), value.to_owned());
    }
    for (name, value) in substitute::filled(&typed, "a header")? {
        address
            .headers
            .retain(|known, _| !known.eq_ignore_ascii_case(&name));
        address.headers.insert(name, value);
    }
    // One that the transport sets, or that is no header, is told now.
    address.http().map(drop)
}

/// Checks that a call with these headers may be kept in a file: no value is spelled out.
pub fn keep_out_of_files(headers: &[TypedHeader]) -> Result<(), Error> {
    match headers.iter().any(TypedHeader::is_spelled_out) {
        false => Ok(()),
        true => Err(
            Error::usage("a call that waits is kept in a file, and this --header with it")
                .hint("Write its value as '${NAME}' or 'Bearer ${NAME}', in single quotes, and set that variable."),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(url: &str, headers: &[&str]) -> Result<BTreeMap<String, String>, Error> {
        let mut target = Target::address(url)?;
        if let Reach::Address(address) = &mut target.reach {
            let of_file = ("authorization".to_owned(), "of the file".to_owned());
            address.headers.extend([of_file]);
        }
        let typed = headers.iter().map(|text| match TypedHeader::read(text) {
            Ok(header) => header,
        });
        add(&typed.collect::<Vec<_>>(), &mut target)?;
        match target.reach {
            Reach::Address(address) => Ok(address.headers),
            Reach::Start(_) => panic!("it is at a URL"),
        }
    }

    #[test]
    fn headers_are_read_filled_and_put_before_those_of_a_file() {
        let url = "https://a.test/mcp";
        let headers = with(
            url,
            &[
                "AUTHORIZATION:Bearer x",
                " X-A : b:c ",
                "y: ${NOT_SET_HERE:-d}",
            ],
        );
        let expected = [("authorization", "Bearer x"), ("x-a", "b:c"), ("y", "d")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers, Ok(BTreeMap::from(expected)));
        for (header, says) in [
            ("hush", "takes a name and a value"),
            (": hush", "takes a name and a value"),
            ("a: ${NOT_SET_HERE}", "which is not set"),
            ("a: ${ASKBACK_CLIENT_SECRET}", "a secret of askback"),
            ("a: ${input:key}", "stands for nothing here"),
            ("mcp-session-id: hush", "cannot be sent"),
            ("a b: hush", "cannot be sent"),
            ("a: hu\nsh", "cannot be sent"),
        ] {
            let error = with(url, &[header]).expect_err(header);
            let told = format!("{error:?}");
            assert!(told.contains(says) && !told.contains("hush"), "{told}");
        }
        let mut target = Target::child("sh", &[]);
        let header = [TypedHeader(Secret::new("a: hush"))];
        let error = add(&header, &mut target).expect_err("it is started");
        assert!(error.message.as_str().contains("not one that is started"));
        assert!(!format!("{header:?}").contains("hush"));
    }

    #[test]
    fn a_header_of_a_variable_alone_may_be_kept() {
        for (header, is_kept) in [
            ("a: ${B}", true),
            ("a: Bearer ${B}", true),
            ("a:basic ${env:B}", true),
            ("a: b", false),
            ("a: Bearer ${B:-}", false),
            ("a: Bearer hush${NOTHING:-}", false),
            ("a: ${EMPTY:-hush}", false),
            ("a: hush ${B}", false),
            ("a: Bearer ${B}hush", false),
            ("a: ${B}hush${B}", false),
            ("${B}", false),
        ] {
            let typed = [TypedHeader(Secret::new(header))];
            assert_eq!(keep_out_of_files(&typed).is_ok(), is_kept, "{header}");
        }
    }
}
