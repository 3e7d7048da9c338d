//! Headers and variables on the command line. `${NAME}` in a value is replaced with an environment variable.

use std::{collections::BTreeMap, convert::Infallible};

use askback::authorization::Secret;
use serde_json::json;

use crate::{
    environment,
    error::Error,
    listed,
    servers::{Names, fill},
    target::{Reach, Target},
};

/// How to pass a header with a token, for error messages.
pub const HOW: &str = "A token that you have goes in --header 'Authorization: Bearer ${TOKEN}', or in `headers` of mcp.json.";

/// The value of `--header` or `--env`. It may be a secret, so it is never printed, even if it is invalid.
#[derive(Debug, Clone)]
pub struct TypedText(Secret);

impl TypedText {
    /// Never fails, because an error would repeat the text.
    pub fn read(text: &str) -> Result<Self, Infallible> {
        Ok(Self(Secret::new(text)))
    }

    fn header(&self) -> Result<(String, String), Error> {
        let parts = self.0.expose().split_once(':');
        let parts = parts.map(|(name, value)| (name.trim(), value.trim()));
        let parts = parts.filter(|(name, _)| !name.is_empty());
        let (name, value) = parts.ok_or_else(|| {
            Error::usage("--header takes a name and a value").hint(
                "Write --header 'Name: value'; ${NAME} in the value is replaced by the variable.",
            )
        })?;
        Ok((name.to_lowercase(), value.to_owned()))
    }

    /// A name alone takes its value from the environment of this process.
    fn variable(&self) -> Result<(String, String), Error> {
        let typed = self.0.expose();
        let (name, value) = match typed.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (typed, format!("${{{typed}}}")),
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        match !name.is_empty() && name.chars().all(is_part) {
            true => Ok((name.to_owned(), value)),
            false => Err(
                Error::usage("--env takes the name of a variable and its value").hint(
                    "Write --env NAME=value, or --env NAME for a variable that you have set.",
                ),
            ),
        }
    }
}

/// Adds headers to all requests to a server, or variables to its process. They take precedence over the server's file.
pub fn add(
    headers: &[TypedText],
    variables: &[TypedText],
    target: &mut Target,
) -> Result<(), Error> {
    let read = |all: &[TypedText], read: fn(&TypedText) -> _| {
        let all = all.iter().map(read);
        all.collect::<Result<BTreeMap<String, String>, Error>>()
    };
    match &mut target.reach {
        Reach::Address(_) if !variables.is_empty() => {
            let error = "--env is for a server that is started here, not one at a URL";
            Err(Error::usage(error).hint("It runs already, with variables of its own."))
        }
        Reach::Address(address) if !headers.is_empty() => {
            for (name, value) in filled(&read(headers, TypedText::header)?, "a header")? {
                address
                    .headers
                    .retain(|known, _| !known.eq_ignore_ascii_case(&name));
                address.headers.insert(name, value);
            }
            // Reports an invalid header, or one that the transport sets, before connecting.
            address.http().map(drop)
        }
        Reach::Start(_) if !headers.is_empty() => {
            let error = "--header is for a server at a URL, not one that is started here";
            Err(Error::usage(error).hint(
                "A server that is started has the variables of your environment; --env sets others.",
            ))
        }
        Reach::Start(command) if !variables.is_empty() => {
            let typed = read(variables, TypedText::variable)?;
            let filled = filled(&typed, "a variable of the server")?;
            // The value of a variable may be secret, so messages show the text that the user typed.
            let mut written = command.told().clone();
            written.env.extend(typed);
            command.env.extend(filled);
            command.written = Some(Box::new(written));
            Ok(())
        }
        Reach::Address(_) | Reach::Start(_) => Ok(()),
    }
}

