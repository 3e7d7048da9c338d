//! Inputs of a configuration file: values that the user types when a server is started.

use askback_host::{
    page::{Page, Style, out},
    plain::forget_early,
    text::given,
    words,
};
use serde::Deserialize;

use super::terminal::{self, Typing};
use crate::error::{Error, Kind};

/// An input, with the fields that VS Code defines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Input {
    /// The id by which other values refer to it.
    pub id: String,
    /// `promptString`, `pickString` or `command`. Only the first can be asked here.
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    default: Option<String>,
    /// Whether the typed value is hidden.
    #[serde(default)]
    password: bool,
}

impl Input {
    /// Asks the user for the value.
    pub fn ask(&self) -> Result<String, Error> {
        if ["command", "pickString"].contains(&self.kind.as_str()) {
            return Err(Error::usage("only an editor can provide this input:")
                .quoting(&*self.id)
                .hint("Write a variable such as ${MY_KEY} in its place."));
        }
        if !out::is_attended() {
            return Err(Error::usage(
                "a person has to type this input, and there is no terminal:",
            )
            .quoting(&*self.id)
            .hint("Run the command at a terminal, or write a variable such as ${MY_KEY} in its place."));
        }
        let mut page = out::stderr_page();
        forget_early(&mut page);
        loop {
            self.put(&mut page);
            let typing = match self.password {
                true => Typing::Unseen,
                false => Typing::Seen,
            };
            let typed = terminal::ask(&mut page, typing).map_err(|error| {
                Error::usage(words!("the terminal cannot be read: {}", given(error)))
            })?;
            let Some(typed) = typed else {
                return Err(Error::new(Kind::Interrupted, "stopped"));
            };
            match self.read(&typed) {
                Some(value) => return Ok(value),
                None => page.say(Style::Plain, "A value is needed."),
            }
        }
    }

    fn put(&self, page: &mut Page) {
        page.say(Style::Plain, "The file asks for this value:");
        page.quote(self.description.as_deref().unwrap_or(&self.id));
        if let Some(default) = self.default.as_deref().filter(|_| !self.password) {
            page.say(Style::Plain, "Enter takes this:");
            page.quote(default);
        }
        if self.password {
            page.say(Style::Plain, "Nothing is shown while you type.");
        }
        page.prompt("");
    }

    /// The value that was typed. `None` if there is none.
    fn read(&self, typed: &str) -> Option<String> {
        if typed.is_empty() {
            // A hidden input has no default, because the user could not see it.
            return self.default.clone().filter(|_| !self.password);
        }
        Some(typed.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use askback_host::page::Look;
    use serde_json::{Value, json};

    use super::*;

    fn input(json: Value) -> Input {
        serde_json::from_value(json).expect("it is an input")
    }

    #[test]
    fn what_is_typed_is_read() {
        #[track_caller]
        fn check(json: Value, typed: &str, expected: Option<&str>) {
            assert_eq!(input(json).read(typed).as_deref(), expected);
        }
        check(json!({"id": "a"}), "x y", Some("x y"));
        check(json!({"id": "a"}), "", None);
        check(json!({"id": "a", "default": "d"}), "", Some("d"));
        check(json!({"id": "a", "default": "d"}), "x", Some("x"));
        let unseen = json!({"id": "a", "default": "d", "password": true});
        check(unseen.clone(), "", None);
        check(unseen, "x", Some("x"));
        let pick = input(json!({"id": "a", "type": "pickString"})).ask();
        let error = pick.expect_err("it has options").to_string();
        assert!(error.contains("only an editor"), "{error}");
    }

    #[test]
    fn a_question_shows_the_words_of_the_file_behind_the_gutter() {
        let input = input(json!({
            "id": "key", "type": "promptString", "description": "evil\nsays", "default": "evil",
        }));
        let mut page = Page::new(Look {
            columns: 80,
            styled: false,
        });
        input.put(&mut page);
        let shown = page.take().to_string();
        assert_eq!(shown.matches("evil").count(), 2, "{shown}");
        for line in shown.lines().filter(|line| line.contains("evil")) {
            assert!(line.contains("| evil"), "{shown}");
        }
    }
}
