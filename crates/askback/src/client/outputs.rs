//! The output schemas of a server's tools, which its results must fit (2026-07-28, server/tools, Output Schema).

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use askback_core::{
    limits::Limits,
    protocol::{CallToolResult, ClientRequest, Schema, Tool},
    quote::QuotedName,
};

use super::{Client, ClientError, command::Command};
use crate::{
    mutex::Mutex,
    schema::{CompiledSchema, SchemaError},
};

#[derive(Debug, Default)]
pub(super) struct Outputs(Mutex<SchemaCache>);

#[derive(Debug, Default)]
struct SchemaCache {
    schemas: HashMap<String, Arc<OutputSchema>>,
    bytes: usize,
    /// The number of times that the cache was cleared. Lists that were requested before are not stored.
    forgotten: u64,
    /// The number of times that the server was started again.
    starts: u64,
}

/// The schema that a pending result must fit, unless the server is started again before.
#[derive(Debug)]
pub(super) struct ExpectedOutput {
    client: Client,
    schema: Arc<OutputSchema>,
    starts: u64,
}

#[derive(Debug)]
pub(super) struct OutputSchema {
    tool: String,
    schema: Schema,
    compiled: OnceLock<Result<CompiledSchema, SchemaError>>,
}

impl Outputs {
    /// Returns the state of the cache when a list is requested, for [`Outputs::note`].
    pub(super) fn asked(&self) -> u64 {
        self.0.lock().forgotten
    }

    /// Stores the schemas of a list or page, up to
    /// [`limits.client.list_bytes`](crate::limits::ClientLimits::list_bytes).
    pub(super) fn note(&self, asked: u64, tools: &[Tool], is_first: bool, limits: &Limits) {
        let mut known = self.0.lock();
        if known.forgotten != asked {
            return;
        }
        if is_first {
            known.schemas.clear();
            known.bytes = 0;
        }
        for tool in tools {
            known.remove(&tool.name);
            if let Some(schema) = &tool.output_schema
                && known.bytes.saturating_add(bytes(&tool.name, schema)) <= limits.client.list_bytes
            {
                known.insert(tool.name.clone(), schema.clone());
            }
        }
    }

    pub(super) fn forget(&self) {
        self.0.lock().forget();
    }

    pub(super) fn restart(&self) {
        let mut known = self.0.lock();
        known.forget();
        known.starts = known.starts.wrapping_add(1);
    }

    /// Returns the output schema of a listed tool, if it has one.
    ///
    /// # Errors
    ///
    /// Why the schema cannot be used.
    fn get(&self, tool: &str, limits: &Limits) -> Result<Option<Arc<OutputSchema>>, String> {
        let Some(known) = self.0.lock().schemas.get(tool).cloned() else {
            return Ok(None);
        };
        match known.compile(limits) {
            Ok(_) => Ok(Some(known)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Client {
    pub(super) fn outputs(&self) -> Option<&Outputs> {
        self.inner.shared.outputs.as_ref()
    }

    pub(super) fn output_of(&self, request: &ClientRequest) -> Option<ExpectedOutput> {
        let (ClientRequest::CallTool(params), Some(outputs)) = (request, self.outputs()) else {
            return None;
        };
        if !self.revision().facts().structured_content {
            return None;
        }
        // Read before the schema, so that a restart in between is noticed with the result.
        let starts = outputs.0.lock().starts;
        Some(ExpectedOutput {
            client: self.clone(),
            schema: self.output_schema(outputs, &params.name)?,
            starts,
        })
    }

    /// Returns the schema for a tool's results. If it is invalid, the host gets a note and the result is not checked.
    fn output_schema(&self, outputs: &Outputs, tool: &str) -> Option<Arc<OutputSchema>> {
        outputs.get(tool, self.limits()).unwrap_or_else(|why| {
            let note = format!(
                "the results of the tool {} are not checked, because of its output schema: {why}",
                QuotedName(tool)
            );
            let _ = self.inner.commands.send(Command::Note(note));
            None
        })
    }
}

impl ExpectedOutput {
    /// Checks a result. A server that was started again may have other schemas, which are unknown until its tools are
    /// listed.
    ///
    /// # Errors
    ///
    /// As for [`OutputSchema::check`].
    pub(super) fn check(&self, result: &CallToolResult) -> Result<(), ClientError> {
        let outputs = self.client.outputs();
        match outputs.is_some_and(|outputs| outputs.0.lock().starts == self.starts) {
            true => self.schema.check(result),
            false => Ok(()),
        }
    }
}

impl SchemaCache {
    fn forget(&mut self) {
        self.forgotten = self.forgotten.wrapping_add(1);
        self.schemas.clear();
        self.bytes = 0;
    }

    fn insert(&mut self, tool: String, schema: Schema) {
        self.bytes += bytes(&tool, &schema);
        let schema = OutputSchema {
            tool: tool.clone(),
            schema,
            compiled: OnceLock::new(),
        };
        self.schemas.insert(tool, Arc::new(schema));
    }

    fn remove(&mut self, tool: &str) {
        if let Some(removed) = self.schemas.remove(tool) {
            self.bytes -= bytes(&removed.tool, &removed.schema);
        }
    }
}

impl OutputSchema {
    /// Checks a result.
    ///
    /// # Errors
    ///
    /// [`ClientError::Output`] if it is a success, and does not fit the schema or has no structured content.
    pub(super) fn check(&self, result: &CallToolResult) -> Result<(), ClientError> {
        if result.failed() {
            return Ok(());
        }
        let wrong = |why: String| ClientError::Output {
            tool: self.tool.clone(),
            why,
            result: Box::new(result.clone()),
        };
        let Some(content) = &result.structured_content else {
            return Err(wrong("it has no structured content".to_owned()));
        };
        match self.compiled.get() {
            Some(Ok(schema)) => schema
                .check(content.as_str())
                .map_err(|misfit| wrong(misfit.to_string())),
            // A tool with an invalid schema is not called.
            Some(Err(_)) | None => Ok(()),
        }
    }

    fn compile(&self, limits: &Limits) -> &Result<CompiledSchema, SchemaError> {
        self.compiled
            .get_or_init(|| CompiledSchema::new(&self.schema, limits))
    }
}

fn bytes(tool: &str, schema: &Schema) -> usize {
    tool.len() + schema.as_str().len()
}
