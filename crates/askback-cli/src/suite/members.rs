//! Maps and texts of a suite, read while their place in the file is known: what is wrong with one is told
//! with its line and column, not with those of the list it stands in.

use std::{fmt, marker::PhantomData, str::FromStr};

use askback_host::script::Script;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, Visitor, value::MapAccessDeserializer},
    forward_to_deserialize_any,
};

/// Reads a map by way of `T`, whose members it has.
///
/// # Errors
///
/// At the place of the map, where `R` cannot be made of it.
pub(super) fn map<'de, D, T, R>(deserializer: D) -> Result<R, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
    R: TryFrom<T>,
    R::Error: fmt::Display,
{
    struct Map<T, R>(PhantomData<(T, R)>);

    impl<'de, T, R> Visitor<'de> for Map<T, R>
    where
        T: Deserialize<'de>,
        R: TryFrom<T>,
        R::Error: fmt::Display,
    {
        type Value = R;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
            let text = T::deserialize(MapAccessDeserializer::new(map))?;
            R::try_from(text).map_err(de::Error::custom)
        }
    }

    deserializer.deserialize_map(Map::<T, R>(PhantomData))
}

/// Reads a text by way of its words.
///
/// # Errors
///
/// At the place of the text, where `T` cannot be made of it.
pub(super) fn word<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    struct Word<T>(PhantomData<T>);

    impl<T: FromStr<Err = String>> Visitor<'_> for Word<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Word(PhantomData))
}

/// Members that stand in one map with those of a [`Script`].
pub(super) trait Beside<'de>: Default {
    /// Their names.
    const NAMES: &'static [&'static str];

    /// Reads the member of that name, one of [`Beside::NAMES`].
    fn read<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Reads the value of a member into its place.
pub(super) fn member<'de, T, A>(
    place: &mut Option<T>,
    name: &str,
    map: &mut A,
) -> Result<(), A::Error>
where
    T: Deserialize<'de>,
    A: MapAccess<'de>,
{
    if place.is_some() {
        return Err(de::Error::custom(format_args!("duplicate field `{name}`")));
    }
    *place = Some(map.next_value()?);
    Ok(())
}

/// Reads a map of members of `B` and of a script, whichever those are, and makes an `R` of both.
///
/// # Errors
///
/// At the place of the map, where `R` cannot be made of it.
pub(super) fn with_script<'de, D, B, R, E>(
    deserializer: D,
    make: impl FnOnce(B, Script) -> Result<R, E>,
) -> Result<R, D::Error>
where
    D: Deserializer<'de>,
    B: Beside<'de>,
    E: fmt::Display,
{
    struct Both<B, F>(PhantomData<B>, F);

    impl<'de, B, R, E, F> Visitor<'de> for Both<B, F>
    where
        B: Beside<'de>,
        E: fmt::Display,
        F: FnOnce(B, Script) -> Result<R, E>,
    {
        type Value = R;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
            let mut beside = B::default();
            let script = Script::deserialize(Members {
                map,
                beside: &mut beside,
            })?;
            (self.1)(beside, script).map_err(de::Error::custom)
        }
    }

    deserializer.deserialize_map(Both(PhantomData, make))
}

/// The members of a map without those that `B` takes out.
struct Members<'a, A, B> {
    map: A,
    beside: &'a mut B,
}

impl<'de, A: MapAccess<'de>, B: Beside<'de>> Deserializer<'de> for Members<'_, A, B> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(Rest {
            map: self.map,
            beside: self.beside,
            fields,
        })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct Rest<'a, A, B> {
    map: A,
    beside: &'a mut B,
    fields: &'static [&'static str],
}

impl<'de, A: MapAccess<'de>, B: Beside<'de>> MapAccess<'de> for Rest<'_, A, B> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let name = Name {
            beside: B::NAMES,
            fields: self.fields,
        };
        while let Some(key) = self.map.next_key_seed(name)? {
            if !B::NAMES.contains(&key.as_str()) {
                return seed
                    .deserialize(de::value::StringDeserializer::new(key))
                    .map(Some);
            }
            self.beside.read(&key, &mut self.map)?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The name of a member, which is refused where it stands.
#[derive(Clone, Copy)]
struct Name {
    beside: &'static [&'static str],
    fields: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<String, E> {
        let mut names = self.beside.iter().chain(self.fields);
        if names.any(|known| *known == name) {
            return Ok(name.to_owned());
        }
        let names = self.beside.iter().chain(self.fields);
        let names: Vec<_> = names.map(|known| format!("`{known}`")).collect();
        let why = format_args!(
            "unknown field `{name}`, expected one of {}",
            names.join(", ")
        );
        Err(E::custom(why))
    }
}