/// Replaces variables with their values in named texts. `a_text` describes one text in an error: "a header".
fn filled(
    texts: &BTreeMap<String, String>,
    a_text: &'static str,
) -> Result<BTreeMap<String, String>, Error> {
    let mut filled = json!({"env": texts});
    let names = Names::of(&filled);
    let mut all = names.variables.iter().chain(&names.optional);
    if let Some(name) = all.find(|name| environment::is_ours(name)) {
        let words = "no server is given this variable, which holds a secret of askback:";
        return Err(Error::usage(words).quoting(&**name));
    }
    fill(&mut filled, None).map_err(|missing| listed::missing(a_text, missing))?;
    let filled = filled["env"].as_object().into_iter().flatten();
    let filled = filled.map(|(name, value)| {
        let value = value.as_str().unwrap_or_default();
        (name.clone(), value.to_owned())
    });
    Ok(filled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(texts: &[&str]) -> Vec<TypedText> {
        let typed = texts.iter().map(|text| TypedText(Secret::new(*text)));
        typed.collect()
    }

    /// The headers or variables of a server whose file already has one of each.
    fn with(mut target: Target, texts: &[&str]) -> Result<BTreeMap<String, String>, Error> {
        let of_file = "of the file".to_owned();
        match &mut target.reach {
            Reach::Address(address) => {
                address.headers.insert("authorization".to_owned(), of_file);
                add(&typed(texts), &[], &mut target)?;
            }
            Reach::Start(command) => {
                command.env.insert("LEVEL".to_owned(), of_file);
                add(&[], &typed(texts), &mut target)?;
            }
        }
        Ok(match target.reach {
            Reach::Address(address) => address.headers,
            Reach::Start(command) => command.env,
        })
    }

    #[test]
    fn texts_are_filled_and_put_before_those_of_a_file() {
        let far = || Target::address("https://a.test/mcp").expect("it is a URL");
        let near = || Target::child("sh", &[]);
        #[track_caller]
        fn check(target: Target, texts: &[&str], expected: &[(&str, &str)]) {
            let expected = expected.iter();
            let expected = expected.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            assert_eq!(with(target, texts), Ok(expected.collect()));
        }
        let headers = [
            "AUTHORIZATION:Bearer x",
            " X-A : b:c ",
            "y: ${NOT_SET_HERE:-d}",
        ];
        let expected = [("authorization", "Bearer x"), ("x-a", "b:c"), ("y", "d")];
        check(far(), &headers, &expected);
        let path = std::env::var("PATH").expect("there is one");
        let variables = ["LEVEL=a=b", "X=", "Y=${NOT_SET_HERE:-d}", "PATH"];
        let expected = [("LEVEL", "a=b"), ("PATH", &*path), ("X", ""), ("Y", "d")];
        check(near(), &variables, &expected);
        for (target, text, says) in [
            (far(), "hush", "takes a name and a value"),
            (far(), ": hush", "takes a name and a value"),
            (far(), "a: ${NOT_SET_HERE}", "which is not set"),
            (far(), "a: ${ASKBACK_CLIENT_SECRET}", "a secret of askback"),
            (
                far(),
                "a: ${workspaceFolder}",
                "there is no folder for the name `workspaceFolder` here",
            ),
            (far(), "mcp-session-id: hush", "cannot be sent"),
            (far(), "a b: hush", "cannot be sent"),
            (far(), "a: hu\nsh", "cannot be sent"),
            (near(), "=hush", "takes the name of a variable"),
            (near(), "a b=hush", "takes the name of a variable"),
            (near(), "", "takes the name of a variable"),
            (near(), "NOT_SET_HERE", "which is not set"),
            (near(), "ASKBACK_CLIENT_SECRET", "a secret of askback"),
        ] {
            let error = with(target, &[text]).expect_err(text);
            let told = format!("{error:?}");
            assert!(told.contains(says) && !told.contains("hush"), "{told}");
        }
        let mut target = near();
        add(&[], &typed(&["PATH"]), &mut target).expect("it is set");
        let Reach::Start(command) = &target.reach else {
            panic!("it is started");
        };
        assert_eq!(command.told().env["PATH"], "${PATH}");
        let header = typed(&["a: hush"]);
        assert!(add(&header, &[], &mut target).is_err() && add(&[], &header, &mut far()).is_err());
        assert!(!format!("{header:?}").contains("hush"));
    }
}
