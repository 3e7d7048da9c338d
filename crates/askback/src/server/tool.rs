//! Tools: functions that a model may call.

use std::sync::Arc;

use askback_core::{
    forms::FormSchema,
    http::params::HeaderAnnotations,
    limits::Limits,
    protocol::{
        self, CallToolResult, OrderedMap, Outcome, RawJson, Schema, TaskSupport, ToolAnnotations,
    },
};

use super::{
    BuildError,
    checks::{InputCheck, Origin, OutputCheck, ToolSchemas},
    described::described,
    offer::{Needs, Visibility},
};
use crate::handler::{ErasedHandler, Handler, IntoToolResult, erase};

/// A tool and its handler.
///
/// ```
/// use askback::{Form, Result, Tool};
///
/// #[derive(Form)]
/// struct Greeting {
///     /// Who is greeted.
///     name: String,
/// }
///
/// let greet = Tool::new("greet", async |greeting: Greeting| -> Result<String> {
///     Ok(format!("Hello, {}!", greeting.name))
/// })
/// .description("Greets somebody.");
/// ```
#[derive(Clone)]
pub struct Tool {
    pub(super) description: protocol::Tool,
    pub(super) handler: ErasedHandler<Outcome<CallToolResult>>,
    /// Whether the author set the schema of the arguments.
    given: bool,
    unchecked: bool,
    pub(super) input: Arc<InputCheck>,
    pub(super) output: Option<Arc<OutputCheck>>,
    headers: Vec<(String, String)>,
    /// The arguments that a client repeats in the headers of its request.
    pub(super) mirrored: HeaderAnnotations,
    pub(super) tasks: Option<Tasks>,
    pub(super) durable: bool,
    #[cfg(feature = "witness")]
    pub(super) requires_witness: bool,
    pub(super) needs: Needs,
    pub(super) visibility: Visibility,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Tasks {
    /// Whether a call becomes a task at its start, and not when the handler decides.
    pub(super) at_once: bool,
    /// A call that cannot become a task is refused.
    pub(super) required: bool,
}

impl Tool {
    /// Creates a tool. If a parameter of the handler has `#[derive(Form)]` or is a `Json`, its
    /// schema is the tool's input schema; [`Tool::input_schema`] sets another. If the handler
    /// returns a `Json`, its schema is the output schema; [`Tool::output_schema`] sets another.
    pub fn new<M, H>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: IntoToolResult,
    {
        let handler = erase(handler, IntoToolResult::into_tool_result);
        let parameters = handler.parameters();
        let form = parameters.form.as_deref();
        let form = form.and_then(|form| Schema::from_text(closed(form).to_json()).ok());
        let input = form.or_else(|| parameters.schema.clone());
        Self {
            description: protocol::Tool {
                output_schema: H::Output::output_schema(),
                ..protocol::Tool::new(name, input.unwrap_or_default())
            },
            handler,
            given: false,
            unchecked: false,
            input: Arc::default(),
            output: None,
            headers: Vec::new(),
            mirrored: HeaderAnnotations::default(),
            tasks: None,
            durable: false,
            #[cfg(feature = "witness")]
            requires_witness: false,
            needs: Needs::default(),
            visibility: Visibility::default(),
        }
    }

    /// Sets hints about what it does. Clients do not trust them.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.description.annotations = Some(annotations);
        self
    }

