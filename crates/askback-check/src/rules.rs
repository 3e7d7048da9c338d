//! The rules for servers.
//!
//! A rule of the specification has the id of its row in `docs/requirements/`, and a test compares
//! them. The text of the rule is ours. Our own rules have lowercase names. Each section of the
//! table starts with the reason that is reported if a rule was not tried.

use askback::Revision::{
    self, V2024_11_05 as V24_11, V2025_03_26 as V25_03, V2025_06_18 as V25_06,
    V2025_11_25 as V25_11, V2026_07_28 as V26_07,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub rows: &'static [Row],
    pub(crate) over: RuleTransport,
    /// The expectation, or advice. Empty if the rule's text says it.
    pub(crate) wanted: &'static str,
    /// Why it is never tried, if so.
    pub(crate) untried: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The id of the requirement, or the name of our own rule.
    pub id: &'static str,
    pub says: &'static str,
    pub level: Level,
    pub since: Revision,
    pub until: Revision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Must,
    Should,
    /// Allowed by the protocol, but known clients fail.
    Lint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleTransport {
    Any,
    Stdio,
    Http,
}

impl Rule {
    /// Returns its row for this revision and transport, if it applies there.
    pub(crate) fn row(&self, revision: Revision, is_http: bool) -> Option<&'static Row> {
        let is_there = match self.over {
            RuleTransport::Any => true,
            RuleTransport::Stdio => !is_http,
            RuleTransport::Http => is_http,
        };
        let mut rows = self.rows.iter().filter(|_| is_there);
        rows.find(|row| (row.since..=row.until).contains(&revision))
    }
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Lint => "LINT",
        }
    }
}

/// Returns the static id of a rule.
///
/// # Errors
///
/// If there is no rule with this id.
pub fn known(id: &str) -> Result<&'static str, &'static str> {
    let mut rows = ALL.iter().flat_map(|rule| rule.rows);
    let row = rows.find(|row| row.id == id);
    row.map(|row| row.id)
        .ok_or("no rule has this id; askback check --all lists the rules")
}

/// Unless its row says otherwise, a rule also applies to later revisions.
const NOW: Revision = Revision::LATEST;

macro_rules! rules {
    ($($why:literal: $($name:ident $over:ident [$($id:literal $level:ident $since:ident..=$until:ident),*] $says:literal $(=> $wanted:literal)?;)*)*) => {
        $($(
            pub(crate) const $name: Rule = Rule {
                rows: &[$(Row {
                    id: $id,
                    says: $says,
                    level: Level::$level,
                    since: $since,
                    until: $until,
                }),*],
                over: RuleTransport::$over,
                wanted: concat!($($wanted)?),
                untried: $why,
            };
        )*)*

        pub const ALL: &[Rule] = &[$($($name),*),*];
    };
}

