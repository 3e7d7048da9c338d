//! Checks a tool's arguments and structured results against its schemas.

use askback_core::{
    limits::Limits,
    protocol::{CallToolResult, Schema},
};
use serde::Deserialize;
use serde_json::Value;

use super::BuildError;
#[cfg(feature = "json-schema")]
use crate::schema::CompiledSchema;
use crate::{
    ctx::Arguments,
    error::{Error, Result},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A form, which also reads the arguments.
    Form,
    /// A serde type, or the author.
    Schema,
}

#[derive(Debug, Default)]
pub(super) struct InputCheck {
    #[cfg(feature = "json-schema")]
    schema: Option<CompiledSchema>,
}

pub(super) struct OutputCheck {
    tool: String,
    #[cfg(feature = "json-schema")]
    schema: Option<CompiledSchema>,
}

pub(super) struct ToolSchemas<'a> {
    pub(super) name: &'a str,
    pub(super) unchecked: bool,
    pub(super) limits: &'a Limits,
}

impl InputCheck {
    pub(super) fn new(
        tool: &ToolSchemas<'_>,
        schema: &Schema,
        origin: Origin,
    ) -> Result<Self, BuildError> {
        if !describes_object(schema) {
            return Err(BuildError::Arguments {
                name: tool.name.to_owned(),
                why: "they are an object, so their schema says `\"type\": \"object\"`".to_owned(),
            });
        }
        // A form is checked as it is read, and the default schema allows any object.
        if origin == Origin::Form || *schema == Schema::default() {
            return Ok(Self::default());
        }
        #[cfg(feature = "json-schema")]
        {
            let schema = tool.compile(schema, "input")?;
            Ok(Self { schema })
        }
        #[cfg(not(feature = "json-schema"))]
        {
            tool.check_is_unchecked("input")?;
            Ok(Self::default())
        }
    }

    pub(super) fn check(&self, arguments: &Arguments) -> Result<()> {
        #[cfg(feature = "json-schema")]
        if let (Some(schema), Arguments::Object(arguments)) = (&self.schema, arguments) {
            schema.check(arguments.as_str()).map_err(|misfit| {
                Error::invalid_params(format!("the arguments do not fit: {misfit}"))
            })?;
        }
        #[cfg(not(feature = "json-schema"))]
        let _ = arguments;
        Ok(())
    }
}

impl OutputCheck {
    pub(super) fn new(tool: &ToolSchemas<'_>, schema: &Schema) -> Result<Self, BuildError> {
        #[cfg(feature = "json-schema")]
        let schema = tool.compile(schema, "output")?;
        #[cfg(not(feature = "json-schema"))]
        {
            let _ = schema;
            tool.check_is_unchecked("output")?;
        }
        Ok(Self {
            tool: tool.name.to_owned(),
            #[cfg(feature = "json-schema")]
            schema,
        })
    }

    /// Checks that a result that is not an error has structured content that fits the schema
    /// (2026-07-28, server/tools, Output Schema).
    ///
    /// # Errors
    ///
    /// Fails if it does not fit. This is the author's fault, not the caller's.
    pub(super) fn check(&self, result: &CallToolResult) -> Result<()> {
        if result.failed() {
            return Ok(());
        }
        let Some(content) = &result.structured_content else {
            return Err(self.withheld("it has no structured content"));
        };
        #[cfg(feature = "json-schema")]
        if let Some(schema) = &self.schema {
            let checked = schema.check(content.as_str());
            checked.map_err(|misfit| self.withheld(&misfit.to_string()))?;
        }
        #[cfg(not(feature = "json-schema"))]
        let _ = content;
        Ok(())
    }

    fn withheld(&self, why: &str) -> Error {
        tracing::error!(
            tool = self.tool,
            "a result does not fit the output schema of its tool: {why}"
        );
        Error::new(format!(
            "the result of this tool was withheld, because it does not fit the tool's output schema \
             ({why}). The author of the server has to mend that"
        ))
    }
}

impl ToolSchemas<'_> {
    #[cfg(feature = "json-schema")]
    fn compile(
        &self,
        schema: &Schema,
        of: &'static str,
    ) -> Result<Option<CompiledSchema>, BuildError> {
        if self.unchecked {
            return Ok(None);
        }
        let compiled = CompiledSchema::new(schema, self.limits);
        compiled.map(Some).map_err(|error| BuildError::Schema {
            name: self.name.to_owned(),
            of,
            why: error.to_string(),
        })
    }

    #[cfg(not(feature = "json-schema"))]
    fn check_is_unchecked(&self, of: &'static str) -> Result<(), BuildError> {
        let _ = self.limits;
        if self.unchecked {
            return Ok(());
        }
        Err(BuildError::Schema {
            name: self.name.to_owned(),
            of,
            why: "this build of askback checks none: add its feature `json-schema`".to_owned(),
        })
    }
}

askback_core::debug_only!(OutputCheck { tool });

/// Whether the root says `"type": "object"`, which all revisions require for arguments.
fn describes_object(schema: &Schema) -> bool {
    #[derive(Deserialize)]
    struct Root {
        r#type: Option<Value>,
    }
    schema
        .decode::<Root>()
        .is_ok_and(|root| root.r#type.is_some_and(|kind| kind == "object"))
}
