//! The five revisions of the protocol, their two eras, and one table of what each revision has.
//!
//! The era is chosen once, at the entrance: per session by `initialize`, per request by `_meta`. No
//! code behind the entrance compares revisions; code that needs to know whether something exists
//! asks [`Facts`] or [`Revision::has`].

use core::{fmt, str::FromStr};

use Kind::{ClientNotification, ClientRequest, InputRequest, ServerNotification, ServerRequest};
use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

/// A revision of the Model Context Protocol, ordered by date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05, the first revision.
    V2024_11_05,
    /// 2025-03-26: batches, audio, tool annotations, Streamable HTTP.
    V2025_03_26,
    /// 2025-06-18: elicitation, structured content, resource links; no more batches.
    V2025_06_18,
    /// 2025-11-25: URL elicitation, multiple choice, sampling with tools, tasks.
    V2025_11_25,
    /// 2026-07-28: no handshake; requests are stateless, and a result may ask questions.
    V2026_07_28,
}

/// The two ways to start talking, as the specification names them (2026-07-28, basic/versioning).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// A session opened by `initialize`, in which the server may send requests.
    Legacy,
    /// Each request carries its own context; questions travel in results.
    Modern,
}

/// The sender of a method, and whether it is a request or a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A request of the client.
    ClientRequest,
    /// A request of the server, on a session of a legacy revision.
    ServerRequest,
    /// A question inside an `InputRequiredResult`.
    InputRequest,
    /// A notification of the client.
    ClientNotification,
    /// A notification of the server.
    ServerNotification,
}

/// The features of a revision, apart from its methods and from members that an older revision only
/// lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Several messages may be sent as one JSON array.
    pub batches: bool,
    /// Content blocks may be audio.
    pub audio: bool,
    /// Servers declare the `completions` capability.
    pub completions_capability: bool,
    /// Content blocks may be links to resources.
    pub resource_links: bool,
    /// Tools have an output schema, and results have structured content.
    pub structured_content: bool,
    /// Structured content and output schemas may have any JSON type, not only object.
    pub structured_any: bool,
    /// Tools, prompts and resources have a `title` for display.
    pub titles: bool,
    /// Servers may ask the user to fill in a form.
    pub elicitation_form: bool,
    /// Servers may ask the user to open a link. If a client declares `elicitation.url` in an older
    /// revision that has elicitation, it is believed.
    pub elicitation_url: bool,
    /// A request may fail with -32042: open these links first.
    pub url_elicitation_error: bool,
    /// The features of forms.
    pub forms: FormFacts,
    /// Sampling may offer tools to the model, and messages hold several blocks.
    pub sampling_tools: bool,
    /// The core protocol has tasks.
    pub tasks: bool,
    /// Client and server declare extensions among their capabilities.
    pub extensions: bool,
    /// Clients set the log level of the session with `logging/setLevel`. If false, each request
    /// sets it in `_meta`.
    pub set_level: bool,
    /// Every result has a `resultType`.
    pub result_type: bool,
    /// Requests carry revision, client identity and capabilities in `_meta`, and results carry the
    /// server's identity.
    pub request_meta: bool,
    /// List and read results say how long they may be cached, and for whom.
    pub cache_hints: bool,
    /// The error code for a resource that does not exist.
    pub resource_not_found: i64,
    /// The rules of the HTTP transport.
    pub http: HttpFacts,
}

/// The features of forms in a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormFacts {
    /// Option titles are written as `oneOf`.
    pub one_of_titles: bool,
    /// A field may accept several options.
    pub multi_choice: bool,
    /// A text field may have a `pattern`.
    pub pattern: bool,
}

/// The rules of the HTTP transport in a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpFacts {
    /// True if there is one endpoint that answers with JSON or a stream. False if there are two: an
    /// event stream and a message endpoint.
    pub streamable: bool,
    /// `Mcp-Session-Id` names sessions, and a broken stream can be resumed.
    pub sessions: bool,
    /// A stream begins with an event that has only an id. A server may close the connection before
    /// the stream has ended, and the client reconnects for the rest (SSE polling).
    pub polling: bool,
    /// Requests carry their revision in `MCP-Protocol-Version`.
    pub version_header: bool,
}

