//! A document of an issuer or a server, in which an optional member may be absent, `null` or empty.
//! If strict serde can read it, the result is the same. An error never contains a value.

#![no_main]

use std::fmt::Debug;

use askback_core::{
    auth::{AuthorizationServer, ProtectedResource},
    json,
};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// If this is in a value, it must not be in an error.
const SECRET: &str = "s3cr3t";

fuzz_target!(|data: &[u8]| {
    let Ok(value) = json::parse(data) else {
        assert!(serde_json::from_slice::<Value>(data).is_err());
        return;
    };
    let lenient = read::<Lenient>(&value);
    if let Ok(strict) = serde_json::from_value::<Strict>(value.clone())
        && value.is_object()
    {
        let lenient = lenient.expect("strict serde reads it");
        assert_eq!(lenient, strict.without_empty(), "{value}");
    }
    again(read::<ProtectedResource>(&value));
    again(read::<AuthorizationServer>(&value));
});

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    match json::document(value.clone()) {
        Ok(document) => Some(document),
        Err(why) => {
            assert!(!why.is_empty());
            assert!(!why.contains(SECRET) || names_secret(value), "{why}");
            None
        }
    }
}

/// A document that is written and read again is unchanged.
fn again<T: DeserializeOwned + Serialize + PartialEq + Debug>(document: Option<T>) {
    let Some(document) = document else {
        return;
    };
    let written = serde_json::to_value(&document).expect("JSON");
    assert_eq!(json::document::<T>(written).as_ref(), Ok(&document));
}

/// Whether the marker is in the name of a member, which may be in an error.
fn names_secret(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.contains(SECRET) || names_secret(value)),
        Value::Array(values) => values.iter().any(names_secret),
        _ => false,
    }
}

#[derive(Debug, PartialEq, Deserialize)]
struct Lenient {
    id: Option<String>,
    uri: Option<String>,
    #[serde(default, deserialize_with = "json::seconds")]
    expires_in: Option<u64>,
    #[serde(default, deserialize_with = "json::texts")]
    names: Vec<String>,
    #[serde(default, deserialize_with = "json::optional_texts")]
    scope: Option<Vec<String>>,
    #[serde(default, deserialize_with = "json::flag")]
    bound: bool,
}

#[derive(Deserialize)]
struct Strict {
    id: Option<String>,
    uri: Option<String>,
    expires_in: Option<u64>,
    #[serde(default)]
    names: Vec<String>,
    scope: Option<Vec<String>>,
    #[serde(default)]
    bound: bool,
}

impl Strict {
    /// Treats empty texts as absent.
    fn without_empty(self) -> Lenient {
        let text = |text: &String| !text.is_empty();
        let texts = |texts: Vec<String>| texts.into_iter().filter(text).collect();
        Lenient {
            id: self.id.filter(text),
            uri: self.uri.filter(text),
            expires_in: self.expires_in,
            names: texts(self.names),
            scope: self.scope.map(texts),
            bound: self.bound,
        }
    }
}
