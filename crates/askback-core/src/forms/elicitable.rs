//! Types that can be asked for: a form, or a single value.

use alloc::{string::String, vec::Vec};

use super::{Content, Field, Form, FormChoice, FormField, FormSchema, Issue, Issues, SharedForm};

/// The field name in a form that asks for a single value.
pub const ANSWER: &str = "answer";

/// A type that can be asked for: a [`Form`], or a type of a form field (`String`, a number, `bool`,
/// `Date`, `Timestamp`, an enum that derives `Form`, a `Vec` of such an enum, or an `Option` of any
/// of these).
///
/// A single value is sent as a form with one field, [`ANSWER`].
#[diagnostic::on_unimplemented(
    message = "a person cannot be asked for `{Self}`",
    label = "neither a form nor the value of a field",
    note = "derive it: `#[derive(Form)]` on a struct with named fields, or on an enum without fields",
    note = "one value is a `String`, a number, a `bool`, a `Date`, a `Timestamp`, an enum that derives `Form`, a `Vec` of such an enum, or an `Option` of one of these",
    note = "`Date` and `Timestamp` are there with the feature `dates` of askback",
    note = "where nothing says which is meant, name it: `ctx.elicit::<u8>(..)`"
)]
pub trait Elicitable: Sized + Send + 'static {
    /// The default key of the question.
    const KEY: &'static str;

    /// The default message of an `Ask` parameter.
    const MESSAGE: &'static str = "Please answer.";

    /// Returns the form.
    fn schema() -> SharedForm;

    /// Reads a checked answer.
    ///
    /// # Errors
    ///
    /// Fails if the answer was not checked, or violates a bound that only the type knows.
    fn read(content: &Content) -> Result<Self, Issues>;
}

#[diagnostic::do_not_recommend]
impl<T: Form> Elicitable for T {
    const KEY: &'static str = T::KEY;
    const MESSAGE: &'static str = T::MESSAGE;

    fn schema() -> SharedForm {
        T::schema()
    }

    fn read(content: &Content) -> Result<Self, Issues> {
        T::read(content)
    }
}

macro_rules! values {
    ($($key:literal: $($value:ty),+;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl Elicitable for $value {
            const KEY: &'static str = $key;

            fn schema() -> SharedForm {
                value_schema::<Self>().into()
            }

            fn read(content: &Content) -> Result<Self, Issues> {
                read_value(content)
            }
        }
    )+)*};
}

values! {
    "text": String;
    "yes_or_no": bool;
    "number": i8, i16, i32, i64, u8, u16, u32, u64, f32, f64;
}

#[cfg(feature = "dates")]
values! {
    "date": super::Date;
    "time": super::Timestamp;
}

#[diagnostic::do_not_recommend]
impl<T: FormField + Elicitable> Elicitable for Option<T> {
    const KEY: &'static str = T::KEY;
    const MESSAGE: &'static str = T::MESSAGE;

    fn schema() -> SharedForm {
        value_schema::<Self>().into()
    }

    fn read(content: &Content) -> Result<Self, Issues> {
        read_value(content)
    }
}

#[diagnostic::do_not_recommend]
impl<E: FormChoice + Elicitable> Elicitable for Vec<E> {
    const KEY: &'static str = E::KEY;
    const MESSAGE: &'static str = E::MESSAGE;

    fn schema() -> SharedForm {
        value_schema::<Self>().into()
    }

    fn read(content: &Content) -> Result<Self, Issues> {
        read_value(content)
    }
}

/// Makes the form for one value; used by the derive macro.
pub(super) fn value_schema<T: FormField>() -> FormSchema {
    let field = Field {
        required: !T::OPTIONAL,
        ..Field::new(ANSWER, T::kind()).title("Answer")
    };
    FormSchema::new([field])
}

/// Reads the value of a one-value form; used by the derive macro.
pub(super) fn read_value<T: FormField>(content: &Content) -> Result<T, Issues> {
    T::read(content.get(ANSWER)).map_err(|message| Issue::new(ANSWER, message).into())
}