/// The text is not the name of a known revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a protocol revision known here; they are {}", Revision::NAMES)]
pub struct UnknownRevision;

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] = [
        V2024_11_05,
        V2025_03_26,
        V2025_06_18,
        V2025_11_25,
        V2026_07_28,
    ];

    /// The newest revision.
    pub const LATEST: Self = V2026_07_28;

    /// The newest revision with a handshake.
    pub const LATEST_LEGACY: Self = V2025_11_25;

    const NAMES: &'static str = "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28";

    /// Returns the date that names the revision in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            V2024_11_05 => "2024-11-05",
            V2025_03_26 => "2025-03-26",
            V2025_06_18 => "2025-06-18",
            V2025_11_25 => "2025-11-25",
            V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the era of the revision.
    pub const fn era(self) -> Era {
        match self {
            V2024_11_05 | V2025_03_26 | V2025_06_18 | V2025_11_25 => Era::Legacy,
            V2026_07_28 => Era::Modern,
        }
    }

    /// Returns the features of the revision, apart from its methods.
    pub const fn facts(self) -> &'static Facts {
        match self {
            V2024_11_05 => &FACTS_2024_11_05,
            V2025_03_26 => &FACTS_2025_03_26,
            V2025_06_18 => &FACTS_2025_06_18,
            V2025_11_25 => &FACTS_2025_11_25,
            V2026_07_28 => &FACTS_2026_07_28,
        }
    }

    /// Whether the revision has a method.
    pub fn has(self, kind: Kind, method: &str) -> bool {
        self.methods(kind).any(|known| known == method)
    }

    /// Returns the methods of a kind in the revision.
    pub fn methods(self, kind: Kind) -> impl Iterator<Item = &'static str> {
        METHODS
            .iter()
            .filter(move |row| row.kind == kind && row.since <= self && self <= row.until)
            .map(|row| row.method)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
            .ok_or(UnknownRevision)
    }
}

struct Row {
    kind: Kind,
    method: &'static str,
    since: Revision,
    until: Revision,
}

const fn row(kind: Kind, method: &'static str, since: Revision, until: Revision) -> Row {
    Row {
        kind,
        method,
        since,
        until,
    }
}

const FIRST: Revision = V2024_11_05;
const LAST: Revision = V2026_07_28;
const LAST_LEGACY: Revision = V2025_11_25;

/// Every method with its sender and the first and last revision that have it. Methods of the
/// supported extensions are listed under the revision that has extensions.
#[rustfmt::skip]
static METHODS: [Row; 50] = [
    row(ClientRequest, "initialize", FIRST, LAST_LEGACY),
    row(ClientRequest, "server/discover", V2026_07_28, LAST),
    row(ClientRequest, "ping", FIRST, LAST_LEGACY),
    row(ClientRequest, "tools/list", FIRST, LAST),
    row(ClientRequest, "tools/call", FIRST, LAST),
    row(ClientRequest, "prompts/list", FIRST, LAST),
    row(ClientRequest, "prompts/get", FIRST, LAST),
    row(ClientRequest, "resources/list", FIRST, LAST),
    row(ClientRequest, "resources/templates/list", FIRST, LAST),
    row(ClientRequest, "resources/read", FIRST, LAST),
    row(ClientRequest, "skills/list", V2026_07_28, LAST),
    row(ClientRequest, "skills/get", V2026_07_28, LAST),
    row(ClientRequest, "resources/directory/read", V2026_07_28, LAST),
    row(ClientRequest, "resources/subscribe", FIRST, LAST_LEGACY),
    row(ClientRequest, "resources/unsubscribe", FIRST, LAST_LEGACY),
    row(ClientRequest, "subscriptions/listen", V2026_07_28, LAST),
    row(ClientRequest, "completion/complete", FIRST, LAST),
    row(ClientRequest, "logging/setLevel", FIRST, LAST_LEGACY),
    row(ClientRequest, "tasks/get", V2025_11_25, LAST),
    row(ClientRequest, "tasks/result", V2025_11_25, LAST_LEGACY),
    row(ClientRequest, "tasks/update", V2026_07_28, LAST),
    row(ClientRequest, "tasks/cancel", V2025_11_25, LAST),
    row(ClientRequest, "tasks/list", V2025_11_25, LAST_LEGACY),

    row(ServerRequest, "ping", FIRST, LAST_LEGACY),
    row(ServerRequest, "sampling/createMessage", FIRST, LAST_LEGACY),
    row(ServerRequest, "roots/list", FIRST, LAST_LEGACY),
    row(ServerRequest, "elicitation/create", V2025_06_18, LAST_LEGACY),
    row(ServerRequest, "tasks/get", V2025_11_25, LAST_LEGACY),
    row(ServerRequest, "tasks/result", V2025_11_25, LAST_LEGACY),
    row(ServerRequest, "tasks/cancel", V2025_11_25, LAST_LEGACY),
    row(ServerRequest, "tasks/list", V2025_11_25, LAST_LEGACY),

    row(InputRequest, "sampling/createMessage", V2026_07_28, LAST),
    row(InputRequest, "roots/list", V2026_07_28, LAST),
    row(InputRequest, "elicitation/create", V2026_07_28, LAST),

    row(ClientNotification, "notifications/initialized", FIRST, LAST_LEGACY),
    row(ClientNotification, "notifications/cancelled", FIRST, LAST),
    row(ClientNotification, "notifications/progress", FIRST, LAST_LEGACY),
    row(ClientNotification, "notifications/roots/list_changed", FIRST, LAST_LEGACY),
    row(ClientNotification, "notifications/tasks/status", V2025_11_25, LAST_LEGACY),

    row(ServerNotification, "notifications/cancelled", FIRST, LAST),
    row(ServerNotification, "notifications/progress", FIRST, LAST),
    row(ServerNotification, "notifications/message", FIRST, LAST),
    row(ServerNotification, "notifications/resources/list_changed", FIRST, LAST),
    row(ServerNotification, "notifications/resources/updated", FIRST, LAST),
    row(ServerNotification, "notifications/prompts/list_changed", FIRST, LAST),
    row(ServerNotification, "notifications/tools/list_changed", FIRST, LAST),
    row(ServerNotification, "notifications/subscriptions/acknowledged", V2026_07_28, LAST),
    row(ServerNotification, "notifications/elicitation/complete", V2025_11_25, LAST_LEGACY),
    row(ServerNotification, "notifications/tasks/status", V2025_11_25, LAST_LEGACY),
    row(ServerNotification, "notifications/tasks", V2026_07_28, LAST),
];

