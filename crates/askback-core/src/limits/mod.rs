//! All limits on what a peer can make askback do, by the party they limit.

use core::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};

/// Defines a group of limits with their defaults.
macro_rules! limits {
    ($(#[$doc:meta])* $name:ident { $($(#[$limit_doc:meta])* $limit:ident: $type:ty = $default:expr;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[$limit_doc])*
                #[serde(deserialize_with = "crate::limits::Limit::read")]
                pub $limit: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($limit: $default,)* }
            }
        }
    };
}

const MINUTE: u64 = 60;

/// The limits on messages, forms, questions, tasks, servers, clients and HTTP.
///
/// No peer may make a server or client grow or wait without end; a field here bounds each way in
/// which it could. The defaults suit human users and a server on the open internet. Only the
/// `Default` of each group sets them.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use askback_core::limits::Limits;
///
/// let mut limits = Limits::default();
/// limits.asking.round_ttl = Duration::from_secs(3600);
/// limits.http.sessions = 1000;
/// ```
/// A configuration file may set any of them. Times are in seconds:
///
/// ```
/// use askback_core::limits::Limits;
///
/// let limits: Limits = serde_json::from_str(r#"{"asking": {"run": 300}, "http": {"sessions": 1000}}"#)?;
/// assert_eq!(limits.asking.run.as_secs(), 300);
/// assert_eq!(limits.asking.rounds, Limits::default().asking.rounds);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Messages and requests.
    pub wire: WireLimits,
    /// Forms and schemas.
    pub forms: FormLimits,
    /// Questions, and the calls that ask them.
    pub asking: AskingLimits,
    /// Tasks.
    pub tasks: TaskLimits,
    /// Servers, for all their clients combined.
    pub server: ServerLimits,
    /// Clients, for one server.
    pub client: ClientLimits,
    /// Hosts, for one server.
    pub host: HostLimits,
    /// Connections, sessions and streams over HTTP.
    pub http: HttpLimits,
    /// Signing in with OAuth.
    pub sign_in: SignInLimits,
}

/// A value that can be read from a configuration file.
trait Limit: Sized {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// Implements [`Limit`] for numbers.
macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Limit for $number {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }
    )*};
}

numbers! { u32 usize }

impl Limit for Duration {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Self::try_from_secs_f64(seconds).map_err(|_| {
            D::Error::custom(format_args!("expected a number of seconds, got {seconds}"))
        })
    }
}

limits! {
    /// The limits on each message from a peer and on its requests in progress.
    WireLimits {
        /// The longest message read from a peer, in bytes.
        message_bytes: usize = 4 << 20;
        /// The maximum number of JSON values in one message: arrays, objects and their contents. In memory, each takes
        /// up to a hundred bytes, however short it is.
        message_values: usize = 512 << 10;
        /// The maximum number of messages in one batch (2025-03-26 only).
        batch_messages: usize = 64;
        /// The longest id from a server that a client stores, in bytes: the id of a stream event,
        /// task, question or link. The client sends most of them back, some in a header.
        id_bytes: usize = 4 << 10;
        /// The longest request id, progress token or task id of a subscription that is accepted
        /// from a peer, in bytes.
        request_id_bytes: usize = 1 << 10;
        /// The maximum number of requests of one peer in progress at the same time.
        requests_in_flight: usize = 256;
        /// The timeout of a request, without the time for asking the user. In a client, each sign
        /// of progress restarts it.
        request: Duration = Duration::from_secs(5 * MINUTE);
    }
}

