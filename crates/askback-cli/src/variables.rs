//! Variables of the command line, for servers that are started here.

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

/// A variable as it was typed. It may hold a secret, so that it is never printed, not even where it is wrong.
#[derive(Debug, Clone)]
pub struct TypedVariable(Secret);

impl TypedVariable {
    pub fn read(text: &str) -> Result<Self, Infallible> {
        Ok(Self(Secret::new(text)))
    }

    /// The name and the value, in which names of other variables may stand. A name alone has the value that it has here.
    fn parts(&self) -> Result<(String, String), Error> {
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

    /// Whether a value that may be secret is in the command line.
    fn spells_out_secret(&self) -> bool {
        let Ok((name, value)) = self.parts() else {
            return true;
        };
        let may_be_secret = secret::is_setting(&name) || secret::is_in(&value, secret::is_setting);
        may_be_secret && Names::of(&json!({"env": [value]})).variables.is_empty()
    }
}

/// Sets these variables of the server that is started, with the values of the variables in them. They take the place of
/// those of a file.
pub fn add(variables: &[TypedVariable], target: &mut Target) -> Result<(), Error> {
    if variables.is_empty() {
        return Ok(());
    }
    let Reach::Start(command) = &mut target.reach else {
        let error = "--env is for a server that is started here, not one at a URL";
        return Err(Error::usage(error).hint("It runs already, with variables of its own."));
    };
    let mut typed = BTreeMap::new();
    for variable in variables {
        let (name, value) = variable.parts()?;
        typed.insert(name, value);
    }
    let filled = substitute::filled(&typed, "a variable of the server")?;
    // What stands for a variable may be secret, and is told as it was typed.
    let mut written = command.told().clone();
    written.env.extend(typed);
    command.env.extend(filled);
    command.written = Some(Box::new(written));
    Ok(())
}

/// Checks that a call with these variables may be kept in a file: no value that may be secret is spelled out.
pub fn keep_out_of_files(variables: &[TypedVariable]) -> Result<(), Error> {
    match variables.iter().any(TypedVariable::spells_out_secret) {
        false => Ok(()),
        true => Err(
            Error::usage("a call that waits is kept in a file, and this --env with it").hint(
                "Write its value as '${NAME}', in single quotes, or its name alone, and set that variable.",
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Command;

    fn typed(texts: &[&str]) -> Vec<TypedVariable> {
        let typed = texts.iter().map(|text| match TypedVariable::read(text) {
            Ok(variable) => variable,
        });
        typed.collect()
    }

    fn with(texts: &[&str]) -> Result<Command, Error> {
        let mut target = Target::child("sh", &[]);
        if let Reach::Start(command) = &mut target.reach {
            let of_file = ("LEVEL".to_owned(), "of the file".to_owned());
            command.env.extend([of_file]);
        }
        add(&typed(texts), &mut target)?;
        match target.reach {
            Reach::Start(command) => Ok(command),
            Reach::Address(_) => panic!("it is started"),
        }
    }

    #[test]
    fn variables_are_filled_and_put_before_those_of_a_file() {
        let command = with(&["LEVEL=a=b", "X=", "Y=${NOT_SET_HERE:-d}", "PATH"]);
        let command = command.expect("they are right");
        let path = std::env::var("PATH").expect("there is one");
        let values = [("LEVEL", "a=b"), ("PATH", &path), ("X", ""), ("Y", "d")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(command.env, BTreeMap::from(values));
        let written = &command.told().env;
        assert_eq!(written["PATH"], "${PATH}");
        assert_eq!(written["Y"], "${NOT_SET_HERE:-d}");
        for (variable, says) in [
            ("=hush", "takes the name of a variable"),
            ("a b=hush", "takes the name of a variable"),
            ("", "takes the name of a variable"),
            ("NOT_SET_HERE", "which is not set"),
            ("A=${NOT_SET_HERE}", "which is not set"),
            ("ASKBACK_CLIENT_SECRET", "a secret of askback"),
            ("A=${input:key}hush", "stands for nothing here"),
        ] {
            let error = with(&[variable]).expect_err(variable);
            let told = format!("{error:?}");
            assert!(told.contains(says) && !told.contains("hush"), "{told}");
        }
        let mut target = Target::address("https://a.test/mcp").expect("it is a URL");
        let error = add(&typed(&["A=hush"]), &mut target).expect_err("it is not started");
        assert!(error.message.as_str().contains("not one at a URL"));
        assert!(!format!("{:?}", typed(&["A=hush"])).contains("hush"));
    }

    #[test]
    fn a_secret_is_kept_as_a_variable_alone() {
        for (variable, is_kept) in [
            ("LEVEL=debug", true),
            ("TOKEN", true),
            ("TOKEN=${TOKEN}", true),
            ("TOKEN=hush", false),
            ("TOKEN=${TOKEN:-hush}", false),
            ("URL=https://u:hush@a.test", false),
            ("a b=hush", false),
        ] {
            let kept = keep_out_of_files(&typed(&[variable]));
            assert_eq!(kept.is_ok(), is_kept, "{variable}");
        }
    }
}