const FACTS_2024_11_05: Facts = Facts {
    batches: false,
    audio: false,
    completions_capability: false,
    resource_links: false,
    structured_content: false,
    structured_any: false,
    titles: false,
    elicitation_form: false,
    elicitation_url: false,
    url_elicitation_error: false,
    forms: FormFacts {
        one_of_titles: false,
        multi_choice: false,
        pattern: false,
    },
    sampling_tools: false,
    tasks: false,
    extensions: false,
    set_level: true,
    result_type: false,
    request_meta: false,
    cache_hints: false,
    resource_not_found: -32002,
    http: HttpFacts {
        streamable: false,
        sessions: false,
        polling: false,
        version_header: false,
    },
};

const FACTS_2025_03_26: Facts = Facts {
    batches: true,
    audio: true,
    completions_capability: true,
    http: HttpFacts {
        streamable: true,
        sessions: true,
        polling: false,
        version_header: false,
    },
    ..FACTS_2024_11_05
};

const FACTS_2025_06_18: Facts = Facts {
    batches: false,
    resource_links: true,
    structured_content: true,
    titles: true,
    elicitation_form: true,
    forms: FormFacts {
        one_of_titles: false,
        multi_choice: false,
        pattern: false,
    },
    http: HttpFacts {
        version_header: true,
        ..FACTS_2025_03_26.http
    },
    ..FACTS_2025_03_26
};

const FACTS_2025_11_25: Facts = Facts {
    elicitation_url: true,
    url_elicitation_error: true,
    forms: FormFacts {
        one_of_titles: true,
        multi_choice: true,
        pattern: true,
    },
    sampling_tools: true,
    tasks: true,
    http: HttpFacts {
        polling: true,
        ..FACTS_2025_06_18.http
    },
    ..FACTS_2025_06_18
};

const FACTS_2026_07_28: Facts = Facts {
    structured_any: true,
    url_elicitation_error: false,
    forms: FormFacts {
        pattern: false,
        ..FACTS_2025_11_25.forms
    },
    tasks: false,
    extensions: true,
    set_level: false,
    result_type: true,
    request_meta: true,
    cache_hints: true,
    resource_not_found: -32602,
    http: HttpFacts {
        streamable: true,
        sessions: false,
        polling: false,
        version_header: true,
    },
    ..FACTS_2025_11_25
};
