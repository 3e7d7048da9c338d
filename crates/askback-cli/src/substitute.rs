//! Texts of the command line in which `${NAME}` stands for a variable of the environment.

use std::{collections::BTreeMap, env};

use askback_host::words;
use serde_json::json;

use crate::{
    environment,
    error::Error,
    servers::{Names, Values},
};

/// Puts the values of variables into texts, which have names. `a_text` is one of them in an error: "a header".
pub(crate) fn filled(
    texts: &BTreeMap<String, String>,
    a_text: &'static str,
) -> Result<BTreeMap<String, String>, Error> {
    let mut filled = json!({"env": texts});
    let values = values(&Names::of(&filled), a_text)?;
    values.fill(&mut filled).map_err(|_| {
        let words = words!("{} has a name in it that stands for nothing here", a_text);
        Error::usage(words).hint("${NAME} stands for a variable of your environment.")
    })?;
    let filled = filled["env"].as_object().into_iter().flatten();
    let filled = filled.map(|(name, value)| {
        let value = value.as_str().unwrap_or_default();
        (name.clone(), value.to_owned())
    });
    Ok(filled.collect())
}

fn values(names: &Names, a_text: &'static str) -> Result<Values, Error> {
    let mut variables = BTreeMap::new();
    for name in names.variables.iter().chain(&names.optional) {
        if environment::is_ours(name) {
            let words = "no server is given this variable, which holds a secret of askback:";
            return Err(Error::usage(words).quoting(&**name));
        }
        match env::var(name) {
            Ok(value) => {
                variables.insert(name.clone(), value);
            }
            Err(_) if names.optional.contains(name) => {}
            Err(_) => {
                let words = words!(
                    "{} takes a value from this variable, which is not set:",
                    a_text
                );
                return Err(Error::usage(words)
                    .quoting(&**name)
                    .hint("Set it where you run askback. ${NAME:-text} has a default."));
            }
        }
    }
    Ok(Values {
        variables,
        ..Values::default()
    })
}
