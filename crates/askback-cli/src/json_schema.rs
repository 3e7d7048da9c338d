//! Checks JSON schemas, if this build can.

#[cfg(feature = "json-schema")]
use std::sync::Arc;

use askback_host::text::PeerText;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct JsonSchema {
    #[cfg(feature = "json-schema")]
    validator: Arc<jsonschema::Validator>,
}

#[cfg(feature = "json-schema")]
impl TryFrom<Value> for JsonSchema {
    type Error = String;

    fn try_from(schema: Value) -> Result<Self, String> {
        jsonschema::validator_for(&schema)
            .map(|validator| Self {
                validator: Arc::new(validator),
            })
            .map_err(|error| format!("this is not a JSON schema: {error}"))
    }
}

#[cfg(not(feature = "json-schema"))]
impl TryFrom<Value> for JsonSchema {
    type Error = &'static str;

    fn try_from(_: Value) -> Result<Self, Self::Error> {
        Err("this build cannot check schemas: install askback with the feature `json-schema`")
    }
}

impl JsonSchema {
    #[cfg(feature = "json-schema")]
    pub(crate) fn check(&self, found: &Value) -> Result<(), PeerText> {
        // The errors contain parts of the value.
        self.validator.validate(found).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() {
                "the value"
            } else {
                &place
            };
            format!("{place}: {error}").into()
        })
    }

    /// Accepts every value, because this build cannot check schemas.
    #[cfg(not(feature = "json-schema"))]
    pub(crate) fn check(&self, _: &Value) -> Result<(), PeerText> {
        Ok(())
    }
}

#[cfg(all(test, not(feature = "json-schema")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_checks_no_schemas_says_so() {
        let error = yaml_serde::from_str::<JsonSchema>("{type: object}").expect_err("no feature");
        assert!(
            error.to_string().contains("the feature `json-schema`"),
            "{error}"
        );
    }
}
