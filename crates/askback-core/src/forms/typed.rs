//! Forms as Rust types.
//!
//! The derive macro implements these traits. Their compiler errors explain what the macro cannot
//! see in the tokens of a struct, such as whether a type can be a field of a form.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde_json::{Number, Value};

use super::{
    BooleanField, ChoiceField, ChoicesField, Content, FieldKind, Issues, NumberField, Opt,
    SharedForm, TextField,
    check::{MISSING, NOT_BOOLEAN},
    number,
};

/// A type that can be asked as a form.
///
/// Derive it for a struct with named fields. `()` is the empty form: a confirmation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a form",
    label = "not a form",
    note = "derive it: `#[derive(Form)]` on a struct with named fields"
)]
pub trait Form: Sized + Send + 'static {
    /// The name of the type in snake case: the default key of the question.
    const KEY: &'static str;

    /// The default message of an `Ask` parameter.
    const MESSAGE: &'static str = "Please fill in this form.";

    /// Returns the form, with the fields in the order of the struct. A derived form is built once,
    /// unless a default calls a function.
    fn schema() -> SharedForm;

    /// Reads a checked answer.
    ///
    /// # Errors
    ///
    /// Fails if the answer was not checked, or violates a bound that only the type knows.
    fn read(content: &Content) -> Result<Self, Issues>;

    /// Writes the value as an answer.
    fn write(&self) -> Content;
}

/// A type that can be a field of a form: strings, numbers, booleans, dates, enums that derive
/// `Form`, a `Vec` of such an enum, and an `Option` of any of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form: forms are flat",
    label = "cannot be asked in a form",
    note = "a field is a `String`, a number, a `bool`, a `Date`, a `Timestamp`, an enum that derives `Form`, a `Vec` of such an enum, or an `Option` of one of these",
    note = "in place of a struct, the form has the fields of that struct; or it is asked for as a form of its own",
    note = "an argument of a tool may be nested: mark it `#[arg(json)]`"
)]
pub trait FormField: Sized {
    /// The sort of the field, against which the derive macro checks attributes.
    const SORT: Sort;
    /// Whether the field is optional.
    const OPTIONAL: bool = false;

    /// Returns the kind of the field.
    fn kind() -> FieldKind;

    /// Reads the value of the field, which is `None` if it is missing.
    ///
    /// # Errors
    ///
    /// The message of an issue, such as "must be at least 0".
    fn read(value: Option<&Value>) -> Result<Self, String>;

    /// Returns the value as JSON, or `None` if the field is left out.
    fn write(&self) -> Option<Value>;
}

/// An enum that can be a choice in a form. Derive `Form` for an enum without fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the options of a choice: forms are flat",
    label = "not a choice",
    note = "a list in a form is a `Vec` of an enum without fields that derives `Form`"
)]
pub trait FormChoice: Sized {
    /// Whether titles are always written as `enumNames`, as in 2025-06-18.
    const ENUM_NAMES: bool = false;

    /// Returns the options, in order.
    fn options() -> Vec<Opt>;

    /// Returns the value of this option.
    fn value(&self) -> &'static str;

    /// Returns the option with this value.
    fn from_value(value: &str) -> Option<Self>;
}

/// The sorts of field types that the attributes of the derive macro distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A free text.
    Text,
    /// A type with its own text format, such as a date.
    Formatted,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A yes or no.
    Boolean,
    /// One of several options.
    Choice,
    /// Any number of several options.
    Choices,
}

// The errors describe the types; otherwise the compiler would list some impls in an unstable order.
#[diagnostic::do_not_recommend]
impl Form for () {
    const KEY: &'static str = "confirm";

    fn schema() -> SharedForm {
        SharedForm::default()
    }

    fn read(_: &Content) -> Result<Self, Issues> {
        Ok(())
    }

    fn write(&self) -> Content {
        Content::new()
    }
}

impl<T: FormField> FormField for Option<T> {
    const SORT: Sort = T::SORT;
    const OPTIONAL: bool = true;

    fn kind() -> FieldKind {
        T::kind()
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        match value {
            None | Some(Value::Null) => Ok(None),
            given => T::read(given).map(Some),
        }
    }

    fn write(&self) -> Option<Value> {
        self.as_ref().and_then(T::write)
    }
}

#[diagnostic::do_not_recommend]
impl FormField for String {
    const SORT: Sort = Sort::Text;

    fn kind() -> FieldKind {
        FieldKind::Text(TextField::default())
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        text(value).map(String::from)
    }