limits! {
    /// The limits on forms, on the schemas of tools, and on values checked with them.
    FormLimits {
        /// The maximum number of fields in a form.
        fields: usize = 64;
        /// The maximum number of options of one choice in a form.
        options: usize = 1024;
        /// The longest form schema read from a peer, in bytes of JSON.
        bytes: usize = 32 << 10;
        /// The longest `pattern` of a text field, in bytes. A longer one is shown but not checked.
        pattern_bytes: usize = 256;
        /// The maximum memory of a compiled `pattern`, in bytes. A larger one is shown but not
        /// checked.
        pattern_program_bytes: usize = 256 << 10;
        /// The longest text that a `pattern` is applied to, in bytes; a longer answer is refused.
        /// Matching takes time proportional to this and to the size of the program.
        pattern_text_bytes: usize = 4 << 10;
        /// The longest schema of a tool that is compiled, in bytes of JSON. A form in a question
        /// may always be as long as the default.
        schema_bytes: usize = 256 << 10;
        /// The deepest nesting of such a schema, in levels, including its references.
        schema_depth: usize = 64;
        /// The maximum work for checking one value: the JSON values in the schema (references count
        /// each time) times the JSON values in the checked value. Slow checks count more: each byte
        /// of text is a step per 64 bytes of the patterns' programs, and a number with a large
        /// exponent is 2048 steps per `multipleOf`. The default is about half a second of work;
        /// more is refused.
        schema_steps: usize = 32 << 20;
        /// The longest text answer accepted in one field, in bytes.
        answer_bytes: usize = 64 << 10;
    }
}

limits! {
    /// The limits on questions, on the calls that ask them, and on the stored data of both.
    AskingLimits {
        /// The longest answer of a model that is accepted, in bytes of JSON. It also limits stored
        /// answers that the handler has not asked for again yet.
        sampled_bytes: usize = 1 << 20;
        /// The longest list of roots that is accepted, in bytes of JSON.
        roots_bytes: usize = 64 << 10;
        /// A user's reason to decline, and an error in an answer, are cut to this number of bytes.
        reason_bytes: usize = 2 << 10;
        /// How many times a question is asked again after an invalid answer. Then it is refused.
        attempts: u32 = 3;
        /// The maximum number of questions in one round.
        questions_per_round: usize = 16;
        /// The maximum number of rounds of one flow. Common clients give up after eight to ten.
        rounds: u32 = 10;
        /// The maximum number of additional rounds that only repeat a link that was opened, while the user is not
        /// finished there. Each takes at least `page`.
        link_rounds: u32 = 24;
        /// A flow that reaches this round is logged as unusually long.
        rounds_warned: u32 = 6;
        /// How long a question of a handshake revision waits for its answer, and after a link was
        /// opened for the user to finish there.
        answer: Duration = Duration::from_secs(10 * MINUTE);
        /// How long a retry waits for the user to finish at a link before it returns the link
        /// again.
        page: Duration = Duration::from_secs(25);
        /// The interval of progress notifications to a client of a handshake revision while a
        /// question waits, if it asked for progress: some clients end a call after a minute of
        /// silence. Zero turns them off.
        progress_interval: Duration = Duration::from_secs(15);
        /// A question that is declined or cancelled faster than this, without a reason, was not
        /// read by a person but declined by the client. For clients that are known to refuse by
        /// themselves, it is at least 1.5 seconds. Zero means that every answer is from a person.
        person_reaction: Duration = Duration::from_millis(300);
        /// The timeout of one `ctx.run` or `ctx.commit`.
        run: Duration = Duration::from_secs(MINUTE);
        /// The maximum number of commits of a server in progress at the same time. Another one is refused before its
        /// effect.
        commits: usize = 4096;
        /// How long a sealed `requestState` can be answered: the user's time for one round.
        round_ttl: Duration = Duration::from_secs(15 * MINUTE);
        /// The longest duration of a flow.
        flow_ttl: Duration = Duration::from_secs(24 * 60 * MINUTE);
        /// The longest `requestState`, in characters.
        state_bytes: usize = 64 << 10;
        /// The size of a sealed state above which it is spilled to the store, in characters.
        spill_bytes: usize = 32 << 10;
        /// The longest sealed state that is spilled to the store, in characters.
        spilled_bytes: usize = 1 << 20;
        /// The longest value of a `ctx.commit` that a store accepts, in bytes of JSON.
        commit_bytes: usize = 64 << 10;
        /// The maximum size of all claims in a store, and of all spilled states, in bytes, unless the store was created
        /// with another limit. A known principal may use a 32nd of the space that claims leave free, and an eighth of
        /// the space for states.
        store_bytes: usize = 64 << 20;
        /// The maximum number of rounds in which a sampled model may call tools before the loop ends.
        tool_rounds: u32 = 10;
    }
}

