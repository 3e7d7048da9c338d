//! The requirements on a server that can be tried from outside.
//!
//! Each has the id of its row in `docs/requirements/`, and a short text of our own. A test compares
//! them with the rows.

use askback_core::revision::Revision::{
    self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
};
use serde::Serialize;

/// A requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The id of its row.
    pub id: &'static str,
    /// Its level.
    pub level: Level,
    /// The transports it is about.
    pub over: Over,
    /// The first revision that has it.
    pub since: Revision,
    /// The last revision that has it.
    pub until: Revision,
    /// The requirement, in a sentence.
    pub says: &'static str,
}

/// The level of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// It must be so.
    Must,
    /// It should be so.
    Should,
}

/// The transports a requirement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// All.
    Any,
    /// The standard streams of a process.
    Stdio,
    /// HTTP.
    Http,
}

impl Rule {
    /// Whether a server has to keep it in this revision over this transport.
    pub fn applies(&self, revision: Revision, is_http: bool) -> bool {
        let is_there = match self.over {
            Over::Any => true,
            Over::Stdio => !is_http,
            Over::Http => is_http,
        };
        is_there && (self.since..=self.until).contains(&revision)
    }
}

impl Level {
    /// The word of the specification.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
        }
    }
}

macro_rules! rules {
    ($($name:ident = $id:literal $level:ident $over:ident $since:ident..=$until:ident $says:literal;)*) => {
        $(
            pub(super) const $name: Rule = Rule {
                id: $id,
                level: Level::$level,
                over: Over::$over,
                since: $since,
                until: $until,
                says: $says,
            };
        )*

        /// All of them.
        pub const ALL: &[Rule] = &[$($name),*];
    };
}

