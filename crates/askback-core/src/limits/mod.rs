//! Every bound askback puts on what a peer may make it do, grouped by who it bounds.

use core::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};

/// Defines a group of limits, each with its default.
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

/// Seconds in a minute.
const MINUTE: u64 = 60;

/// The bounds on messages, forms, questions, tasks, servers, clients and HTTP.
///
/// Nothing a peer sends may make a server or client grow or wait without end; each way it could is
/// bounded by a field here. The defaults suit a person answering and a server on the open
/// internet; the `Default` of each group is the only place that sets them.
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
/// A configuration file sets what it names. A time is a number of seconds:
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
    /// Servers, for all their clients together.
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

/// Reads a limit from a configuration file.
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
    /// The bounds on what is read of a peer, message by message, and on the requests in progress.
    WireLimits {
        /// The longest message read from a peer, in bytes.
        message_bytes: usize = 4 << 20;
        /// The most values of JSON in one message: arrays, objects, and what stands in them. Read into
        /// memory, each takes up to a hundred bytes, however short it is.
        message_values: usize = 512 << 10;
        /// The most messages in one batch (2025-03-26 only).
        batch_messages: usize = 64;
        /// The longest id a client keeps that a server chose, in bytes: of an event in a stream, a task,
        /// a question of a round or a link. It sends most of them back, some in a header.
        id_bytes: usize = 4 << 10;
        /// The longest id of a request, progress token or name of a task in a subscription that is
        /// taken from a peer, in bytes.
        request_id_bytes: usize = 1 << 10;
        /// The most requests of one peer in progress at a time.
        requests_in_flight: usize = 256;
        /// How long a request may work, the time a person is asked not counted. To a client each sign
        /// of progress gives a server that time anew.
        request: Duration = Duration::from_secs(5 * MINUTE);
    }
}

limits! {
    /// The bounds on forms, on the schemas of tools, and on what is checked by them.
    FormLimits {
        /// The most fields in a form.
        fields: usize = 64;
        /// The most options of one choice in a form.
        options: usize = 1024;
        /// The longest form schema read from a peer, in bytes of JSON.
        bytes: usize = 32 << 10;
        /// The longest `pattern` of a text field, in bytes; a longer one is shown but not checked.
        pattern_bytes: usize = 256;
        /// The most memory a compiled `pattern` may take, in bytes; one that needs more is shown but
        /// not checked.
        pattern_program_bytes: usize = 256 << 10;
        /// The longest text a `pattern` is applied to, in bytes; a longer answer to such a field is
        /// refused. Matching takes time in proportion to this times the size of the program.
        pattern_text_bytes: usize = 4 << 10;
        /// The longest schema of a tool that is compiled to check values by it, and the longest form of a question that comes,
        /// in bytes of JSON; for the latter the default counts.
        schema_bytes: usize = 256 << 10;
        /// How deep such a schema may be nested, in levels, those its references lead to counted.
        schema_depth: usize = 64;
        /// How much work checking one value may take: the values of JSON in the schema, those its references
        /// lead to counted each time, times the values of JSON in what is checked. What takes longer counts as
        /// more: each byte of text a step for each 64 bytes of the patterns' programs, and a number with a
        /// large exponent 2048 steps for each `multipleOf`. More is refused; the default is about half a
        /// second of work.
        schema_steps: usize = 32 << 20;
        /// The longest text answer accepted in one field, in bytes.
        answer_bytes: usize = 64 << 10;
    }
}