limits! {
    /// The limits on tasks, for the server that runs them and the client that follows them.
    TaskLimits {
        /// The maximum number of tasks of a server, running and ended. A known principal has a share of them
        /// ([`limits.server.owner_share`](ServerLimits::owner_share)).
        kept: usize = 16 << 10;
        /// How long a task may run, and how long its result is stored. Both count from its start.
        /// This is the `ttlMs` of a server's tasks.
        ttl: Duration = Duration::from_secs(60 * MINUTE);
        /// The polling interval that a server suggests, and that a client uses if the server
        /// suggests none.
        poll: Duration = Duration::from_secs(1);
        /// The shortest polling interval of a client, whatever the server suggests.
        poll_least: Duration = Duration::from_millis(100);
        /// The longest polling interval of a client, whatever the server suggests.
        poll_most: Duration = Duration::from_secs(MINUTE);
        /// How long a client waits for a task, whatever the server says.
        in_all: Duration = Duration::from_secs(24 * 60 * MINUTE);
    }
}

limits! {
    /// The limits on what a server stores and does for its clients, on every transport.
    ServerLimits {
        /// The maximum number of bytes that a server stores for all its clients: sessions, stream buffers, tasks, calls
        /// that wait for a user, request and response bodies, and open subscriptions.
        kept_bytes: usize = 256 << 20;
        /// A known principal may use one part in this many of [`kept_bytes`](Self::kept_bytes),
        /// [`limits.http.sessions`](HttpLimits::sessions) and
        /// [`limits.tasks.kept`](TaskLimits::kept). If others use much, it may get less, but always
        /// a thousandth: a quarter of each is reserved for that. Unknown callers share all but one
        /// such part. 1 reserves nothing.
        owner_share: usize = 8;
        /// A client's name, title and version are each cut to this number of bytes.
        client_info_bytes: usize = 256;
        /// The maximum memory for a client's extensions, and for its experimental capabilities, in
        /// bytes. Larger ones are dropped, except for the fact that the client supports tasks.
        client_extension_bytes: usize = 8 << 10;
        /// The maximum number of subscriptions (`subscriptions/listen` or `resources/subscribe`) on one connection.
        subscriptions: usize = 64;
        /// The longest URI of a watched resource, in bytes.
        watched_uri_bytes: usize = 4 << 10;
        /// How many times one principal may call one tool or get one prompt within
        /// [`calls_window`](Self::calls_window). Reading resources and completing arguments have
        /// the same limit each. Unused calls accumulate up to this number.
        calls: u32 = 60_000;
        /// Like [`calls`](Self::calls), for all unknown callers combined.
        unknown_calls: u32 = 10_000_000;
        /// The window of [`calls`](Self::calls) and [`unknown_calls`](Self::unknown_calls).
        calls_window: Duration = Duration::from_secs(MINUTE);
        /// The number of pairs of a caller and a target with their own rate. Further pairs share
        /// one rate.
        call_rates: usize = 64 << 10;
        /// The maximum number of bytes of serialized lists that a server caches until its offers change. Only lists
        /// that are the same for every caller are cached; others, or those beyond the limit, are serialized for each
        /// request.
        list_bytes: usize = 4 << 20;
        /// How long changes are collected if more than 64 clients watch over HTTP. Each client is
        /// then notified once per change. Many clients are notified in batches, and after each
        /// batch calls are served for 15 times as long.
        change_delay: Duration = Duration::from_millis(50);
        /// The maximum number of values in one completion (the limit of the specification).
        completion_values: usize = 100;
        /// How long calls and their questions may continue when the server stops.
        shutdown: Duration = Duration::from_secs(30);
        /// How long the calls on a stream, such as standard input and output, may go on after the
        /// client has closed its side. A client may close it right after its last request.
        drain: Duration = Duration::from_secs(1);
    }
}

