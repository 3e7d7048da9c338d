//! Forms as Rust types.
//!
//! The derive macro implements these traits; what it cannot see in the tokens of a struct, such as
//! whether a field's type can stand in a form, they say in the words of the compiler's error.

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
/// Derive it for a struct with named fields. `()` is the empty form: one confirmation.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a form",
    label = "not a form",
    note = "derive it: `#[derive(Form)]` on a struct with named fields"
)]
pub trait Form: Sized + Send + 'static {
    /// The name of the type in snake case: the key under which it is asked.
    const KEY: &'static str;

    /// The default message of an `Ask` parameter.
    const MESSAGE: &'static str = "Please fill in this form.";

    /// The form, in the order of the struct's fields. A derive makes it once, unless a default is
    /// what a function returns.
    fn schema() -> SharedForm;

    /// Reads an answer that was checked by the schema.
    ///
    /// # Errors
    ///
    /// The issues of an answer that was not checked, or that breaks a bound only the type knows.
    fn read(content: &Content) -> Result<Self, Issues>;

    /// The answer that reads as this value.
    fn write(&self) -> Content;
}

/// A type that can be a field of a form: texts, numbers, booleans, dates, enums that derive
/// `Form`, a `Vec` of such an enum, and an `Option` of each.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form: forms are flat",
    label = "cannot be asked in a form",
    note = "a field is a `String`, a number, a `bool`, a `Date`, a `Timestamp`, an enum that derives `Form`, a `Vec` of such an enum, or an `Option` of one of these",
    note = "in place of a struct, the form has the fields of that struct; or it is asked for as a form of its own",
    note = "an argument of a tool may be nested: mark it `#[arg(json)]`"
)]
pub trait FormField: Sized {
    /// The sort of the field; the derive macro checks its attributes against it.
    const SORT: Sort;
    /// Whether the field may be left out.
    const OPTIONAL: bool = false;

    /// Returns the kind of the field.
    fn kind() -> FieldKind;

    /// Reads the value of the field, if it is given.
    ///
    /// # Errors
    ///
    /// The message of an issue, such as "must be at least 0".
    fn read(value: Option<&Value>) -> Result<Self, String>;

    /// The JSON value, or nothing where the field is left out.
    fn write(&self) -> Option<Value>;
}

/// An enum that can be a choice in a form. Derive `Form` for an enum without fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the options of a choice: forms are flat",
    label = "not a choice",
    note = "a list in a form is a `Vec` of an enum without fields that derives `Form`"
)]
pub trait FormChoice: Sized {
    /// Whether titles are written as `enumNames`, the way of 2025-06-18, in every revision.
    const ENUM_NAMES: bool = false;

    /// The options, in order.
    fn options() -> Vec<Opt>;

    /// The value of this option.
    fn value(&self) -> &'static str;

    /// The option of that value.
    fn from_value(value: &str) -> Option<Self>;
}

/// The sorts of field types, as the attributes of the derive macro tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A free text.
    Text,
    /// A type written as text of a format of its own, such as a date.
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

// The errors name the types in words; without the attribute they would list some of the impls too,
// and not always the same.
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

    /// An infinity or a NaN has no JSON and is left out.
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
        // Through text, so that 0.1 is written as 0.1 and not as the double nearest to it.
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

/// The kind of field that takes one option of an enum; the derive macro calls it.
pub(super) fn choice_kind<E: FormChoice>() -> FieldKind {
    FieldKind::Choice(ChoiceField {
        options: E::options(),
        enum_names: E::ENUM_NAMES,
        default: None,
    })
}

/// Reads one option of an enum; the derive macro calls it.
pub(super) fn read_choice<E: FormChoice>(value: Option<&Value>) -> Result<E, String> {
    let chosen = given(value)?.as_str().and_then(E::from_value);
    chosen.ok_or_else(|| super::check::one_of(&E::options()))
}

/// The bound of a type, if every peer can read it exactly: those that keep numbers as doubles read
/// integers up to 2^53 (RFC 8259, section 6).
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