limits! {
    /// The bounds on questions, on the calls that ask them, and on what is kept of both.
    AskingLimits {
        /// The longest answer of a model that is read, in bytes of JSON; a longer one is refused. An
        /// answer that waits for its handler to ask for it again may be as long.
        sampled_bytes: usize = 1 << 20;
        /// The longest list of roots that is read, in bytes of JSON; a longer one is refused.
        roots_bytes: usize = 64 << 10;
        /// How much is kept of a person's reason to decline, and of what was wrong with an answer, in
        /// bytes.
        reason_bytes: usize = 2 << 10;
        /// How often an answer that breaks its form is asked again before the question is refused.
        attempts: u32 = 3;
        /// The most questions in one round.
        questions_per_round: usize = 16;
        /// The most rounds of one flow (mainstream clients give up at eight to ten).
        rounds: u32 = 10;
        /// The most further rounds that only ask for a link again that was opened, while what is behind
        /// it is not done. Each takes at least `page`.
        link_rounds: u32 = 24;
        /// The round from which a flow is logged as unusually long.
        rounds_warned: u32 = 6;
        /// How long a question of a handshake revision waits for its answer, and after a link was opened
        /// for what is behind it.
        answer: Duration = Duration::from_secs(10 * MINUTE);
        /// How long a retry waits for what is behind a link before the link is the answer again.
        page: Duration = Duration::from_secs(25);
        /// How often the client of a handshake revision is told of progress while a question waits for
        /// its answer, if it asked for that: some clients end a call that is silent for a minute. Zero for never.
        progress_interval: Duration = Duration::from_secs(15);
        /// A question that is declined or cancelled sooner than this, without a reason, was not declined
        /// by a person: no person has read it. Zero means that each answer is a person's.
        person_reaction: Duration = Duration::from_millis(300);
        /// How long one `ctx.run` or `ctx.commit` may take.
        run: Duration = Duration::from_secs(MINUTE);
        /// The most commits that a server runs at the same time. Another one is refused before its effect.
        commits: usize = 4096;
        /// How long a sealed `requestState` can be answered: a person's time for one round.
        round_ttl: Duration = Duration::from_secs(15 * MINUTE);
        /// How long a flow may last in all.
        flow_ttl: Duration = Duration::from_secs(24 * 60 * MINUTE);
        /// The longest `requestState`, in characters.
        state_bytes: usize = 64 << 10;
        /// The size of a sealed state above which it goes to the store, in characters.
        spill_bytes: usize = 32 << 10;
        /// The longest sealed state that goes to the store, in characters.
        spilled_bytes: usize = 1 << 20;
        /// The longest value of a `ctx.commit` that a store keeps, in bytes of JSON.
        commit_bytes: usize = 64 << 10;
        /// The most bytes a store keeps of claims, and again of spilled states, unless it was made with
        /// another bound. A principal who is known may have a 32nd of what claims leave free, and an
        /// eighth of all states.
        store_bytes: usize = 64 << 20;
        /// The most rounds in which a sampled model may call tools before the loop is ended.
        tool_rounds: u32 = 10;
    }
}

limits! {
    /// The bounds on tasks, of the server that keeps them and of the client that follows them.
    TaskLimits {
        /// The most tasks a server keeps, those at work and those that have ended together. Of them a
        /// principal who is known has its share ([`limits.server.owner_share`](ServerLimits::owner_share)).
        kept: usize = 16 << 10;
        /// How long a task may take, and how long after its beginning what came of it is kept: the
        /// `ttlMs` of a server's tasks.
        ttl: Duration = Duration::from_secs(60 * MINUTE);
        /// How often a client is told to ask after a task; and how often a client does where the
        /// server does not say.
        poll: Duration = Duration::from_secs(1);
        /// The shortest time after which a client asks again after a task, whatever the server says.
        poll_least: Duration = Duration::from_millis(100);
        /// The longest such time.
        poll_most: Duration = Duration::from_secs(MINUTE);
        /// How long a client waits for a task in all, whatever the server says.
        in_all: Duration = Duration::from_secs(24 * 60 * MINUTE);
    }
}