limits! {
    /// The limits on what a client accepts from a server, stores of it, and does for it.
    ClientLimits {
        /// The timeout of one call in total, whatever progress the server reports.
        request_in_all: Duration = Duration::from_secs(60 * MINUTE);
        /// How long a client waits for the answer to its probe before it tries a handshake.
        probe: Duration = Duration::from_secs(5);
        /// How many questions a server may ask within [`asks_window`](Self::asks_window) before the
        /// client refuses.
        asks: u32 = 60;
        /// The window of [`asks`](Self::asks).
        asks_window: Duration = Duration::from_secs(MINUTE);
        /// The maximum size of one server's open questions, asked and waiting, in bytes.
        question_bytes: usize = 16 << 20;
        /// The maximum number of entries in a client's cache of lists and reads.
        cache_entries: usize = 256;
        /// The maximum size of that cache, in bytes.
        cache_bytes: usize = 16 << 20;
        /// The maximum number of pages of one list. A longer list is considered endless.
        pages: usize = 256;
        /// The maximum size of one list with all its pages, in bytes.
        list_bytes: usize = 16 << 20;
        /// The maximum number of items of one list, on all its pages.
        list_items: usize = 64 << 10;
        /// How long a client waits before it repeats a request whose result asked nothing. The
        /// pause doubles with each round.
        round_pause: Duration = Duration::from_millis(50);
        /// The longest such pause.
        round_pause_most: Duration = Duration::from_millis(250);
        /// How many times a client restarts a crashed server within
        /// [`restarts_window`](Self::restarts_window).
        restarts: u32 = 5;
        /// The window of [`restarts`](Self::restarts).
        restarts_window: Duration = Duration::from_secs(MINUTE);
        /// The maximum number of unreadable messages, errors without an id and refused questions of one server that a
        /// client reports.
        malformed_reports: u32 = 16;
        /// The maximum number of links of one session whose completion a client waits for.
        links: usize = 64;
        /// How long a server's process may take to exit after its input was closed, and again after
        /// it was asked to terminate. Then it is killed.
        exit: Duration = Duration::from_secs(2);
        /// The longest line of a server's standard error that is shown completely, in bytes.
        stderr_line_bytes: usize = 8 << 10;
    }
}

limits! {
    /// The limits on what a host shows from a server.
    HostLimits {
        /// The maximum number of questions that wait behind the current one. The host cancels any further ones.
        questions_waiting: usize = 16;
        /// The maximum number of characters that a host shows at once of a server's text in one question, counting all
        /// messages of a sampling request. The rest is shown on demand. If there is no user, fields and links count
        /// too, and the rest is left out.
        message_shown: usize = 4 << 10;
        /// The maximum number of refused questions that a host shows: forms that cannot be drawn, and questions that
        /// the client did not declare.
        refusals: usize = 16;
        /// How long a link from an error (2025-11-25) waits for the server to report its completion
        /// if there is no user. Then the call is sent again anyway.
        link: Duration = Duration::from_secs(10 * MINUTE);
        /// The timeout of a model's reply.
        model: Duration = Duration::from_secs(10 * MINUTE);
        /// The longest reply of a model that is accepted, in bytes of JSON.
        model_bytes: usize = 4 << 20;
        /// The maximum number of unsolicited lines of a server (log lines, standard error, changes, notes) that a host
        /// shows within [`remarks_window`](Self::remarks_window). One line reports how many more there were.
        remarks: u32 = 64;
        /// The window of [`remarks`](Self::remarks).
        remarks_window: Duration = Duration::from_secs(10);
        /// The maximum number of bytes of one session's messages that a host stores for later display. The oldest are
        /// dropped first.
        wire_bytes: usize = 16 << 20;
        /// The maximum number of bytes of one session's messages that a host writes to a file. Then the file ends.
        trace_bytes: usize = 1 << 30;
    }
}

