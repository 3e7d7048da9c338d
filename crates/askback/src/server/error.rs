//! Errors of building a server.

/// A server could not be built, or an offer could not be added. This is a mistake in the server's
/// code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two offers of the same kind have the same name.
    #[error("two {kind} are called `{name}`")]
    Twice {
        /// The kind, such as `tool`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A tool's name is not one that clients accept.
    #[error(
        "`{0}` cannot name a tool: use 1 to 128 letters, digits, underscores, hyphens and dots"
    )]
    Name(String),
    /// The form of a tool's arguments breaks the rules of forms, its schema is not an object
    /// schema, or the schema breaks the rules of `x-mcp-header`.
    #[error("the arguments of `{name}`: {why}")]
    Arguments {
        /// The tool.
        name: String,
        /// The reason.
        why: String,
    },
    /// A tool's schema cannot be compiled, or this build has no schema checks.
    #[error("the {of} schema of `{name}` cannot be checked: {why}, or say `Tool::unchecked`")]
    Schema {
        /// The tool.
        name: String,
        /// Which schema: `input` or `output`.
        of: &'static str,
        /// The reason.
        why: String,
    },
    /// A tool reads arguments but has no schema to show to clients.
    #[error(
        "the arguments of `{0}` have no schema: take `Json<_>` instead of `PlainJson<_>`, or set one with \
         `Tool::input_schema`"
    )]
    Undescribed(String),
    /// A question that is asked before a handler runs is not valid.
    #[error("what `{name}` asks for: {why}")]
    Question {
        /// The tool, the prompt, or the URI of the resource.
        name: String,
        /// The reason.
        why: String,
    },
    /// A handler reads a variable that its template does not have.
    #[error(
        "the handler of `{template}` reads `{variable}`, and the template has no such variable"
    )]
    Variable {
        /// The template.
        template: String,
        /// The variable.
        variable: String,
    },
    /// A resource has an address that is not a URI.
    #[error(
        "`{0}` is not a URI: begin it with a scheme, such as `notes:`, and encode what no URI may hold"
    )]
    Uri(String),
    /// A key of `_meta` is invalid or reserved for the protocol.
    #[error("the `_meta` of `{name}`: {why}")]
    Meta {
        /// The tool, the prompt, or the URI of the resource.
        name: String,
        /// The reason.
        why: String,
    },
    /// An extension has a name or settings that clients do not accept.
    #[error("the extension `{name}`: {why}")]
    Extension {
        /// The extension.
        name: String,
        /// The reason.
        why: String,
    },
    /// A skill breaks the rules of Agent Skills or SEP-2640, or its folder cannot be read.
    #[error("the skill `{name}`: {why}")]
    Skill {
        /// The skill, or its folder.
        name: String,
        /// The reason.
        why: String,
    },
    /// A completer is for an argument that does not exist.
    #[error("`{name}` has no argument `{argument}` to complete")]
    Completer {
        /// The prompt or template.
        name: String,
        /// The argument.
        argument: String,
    },
    /// A URI template has expressions other than simple variables, two adjacent variables, two
    /// variables with the same name, or a percent sign that encodes nothing.
    #[error(
        "`{0}` is not a URI template with simple variables that are apart, or has a percent sign \
         that encodes nothing"
    )]
    Template(String),
    /// A handler has more than one parameter that describes its arguments.
    #[error(
        "`{0}` takes its arguments twice: gather them in one struct that derives `Form` or is taken as \
         `Json<_>`, or make each a parameter of its own with `#[tool]`"
    )]
    Parameters(String),
    /// A handler takes a state that the server was not given.
    #[error(
        "`{name}` takes a state of type `{state}`, which the server was not given: add it with \
         `ServerBuilder::state`"
    )]
    State {
        /// The tool, the prompt, or the URI of the resource.
        name: String,
        /// The type of the state.
        state: &'static str,
    },
    /// The required scopes are not valid scopes.
    #[error("the scopes of `{name}`: {why}")]
    Scopes {
        /// The tool, the prompt, or the URI of the resource.
        name: String,
        /// The reason.
        why: String,
    },
    /// A list is cached as the same for all callers, but differs by caller.
    #[error(
        "`list_resources_for` and `visible_to` make lists that differ by caller, so `cache` must not \
         say that lists are the same for everybody: use `CacheScope::Private`"
    )]
    PublicCache,
    /// Offers of this kind were not declared to change while the server runs.
    #[error(
        "the {kind} of this server were not declared to change: say so when it is built, as with \
         `ServerBuilder::changing_tools`"
    )]
    Fixed {
        /// The kind, such as `tools`.
        kind: &'static str,
    },
    /// A fleet lacks something that its processes must share.
    #[error("the fleet of this server: {0}")]
    Fleet(&'static str),
    /// The server forwards all requests, but has offers or middleware of its own.
    #[error("a server that forwards its requests has no offers and no middleware of its own")]
    Forward,
    /// A tool requires receipts, but the server trusts no witness key.
    #[error(
        "`{0}` requires a witness, and the server trusts no key: say whose receipts count with \
         `ServerBuilder::trust_witness`"
    )]
    Witness(String),
    /// No revision is enabled.
    #[error("the server speaks no revision")]
    NoRevision,
}
