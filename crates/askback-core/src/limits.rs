//! Every bound askback puts on what a peer may make it do, in one place.

use core::time::Duration;

/// The bounds on messages, forms, questions and flows.
///
/// Nothing a peer sends may make a server or client grow or wait without end; each way it could is
/// bounded by a field here. The defaults suit a person answering and a server on the open
/// internet; [`Limits::default`] is the only place that sets them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest message read from a peer, in bytes.
    pub message_bytes: usize,
    /// The most values of JSON in one message: arrays, objects, and what stands in them. Read into
    /// memory, each takes up to a hundred bytes, however short it is.
    pub message_values: usize,
    /// The most bytes a server keeps for all its clients together: sessions, what their streams
    /// keep, tasks, calls that wait for a person, bodies on their way in and out, and open
    /// subscriptions.
    pub kept_bytes: usize,
    /// One in how many of [`Limits::kept_bytes`], [`Limits::sessions`] and [`Limits::tasks`] a
    /// principal may have who is known. Where others have much it may have less, but always a
    /// thousandth: a quarter of each is kept for that. Callers who are not known share all but one
    /// such part. 1 sets nothing aside.
    pub owner_share: usize,
    /// The longest id a client keeps that a server chose, in bytes: of an event in a stream, a task,
    /// a question of a round or a link. It sends most of them back, some in a header.
    pub id_bytes: usize,
    /// The longest id of a request, progress token or name of a task in a subscription that is
    /// taken from a peer, in bytes.
    pub request_id_bytes: usize,
    /// The most bytes a server keeps of each of a client's name, title and version; of more, the
    /// beginning is kept.
    pub client_info_bytes: usize,
    /// The most bytes of memory a server keeps of a client's extensions, and again of its
    /// experimental capabilities; of more, none is kept but that the client takes tasks.
    pub client_extension_bytes: usize,
    /// The most messages in one batch (2025-03-26 only).
    pub batch_messages: usize,
    /// The most requests of one peer in progress at a time.
    pub requests_in_flight: usize,
    /// The most subscriptions (`subscriptions/listen` or `resources/subscribe`) of one connection.
    pub subscriptions: usize,
    /// The longest URI of a resource that a client may watch, in bytes.
    pub watched_uri_bytes: usize,
    /// The most fields in a form.
    pub form_fields: usize,
    /// The most options of one choice in a form.
    pub form_options: usize,
    /// The longest form schema read from a peer, in bytes of JSON.
    pub form_bytes: usize,
    /// The longest `pattern` of a text field, in bytes; a longer one is shown but not checked.
    pub pattern_bytes: usize,
    /// The most memory a compiled `pattern` may take, in bytes; one that needs more is shown but
    /// not checked.
    pub pattern_program_bytes: usize,
    /// The longest text a `pattern` is applied to, in bytes; a longer answer to such a field is
    /// refused. Matching takes time in proportion to this times the size of the program.
    pub pattern_text_bytes: usize,
    /// The longest schema of a tool that is compiled to check values by it, in bytes of JSON.
    pub schema_bytes: usize,
    /// How deep such a schema may be nested, in levels, those its references lead to counted.
    pub schema_depth: usize,
    /// How much work checking one value may take: the values of JSON in the schema, those its references
    /// lead to counted each time, times the values of JSON in what is checked. More is refused.
    pub schema_steps: usize,
    /// The longest text answer accepted in one field, in bytes.
    pub answer_bytes: usize,
    /// The longest answer of a model that is read, in bytes of JSON; a longer one is refused. An
    /// answer that waits for its handler to ask for it again may be as long.
    pub sampled_bytes: usize,
    /// The longest list of roots that is read, in bytes of JSON; a longer one is refused.
    pub roots_bytes: usize,
    /// How much is kept of a person's reason to decline, and of what was wrong with an answer, in
    /// bytes.
    pub reason_bytes: usize,
    /// How often an answer that breaks its form is asked again before the question is refused.
    pub ask_attempts: u32,
    /// The most questions in one round.
    pub questions_per_round: usize,
    /// The most rounds of one flow (mainstream clients give up at eight to ten).
    pub rounds: u32,
    /// The round from which a flow is logged as unusually long.
    pub rounds_warned: u32,
    /// How long a question of a handshake revision waits for its answer.
    pub ask: Duration,
    /// How long one `ctx.run` or `ctx.commit` may take.
    pub run: Duration,
    /// How long a request may work, the time a person is asked not counted. To a client each sign
    /// of progress gives a server that time anew.
    pub request: Duration,
    /// How long a client lets a server work on one call in all, whatever progress it reports.
    pub request_in_all: Duration,
    /// How often one principal may call one tool, or get one prompt, within [`Limits::calls_window`],
    /// and as often read resources, and complete arguments. Calls that were not made are saved up, but
    /// no more than these.
    pub calls: u32,
    /// How often all callers who are not known may do so together.
    pub unknown_calls: u32,
    /// The window of [`Limits::calls`] and [`Limits::unknown_calls`].
    pub calls_window: Duration,
    /// For how many pairs of a caller and what it calls the rate is counted at a time; for others it is
    /// counted together.
    pub call_rates: usize,
    /// How long a sealed `requestState` can be answered: a person's time for one round.
    pub round_ttl: Duration,
    /// How long a flow may last in all.
    pub flow_ttl: Duration,
    /// The longest `requestState`, in characters.
    pub state_bytes: usize,
    /// The size of a sealed state above which it goes to the store, in characters.
    pub spill_bytes: usize,
    /// The longest sealed state that goes to the store, in characters.
    pub spilled_bytes: usize,
    /// The longest value of a `ctx.commit` that a store keeps, in bytes of JSON.
    pub commit_bytes: usize,
    /// The most bytes a store keeps of claims, and again of spilled states, unless it was made with
    /// another bound. A principal who is known may have a 32nd of what claims leave free, and an
    /// eighth of all states.
    pub store_bytes: usize,
    /// The most tasks a server keeps, those at work and those that have ended together. Of them a
    /// principal who is known has its share ([`Limits::owner_share`]).
    pub tasks: usize,
    /// How long a task may take, and how long after its beginning what came of it is kept: the
    /// `ttlMs` of a server's tasks.
    pub task_ttl: Duration,
    /// How often a client is told to ask after a task; and how often a client does where the
    /// server does not say.
    pub task_poll: Duration,
    /// The shortest time after which a client asks again after a task, whatever the server says.
    pub task_poll_least: Duration,
    /// The longest such time.
    pub task_poll_most: Duration,
    /// How long a client waits for a task in all, whatever the server says.
    pub task_in_all: Duration,
    /// The most values in one completion (the specification's bound).
    pub completion_values: usize,
    /// The most rounds in which a sampled model may call tools before the loop is ended.
    pub tool_rounds: u32,
    /// How long a client waits for the answer to its era probe before it takes the server for one
    /// of a handshake revision.
    pub probe: Duration,
    /// How often a server may ask within [`Limits::asks_window`] before a client refuses.
    pub asks: u32,
    /// The window of [`Limits::asks`].
    pub asks_window: Duration,
    /// The most bytes a client keeps of one server's questions, those with the host and those behind.
    pub question_bytes: usize,
    /// The most questions that wait behind the one a person is answering; a host cancels more.
    pub questions_waiting: usize,
    /// The most characters that a host shows at once of what a server says of one question, all
    /// messages of a sampling request together; the rest is shown on demand. Where no person is
    /// asked, fields and links count as well, and the rest is left out.
    pub message_shown: usize,
    /// The most lines that a host shows of what a server says without being asked (log lines, its
    /// standard error, changes, notes) within [`Limits::remarks_window`]; how many more there were
    /// is told in one line.
    pub remarks: u32,
    /// The window of [`Limits::remarks`].
    pub remarks_window: Duration,
    /// The most entries a client keeps in its cache of lists and reads.
    pub cache_entries: usize,
    /// The most bytes a client keeps in that cache.
    pub cache_bytes: usize,
    /// The most pages of one list a client fetches before it takes the list for endless.
    pub pages: usize,
    /// The most bytes of one list a client takes, all its pages together.
    pub list_bytes: usize,
    /// The most items of one list a client takes, all its pages together.
    pub list_items: usize,
    /// How long a client waits before it sends again a request whose result asked nothing; the
    /// pause doubles from round to round.
    pub round_pause: Duration,
    /// The longest such pause.
    pub round_pause_most: Duration,
    /// How long a client waits before it connects again to a stream that broke off, where the
    /// server did not say (HTTP); the pause doubles while nothing comes.
    pub stream_retry: Duration,
    /// The longest such pause, also of those a server asks for.
    pub stream_retry_most: Duration,
    /// How often in a row a client takes up the answer to a request that broke off, while nothing
    /// comes (HTTP).
    pub stream_resumptions: u32,
    /// How long a client goes on taking up an answer that broke off while nothing listens at the
    /// server's address (HTTP): long enough for a server that is started again.
    pub stream_unreachable: Duration,
    /// How many redirections of one request a client follows (HTTP).
    pub redirects: u32,
    /// How long opening a connection may take (HTTP).
    pub connect: Duration,
    /// The longest document, registration or token a client fetches for authorization, in bytes.
    pub document_bytes: usize,
    /// How long fetching one may take, redirections and all.
    pub document_fetch: Duration,
    /// How long a client waits while another process renews or forgets the same credentials.
    pub credential_lock: Duration,
    /// How long a person may take to sign in.
    pub sign_in: Duration,
    /// How often a client starts a crashed server again within [`Limits::restarts_window`].
    pub restarts: u32,
    /// The window of [`Limits::restarts`].
    pub restarts_window: Duration,
    /// How many unreadable messages, errors without an id and refused questions of one server a
    /// client reports.
    pub malformed_reports: u32,
    /// The most links of one session whose end a client waits to be told.
    pub links: usize,
    /// How long a server's process may take to end once its input is closed, and again once it was
    /// asked to terminate; then it is killed.
    pub exit: Duration,
    /// The longest line of a server's standard error that is shown whole, in bytes.
    pub stderr_line_bytes: usize,
    /// The most HTTP connections a server serves at a time. For more, those end that have waited for a
    /// request for the longest; where all are at work, the next one waits.
    pub connections: usize,
    /// The most headers of an HTTP request.
    pub headers: usize,
    /// The most bytes of the headers of an HTTP request, its first line with them, and of those of
    /// a response.
    pub header_bytes: usize,
    /// How long the headers of an HTTP request may take to come, counted from the answer to the
    /// request before: for so long, too, a connection may be idle.
    pub header_read: Duration,
    /// How long the body of an HTTP request may take to come.
    pub body_read: Duration,
    /// How long an HTTP client may leave what it is sent unread.
    pub write_stall: Duration,
    /// How long a response over HTTP stays undecided between one JSON object and a stream, while
    /// its handler works and says nothing.
    pub undecided: Duration,
    /// How long a stream over HTTP is quiet before it shows a sign of life.
    pub keep_alive: Duration,
    /// The most sessions a server keeps over HTTP, of which a principal who is known has its share
    /// ([`Limits::owner_share`]). Beyond, sessions of whoever has the most are ended: those idle for
    /// the longest first, then those in use, but of whoever wants one more only idle ones.
    pub sessions: usize,
    /// How long a session over HTTP may be idle.
    pub session_idle: Duration,
    /// The most events of a stream that are kept for a client that comes back for them.
    pub resume_events: usize,
    /// The most bytes of a stream's events that are kept, and that may wait to be read before what
    /// tells only of the way is left out.
    pub resume_bytes: usize,
    /// The most streams of a session that are kept after their end.
    pub resume_streams: usize,
    /// How long a client may stay away from a stream that has ended before it is forgotten.
    pub resume: Duration,
    /// After how long a client is told to come back for a stream the server let go of, or for what
    /// there was no room for.
    pub retry: Duration,
    /// How long a server that stops lets its calls, and the questions in them, go on.
    pub shutdown: Duration,
    /// How long the calls of a stream, such as standard input and output, may go on when their client
    /// has closed its side: a client may do so right after its last request.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        const MINUTE: u64 = 60;
        Self {
            message_bytes: 4 << 20,
            message_values: 512 << 10,
            kept_bytes: 256 << 20,
            owner_share: 8,
            id_bytes: 4 << 10,
            request_id_bytes: 1 << 10,
            client_info_bytes: 256,
            client_extension_bytes: 8 << 10,
            batch_messages: 64,
            requests_in_flight: 256,
            subscriptions: 64,
            watched_uri_bytes: 4 << 10,
            form_fields: 64,
            form_options: 256,
            form_bytes: 32 << 10,
            pattern_bytes: 256,
            pattern_program_bytes: 256 << 10,
            pattern_text_bytes: 4 << 10,
            schema_bytes: 256 << 10,
            schema_depth: 64,
            schema_steps: 64 << 20,
            answer_bytes: 64 << 10,
            sampled_bytes: 1 << 20,
            roots_bytes: 64 << 10,
            reason_bytes: 2 << 10,
            ask_attempts: 3,
            questions_per_round: 16,
            rounds: 10,
            rounds_warned: 6,
            ask: Duration::from_secs(10 * MINUTE),
            run: Duration::from_secs(MINUTE),
            request: Duration::from_secs(5 * MINUTE),
            request_in_all: Duration::from_secs(60 * MINUTE),
            calls: 60_000,
            unknown_calls: 10_000_000,
            calls_window: Duration::from_secs(MINUTE),
            call_rates: 64 << 10,
            round_ttl: Duration::from_secs(15 * MINUTE),
            flow_ttl: Duration::from_secs(24 * 60 * MINUTE),
            state_bytes: 64 << 10,
            spill_bytes: 32 << 10,
            spilled_bytes: 1 << 20,
            commit_bytes: 64 << 10,
            store_bytes: 64 << 20,
            tasks: 16 << 10,
            task_ttl: Duration::from_secs(60 * MINUTE),
            task_poll: Duration::from_secs(1),
            task_poll_least: Duration::from_millis(100),
            task_poll_most: Duration::from_secs(MINUTE),
            task_in_all: Duration::from_secs(24 * 60 * MINUTE),
            completion_values: 100,
            tool_rounds: 10,
            probe: Duration::from_secs(5),
            asks: 60,
            asks_window: Duration::from_secs(MINUTE),
            question_bytes: 16 << 20,
            questions_waiting: 16,
            message_shown: 4 << 10,
            remarks: 64,
            remarks_window: Duration::from_secs(10),
            cache_entries: 256,
            cache_bytes: 16 << 20,
            pages: 256,
            list_bytes: 16 << 20,
            list_items: 64 << 10,
            round_pause: Duration::from_millis(50),
            round_pause_most: Duration::from_millis(250),
            stream_retry: Duration::from_secs(1),
            stream_retry_most: Duration::from_secs(30),
            stream_resumptions: 5,
            stream_unreachable: Duration::from_secs(5),
            redirects: 5,
            connect: Duration::from_secs(10),
            document_bytes: 256 << 10,
            document_fetch: Duration::from_secs(10),
            credential_lock: Duration::from_secs(30),
            sign_in: Duration::from_secs(10 * MINUTE),
            restarts: 5,
            restarts_window: Duration::from_secs(MINUTE),
            malformed_reports: 16,
            links: 64,
            exit: Duration::from_secs(2),
            stderr_line_bytes: 8 << 10,
            connections: 16 << 10,
            headers: 100,
            header_bytes: 64 << 10,
            header_read: Duration::from_secs(MINUTE),
            body_read: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            undecided: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            sessions: 32 << 10,
            session_idle: Duration::from_secs(120 * MINUTE),
            resume_events: 256,
            resume_bytes: 256 << 10,
            resume_streams: 16,
            resume: Duration::from_secs(2 * MINUTE),
            retry: Duration::from_secs(1),
            shutdown: Duration::from_secs(30),
            drain: Duration::from_secs(1),
        }
    }
}