limits! {
    /// The bounds on what a server keeps and does for its clients, on every transport.
    ServerLimits {
        /// The most bytes a server keeps for all its clients together: sessions, what their streams
        /// keep, tasks, calls that wait for a person, bodies on their way in and out, and open
        /// subscriptions.
        kept_bytes: usize = 256 << 20;
        /// One in how many of [`kept_bytes`](Self::kept_bytes),
        /// [`limits.http.sessions`](HttpLimits::sessions) and
        /// [`limits.tasks.kept`](TaskLimits::kept) a principal may have who is known. Where others
        /// have much it may have less, but always a thousandth: a quarter of each is kept for that. Callers
        /// who are not known share all but one such part. 1 sets nothing aside.
        owner_share: usize = 8;
        /// The most bytes a server keeps of each of a client's name, title and version; of more, the
        /// beginning is kept.
        client_info_bytes: usize = 256;
        /// The most bytes of memory a server keeps of a client's extensions, and again of its
        /// experimental capabilities; of more, none is kept but that the client takes tasks.
        client_extension_bytes: usize = 8 << 10;
        /// The most subscriptions (`subscriptions/listen` or `resources/subscribe`) of one connection.
        subscriptions: usize = 64;
        /// The longest URI of a resource that a client may watch, in bytes.
        watched_uri_bytes: usize = 4 << 10;
        /// How often one principal may call one tool, or get one prompt, within
        /// [`calls_window`](Self::calls_window), and as often read resources, and complete arguments.
        /// Calls that were not made are saved up, but no more than these.
        calls: u32 = 60_000;
        /// How often all callers who are not known may do so together.
        unknown_calls: u32 = 10_000_000;
        /// The window of [`calls`](Self::calls) and [`unknown_calls`](Self::unknown_calls).
        calls_window: Duration = Duration::from_secs(MINUTE);
        /// For how many pairs of a caller and what it calls the rate is counted at a time; for others it is
        /// counted together.
        call_rates: usize = 64 << 10;
        /// The most bytes of lists that a server keeps as it has written them, until what it offers changes:
        /// of those that are the same for every caller. The others, and more than these, are written for
        /// each request.
        list_bytes: usize = 4 << 20;
        /// How long changes gather that more than 64 clients watch over HTTP. Then each client is told of each
        /// once, and those who are many in slices, after each of which calls are answered for 15 times as long
        /// as it took.
        change_delay: Duration = Duration::from_millis(50);
        /// The most values in one completion (the specification's bound).
        completion_values: usize = 100;
        /// How long a server that stops lets its calls, and the questions in them, go on.
        shutdown: Duration = Duration::from_secs(30);
        /// How long the calls of a stream, such as standard input and output, may go on when their client
        /// has closed its side: a client may do so right after its last request.
        drain: Duration = Duration::from_secs(1);
    }
}

limits! {
    /// The bounds on what a client takes from a server, keeps of it, and does for it.
    ClientLimits {
        /// How long a client lets a server work on one call in all, whatever progress it reports.
        request_in_all: Duration = Duration::from_secs(60 * MINUTE);
        /// How long a client waits for the answer to its era probe before it takes the server for one
        /// of a handshake revision.
        probe: Duration = Duration::from_secs(5);
        /// How often a server may ask within [`asks_window`](Self::asks_window) before a client
        /// refuses.
        asks: u32 = 60;
        /// The window of [`asks`](Self::asks).
        asks_window: Duration = Duration::from_secs(MINUTE);
        /// The most bytes a client keeps of one server's questions, those with the host and those behind.
        question_bytes: usize = 16 << 20;
        /// The most entries a client keeps in its cache of lists and reads.
        cache_entries: usize = 256;
        /// The most bytes a client keeps in that cache.
        cache_bytes: usize = 16 << 20;
        /// The most pages of one list a client fetches before it takes the list for endless.
        pages: usize = 256;
        /// The most bytes of one list a client takes, all its pages together.
        list_bytes: usize = 16 << 20;
        /// The most items of one list a client takes, all its pages together.
        list_items: usize = 64 << 10;
        /// How long a client waits before it sends again a request whose result asked nothing; the
        /// pause doubles from round to round.
        round_pause: Duration = Duration::from_millis(50);
        /// The longest such pause.
        round_pause_most: Duration = Duration::from_millis(250);
        /// How often a client starts a crashed server again within
        /// [`restarts_window`](Self::restarts_window).
        restarts: u32 = 5;
        /// The window of [`restarts`](Self::restarts).
        restarts_window: Duration = Duration::from_secs(MINUTE);
        /// How many unreadable messages, errors without an id and refused questions of one server a
        /// client reports.
        malformed_reports: u32 = 16;
        /// The most links of one session whose end a client waits to be told.
        links: usize = 64;
        /// How long a server's process may take to end once its input is closed, and again once it was
        /// asked to terminate; then it is killed.
        exit: Duration = Duration::from_secs(2);
        /// The longest line of a server's standard error that is shown whole, in bytes.
        stderr_line_bytes: usize = 8 << 10;
    }
}

