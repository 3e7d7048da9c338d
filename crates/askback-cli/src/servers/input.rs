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
    /// `promptString`, `pickString` or `command`.
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    default: Option<String>,
    /// Whether the typed value is hidden.
    #[serde(default)]
    password: bool,
    #[serde(default)]
    options: Vec<Choice>,
}

/// An option of a `pickString` input.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Choice {
    Value(String),
    Labelled { label: String, value: String },
}

impl Choice {
    fn value(&self) -> &str {
        match self {
            Self::Value(value) | Self::Labelled { value, .. } => value,
        }
    }

    fn label(&self) -> &str {
        match self {
            Self::Value(label) | Self::Labelled { label, .. } => label,
        }
    }
}

impl Input {
    /// Asks the user for the value.
    pub fn ask(&self) -> Result<String, Error> {
        if self.kind == "command" {
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
        for (number, choice) in (1_u64..).zip(&self.options) {
            page.quote_line(words!("  {} ", number), choice.label());
        }
        if !self.options.is_empty() {
            page.say(Style::Plain, "Type the number of one.");
        }
        if let Some(default) = self.default.as_deref().filter(|_| !self.password) {
            page.say(Style::Plain, "Enter takes this:");
            page.quote(default);
        }
        if self.password {
            page.say(Style::Plain, "Nothing is shown while you type.");
        }
        page.prompt("");
    }

    /// The value that was typed. `None` if the text is not valid.
    fn read(&self, typed: &str) -> Option<String> {
        if typed.is_empty() {
            // A hidden input has no default, because the user could not see it.
            return self.default.clone().filter(|_| !self.password);
        }
        if self.options.is_empty() {
            return Some(typed.to_owned());
        }
        let number = typed.trim().parse::<usize>().ok();
        let numbered = number.and_then(|number| self.options.get(number.checked_sub(1)?));
        let typed_out = || {
            self.options
                .iter()
                .find(|choice| choice.value() == typed.trim())
        };
        numbered
            .or_else(typed_out)
            .map(|choice| choice.value().to_owned())
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
        let pick = json!({"id": "a", "type": "pickString", "options": ["x", {"label": "Y", "value": "y"}]});
        check(pick.clone(), "1", Some("x"));
        check(pick.clone(), "2", Some("y"));
        check(pick.clone(), "y", Some("y"));
        check(pick.clone(), "0", None);
        check(pick.clone(), "3", None);
        check(pick, "Y", None);
    }

    #[test]
    fn a_question_shows_the_words_of_the_file_behind_the_gutter() {
        let input = input(json!({
            "id": "key", "type": "pickString", "description": "evil\nsays", "default": "evil",
            "options": ["evil", {"label": "evil", "value": "x"}],
        }));
        let mut page = Page::new(Look {
            columns: 80,
            styled: false,
        });
        input.put(&mut page);
        let shown = page.take().to_string();
        assert_eq!(shown.matches("evil").count(), 4, "{shown}");
        for line in shown.lines().filter(|line| line.contains("evil")) {
            assert!(line.contains("| evil"), "{shown}");
        }
    }
}
