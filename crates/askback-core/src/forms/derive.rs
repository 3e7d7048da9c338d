//! The functions that the derive macro calls. Not public interface.

pub use alloc::{string::String, vec::Vec};
pub use serde_json::Value;

use core::cmp::Ordering;

use serde_json::Number;

use super::{
    Content, Field, FieldKind, FormChoice, FormField, FormSchema, Issues, Opt, SharedForm, Sort,
    TextFormat, elicitable, number, secret::is_secret_field, typed,
};

/// Makes a form whose fields may differ in each call.
pub fn form<const N: usize>(fields: [Field; N]) -> SharedForm {
    FormSchema::new(fields).into()
}

/// Makes a form that is reused.
pub fn form_once<const N: usize>(fields: [Field; N]) -> SharedForm {
    SharedForm::written(FormSchema::new(fields))
}

/// Makes the reusable form that asks for one value.
pub fn value_form_once<T: FormField>() -> SharedForm {
    SharedForm::written(elicitable::value_schema::<T>())
}

/// Reads the value of a one-value form.
///
/// # Errors
///
/// The issue of the value.
pub fn read_value<T: FormField>(content: &Content) -> Result<T, Issues> {
    elicitable::read_value(content)
}

/// A field of a form: its name and the functions of its type.
///
/// The generated code names the trait only where it makes this, so that a type without the trait
/// causes only one compiler error.
pub struct DerivedField<T> {
    name: &'static str,
    pub sort: Sort,
    optional: bool,
    kind: fn() -> FieldKind,
    read: fn(Option<&Value>) -> Result<T, String>,
    write: fn(&T) -> Option<Value>,
}

/// Makes a field.
pub const fn field<T: FormField>(name: &'static str) -> DerivedField<T> {
    DerivedField {
        name,
        sort: T::SORT,
        optional: T::OPTIONAL,
        kind: T::kind,
        read: T::read,
        write: T::write,
    }
}

/// Whether the name, title or description of a field suggests a secret.
pub const fn is_secret<T>(field: &DerivedField<T>, title: &str, description: &str) -> bool {
    is_secret_field(field.sort, [field.name, title], description)
}

impl<T> DerivedField<T> {
    /// Starts the schema of the field.
    pub fn schema(&self) -> FieldBuilder<T> {
        FieldBuilder {
            field: Field {
                required: !self.optional,
                ..Field::new(self.name, (self.kind)())
            },
            write: self.write,
        }
    }

    /// Writes the field's value into an answer, unless it is missing.
    pub fn put(&self, value: &T, content: &mut Content) {
        if let Some(value) = (self.write)(value) {
            content.insert(self.name.into(), value);
        }
    }
}

/// A field under construction. A setter of another kind of field does nothing, because the macro
/// has already rejected such an attribute.
pub struct FieldBuilder<T> {
    field: Field,
    write: fn(&T) -> Option<Value>,
}

/// Defines setters, each with the kind of field that has such a member.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $kind:ident.$member:ident = $new:expr;)*) => {
        impl<T> FieldBuilder<T> {
            $($(#[$doc])*
            pub fn $name(mut self, $value: $type) -> Self {
                if let FieldKind::$kind(field) = &mut self.field.kind {
                    field.$member = $new;
                }
                self
            })*
        }
    };
}

setters! {
    /// Sets the minimum length.
    min_length(min: u64) => Text.min_length = Some(min);
    /// Sets the maximum length.
    max_length(max: u64) => Text.max_length = Some(max);
    /// Sets the pattern.
    pattern(pattern: &str) => Text.pattern = Some(pattern.into());
    /// Sets the format.
    format(format: TextFormat) => Text.format = Some(format);
    /// Sets the minimum number of options.
    min_items(min: u64) => Choices.min_items = Some(min);
    /// Sets the maximum number of options.
    max_items(max: u64) => Choices.max_items = Some(max);
}

impl<T> FieldBuilder<T> {
    /// Writes titles as `enumNames`.
    pub fn enum_names(mut self) -> Self {
        if let FieldKind::Choice(field) = &mut self.field.kind {
            field.enum_names = true;
        }
        self
    }

    /// Declares that the field does not ask for a secret.
    pub fn not_secret(mut self) -> Self {
        self.field.not_secret = true;
        self
    }

    /// Returns the finished field.
    pub fn build(self) -> Field {
        self.field
    }

    /// Sets the title.
    pub fn title(mut self, title: &str) -> Self {
        self.field.title = Some(title.into());
        self
    }

    /// Sets the description.
    pub fn description(mut self, description: &str) -> Self {
        self.field.description = Some(description.into());
        self
    }