limits! {
    /// The limits on HTTP connections, sessions and streams, for servers and clients.
    HttpLimits {
        /// The maximum number of HTTP connections of a server. Beyond it, the connections that have been idle for the
        /// longest are closed; if none is idle, the next connection waits.
        connections: usize = 16 << 10;
        /// The maximum number of headers of an HTTP request.
        headers: usize = 100;
        /// The maximum number of bytes of the headers of an HTTP request including its first line, and of the headers
        /// of a response.
        header_bytes: usize = 64 << 10;
        /// How long the headers of an HTTP request may take to arrive, counted from the previous
        /// response. This is also how long a connection may be idle.
        header_read: Duration = Duration::from_secs(MINUTE);
        /// How long the body of an HTTP request may take to arrive.
        body_read: Duration = Duration::from_secs(30);
        /// How long an HTTP client may stop reading before its connection is closed.
        write_stall: Duration = Duration::from_secs(30);
        /// How long a silent handler may delay an HTTP response. Then the response becomes a stream
        /// instead of one JSON object, if the client accepts streams.
        undecided: Duration = Duration::from_secs(1);
        /// How long an HTTP stream is silent before a keep-alive is sent.
        keep_alive: Duration = Duration::from_secs(15);
        /// The maximum number of HTTP sessions of a server. A known principal has a share of them
        /// ([`limits.server.owner_share`](ServerLimits::owner_share)). Beyond it, sessions of the principal with the
        /// most sessions are ended: idle ones first, longest idle before others, then sessions in use. A principal's
        /// own new session ends only its idle ones.
        sessions: usize = 32 << 10;
        /// How long an HTTP session may be idle.
        session_idle: Duration = Duration::from_secs(120 * MINUTE);
        /// The maximum number of events of a stream that are stored for a client to resume it.
        resume_events: usize = 256;
        /// The maximum number of bytes of stored events in a stream, and of events that wait for a slow client before
        /// progress and log messages are dropped.
        resume_bytes: usize = 256 << 10;
        /// The maximum number of ended streams of a session that are stored.
        resume_streams: usize = 16;
        /// How long an ended stream is stored for a client to return.
        resume: Duration = Duration::from_secs(2 * MINUTE);
        /// The delay after which a client is told to return if the server closed its stream or has
        /// no capacity.
        retry: Duration = Duration::from_secs(1);
        /// How long a client waits before it reconnects to a broken stream if the server did not
        /// say (HTTP). The pause doubles while nothing arrives.
        stream_retry: Duration = Duration::from_secs(1);
        /// The longest such pause, even if the server asks for more.
        stream_retry_most: Duration = Duration::from_secs(30);
        /// How many times in a row a client resumes a broken response, or sends its request again,
        /// while nothing arrives (HTTP).
        stream_resumptions: u32 = 5;
        /// How long a client tries to resume a broken response while nothing listens at the
        /// server's address (HTTP): enough for a server to restart.
        stream_unreachable: Duration = Duration::from_secs(5);
        /// The maximum number of redirects of one request that a client follows (HTTP).
        redirects: u32 = 5;
        /// The timeout for opening a connection (HTTP).
        connect: Duration = Duration::from_secs(10);
    }
}

limits! {
    /// The limits on signing in to a server with OAuth.
    SignInLimits {
        /// The longest document, registration or token that a client fetches for authorization, in
        /// bytes.
        document_bytes: usize = 256 << 10;
        /// The timeout for fetching one, including redirects.
        document_fetch: Duration = Duration::from_secs(10);
        /// How long a client waits while another process changes the same credentials.
        credential_lock: Duration = Duration::from_secs(30);
        /// How long the user may take to sign in.
        person: Duration = Duration::from_secs(10 * MINUTE);
    }
}