    /// Sets the schema of the arguments, for handlers that take [`PlainJson`](crate::PlainJson).
    /// Arguments that do not fit are rejected before the handler runs (feature `json-schema`).
    ///
    /// A property with `x-mcp-header` has the same effect as [`Tool::header`].
    #[must_use]
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.description.input_schema = schema;
        self.given = true;
        self
    }

    /// Makes clients repeat an argument in the header `Mcp-Param-{header}` of their requests, so
    /// that proxies can route by it: `header("region", "Region")`. The argument must be a string,
    /// an integer or a boolean.
    ///
    /// Over HTTP, a request whose headers differ from its body is rejected (2026-07-28,
    /// basic/transports/streamable-http, Custom Headers from Tool Parameters). Proxies can read
    /// these headers: do not use them for confidential arguments.
    #[must_use]
    pub fn header(mut self, argument: impl Into<String>, header: impl Into<String>) -> Self {
        self.headers.push((argument.into(), header.into()));
        self
    }

    /// Sets the schema of the structured results. A result that is not an error and does not fit,
    /// or has no structured content, is not sent; the client gets an error instead (feature
    /// `json-schema`).
    #[must_use]
    pub fn output_schema(mut self, schema: Schema) -> Self {
        self.description.output_schema = Some(schema);
        self
    }

    /// Turns off the schema checks of arguments and results, if the handler or a system behind it
    /// checks them itself. Without the feature `json-schema`, a tool with a schema that was set by
    /// hand or made from a type cannot be built without this.
    ///
    /// Forms are always checked.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Makes each call a task (the extension `io.modelcontextprotocol/tasks`, SEP-2663): the client
    /// gets a handle at once, and polls the status until the work is done. Use it for work that
    /// takes longer than a client should wait for a response.
    ///
    /// If the client does not support tasks, [`TaskSupport::Optional`] runs an ordinary call, and
    /// [`TaskSupport::Required`] refuses it: with -32021 in 2026-07-28, with a tool error in the
    /// handshake revisions. The default is [`TaskSupport::Forbidden`].
    ///
    /// ```
    /// use askback::{Ctx, Result, Tool, ctx::Progress, protocol::TaskSupport};
    ///
    /// async fn paint(ctx: Ctx) -> Result<&'static str> {
    ///     ctx.progress(Progress::of(1.0, 2.0).message("The first coat is on."));
    ///     ctx.sleep(std::time::Duration::from_secs(3600)).await;
    ///     Ok("Painted.")
    /// }
    ///
    /// let paint = Tool::new("paint", paint).task(TaskSupport::Optional);
    /// ```
    #[must_use]
    pub fn task(self, support: TaskSupport) -> Self {
        self.becomes_task(true, support)
    }

    /// Lets the handler turn a call into a task with [`Ctx::become_task`](crate::Ctx::become_task).
    /// Questions before that are asked as in any call.
    ///
    /// If the client does not support tasks, [`TaskSupport::Optional`] continues as an ordinary
    /// call, and [`TaskSupport::Required`] refuses the call before anything is asked, as
    /// [`Tool::task`] does.
    #[must_use]
    pub fn may_become_task(self, support: TaskSupport) -> Self {
        self.becomes_task(false, support)
    }

    /// Lets another process of a [fleet](crate::Fleet) continue a task if its process dies. The
    /// handler runs again from the last question, or from the beginning of the task: steps after it
    /// (`ctx.run`) run once more, and a commit is not repeated. Without this, the task fails, and
    /// its client is told so.
    ///
    /// Without a fleet this has no effect.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Accepts a user's answers only with a [receipt](crate::witness) that is signed with a key
    /// that [`ServerBuilder::trust_witness`](crate::ServerBuilder::trust_witness) trusts. If the
    /// user accepts without one, the question ends with
    /// [`AskError::NoWitness`](crate::ctx::AskError::NoWitness). Declining needs no receipt.
    /// Clients of revisions before 2025-11-25 cannot give receipts, because those revisions change
    /// forms on the way.
    #[cfg(feature = "witness")]
    #[must_use]
    pub fn requires_witness(mut self) -> Self {
        self.requires_witness = true;
        self
    }

    fn becomes_task(mut self, at_once: bool, support: TaskSupport) -> Self {
        let required = support == TaskSupport::Required;
        let tasks = Tasks { at_once, required };
        self.tasks = (support != TaskSupport::Forbidden).then_some(tasks);
        self
    }

    /// Prefixes the name when the server is mounted. The separator is not a dot, because many model
    /// APIs do not allow dots in function names.
    pub(super) fn prefix(&mut self, prefix: &str) {
        let name = &mut self.description.name;
        *name = format!("{prefix}_{name}");
    }

    /// Checks the complete tool, reads the headers from its schema, and compiles its schemas.
    pub(super) fn check(&mut self, limits: &Limits) -> Result<(), BuildError> {
        let name = &self.description.name;
        // 2026-07-28, server/tools, Tool Names.
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.len() > 128 || !name.chars().all(allowed) {
            return Err(BuildError::Name(name.clone()));
        }
        let wrong = |why: String| BuildError::Arguments {
            name: name.clone(),
            why,
        };
        let parameters = self.handler.parameters();
        if let Some(form) = &parameters.form {
            form.lint(&limits.forms)
                .map_err(|why| wrong(why.to_string()))?;
        } else if parameters.undescribed && parameters.schema.is_none() && !self.given {
            return Err(BuildError::Undescribed(name.clone()));
        }
        for (argument, header) in &self.headers {
            let schema = &mut self.description.input_schema;
            *schema = with_header(schema, argument, header)
                .ok_or_else(|| wrong(format!("there is no `{argument}` to name a header for")))?;
        }
        let mirrored = HeaderAnnotations::of(&self.description.input_schema);
        self.mirrored = mirrored.map_err(|bad| wrong(bad.to_string()))?;
        let described = ToolSchemas {
            name,
            unchecked: self.unchecked,
            limits,
        };
        let origin = match parameters.form {
            Some(_) if !self.given => Origin::Form,
            _ => Origin::Schema,
        };
        let input = InputCheck::new(&described, &self.description.input_schema, origin)?;
        self.input = Arc::new(input);
        let output = self.description.output_schema.as_ref();
        let output = output.map(|schema| OutputCheck::new(&described, schema));
        self.output = output.transpose()?.map(Arc::new);
        Ok(())
    }
}

described!(Tool.description: "Sets the description of what it does, for a model and for people.");

/// Disallows other arguments in the form's schema, so that a model that misspells an optional
/// argument gets an error.
fn closed(form: &FormSchema) -> FormSchema {
    let mut form = form.clone();
    let annotations = &mut form.annotations;
    annotations.insert("additionalProperties".to_owned(), false.into());
    form
}

/// Returns the schema with a header for an argument, or `None` if the schema does not have this
/// argument.
fn with_header(schema: &Schema, argument: &str, header: &str) -> Option<Schema> {
    type Members = OrderedMap<RawJson>;
    let mut root: Members = schema.decode().ok()?;
    let mut properties: Members = root.get("properties")?.decode().ok()?;
    let mut property: Members = properties.get(argument)?.decode().ok()?;
    property.insert("x-mcp-header", RawJson::new(header).ok()?);
    properties.insert(argument, RawJson::new(&property).ok()?);
    root.insert("properties", RawJson::new(&properties).ok()?);
    Schema::new(&root).ok()
}

/// A function that returns a tool, as [`#[tool]`](macro@crate::tool) makes it.
impl<F: FnOnce() -> Self> From<F> for Tool {
    fn from(function: F) -> Self {
        function()
    }
}
