//! Tools: what a model may call.

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
    /// The author has given the schema of the arguments.
    given: bool,
    /// Neither arguments nor results are checked by the schemas.
    unchecked: bool,
    pub(super) input: Arc<InputCheck>,
    pub(super) output: Option<Arc<OutputCheck>>,
    /// The headers of arguments, as far as they were not named by the schema itself.
    headers: Vec<(String, String)>,
    /// Which arguments a client repeats in the headers of its request.
    pub(super) mirrored: HeaderAnnotations,
    pub(super) tasks: Option<Tasks>,
    /// Whether its tasks go on if their process dies while it works.
    pub(super) durable: bool,
    #[cfg(feature = "witness")]
    pub(super) requires_witness: bool,
    pub(super) needs: Needs,
    pub(super) visibility: Visibility,
}

/// How the calls of a tool become tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tasks {
    /// From their beginning, and not when the handler says so.
    pub(super) at_once: bool,
    /// They are refused where they cannot.
    pub(super) required: bool,
}

impl Tool {
    /// A tool. Where a parameter of the handler has `#[derive(Form)]`, or is a `Json`, its schema is the
    /// tool's input schema; [`Tool::input_schema`] sets another. Where the handler returns a `Json`, its
    /// schema is the output schema, and [`Tool::output_schema`] sets another.
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

    /// Hints about what it does; clients do not trust them.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.description.annotations = Some(annotations);
        self
    }

    /// Sets the schema of its arguments, for handlers that take [`PlainJson`](crate::PlainJson). Arguments that
    /// do not fit it are refused before the handler runs (feature `json-schema`).
    ///
    /// A property with an `x-mcp-header` is one that [`Tool::header`] has named a header for.
    #[must_use]
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.description.input_schema = schema;
        self.given = true;
        self
    }

    /// Has clients repeat an argument in the header `Mcp-Param-{header}` of their requests, for those
    /// on the way to route by: `header("region", "Region")`. The argument is a text, an integer or
    /// a yes or no.
    ///
    /// Over HTTP, a request whose headers say something else than its body is refused (2026-07-28,
    /// basic/transports/streamable-http, Custom Headers from Tool Parameters). A client repeats what
    /// everybody on the way may read: name no header for what is confidential.
    #[must_use]
    pub fn header(mut self, argument: impl Into<String>, header: impl Into<String>) -> Self {
        self.headers.push((argument.into(), header.into()));
        self
    }

    /// Sets the schema of its structured results. A result that does not fit it, or has no structured
    /// content and is no error, is withheld, and its client told so (feature `json-schema`).
    #[must_use]
    pub fn output_schema(mut self, schema: Schema) -> Self {
        self.description.output_schema = Some(schema);
        self
    }

    /// Declares that arguments and results are not checked by the schemas that were set by hand or made of
    /// types, because the handler checks them itself, or others do behind it. Without the feature
    /// `json-schema` no server is built with a tool whose schemas nobody checks, unless it says so.
    ///
    /// Forms are checked in any case.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.unchecked = true;
        self
    }

    /// Makes each call a task (the extension `io.modelcontextprotocol/tasks`, SEP-2663): the client
    /// is given a handle at once, and asks how the work stands until it is done. For work that
    /// takes longer than a client should wait for a response.
    ///
    /// Where the client takes no tasks, [`TaskSupport::Optional`] runs an ordinary call, and
    /// [`TaskSupport::Required`] refuses it: with -32021 in 2026-07-28, with a tool error in the
    /// handshake revisions. [`TaskSupport::Forbidden`] is how a tool is anyway.
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

    /// Lets the handler make a call a task when it is ready to, with
    /// [`Ctx::become_task`](crate::Ctx::become_task). What it asks before travels as in any call.
    ///
    /// Where the client takes no tasks, [`TaskSupport::Optional`] goes on as an ordinary call, and
    /// [`TaskSupport::Required`] refuses the call before anything is asked, as [`Tool::task`] does.
    #[must_use]
    pub fn may_become_task(self, support: TaskSupport) -> Self {
        self.becomes_task(false, support)
    }

    /// Lets another process of a [fleet](crate::Fleet) go on with a task if the process dies that works on it. The handler
    /// runs again from the last question, or from the beginning of the task: steps after it (`ctx.run`) run once more, and a
    /// commit is not repeated. Otherwise the task has failed, and its client is told so.
    ///
    /// Without a fleet this changes nothing.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Accepts the answers of a person only if they come with a [receipt](crate::witness) that is signed with a key that
    /// [`ServerBuilder::trust_witness`](crate::ServerBuilder::trust_witness) trusts. Every other yes ends the question with
    /// [`AskError::NoWitness`](crate::ctx::AskError::NoWitness). A no needs no receipt. Revisions before 2025-11-25 change forms on
    /// their way, so their clients cannot give receipts.
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

    /// Puts the name of a server it is mounted from before its own. No dot is between them: models
    /// are often called with names that may not have one.
    pub(super) fn prefix(&mut self, prefix: &str) {
        let name = &mut self.description.name;
        *name = format!("{prefix}_{name}");
    }

    /// Checks what only a complete tool shows, reads what its schema says of headers, and compiles its
    /// schemas.
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

/// A form whose schema says that there are no other arguments: a call with others is refused, so that a
/// model that misspells the name of an optional argument learns of it.
fn closed(form: &FormSchema) -> FormSchema {
    let mut form = form.clone();
    let annotations = &mut form.annotations;
    annotations.insert("additionalProperties".to_owned(), false.into());
    form
}

/// A schema in which a header is named for an argument; none where there is no such argument.
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

/// A function that gives a tool, such as [`#[tool]`](macro@crate::tool) makes one.
impl<F: FnOnce() -> Self> From<F> for Tool {
    fn from(function: F) -> Self {
        function()
    }
}
