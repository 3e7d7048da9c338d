//! Placeholders in an answers file: `${NAME}` for a variable, `@file` for a file.

use std::{env, path::Path};

use crate::{
    text::{Words, given},
    text_file, words,
};

/// The folder of an answers file, and its environment variables.
pub struct Surroundings<'a> {
    /// The folder that paths are relative to.
    pub folder: &'a Path,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Surroundings<'a> {
    /// This folder, with the environment of this process.
    pub fn of_process(folder: &'a Path) -> Self {
        Self {
            folder,
            variable: &|name| env::var(name).ok(),
        }
    }

    pub(super) fn expand(&self, text: &mut String) -> Result<(), Words> {
        // Only the answers file can name a file. The value of a variable cannot.
        *text = match text.strip_prefix('@') {
            None | Some("") => self.variables(text)?,
            Some(rest) if rest.starts_with('@') => self.variables(rest)?,
            Some(path) => self.file(&self.variables(path)?)?,
        };
        Ok(())
    }

    /// Replaces `${NAME}` with the value of the variable. `$${` is a literal `${`.
    /// Fails if a variable is not set, its name is not valid, or a `}` is missing.
    pub fn variables(&self, text: &str) -> Result<String, Words> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                expanded.push_str(before);
                expanded.push_str("${");
                rest = after;
                continue;
            }
            let Some((name, after)) = after.split_once('}') else {
                return Err("`${` has no `}`; write `$${` for the characters".into());
            };
            let value = match is_name(name) {
                true => (self.variable)(name),
                false => {
                    let name = given(name).short();
                    return Err(words!("`{}` is not the name of a variable", name));
                }
            };
            let unset = || words!("the variable {} is not set", given(name).short());
            expanded.push_str(before);
            expanded.push_str(&value.ok_or_else(unset)?);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    /// Reads a file, without the line break at its end.
    fn file(&self, path: &str) -> Result<String, Words> {
        let path = self.folder.join(path);
        let text = text_file::read_at(&path);
        let mut text = text.map_err(|error| {
            let path = given(path.display());
            words!("{} cannot be read: {}", path, given(error))
        })?;
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Ok(text)
    }
}

/// Escapes text so that an answers file takes it literally.
pub fn literal(text: &str) -> String {
    let text = text.replace("${", "$${");
    match text.starts_with('@') {
        true => format!("@{text}"),
        false => text,
    }
}

fn is_name(name: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(starts) && name.chars().all(goes_on)
}