    /// Sets the minimum, unless the type's is higher.
    pub fn min(mut self, min: impl IntoNumber) -> Self {
        if let FieldKind::Number(field) = &mut self.field.kind {
            tighten(&mut field.minimum, min.into_number(), Ordering::Greater);
        }
        self
    }

    /// Sets the maximum, unless the type's is lower.
    pub fn max(mut self, max: impl IntoNumber) -> Self {
        if let FieldKind::Number(field) = &mut self.field.kind {
            tighten(&mut field.maximum, max.into_number(), Ordering::Less);
        }
        self
    }

    /// Sets the default; the field becomes optional.
    pub fn default(mut self, default: &T) -> Self {
        self.field.required = false;
        let texts = |values: Vec<Value>| {
            let texts = values.into_iter().filter_map(|value| match value {
                Value::String(text) => Some(text),
                _ => None,
            });
            texts.collect()
        };
        match (&mut self.field.kind, (self.write)(default)) {
            (FieldKind::Text(field), Some(Value::String(text))) => field.default = Some(text),
            (FieldKind::Number(field), Some(Value::Number(number))) => field.default = Some(number),
            (FieldKind::Boolean(field), Some(Value::Bool(value))) => field.default = Some(value),
            (FieldKind::Choice(field), Some(Value::String(value))) => field.default = Some(value),
            (FieldKind::Choices(field), Some(Value::Array(values))) => {
                field.default = Some(texts(values));
            }
            // A type writes only values of its own kind.
            _ => {}
        }
        self
    }
}

/// Reads the fields of an answer and collects their issues.
pub struct Reader<'a> {
    content: &'a Content,
    issues: Issues,
}

impl<'a> Reader<'a> {
    /// Makes a reader.
    pub fn new(content: &'a Content) -> Self {
        Self {
            content,
            issues: Issues::default(),
        }
    }

    /// Reads a field. `None` means that there is an issue.
    pub fn field<T>(&mut self, field: &DerivedField<T>) -> Option<T> {
        match (field.read)(self.content.get(field.name)) {
            Ok(value) => Some(value),
            Err(message) => {
                self.issues.push(field.name, message);
                None
            }
        }
    }

    /// Reads a field, or returns its default if it is missing.
    pub fn field_or<T>(
        &mut self,
        field: &DerivedField<T>,
        default: impl FnOnce() -> T,
    ) -> Option<T> {
        match self.content.get(field.name) {
            None | Some(Value::Null) => Some(default()),
            Some(_) => self.field(field),
        }
    }

    /// Returns the issues.
    pub fn into_issues(self) -> Issues {
        self.issues
    }
}

/// Returns the field kind for an enum.
pub fn choice_kind<E: FormChoice>() -> FieldKind {
    typed::choice_kind::<E>()
}

/// Reads an option of an enum.
///
/// # Errors
///
/// The message of an issue.
pub fn read_choice<E: FormChoice>(value: Option<&Value>) -> Result<E, String> {
    typed::read_choice(value)
}

/// Writes an option of an enum as JSON.
pub fn write_choice<E: FormChoice>(option: &E) -> Option<Value> {
    Some(option.value().into())
}

/// Makes options from values and titles.
pub fn options<const N: usize>(options: [(&str, Option<&str>); N]) -> Vec<Opt> {
    let options = options.into_iter().map(|(value, title)| Opt {
        value: value.into(),
        title: title.map(String::from),
    });
    options.collect()
}

/// A type whose default can be a string literal.
#[diagnostic::on_unimplemented(
    message = "a text cannot be the default of a field of type `{Self}`",
    label = "not a text"
)]
pub trait FromLiteral {
    /// Converts the literal.
    fn from_literal(text: &str) -> Self;
}

#[diagnostic::do_not_recommend]
impl FromLiteral for String {
    fn from_literal(text: &str) -> Self {
        text.into()
    }
}

/// A number that can be the bound of a field.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a number", label = "not a number")]
pub trait IntoNumber {
    /// Converts it to a JSON number; `None` if JSON has no such number.
    fn into_number(self) -> Option<Number>;
}

macro_rules! into_number {
    ($($number:ty => |$value:ident| $into:expr),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
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

/// Replaces a bound if `new` is on the named side of it.
fn tighten(bound: &mut Option<Number>, new: Option<Number>, side: Ordering) {
    let Some(new) = new else { return };
    if bound
        .as_ref()
        .is_none_or(|old| number::compare(&new, old) == side)
    {
        *bound = Some(new);
    }
}