    fn write(&self) -> Option<Value> {
        Some(self.as_str().into())
    }
}

#[diagnostic::do_not_recommend]
impl FormField for bool {
    const SORT: Sort = Sort::Boolean;

    fn kind() -> FieldKind {
        FieldKind::Boolean(BooleanField::default())
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        given(value)?.as_bool().ok_or_else(|| NOT_BOOLEAN.into())
    }

    fn write(&self) -> Option<Value> {
        Some((*self).into())
    }
}

macro_rules! integer_fields {
    ($($integer:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl FormField for $integer {
            const SORT: Sort = Sort::Integer;

            fn kind() -> FieldKind {
                FieldKind::Number(NumberField {
                    integer: true,
                    minimum: bound(<$integer>::MIN.into()),
                    maximum: bound(<$integer>::MAX.into()),
                    default: None,
                })
            }

            fn read(value: Option<&Value>) -> Result<Self, String> {
                let wanted = || format!("must be a whole number from {} to {}", Self::MIN, Self::MAX);
                match given(value)? {
                    Value::Number(number) => number::to_i128(number)
                        .and_then(|integer| integer.try_into().ok())
                        .ok_or_else(wanted),
                    _ => Err("must be a whole number".into()),
                }
            }

            fn write(&self) -> Option<Value> {
                Some((*self).into())
            }
        }
    )*};
}

integer_fields!(i8, i16, i32, i64, u8, u16, u32, u64);

#[diagnostic::do_not_recommend]
impl FormField for f64 {
    const SORT: Sort = Sort::Number;

    fn kind() -> FieldKind {
        FieldKind::Number(NumberField::default())
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        given(value)?
            .as_f64()
            .ok_or_else(|| "must be a number".into())
    }

    /// Infinity and NaN do not exist in JSON, so they are left out.
    fn write(&self) -> Option<Value> {
        Number::from_f64(*self).map(Value::Number)
    }
}

#[diagnostic::do_not_recommend]
impl FormField for f32 {
    const SORT: Sort = Sort::Number;

    fn kind() -> FieldKind {
        f64::kind()
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        let number = f64::read(value)? as f32;
        if number.is_finite() {
            Ok(number)
        } else {
            Err(format!(
                "must be a number from {} to {}",
                Self::MIN,
                Self::MAX
            ))
        }
    }

    fn write(&self) -> Option<Value> {
        // Through text, so that 0.1 is written as 0.1 and not as the nearest double.
        self.to_string()
            .parse()
            .ok()
            .and_then(|number: f64| number.write())
    }
}

impl<E: FormChoice> FormField for Vec<E> {
    const SORT: Sort = Sort::Choices;

    fn kind() -> FieldKind {
        FieldKind::Choices(ChoicesField {
            options: E::options(),
            ..ChoicesField::default()
        })
    }

    fn read(value: Option<&Value>) -> Result<Self, String> {
        let Value::Array(values) = given(value)? else {
            return Err("must be a list of options".into());
        };
        values
            .iter()
            .map(|value| read_choice(Some(value)))
            .collect()
    }

    fn write(&self) -> Option<Value> {
        Some(
            self.iter()
                .map(|option| Value::from(option.value()))
                .collect(),
        )
    }
}

/// Returns the field kind for an enum; used by the derive macro.
pub(super) fn choice_kind<E: FormChoice>() -> FieldKind {
    FieldKind::Choice(ChoiceField {
        options: E::options(),
        enum_names: E::ENUM_NAMES,
        default: None,
    })
}

/// Reads an option of an enum; used by the derive macro.
pub(super) fn read_choice<E: FormChoice>(value: Option<&Value>) -> Result<E, String> {
    let chosen = given(value)?.as_str().and_then(E::from_value);
    chosen.ok_or_else(|| super::check::one_of(&E::options()))
}

/// Returns the bound of a type, if every peer can read it exactly: peers that use doubles read
/// integers only up to 2^53 (RFC 8259, section 6).
fn bound(bound: i128) -> Option<Number> {
    let bound = i64::try_from(bound).ok()?;
    (bound.unsigned_abs() <= 1 << 53).then(|| bound.into())
}

fn given(value: Option<&Value>) -> Result<&Value, String> {
    value
        .filter(|value| !value.is_null())
        .ok_or_else(|| MISSING.into())
}

pub(super) fn text(value: Option<&Value>) -> Result<&str, String> {
    given(value)?
        .as_str()
        .ok_or_else(|| "must be a text".into())
}
