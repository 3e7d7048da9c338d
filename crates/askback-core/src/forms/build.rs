//! Builds forms at run time, and reads their values.
//!
//! ```
//! use askback_core::forms::{
//!     ChoiceField, Content, Field, FormSchema, FormValues, NumberField, TextField,
//! };
//! use serde_json::json;
//!
//! let form = FormSchema::new([
//!     Field::new("name", TextField::default().max_length(100)).title("Full name"),
//!     Field::new("nights", NumberField::integer().min(1).max(30).with_default(7)),
//!     Field::new("seat", ChoiceField::new(["window", "aisle"])).optional(),
//! ]);
//! assert_eq!(form.fields[1].hint(), "a whole number from 1 to 30");
//!
//! let filled = json!({"name": "Ada", "nights": 3});
//! let values = FormValues::new(filled.as_object().cloned().unwrap_or_default());
//! let nights: u8 = values.get("nights")?;
//! let seat: Option<String> = values.get("seat")?;
//! assert_eq!((nights, seat), (3, None));
//! # Ok::<(), askback_core::forms::Issue>(())
//! ```

use alloc::{string::String, vec::Vec};

use serde_json::{Map, Value};

use super::{
    BooleanField, ChoiceField, ChoicesField, Content, Field, FieldKind, FormField, FormSchema,
    IntoNumber, Issue, NumberField, Opt, TextField, TextFormat,
};

/// The values of a form that was built at run time, by field name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FormValues(Content);

impl FormValues {
    /// Wraps the values of a checked answer.
    pub fn new(content: Content) -> Self {
        Self(content)
    }

    /// Returns the value of a field. `T` is the type that the field of a struct would have, with
    /// `Option` for an optional field.
    ///
    /// # Errors
    ///
    /// Fails if the value has another type or is missing. The author is to blame.
    pub fn get<T: FormField>(&self, name: &str) -> Result<T, Issue> {
        T::read(self.0.get(name)).map_err(|message| Issue::new(name, message))
    }

    /// Returns the selected options of a [`ChoicesField`]. The list is empty if the field was left
    /// out.
    ///
    /// # Errors
    ///
    /// Fails if the field is not a [`ChoicesField`]. The author is to blame.
    pub fn chosen(&self, name: &str) -> Result<Vec<&str>, Issue> {
        let wrong = || Issue::new(name, "must be a list of options");
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => {
                let values = values.iter();
                values
                    .map(|value| value.as_str().ok_or_else(wrong))
                    .collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Returns the values as JSON.
    pub fn content(&self) -> &Content {
        &self.0
    }
}

impl FormSchema {
    /// Makes a form of these fields, in this order.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Self {
        Self {
            fields: fields.into_iter().collect(),
            annotations: Map::new(),
        }
    }
}

impl Field {
    /// Makes a field. It is required unless its kind has a default.
    pub fn new(name: impl Into<String>, kind: impl Into<FieldKind>) -> Self {
        let mut field = Self {
            name: name.into(),
            title: None,
            description: None,
            required: true,
            kind: kind.into(),
            not_secret: false,
        };
        field.required = field.default_value().is_none();
        field
    }

    /// Sets the label.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Makes the field optional.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// Declares that the field does not ask for a secret, although its wording suggests it.
    #[must_use]
    pub fn not_secret(mut self) -> Self {
        self.not_secret = true;
        self
    }
}

impl TextField {
    /// Sets the minimum length, in characters.
    #[must_use]
    pub fn min_length(mut self, min: u64) -> Self {
        self.min_length = Some(min);
        self
    }

    /// Sets the maximum length, in characters.
    #[must_use]
    pub fn max_length(mut self, max: u64) -> Self {
        self.max_length = Some(max);
        self
    }

    /// Sets a regular expression (ECMA-262) that the text must match somewhere.
    #[must_use]
    pub fn pattern(mut self, pattern: impl Into<String>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// Sets the format of the text.
    #[must_use]
    pub fn format(mut self, format: TextFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the default.
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

impl NumberField {
    /// Makes a field for whole numbers. [`NumberField::default()`] accepts any number.
    pub fn integer() -> Self {
        Self {
            integer: true,
            ..Default::default()
        }
    }

    /// Sets the minimum.
    #[must_use]
    pub fn min(mut self, min: impl IntoNumber) -> Self {
        self.minimum = min.into_number();
        self
    }

    /// Sets the maximum.
    #[must_use]
    pub fn max(mut self, max: impl IntoNumber) -> Self {
        self.maximum = max.into_number();
        self
    }

    /// Sets the default.
    #[must_use]
    pub fn with_default(mut self, default: impl IntoNumber) -> Self {
        self.default = default.into_number();
        self
    }
}

impl BooleanField {
    /// Sets the default.
    #[must_use]
    pub fn with_default(mut self, default: bool) -> Self {
        self.default = Some(default);
        self
    }
}

impl ChoiceField {
    /// Makes a choice of one option: strings, or pairs of a value and its title.
    pub fn new(options: impl IntoIterator<Item = impl Into<Opt>>) -> Self {
        Self {
            options: options.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Sets the default, by its value.
    #[must_use]
    pub fn with_default(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }
}

impl ChoicesField {
    /// Makes a choice of several options: strings, or pairs of a value and its title.
    pub fn new(options: impl IntoIterator<Item = impl Into<Opt>>) -> Self {
        Self {
            options: options.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Sets the minimum number of options to choose.
    #[must_use]
    pub fn min_items(mut self, min: u64) -> Self {
        self.min_items = Some(min);
        self
    }

    /// Sets the maximum number of options to choose.
    #[must_use]
    pub fn max_items(mut self, max: u64) -> Self {
        self.max_items = Some(max);
        self
    }

    /// Sets the options that are selected by default, by their values.
    #[must_use]
    pub fn with_default(mut self, default: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.default = Some(default.into_iter().map(Into::into).collect());
        self
    }
}

impl From<&str> for Opt {
    fn from(value: &str) -> Self {
        String::from(value).into()
    }
}

impl From<String> for Opt {
    fn from(value: String) -> Self {
        Self { value, title: None }
    }
}

impl<V: Into<String>, T: Into<String>> From<(V, T)> for Opt {
    fn from((value, title): (V, T)) -> Self {
        Self {
            value: value.into(),
            title: Some(title.into()),
        }
    }
}

macro_rules! kinds {
    ($($field:ident => $kind:ident),*) => {$(
        impl From<$field> for FieldKind {
            fn from(field: $field) -> Self {
                Self::$kind(field)
            }
        }
    )*};
}

kinds! {
    TextField => Text, NumberField => Number, BooleanField => Boolean, ChoiceField => Choice,
    ChoicesField => Choices
}
