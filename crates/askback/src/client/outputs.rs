//! The output schemas of a server's tools: what it lists, its results must keep to
//! (2026-07-28, server/tools, Output Schema).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use askback_core::{
    limits::Limits,
    protocol::{CallToolResult, ClientRequest, Schema, Tool},
};

use super::{Client, ClientError};
use crate::schema::{CompiledSchema, SchemaError};

/// The output schemas, as the lists of tools said last.
#[derive(Debug, Default)]
pub(super) struct Outputs(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    schemas: HashMap<String, Arc<OutputSchema>>,
    /// How long these are.
    bytes: usize,
    /// Counts how often all was forgotten: what was asked for before is not taken in after.
    forgotten: u64,
}

/// The output schema of one tool. It is compiled when the tool is first called: most are not.
#[derive(Debug)]
pub(super) struct OutputSchema {
    tool: String,
    schema: Schema,
    compiled: OnceLock<Result<CompiledSchema, SchemaError>>,
}

impl Outputs {
    /// Which lists are to be asked for now: what [`Outputs::note`] takes.
    pub(super) fn asked(&self) -> u64 {
        self.lock().forgotten
    }

    /// Takes in a list, or a page of one. Of what is more than
    /// [`limits.client.list_bytes`](crate::limits::ClientLimits::list_bytes), nothing is known.
    pub(super) fn note(&self, asked: u64, tools: &[Tool], is_first: bool, limits: &Limits) {
        let mut known = self.lock();
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

    /// Forgets all: the server has other tools now, or tells somebody else of them.
    pub(super) fn forget(&self) {
        let mut known = self.lock();
        known.forgotten = known.forgotten.wrapping_add(1);
        known.schemas.clear();
        known.bytes = 0;
    }

    /// The output schema of a tool, where it was listed with one.
    ///
    /// # Errors
    ///
    /// [`ClientError::OutputSchema`] where nothing can be checked by it.
    pub(super) fn get(
        &self,
        tool: &str,
        limits: &Limits,
    ) -> Result<Option<Arc<OutputSchema>>, ClientError> {
        let Some(known) = self.lock().schemas.get(tool).cloned() else {
            return Ok(None);
        };
        match known.compile(limits) {
            Ok(_) => Ok(Some(known)),
            Err(error) => Err(ClientError::OutputSchema {
                tool: tool.to_owned(),
                why: error.to_string(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Where results are checked.
    pub(super) fn outputs(&self) -> Option<&Outputs> {
        self.inner.shared.outputs.as_ref()
    }

    /// Returns the schema that the result of a request must fit.
    pub(super) fn output_of(
        &self,
        request: &ClientRequest,
    ) -> Result<Option<Arc<OutputSchema>>, ClientError> {
        match (request, self.outputs()) {
            (ClientRequest::CallTool(params), Some(outputs))
                if self.revision().facts().structured_content =>
            {
                outputs.get(&params.name, self.limits())
            }
            _ => Ok(None),
        }
    }
}

impl Known {
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
    /// [`ClientError::Output`] where it is no error, and does not fit the schema or has nothing that could.
    pub(super) fn check(&self, result: &CallToolResult) -> Result<(), ClientError> {
        if result.failed() {
            return Ok(());
        }
        let wrong = |why: String| ClientError::Output {
            tool: self.tool.clone(),
            why,
        };
        let Some(content) = &result.structured_content else {
            return Err(wrong("it has no structured content".to_owned()));
        };
        match self.compiled.get() {
            Some(Ok(schema)) => schema
                .check(content.as_str())
                .map_err(|misfit| wrong(misfit.to_string())),
            // Such a tool is not called.
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
