#[cfg(feature = "schemars")]
use askback_core::protocol::Schema;
use askback_core::protocol::{
    CallToolResult, ContentBlock, Outcome, RawJson, ReadResourceResult, ResourceContents,
    TextResourceContents,
};
#[cfg(feature = "schemars")]
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::{Extract, Extraction, IntoReadResult, IntoToolResult};
#[cfg(feature = "schemars")]
use crate::schema;
use crate::{
    ctx::{Arguments, Ctx, Parameters},
    error::{Error, Result},
};

/// The arguments of a tool, or its structured result, with the schema of their type (feature `schemars`).
///
/// As a parameter it sets the tool's input schema, and arguments are checked before the handler runs. As a result it
/// sets the output schema. Any type with [`JsonSchema`](schemars::JsonSchema) and serde works, also nested ones.
///
/// ```
/// use askback::{Json, Result, Tool, schemars};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, schemars::JsonSchema)]
/// struct Expense {
///     items: Vec<Item>,
/// }
///
/// #[derive(Deserialize, schemars::JsonSchema)]
/// struct Item {
///     /// The thing that was bought.
///     what: String,
///     amount: f64,
/// }
///
/// #[derive(Serialize, schemars::JsonSchema)]
/// struct Total {
///     total: f64,
/// }
///
/// async fn add_up(Json(Expense { items }): Json<Expense>) -> Result<Json<Total>> {
///     let total = items.iter().map(|item| item.amount).sum();
///     Ok(Json(Total { total }))
/// }
///
/// let tool = Tool::new("add_up", add_up);
/// ```
///
/// As a result it becomes `structuredContent`, with its JSON as text for clients that only read text. To write that
/// text yourself, use [`Json::with_text`].
#[cfg(feature = "schemars")]
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

/// The arguments of a tool, or its structured result, of a type that only implements serde's traits.
///
/// The tool has to set the schemas: [`Tool::input_schema`](crate::Tool::input_schema) is required to build the server,
/// [`Tool::output_schema`](crate::Tool::output_schema) is optional. `Json` (feature `schemars`) derives both from the
/// type.
///
/// ```
/// use askback::{PlainJson, Result, handler::JsonWithText};
/// use serde_json::{Value, json};
///
/// async fn weather() -> Result<JsonWithText<PlainJson<Value>>> {
///     Ok(PlainJson(json!({"celsius": 21})).with_text("21 °C"))
/// }
/// ```
///
/// As a result it becomes `structuredContent`, with its JSON as text for clients that only read text. To write that
/// text yourself, use [`PlainJson::with_text`].
#[derive(Debug, Clone)]
pub struct PlainJson<T>(pub T);

macro_rules! structured {
    ($name:ident) => {
        impl<T> $name<T> {
            /// Sets the text for clients that do not read structured results.
            pub fn with_text(self, text: impl Into<String>) -> JsonWithText<Self> {
                JsonWithText {
                    value: self,
                    text: text.into(),
                }
            }
        }

        impl<T: Serialize> $name<T> {
            fn write(&self) -> Result<RawJson> {
                RawJson::new(&self.0)
                    .map_err(|error| Error::new(format!("the result cannot be written: {error}")))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: Serialize> IntoReadResult for $name<T> {
            fn into_read_result(self) -> Result<Outcome<ReadResourceResult>> {
                let contents = TextResourceContents {
                    text: self.write()?.as_str().to_owned(),
                    mime_type: Some("application/json".to_owned()),
                    ..TextResourceContents::default()
                };
                ResourceContents::Text(contents).into_read_result()
            }
        }
    };
}

/// A structured result with its own text: see [`Json::with_text`] and [`PlainJson::with_text`].
#[derive(Debug, Clone)]
#[must_use]
pub struct JsonWithText<J> {
    value: J,
    text: String,
}

#[cfg(feature = "schemars")]
structured!(Json);
structured!(PlainJson);

#[cfg(feature = "schemars")]
#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send> Extract for Json<T> {
    fn describe(parameters: &mut Parameters) {
        parameters.describe_by_schema(schema::of_arguments::<T>());
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Ready(read_arguments(ctx).map(Self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + Send> Extract for PlainJson<T> {
    fn describe(parameters: &mut Parameters) {
        parameters.undescribed = true;
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Ready(read_arguments(ctx).map(Self))
    }
}

#[cfg(feature = "schemars")]
#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn output_schema() -> Option<Schema> {
        schema::of_result::<T>()
    }

    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        structured(self.write()?, None)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoToolResult for PlainJson<T> {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        structured(self.write()?, None)
    }
}

/// Reads the arguments of a call. Errors name the path of the value, because the caller never saw the serialized text.
fn read_arguments<T: DeserializeOwned>(ctx: &Ctx) -> Result<T> {
    let read = match ctx.incoming().arguments() {
        Arguments::Object(object) => {
            let mut json = serde_json::Deserializer::from_str(object.as_str());
            askback_core::json::read(&mut json)
        }
        Arguments::Texts(texts) => {
            let texts = texts
                .iter()
                .map(|(name, text)| (name.clone(), text.clone().into()));
            let object = serde_json::Value::Object(texts.collect());
            askback_core::json::read(object)
        }
    };
    read.map_err(misfit)
}

#[cfg(feature = "schemars")]
pub(super) fn read_value<T: DeserializeOwned>(value: serde_json::Value, name: &str) -> Result<T> {
    askback_core::json::read_member(name, value).map_err(misfit)
}

fn misfit(why: String) -> Error {
    Error::invalid_params(format!("the arguments do not fit: {why}"))
}

#[diagnostic::do_not_recommend]
#[cfg(feature = "schemars")]
impl<T: Serialize + JsonSchema> IntoToolResult for JsonWithText<Json<T>> {
    fn output_schema() -> Option<Schema> {
        Json::<T>::output_schema()
    }

    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        structured(self.value.write()?, Some(self.text))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoToolResult for JsonWithText<PlainJson<T>> {
    fn into_tool_result(self) -> Result<Outcome<CallToolResult>> {
        structured(self.value.write()?, Some(self.text))
    }
}

fn structured(json: RawJson, text: Option<String>) -> Result<Outcome<CallToolResult>> {
    let text = text.unwrap_or_else(|| json.as_str().to_owned());
    Ok(Outcome::Done(CallToolResult {
        content: vec![ContentBlock::text(text)],
        structured_content: Some(json),
        ..CallToolResult::default()
    }))
}