rules! {
    // Messages.
    JSON_RPC = "BA-02" Must Any V2024_11_05..=V2026_07_28
        "Messages are those of JSON-RPC 2.0; an unknown method is refused with -32601, and what is no JSON is refused.";
    RESULT_ID = "BA-06" Must Any V2025_11_25..=V2026_07_28
        "A result has the id of its request, of the same type.";
    RESPONSE_ID = "BA24-01" Must Any V2024_11_05..=V2025_06_18
        "A response has the id of its request, of the same type.";
    RESULT_SET = "BA-07" Must Any V2025_11_25..=V2026_07_28
        "A response that is no error has a result.";
    OUTCOME_SET = "BA24-02" Must Any V2024_11_05..=V2025_06_18
        "A response has a result or an error.";
    ONE_OUTCOME = "BA24-03" Must Any V2024_11_05..=V2025_06_18
        "A response does not have both.";
    RESULT_TYPE = "BA-08" Must Any V2026_07_28..=V2026_07_28
        "Each result says of which type it is.";
    ERROR_ID = "BA-12" Must Any V2025_11_25..=V2026_07_28
        "An error has the id of its request.";
    ERROR_SHAPE = "BA-13" Must Any V2025_11_25..=V2026_07_28
        "An error has a code and a message.";
    OLD_ERROR_SHAPE = "BA24-04" Must Any V2025_03_26..=V2025_06_18
        "An error has a code and a message.";
    ERROR_CODE = "BA-14" Must Any V2024_11_05..=V2026_07_28
        "The code of an error is a whole number.";
    RESERVED_CODES = "BA-16" Must Any V2026_07_28..=V2026_07_28
        "Of the codes from -32020 to -32099 only those are used that the protocol defines.";
    OLD_NOT_FOUND = "BA-17" Must Any V2026_07_28..=V2026_07_28
        "The code -32002 is used no more.";
    OLD_URL_REQUIRED = "BA-18" Must Any V2026_07_28..=V2026_07_28
        "The code -32042 is used no more.";
    NO_ANSWER = "BA-20" Must Any V2025_03_26..=V2026_07_28
        "A notification is not answered.";
    UNKNOWN_CANCELLED = "CA-19" Should Any V2024_11_05..=V2026_07_28
        "A cancellation of an unknown request is ignored.";
    BROKEN_CANCELLED = "CA-21" Should Any V2024_11_05..=V2026_07_28
        "A cancellation that cannot be read is ignored.";
    BATCHES = "BA24-05" Must Any V2025_03_26..=V2025_03_26
        "The requests of a batch are answered.";
    PING = "PI25-01" Must Any V2024_11_05..=V2025_11_25
        "A ping is answered with an empty result.";

    // How both sides come to speak.
    GREETING = "LI25-05" Must Any V2024_11_05..=V2025_11_25
        "The handshake is answered with the version, the capabilities and the name of the server.";
    OTHER_VERSION = "LI25-11" Must Any V2024_11_05..=V2025_11_25
        "A handshake in an unknown version is answered with one that the server speaks.";
    LATEST_VERSION = "LI25-12" Should Any V2024_11_05..=V2025_11_25
        "That version is the newest of the server.";
    EARLY_REQUESTS = "LI25-07" Should Any V2024_11_05..=V2025_11_25
        "Before the handshake is over, the server requests nothing but pings.";
    NEGOTIATED = "LI25-16" Must Any V2025_06_18..=V2025_11_25
        "The server asks nothing that the client has not declared it can be asked.";
    OLD_NEGOTIATED = "LI24-03" Should Any V2024_11_05..=V2025_03_26
        "The server asks nothing that the client has not declared it can be asked.";
    DISCOVER = "DI-01" Must Any V2026_07_28..=V2026_07_28
        "`server/discover` is answered with the versions and capabilities of the server.";
    NAMED = "DI-03" Should Any V2026_07_28..=V2026_07_28
        "The result of `server/discover` names the server.";
    UNKNOWN_VERSION = "VE-01" Must Any V2026_07_28..=V2026_07_28
        "An unknown version is refused with -32022 and the versions of the server.";
    MODERN_ONLY = "VE-08" Should Any V2026_07_28..=V2026_07_28
        "A server without the handshake names its versions when it refuses one.";
    MISSING_META = "BA-43" Must Any V2026_07_28..=V2026_07_28
        "A request without the capabilities of the client is refused with -32602.";
    MISSING_META_STATUS = "BA-44" Must Http V2026_07_28..=V2026_07_28
        "The status of that refusal is 400.";
    SERVER_REQUESTS = "PA-01" Must Any V2026_07_28..=V2026_07_28
        "The server sends no requests.";
    DISCOVER_CACHING = "CC-01" Must Any V2026_07_28..=V2026_07_28
        "The result of `server/discover` says how long it may be kept.";

    // Lists.
    TOOLS_DECLARED = "TO-05" Must Any V2024_11_05..=V2026_07_28
        "A server with tools declares the capability `tools`.";
    TOOLS_LISTED = "TO-06" Must Any V2026_07_28..=V2026_07_28
        "Declared tools are listed.";
    TOOLS_ORDER = "TO-08" Should Any V2026_07_28..=V2026_07_28
        "Tools are listed in the same order each time.";
    INPUT_SCHEMA = "TO-10" Must Any V2025_11_25..=V2026_07_28
        "The input schema of a tool is a JSON Schema of an object.";
    TOOL_LENGTH = "TO-12" Should Any V2025_11_25..=V2026_07_28
        "The name of a tool has 1 to 128 characters.";
    TOOL_CHARACTERS = "TO-14" Should Any V2025_11_25..=V2026_07_28
        "The name of a tool holds letters, digits, underscores, hyphens and dots alone.";
    TOOL_UNIQUE = "TO-16" Should Any V2025_11_25..=V2026_07_28
        "No two tools have the same name.";
    HEADER_NAME = "TO-20" Must Any V2026_07_28..=V2026_07_28
        "An `x-mcp-header` is a name of a header.";
    HEADER_UNIQUE = "TO-22" Must Any V2026_07_28..=V2026_07_28
        "No two properties of a tool have the same `x-mcp-header`.";
    HEADER_TYPE = "TO-23" Must Any V2026_07_28..=V2026_07_28
        "An `x-mcp-header` stands at an integer, a string or a boolean.";
    HEADER_PLACE = "TO-25" Must Any V2026_07_28..=V2026_07_28
        "An `x-mcp-header` stands at a property that is reached by `properties` alone.";
    TOOLS_CACHING = "CC-02" Must Any V2026_07_28..=V2026_07_28
        "The list of tools says how long it may be kept.";
    PROMPTS_CACHING = "CC-03" Must Any V2026_07_28..=V2026_07_28
        "The list of prompts says how long it may be kept.";
    RESOURCES_CACHING = "CC-04" Must Any V2026_07_28..=V2026_07_28
        "The list of resources says how long it may be kept.";
    TEMPLATES_CACHING = "CC-05" Must Any V2026_07_28..=V2026_07_28
        "The list of resource templates says how long it may be kept.";
    PAGES_SCOPE = "CC-21" Must Any V2026_07_28..=V2026_07_28
        "All pages of a list have the same `cacheScope`.";
    BAD_CURSOR = "PG-09" Should Any V2024_11_05..=V2026_07_28
        "An invalid cursor is refused with -32602.";
    PROMPTS_DECLARED = "PR-02" Must Any V2026_07_28..=V2026_07_28
        "A server with prompts declares the capability `prompts`.";
    OLD_PROMPTS_DECLARED = "PR25-01" Must Any V2024_11_05..=V2025_11_25
        "A server with prompts declares the capability `prompts`.";
    PROMPTS_LISTED = "PR-03" Must Any V2026_07_28..=V2026_07_28
        "Declared prompts are listed.";
    UNKNOWN_PROMPT = "PR-11" Should Any V2024_11_05..=V2026_07_28
        "An unknown prompt is refused with -32602.";
    PROMPT_ARGUMENTS = "PR-12" Should Any V2024_11_05..=V2026_07_28
        "A prompt without a required argument is refused with -32602.";
    RESOURCES_DECLARED = "RE-01" Must Any V2024_11_05..=V2026_07_28
        "A server with resources declares the capability `resources`.";
    RESOURCES_LISTED = "RE-02" Must Any V2026_07_28..=V2026_07_28
        "Declared resources are listed.";
    RESOURCE_URI = "RE-08" Must Any V2025_06_18..=V2026_07_28
        "The URI of a resource is one.";
    UNKNOWN_RESOURCE = "RE-09" Must Any V2026_07_28..=V2026_07_28
        "An unknown resource is refused with -32602.";
    OLD_UNKNOWN_RESOURCE = "RE25-01" Should Any V2024_11_05..=V2025_11_25
        "An unknown resource is refused with -32002.";
    NO_COMPLETION = "CO-02" Should Any V2025_03_26..=V2026_07_28
        "A server without completions refuses one with -32601.";
    COMPLETION_PROMPT = "CO-03" Should Any V2025_03_26..=V2026_07_28
        "A completion for an unknown prompt is refused with -32602.";
    LOG_LEVEL = "LO-05" Should Any V2026_07_28..=V2026_07_28
        "An unknown log level is refused with -32602.";
    OLD_LOG_LEVEL = "LO25-02" Should Any V2024_11_05..=V2025_11_25
        "An unknown log level is refused with -32602.";
    LOGGING_DECLARED = "LO-02" Must Any V2024_11_05..=V2026_07_28
        "A server that sends log messages declares the capability `logging`.";
    ACKNOWLEDGED = "SU-02" Must Any V2026_07_28..=V2026_07_28
        "A subscription begins with its acknowledgement, which names it.";
    UNREQUESTED = "SU-01" Must Any V2026_07_28..=V2026_07_28
        "A subscription brings nothing that was not asked for.";

    // Calls.
    ARGUMENTS = "TO-35" Must Any V2024_11_05..=V2026_07_28
        "A tool that does not exist, or lacks a required argument, is not called with success.";
    STRUCTURED = "TO-32" Must Any V2025_06_18..=V2026_07_28
        "A tool with an output schema gives structured content that fits it.";
    STRUCTURED_TEXT = "TO-31" Should Any V2025_06_18..=V2026_07_28
        "Structured content comes with a text that says the same.";
    UNDECLARED_QUESTIONS = "MR-13" Must Any V2026_07_28..=V2026_07_28
        "A result asks nothing that the client has not declared it can be asked.";
    CAPABILITY_NAMED = "BA-47" Must Any V2026_07_28..=V2026_07_28
        "A refusal for a missing capability (-32021) says which one is missing.";
    CAPABILITY_STATUS = "BA-48" Must Http V2026_07_28..=V2026_07_28
        "The status of that refusal is 400.";
    QUIET_LOG = "LO-03" Must Any V2026_07_28..=V2026_07_28
        "A request without a log level brings no log messages.";
    PROGRESS_TOKEN = "PO-07" Must Any V2024_11_05..=V2026_07_28
        "Progress names the token of the request.";
    PROGRESS_RISES = "PO-04" Must Any V2024_11_05..=V2026_07_28
        "Progress rises with each notification.";

    // Rounds.
    ROUND_SHAPE = "MR-12" Must Any V2026_07_28..=V2026_07_28
        "A result that needs input has questions or a state.";
    ROUND_QUESTIONS = "MR-06" Must Any V2026_07_28..=V2026_07_28
        "The questions of a result are those that the protocol has.";
    FORM_SHAPE = "EL-12" Must Any V2025_11_25..=V2026_07_28
        "A form has a schema.";
    LINK_SHAPE = "EL-14" Must Any V2025_11_25..=V2026_07_28
        "A link has a message and a URL.";
    TAMPERED = "MR-07" Must Any V2026_07_28..=V2026_07_28
        "A state that was changed is refused, where anything depends on it.";
    FOREIGN = "MR-10" Should Any V2026_07_28..=V2026_07_28
        "A state is refused with another request than its own.";
    PRINCIPAL = "MR-08" Should Any V2026_07_28..=V2026_07_28
        "A state is refused from another principal than its own.";
    LAPSED = "MR-09" Should Any V2026_07_28..=V2026_07_28
        "A state lapses after a short time, and is refused then.";
    BAD_RESPONSES = "MR-19" Should Any V2026_07_28..=V2026_07_28
        "Answers that are no object of answers are refused.";
    EXTRA_RESPONSES = "MR-21" Should Any V2026_07_28..=V2026_07_28
        "An answer that was not asked for is ignored.";
    ASKED_AGAIN = "MR-22" Should Any V2026_07_28..=V2026_07_28
        "A question that was not answered is asked again.";

    // Standard streams.
    NOISE = "ST-03" Must Stdio V2024_11_05..=V2026_07_28
        "The standard output holds messages alone.";
    PROMPT_EXIT = "ST-14" Should Stdio V2026_07_28..=V2026_07_28
        "The server exits when its input ends.";

    // HTTP.
    ORIGIN = "HT-03" Must Http V2025_11_25..=V2026_07_28
        "A page of another site is refused with 403, where the server is on this machine.";
    OLD_ORIGIN = "HT-02" Must Http V2024_11_05..=V2025_06_18
        "A page of another site is refused, where the server is on this machine.";
    ACCEPTED = "HT-11" Must Http V2026_07_28..=V2026_07_28
        "A notification is answered with 202 and no body, or with the status of an error.";
    OLD_ACCEPTED = "HT25-06" Must Http V2025_03_26..=V2025_11_25
        "A notification is answered with 202 and no body, or with the status of an error.";
    MEDIA = "HT-13" Must Http V2026_07_28..=V2026_07_28
        "A request is answered with JSON or a stream of events.";
    OLD_MEDIA = "HT25-08" Must Http V2025_06_18..=V2025_11_25
        "A request is answered with JSON or a stream of events.";
    STREAM_BUFFERING = "HT-17" Should Http V2026_07_28..=V2026_07_28
        "A stream of events says `X-Accel-Buffering: no`.";
    VERSION_HEADER = "HT-22" Must Http V2026_07_28..=V2026_07_28
        "A version in the header that is not that of the body is refused with 400 and -32020.";
    VERSION_STATUS = "HT-23" Must Http V2026_07_28..=V2026_07_28
        "The status of an unknown version is 400.";
    METHOD_STATUS = "HT-24" Must Http V2026_07_28..=V2026_07_28
        "The status of an unknown method is 404.";
    METHOD_HEADER = "HT-61" Must Http V2026_07_28..=V2026_07_28
        "A method in the header that is not that of the body is refused.";
    MISSING_HEADER = "HT-55" Must Http V2026_07_28..=V2026_07_28
        "A request without the header of its method is refused with 400 and -32020.";
    NAME_HEADER = "HT-54" Must Http V2026_07_28..=V2026_07_28
        "A name in the header that is not that of the body is refused.";
    MODERN_GET = "HT-69" Should Http V2026_07_28..=V2026_07_28
        "A server without sessions answers a GET with 405.";
    MODERN_SESSION = "HT-70" Should Http V2026_07_28..=V2026_07_28
        "A server without sessions begins none.";
    GET_STREAM = "HT25-18" Must Http V2025_03_26..=V2025_11_25
        "A GET opens a stream of events, or is answered with 405.";
    SESSION_ID = "HT25-28" Must Http V2025_03_26..=V2025_11_25
        "The id of a session is visible ASCII.";
    SESSION_MISSING = "HT25-31" Should Http V2025_03_26..=V2025_11_25
        "A request without the id of a session that needs one is answered with 400.";
    SESSION_ENDED = "HT25-32" Must Http V2025_03_26..=V2025_11_25
        "A request in a session that has ended is answered with 404.";
    BAD_VERSION_HEADER = "HT25-38" Must Http V2025_06_18..=V2025_11_25
        "An unknown version in the header is answered with 400.";
}
