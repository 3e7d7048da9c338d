//! What the code of the derive macro calls. Not for use by hand, and free to change.

pub use alloc::{string::String, vec::Vec};
pub use serde_json::Value;

use core::cmp::Ordering;

use serde_json::Number;

use super::{
    Content, Field, FieldKind, FormChoice, FormField, FormSchema, Issues, TextFormat, number, typed,
};

/// A form of these fields.
pub fn schema(fields: Vec<Field>) -> FormSchema {
    FormSchema {
        fields,
        ..FormSchema::default()
    }
}

/// A field of a type.
pub fn field<T: FormField>(name: &str) -> FieldBuilder {
    FieldBuilder(Field {
        name: name.into(),
        title: None,
        description: None,
        required: !T::OPTIONAL,
        kind: T::kind(),
    })
}

/// A field under construction. A setter that does not suit the kind changes nothing; the macro has
/// refused such an attribute by the field's sort before.
pub struct FieldBuilder(Field);

impl FieldBuilder {
    /// The finished field.
    pub fn build(self) -> Field {
        self.0
    }

    /// Sets the title.
    pub fn title(mut self, title: &str) -> Self {
        self.0.title = Some(title.into());
        self
    }

    /// Sets the description.
    pub fn description(mut self, description: &str) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// Sets the least number, unless the type is narrower.
    pub fn min(mut self, min: impl IntoNumber) -> Self {
        if let FieldKind::Number(field) = &mut self.0.kind {
            tighten(&mut field.minimum, min.into_number(), Ordering::Greater);
        }
        self
    }

    /// Sets the greatest number, unless the type is narrower.
    pub fn max(mut self, max: impl IntoNumber) -> Self {
        if let FieldKind::Number(field) = &mut self.0.kind {
            tighten(&mut field.maximum, max.into_number(), Ordering::Less);
        }
        self
    }

    /// Sets the least length.
    pub fn min_length(mut self, min: u64) -> Self {
        if let FieldKind::Text(field) = &mut self.0.kind {
            field.min_length = Some(min);
        }
        self
    }

    /// Sets the greatest length.
    pub fn max_length(mut self, max: u64) -> Self {
        if let FieldKind::Text(field) = &mut self.0.kind {
            field.max_length = Some(max);
        }
        self
    }

    /// Sets the pattern.
    pub fn pattern(mut self, pattern: &str) -> Self {
        if let FieldKind::Text(field) = &mut self.0.kind {
            field.pattern = Some(pattern.into());
        }
        self
    }

    /// Sets the format.
    pub fn format(mut self, format: TextFormat) -> Self {
        if let FieldKind::Text(field) = &mut self.0.kind {
            field.format = Some(format);
        }
        self
    }

    /// Sets the least number of options.
    pub fn min_items(mut self, min: u64) -> Self {
        if let FieldKind::Choices(field) = &mut self.0.kind {
            field.min_items = Some(min);
        }
        self
    }

    /// Sets the greatest number of options.
    pub fn max_items(mut self, max: u64) -> Self {
        if let FieldKind::Choices(field) = &mut self.0.kind {
            field.max_items = Some(max);
        }
        self
    }

    /// Writes titles as `enumNames`.
    pub fn enum_names(mut self) -> Self {
        if let FieldKind::Choice(field) = &mut self.0.kind {
            field.enum_names = true;
        }
        self
    }

    /// Sets the default; the field is then not required.
    pub fn default<T: FormField>(mut self, default: &T) -> Self {
        self.0.required = false;
        let texts = |values: Vec<Value>| {
            let texts = values.into_iter().filter_map(|value| match value {
                Value::String(text) => Some(text),
                _ => None,
            });
            texts.collect()
        };
        match (&mut self.0.kind, default.write()) {
            (FieldKind::Text(field), Some(Value::String(text))) => field.default = Some(text),
            (FieldKind::Number(field), Some(Value::Number(number))) => field.default = Some(number),
            (FieldKind::Boolean(field), Some(Value::Bool(value))) => field.default = Some(value),
            (FieldKind::Choice(field), Some(Value::String(value))) => field.default = Some(value),
            (FieldKind::Choices(field), Some(Value::Array(values))) => {
                field.default = Some(texts(values));
            }
            // A type writes values of its own kind.
            _ => {}
        }
        self
    }
}

/// Reads the fields of an answer and collects what is wrong with them.
pub struct Reader<'a> {
    content: &'a Content,
    issues: Issues,
}

impl<'a> Reader<'a> {
    /// A reader of an answer.
    pub fn new(content: &'a Content) -> Self {
        Self {
            content,
            issues: Issues::default(),
        }
    }

    /// The value of a field, or nothing and an issue.
    pub fn field<T: FormField>(&mut self, name: &str) -> Option<T> {
        match T::read(self.content.get(name)) {
            Ok(value) => Some(value),
            Err(message) => {
                self.issues.push(name, message);
                None
            }
        }
    }

    /// The value of a field, or its default where it is not given.
    pub fn field_or<T: FormField>(&mut self, name: &str, default: impl FnOnce() -> T) -> Option<T> {
        match self.content.get(name) {
            None | Some(Value::Null) => Some(default()),
            Some(_) => self.field(name),
        }
    }

    /// What is wrong.
    pub fn into_issues(self) -> Issues {
        self.issues
    }
}

/// Puts a field's value into an answer, if it has one.
pub fn put<T: FormField>(content: &mut Content, name: &str, value: &T) {
    if let Some(value) = value.write() {
        content.insert(name.into(), value);
    }
}

/// The kind of field that takes one option of an enum.
pub fn choice_kind<E: FormChoice>() -> FieldKind {
    typed::choice_kind::<E>()
}

/// Reads one option of an enum.
///
/// # Errors
///
/// The message of an issue.
pub fn read_choice<E: FormChoice>(value: Option<&Value>) -> Result<E, String> {
    typed::read_choice(value)
}

/// A Rust number that may bound a field.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a number", label = "not a number")]
pub trait IntoNumber {
    /// The number; nothing where JSON has none for it.
    fn into_number(self) -> Option<Number>;
}

macro_rules! into_number {
    ($($number:ty => |$value:ident| $into:expr),* $(,)?) => {$(
        impl IntoNumber for $number {
            fn into_number(self) -> Option<Number> {
                let $value = self;
                $into
            }
        }
    )*};
}

into_number! {
    i8 => |n| Some(n.into()), i16 => |n| Some(n.into()),
    i32 => |n| Some(n.into()), i64 => |n| Some(n.into()),
    u8 => |n| Some(n.into()), u16 => |n| Some(n.into()),
    u32 => |n| Some(n.into()), u64 => |n| Some(n.into()),
    f32 => |n| Number::from_f64(n.into()), f64 => |n| Number::from_f64(n),
}

/// Sets a bound if it is on the named side of the one there is.
fn tighten(bound: &mut Option<Number>, new: Option<Number>, side: Ordering) {
    let Some(new) = new else { return };
    if bound
        .as_ref()
        .is_none_or(|old| number::compare(&new, old) == side)
    {
        *bound = Some(new);
    }
}
