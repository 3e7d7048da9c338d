//! Reads the annotated arguments of a call and skips all others.

use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Property;
use crate::protocol::RawObject;

/// An argument, reduced to what a header can repeat.
pub(super) enum Value<'a> {
    Null,
    Text(&'a str),
    /// From -2^53+1 to 2^53-1.
    Integer(i64),
    Flag(bool),
    Unfit,
}

/// Calls a function with the header index and value of each annotated argument.
pub(super) struct Walk<F>(F);

impl<F: FnMut(usize, Value<'_>)> Walk<F> {
    pub(super) fn new(found: F) -> Self {
        Self(found)
    }

    /// # Errors
    ///
    /// Fails if a value has no representation: a number beyond all doubles, or half of a surrogate
    /// pair. The values behind it are not read.
    pub(super) fn over(
        mut self,
        arguments: Option<&RawObject>,
        properties: &[Property],
    ) -> Result<(), serde_json::Error> {
        let Some(arguments) = arguments.filter(|_| !properties.is_empty()) else {
            return Ok(());
        };
        let object = ValueSeed {
            header: None,
            inside: properties,
            found: &mut self.0,
        };
        object.deserialize(&mut serde_json::Deserializer::from_str(arguments.as_str()))
    }
}

struct ValueSeed<'p, F> {
    header: Option<usize>,
    inside: &'p [Property],
    found: &'p mut F,
}

impl<F: FnMut(usize, Value<'_>)> ValueSeed<'_, F> {
    fn tell(&mut self, value: Value<'_>) {
        if let Some(header) = self.header {
            (self.found)(header, value);
        }
    }
}

impl<'de, F: FnMut(usize, Value<'_>)> DeserializeSeed<'de> for ValueSeed<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(usize, Value<'_>)> Visitor<'de> for ValueSeed<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an argument")
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        self.tell(Value::Null);
        Ok(())
    }

    fn visit_bool<E: Error>(mut self, flag: bool) -> Result<(), E> {
        self.tell(Value::Flag(flag));
        Ok(())
    }

    fn visit_i64<E: Error>(mut self, number: i64) -> Result<(), E> {
        let safe = (-SAFE..=SAFE).contains(&number);
        self.tell(if safe {
            Value::Integer(number)
        } else {
            Value::Unfit
        });
        Ok(())
    }

    fn visit_u64<E: Error>(mut self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => {
                self.tell(Value::Unfit);
                Ok(())
            }
        }
    }

    fn visit_f64<E: Error>(mut self, number: f64) -> Result<(), E> {
        // The cast saturates; casting back detects a changed number.
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
        let whole = Some(number as i64).filter(|whole| *whole as f64 == number);
        match whole {
            Some(whole) => self.visit_i64(whole),
            None => {
                self.tell(Value::Unfit);
                Ok(())
            }
        }
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        self.tell(Value::Text(text));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.tell(Value::Unfit);
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.tell(Value::Unfit);
        while let Some(property) = members.next_key_seed(PropertySeed(self.inside))? {
            match property {
                Some(property) => members.next_value_seed(ValueSeed {
                    header: property.header,
                    inside: &property.inside,
                    found: &mut *self.found,
                })?,
                None => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The largest integer that JavaScript and most other JSON readers represent exactly.
const SAFE: i64 = (1 << 53) - 1;

struct PropertySeed<'p>(&'p [Property]);

impl<'de, 'p> DeserializeSeed<'de> for PropertySeed<'p> {
    type Value = Option<&'p Property>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'p> Visitor<'_> for PropertySeed<'p> {
    type Value = Option<&'p Property>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|property| property.name == name))
    }
}