rules! {
    // Messages.
    "nothing here led to it":
    JSON_RPC Any ["BA-02" Must V24_11..=NOW]
        "Messages are those of JSON-RPC 2.0; an unknown method is refused with -32601, and what is no JSON is refused."
            => "the error -32601";
    RESULT_ID Any ["BA-06" Must V25_11..=NOW, "BA24-01" Must V24_11..=V25_06]
        "A result has the id of its request, of the same type.";
    RESULT_SET Any ["BA-07" Must V25_11..=NOW, "BA24-02" Must V24_11..=V25_06]
        "A successful response has a result.";
    ONE_OUTCOME Any ["BA24-03" Must V24_11..=V25_06] "A response does not have both." => "one of result and error";
    RESULT_TYPE Any ["BA-08" Must V26_07..=NOW] "Each result has a `resultType`.";
    ERROR_ID Any ["BA-12" Must V25_11..=NOW, "BA24-01" Must V24_11..=V25_06] "An error has the id of its request.";
    ERROR_SHAPE Any ["BA-13" Must V25_11..=NOW, "BA24-04" Must V25_03..=V25_06] "An error has a code and a message.";
    ERROR_CODE Any ["BA-14" Must V24_11..=NOW] "The code of an error is a whole number.";
    OLD_URL_REQUIRED Any ["BA-18" Must V26_07..=NOW] "The code -32042 is used no more." => "a result that asks";
    NO_ANSWER Any ["BA-20" Must V25_03..=NOW] "A notification is not answered.";
    UNKNOWN_CANCELLED Any ["CA-19" Should V24_11..=NOW] "A cancellation of an unknown request is ignored.";
    PING Any ["PI25-01" Must V24_11..=V25_11] "A ping is answered with an empty result.";

    // The start of a conversation.
    GREETING Any ["LI25-05" Must V24_11..=V25_11]
        "The handshake is answered with the version, the capabilities and the name of the server."
            => "`protocolVersion`, `capabilities` and `serverInfo` with `name` and `version`";
    OTHER_VERSION Any ["LI25-11" Must V24_11..=V25_11]
        "A handshake in an unknown version is answered with one that the server speaks.";
    EARLY_REQUESTS Any ["LI25-07" Should V24_11..=V25_11]
        "Before the handshake is over, the server requests nothing but pings.";
    NEGOTIATED Any ["LI25-16" Must V25_06..=V25_11, "LI24-03" Should V24_11..=V25_03]
        "The server asks nothing that the client has not declared it can be asked.";
    DISCOVER Any ["DI-01" Must V26_07..=NOW] "`server/discover` is answered with the versions and capabilities of the server."
        => "a result with `supportedVersions` and `capabilities`";
    NAMED Any ["DI-03" Should V26_07..=NOW]
        "The result of `server/discover` names the server." => "`io.modelcontextprotocol/serverInfo` in `_meta`";
    UNKNOWN_VERSION Any ["VE-01" Must V26_07..=NOW]
        "An unknown version is refused with -32022 and the versions of the server."
            => "the error -32022 with `supported` in its `data`";
    MODERN_ONLY Any ["VE-08" Should V26_07..=NOW] "A server without the handshake names its versions when it refuses one.";
    SERVER_REQUESTS Any ["PA-01" Must V26_07..=NOW] "The server sends no requests.";
    DISCOVER_CACHING Any ["CC-01" Must V26_07..=NOW]
        "The result of `server/discover` says how long it may be kept." => "`ttlMs` and `cacheScope`";

    // Lists.
    "nothing here led to it":
    TOOLS_DECLARED Any ["TO-05" Must V24_11..=NOW] "A server with tools declares the capability `tools`.";
    PROMPTS_DECLARED Any ["PR-02" Must V26_07..=NOW, "PR25-01" Must V24_11..=V25_11]
        "A server with prompts declares the capability `prompts`.";
    RESOURCES_DECLARED Any ["RE-01" Must V24_11..=NOW]
        "A server with resources declares the capability `resources`.";
    BAD_CURSOR Any ["PG-09" Should V24_11..=NOW] "An invalid cursor is refused with -32602.";
    "the server has no tools":
    TOOLS_LISTED Any ["TO-06" Must V26_07..=NOW] "Declared tools are listed.";
    TOOLS_CACHING Any ["CC-02" Must V26_07..=NOW]
        "The list of tools says how long it may be kept." => "`ttlMs` and `cacheScope`";
    INPUT_SCHEMA Any ["TO-10" Must V25_11..=NOW, "input-schema" Must V24_11..=V25_06]
        "The input schema of a tool is a JSON Schema of an object." => "a schema with \"type\": \"object\"";
    TOOL_LENGTH Any ["TO-12" Should V25_11..=NOW] "The name of a tool has 1 to 128 characters.";
    TOOL_CHARACTERS Any ["TO-14" Should V25_11..=NOW]
        "The name of a tool holds letters, digits, underscores, hyphens and dots alone.";
    TOOL_UNIQUE Any ["TO-16" Should V25_11..=NOW, "tool-unique" Should V24_11..=V25_06]
        "No two tools have the same name."
            => "another name for one of them. The API of Claude refuses the request (baguskto/threads-mcp#2, February 2026)";
    ARGUMENTS Any ["TO-35" Must V24_11..=NOW]
        "A tool that does not exist, or lacks a required argument, is not called with success."
            => "an error, or a result with `isError`";
    "no tool mirrors arguments into headers":
    HEADER_NAME Any ["TO-20" Must V26_07..=NOW] "An `x-mcp-header` is a name of a header.";
    HEADER_UNIQUE Any ["TO-22" Must V26_07..=NOW] "No two properties of a tool have the same `x-mcp-header`.";
    HEADER_TYPE Any ["TO-23" Must V26_07..=NOW] "An `x-mcp-header` is on an integer, a string or a boolean.";
    HEADER_PLACE Any ["TO-25" Must V26_07..=NOW]
        "An `x-mcp-header` is on a property that is reached by `properties` alone.";
    "the server has no prompts, or none that requires an argument":
    PROMPTS_LISTED Any ["PR-03" Must V26_07..=NOW] "Declared prompts are listed.";
    PROMPTS_CACHING Any ["CC-03" Must V26_07..=NOW]
        "The list of prompts says how long it may be kept." => "`ttlMs` and `cacheScope`";
    UNKNOWN_PROMPT Any ["PR-11" Should V24_11..=NOW] "An unknown prompt is refused with -32602.";
    PROMPT_ARGUMENTS Any ["PR-12" Should V24_11..=NOW]
        "A prompt without a required argument is refused with -32602.";
    "the server has no resources":
    RESOURCES_LISTED Any ["RE-02" Must V26_07..=NOW] "Declared resources are listed.";
    RESOURCES_CACHING Any ["CC-04" Must V26_07..=NOW]
        "The list of resources says how long it may be kept." => "`ttlMs` and `cacheScope`";
    TEMPLATES_CACHING Any ["CC-05" Must V26_07..=NOW]
        "The list of resource templates says how long it may be kept." => "`ttlMs` and `cacheScope`";
    RESOURCE_URI Any ["RE-08" Must V25_06..=NOW] "The URI of a resource is one." => "a URI with a scheme";
    UNKNOWN_RESOURCE Any ["RE-09" Must V26_07..=NOW] "An unknown resource is refused with -32602.";
    OLD_UNKNOWN_RESOURCE Any ["RE25-01" Should V24_11..=V25_11] "An unknown resource is refused with -32002.";
    "the server has no skills":
    SKILLS_ANSWERED Any ["SK-01" Must V26_07..=NOW]
        "A server with skills answers `skills/list` and `skills/get`." => "a result with `skills`, or one with `skill`";
    SKILLS_RESOURCES Any ["SK-02" Must V26_07..=NOW] "A server with skills declares the capability `resources`.";
    UNKNOWN_SKILL Any ["SK-15" Must V26_07..=NOW] "An unknown skill is refused with -32602.";
    SKILL_ENTRY Any ["skill-entry" Must V26_07..=NOW]
        "The entry of a skill has a URI that ends in its name and `SKILL.md`, and lists each file once, with digest and size."
            => "an entry as in SEP-2640; clients refuse any other";
    SKILL_FILE Any ["skill-file" Must V26_07..=NOW]
        "The `SKILL.md` can be read, and has the size, the digest and the front matter of its entry."
            => "the entry and the file of one moment; clients refuse any other file";
    "the server sent no log messages":
    LOGGING_DECLARED Any ["LO-02" Must V24_11..=NOW]
        "A server that sends log messages declares the capability `logging`.";
    "the server tells of no changes":
    ACKNOWLEDGED Any ["SU-02" Must V26_07..=NOW] "A subscription begins with its acknowledgement, which names it."
        => "`notifications/subscriptions/acknowledged` with the id of the request";
    UNREQUESTED Any ["SU-01" Must V26_07..=NOW] "A subscription brings nothing that was not asked for.";
    STREAM_BUFFERING Http ["HT-17" Should V26_07..=NOW] "A stream of events says `X-Accel-Buffering: no`.";

    // These rules call only tools with `readOnlyHint` and without required arguments, and tools
    // that the user named.
    "no tool that was called did this: name one with --tool":
    UNDECLARED_QUESTIONS Any ["MR-13" Must V26_07..=NOW]
        "A result asks nothing that the client has not declared it can be asked."
            => "the error -32021, or a result without questions";
    CAPABILITY_NAMED Any ["BA-47" Must V26_07..=NOW] "A refusal for a missing capability (-32021) says which one is missing."
        => "`requiredCapabilities` in the `data` of the error";
    CAPABILITY_STATUS Http ["BA-48" Must V26_07..=NOW] "The status of that refusal is 400.";
    QUIET_LOG Any ["LO-03" Must V26_07..=NOW] "A request without a log level brings no log messages.";
    PROGRESS_TOKEN Any ["PO-07" Must V24_11..=NOW] "Progress names the token of the request.";
    PROGRESS_RISES Any ["PO-04" Must V24_11..=NOW] "Progress rises with each notification.";
    RESULT_SHAPE Any ["result-shape" Must V24_11..=NOW]
        "The result of a tool has the members and the blocks of the schema of the protocol."
            => "`content`, a list of blocks of the schema, and `isError`, if it is there, as a boolean";
    STRUCTURED_TEXT Any ["TO-31" Should V25_06..=NOW]
        "Structured content comes with a text that says the same." => "a block of text";
    FORM_SHAPE Any ["EL-12" Must V25_11..=NOW] "A form has a schema." => "`message` and `requestedSchema`";
    LINK_SHAPE Any ["EL-14" Must V25_11..=NOW] "A link has a message and a URL." => "`message` and `url`";
    ROUND_SHAPE Any ["MR-12" Must V26_07..=NOW]
        "A result that needs input has questions or a state." => "`inputRequests` or `requestState`";
    ROUND_QUESTIONS Any ["MR-06" Must V26_07..=NOW] "The questions of a result are those that the protocol has."
        => "`elicitation/create`, `sampling/createMessage` or `roots/list`";
    BAD_RESPONSES Any ["MR-19" Should V26_07..=NOW] "Answers that are no object of answers are refused.";
    ASKED_AGAIN Any ["MR-22" Should V26_07..=NOW] "A question that was not answered is asked again.";
    "no tool with an output schema that was called gave a result, or this build checks none (feature `json-schema`)":
    STRUCTURED Any ["TO-32" Must V25_06..=NOW] "A tool with an output schema gives structured content that fits it."
        => "`structuredContent` that fits the output schema";
    "no tool that was called has a state and tells a refusal from a decline: name one with --tool":
    TAMPERED Any ["MR-07" Must V26_07..=NOW] "A state that was changed is refused if anything depends on it.";
    FOREIGN Any ["MR-10" Should V26_07..=NOW] "A state is refused with another request than its own.";

    // Standard streams.
    "nothing here led to it":
    NOISE Stdio ["ST-03" Must V24_11..=NOW] "The standard output holds messages alone.";
    PROMPT_EXIT Stdio ["ST-14" Should V26_07..=NOW] "The server exits when its input ends.";

    // HTTP.
    "nothing here led to it":
    ACCEPTED Http ["HT-11" Must V26_07..=NOW, "HT25-06" Must V25_03..=V25_11]
        "A notification is answered with 202 and no body, or with the status of an error.";
    MEDIA Http ["HT-13" Must V26_07..=NOW, "HT25-08" Must V25_06..=V25_11]
        "A request is answered with JSON or a stream of events." => "`application/json` or `text/event-stream`";
    VERSION_HEADER Http ["HT-22" Must V26_07..=NOW]
        "A version in the header that is not that of the body is refused with 400 and -32020.";
    VERSION_STATUS Http ["HT-23" Must V26_07..=NOW] "The status of an unknown version is 400.";
    METHOD_STATUS Http ["HT-24" Must V26_07..=NOW] "The status of an unknown method is 404.";
    METHOD_HEADER Http ["HT-61" Must V26_07..=NOW]
        "A method in the header that is not that of the body is refused." => "the status 400 and the error -32020";
    MISSING_HEADER Http ["HT-55" Must V26_07..=NOW]
        "A request without the header of its method is refused with 400 and -32020.";
    NAME_HEADER Http ["HT-54" Must V26_07..=NOW]
        "A name in the header that is not that of the body is refused." => "the status 400 and the error -32020";
    MODERN_GET Http ["HT-69" Should V26_07..=NOW] "A server without sessions answers a GET with 405.";
    GET_STREAM Http ["HT25-18" Must V25_03..=V25_11] "A GET opens a stream of events, or is answered with 405.";
    "a server on the internet may be for the pages of all sites":
    ORIGIN Http ["HT-03" Must V25_11..=NOW]
        "A page of another site is refused with 403 if the server is on this machine.";
    OLD_ORIGIN Http ["HT-02" Must V24_11..=V25_06]
        "A page of another site is refused if the server is on this machine.";
    "the server has no sessions, or does not let clients end them":
    SESSION_MISSING Http ["HT25-31" Should V25_03..=V25_11]
        "A request without the id of a session that needs one is answered with 400.";
    SESSION_ENDED Http ["HT25-32" Must V25_03..=V25_11] "A request in a session that has ended is answered with 404.";

    // Our own rules. A lint names a client that fails, with its version and the bug report.
    "nothing here led to it":
    ENTRY_SHAPE Any ["entry-shape" Must V24_11..=NOW]
        "The members of what is listed have the types of the schema of the protocol.";
    ENTRY_UNIQUE Any ["entry-unique" Should V24_11..=NOW]
        "No two prompts have the same name, and no two resources the same URI.";
    TOOL_NAME Any ["tool-name" Lint V24_11..=NOW]
        "The name of a tool is one that the APIs of models take: 1 to 64 letters, digits, `_` and `-`."
            => "such a name. Codex 0.73 fails if there is another character, such as a dot (openai/codex#8174), Claude Code 0.2.103 if the name is longer (anthropics/claude-code#985)";
    SCHEMA_PROPERTIES Any ["schema-properties" Lint V24_11..=NOW]
        "The input schema of a tool has `properties`, if only empty ones."
            => "\"properties\": {}. The API of OpenAI refuses the request (openai/openai-agents-python#454, April 2025)";
    SCHEMA_CHOICE Any ["schema-choice" Lint V24_11..=NOW]
        "The input schema of a tool has no `anyOf`, `oneOf` or `allOf` at its root."
            => "an argument that chooses. The API of Claude refuses the request (makenotion/notion-mcp-server#341, August 2026), and Claude Code leaves the tool out (anthropics/claude-code#95504)";
    SCHEMA_REQUIRED Any ["schema-required" Lint V24_11..=NOW]
        "Each required member of a schema is among its `properties`."
            => "the member in `properties`. The API of Gemini refuses the request (google-gemini/gemini-cli#1458, June 2025)";
    SCHEMA_TYPE Any ["schema-type" Lint V24_11..=NOW] "Each argument has a type that JSON Schema has."
        => "string, number, integer, boolean, array, object or null. Gemini CLI leaves the tool out (arben-adm/mcp-sequential-thinking#12, September 2025)";
    SCHEMA_ITEMS Any ["schema-items" Lint V24_11..=NOW]
        "Each list says what is in it." => "`items`. VS Code 1.107 refuses the tool (microsoft/vscode#284536)";
    SCHEMA_REFERENCE Any ["schema-reference" Lint V24_11..=NOW]
        "Each `$ref` of a schema leads to a part of that schema."
            => "what it names, in `$defs`. For one in an output schema, Claude Code 2.1.205 and OpenCode 1.14.41 drop all tools of the server (anthropics/claude-code#76040, anomalyco/opencode#26529)";
    SCHEMA_RECURSIVE Any ["schema-recursive" Lint V24_11..=NOW] "No schema contains itself."
        => "a schema of a fixed depth. Gemini CLI fails at each request (google-gemini/gemini-cli#14945, December 2025)";
    OUTPUT_SCHEMA Any ["output-schema" Lint V24_11..=NOW] "The output schema of a tool is of an object."
        => "\"type\": \"object\". Clients with the TypeScript SDK 1 drop all tools of the server (kenn-io/msgvault#626, August 2026)";
    SLOW_START Any ["slow-start" Lint V24_11..=NOW] "The server answers for the first time within 3 s."
        => "a quick start. Codex 0.101 gives up on a server after 10 s (openai/codex#11851)";
    PLAIN_HTTP Http ["plain-http" Lint V24_11..=NOW] "A server beyond this machine is at an https: address."
        => "https:, since others can read what is sent otherwise. mcp-remote refuses such an address (openbkn-ai/bkn-studio#434, August 2026)";
}