limits! {
    /// The bounds on what a host shows of a server.
    HostLimits {
        /// The most questions that wait behind the one a person is answering; a host cancels more.
        questions_waiting: usize = 16;
        /// The most characters that a host shows at once of what a server says of one question, all
        /// messages of a sampling request together; the rest is shown on demand. Where no person is
        /// asked, fields and links count as well, and the rest is left out.
        message_shown: usize = 4 << 10;
        /// The most questions that a host shows of those that were refused without asking the person: a
        /// form that cannot be drawn, or a question that the client did not declare.
        refusals: usize = 16;
        /// How long a link that came in an error (2025-11-25) waits for the server to say that its page is
        /// done, where no person is asked; then the call is sent again all the same.
        link: Duration = Duration::from_secs(10 * MINUTE);
        /// How long a model may take to reply.
        model: Duration = Duration::from_secs(10 * MINUTE);
        /// The longest reply of a model that is read, in bytes of JSON.
        model_bytes: usize = 4 << 20;
        /// The most lines that a host shows of what a server says without being asked (log lines, its
        /// standard error, changes, notes) within [`remarks_window`](Self::remarks_window); how many
        /// more there were is told in one line.
        remarks: u32 = 64;
        /// The window of [`remarks`](Self::remarks).
        remarks_window: Duration = Duration::from_secs(10);
        /// The most bytes that a host keeps of the messages of one session, to show them later; the
        /// oldest go first.
        wire_bytes: usize = 16 << 20;
        /// The most bytes that a host writes of the messages of one session to a file; then the file ends.
        trace_bytes: usize = 1 << 30;
    }
}

limits! {
    /// The bounds on connections, sessions and streams over HTTP, of servers and of clients.
    HttpLimits {
        /// The most HTTP connections a server serves at a time. For more, those end that have waited for a
        /// request for the longest; where all are at work, the next one waits.
        connections: usize = 16 << 10;
        /// The most headers of an HTTP request.
        headers: usize = 100;
        /// The most bytes of the headers of an HTTP request, its first line with them, and of those of
        /// a response.
        header_bytes: usize = 64 << 10;
        /// How long the headers of an HTTP request may take to come, counted from the answer to the
        /// request before: for so long, too, a connection may be idle.
        header_read: Duration = Duration::from_secs(MINUTE);
        /// How long the body of an HTTP request may take to come.
        body_read: Duration = Duration::from_secs(30);
        /// How long an HTTP client may leave what it is sent unread.
        write_stall: Duration = Duration::from_secs(30);
        /// How long a response over HTTP stays undecided between one JSON object and a stream, while
        /// its handler works and says nothing.
        undecided: Duration = Duration::from_secs(1);
        /// How long a stream over HTTP is quiet before it shows a sign of life.
        keep_alive: Duration = Duration::from_secs(15);
        /// The most sessions a server keeps over HTTP, of which a principal who is known has its share
        /// ([`limits.server.owner_share`](ServerLimits::owner_share)). Beyond, sessions of whoever has the most are ended: those idle for
        /// the longest first, then those in use, but of whoever wants one more only idle ones.
        sessions: usize = 32 << 10;
        /// How long a session over HTTP may be idle.
        session_idle: Duration = Duration::from_secs(120 * MINUTE);
        /// The most events of a stream that are kept for a client that comes back for them.
        resume_events: usize = 256;
        /// The most bytes of a stream's events that are kept, and that may wait to be read before what
        /// tells only of the way is left out.
        resume_bytes: usize = 256 << 10;
        /// The most streams of a session that are kept after their end.
        resume_streams: usize = 16;
        /// How long a client may stay away from a stream that has ended before it is forgotten.
        resume: Duration = Duration::from_secs(2 * MINUTE);
        /// After how long a client is told to come back for a stream the server let go of, or for what
        /// there was no room for.
        retry: Duration = Duration::from_secs(1);
        /// How long a client waits before it connects again to a stream that broke off, where the
        /// server did not say (HTTP); the pause doubles while nothing comes.
        stream_retry: Duration = Duration::from_secs(1);
        /// The longest such pause, also of those a server asks for.
        stream_retry_most: Duration = Duration::from_secs(30);
        /// How often in a row a client takes up the answer to a request that broke off, or sends the request again, while
        /// nothing comes (HTTP).
        stream_resumptions: u32 = 5;
        /// How long a client goes on taking up an answer that broke off while nothing listens at the
        /// server's address (HTTP): long enough for a server that is started again.
        stream_unreachable: Duration = Duration::from_secs(5);
        /// How many redirections of one request a client follows (HTTP).
        redirects: u32 = 5;
        /// How long opening a connection may take (HTTP).
        connect: Duration = Duration::from_secs(10);
    }
}

limits! {
    /// The bounds on signing in to a server with OAuth.
    SignInLimits {
        /// The longest document, registration or token a client fetches for authorization, in bytes.
        document_bytes: usize = 256 << 10;
        /// How long fetching one may take, redirections and all.
        document_fetch: Duration = Duration::from_secs(10);
        /// How long a client waits while another process renews or forgets the same credentials.
        credential_lock: Duration = Duration::from_secs(30);
        /// How long a person may take to sign in.
        person: Duration = Duration::from_secs(10 * MINUTE);
    }
}
