//! Writes fixed-size byte arrays as base64url text in a sealed state.

use alloc::string::String;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub(super) fn serialize<S: Serializer, const N: usize>(
    bytes: &[u8; N],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&URL_SAFE_NO_PAD.encode(bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
    deserializer: D,
) -> Result<[u8; N], D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut bytes = [0; N];
    match URL_SAFE_NO_PAD.decode_slice(text.as_bytes(), &mut bytes) {
        Ok(length) if length == N => Ok(bytes),
        _ => Err(D::Error::custom("bytes of another length")),
    }
}
