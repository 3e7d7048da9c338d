//! A server's remarks in one or two lines each, limited to what a user can read.

use std::{collections::VecDeque, mem, time::Duration};

use askback::{
    client::{Event, ServerEnd},
    limits::Limits,
    protocol::LoggingLevel,
};
use serde_json::Value;

use crate::{
    page::{Page, Style},
    text::{PeerText, Words},
    wire::Row,
    words,
};

#[derive(Debug)]
pub struct Remarks {
    progress: Option<String>,
    /// When progress was last shown.
    far: Option<Duration>,
    noted: Option<(String, Duration)>,
    /// When each kind of list was last reported as changed.
    changed: Vec<(&'static str, Duration)>,
    /// Whether to report changed lists, because the user can look at them.
    pub lists: bool,
    /// Whether the user can restart the server.
    pub can_restart: bool,
    /// The maximum number of remarks per window.
    most: u32,
    window: Duration,
    began: Duration,
    /// How many remarks were shown in the current window.
    told: u32,
    /// How many remarks were left out since the last report.
    left_out: u64,
    /// Whether the left-out remarks were reported in this window.
    summed_up: bool,
    pub stderr: StderrMode,
    /// Whether the server was started and has not answered yet.
    is_opening: bool,
    stderr_log: VecDeque<PeerText>,
    held: u64,
    held_since: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StderrMode {
    /// After the server has answered. Only the number of earlier lines is shown, unless the start
    /// fails or takes long.
    #[default]
    AfterStart,
    Always,
    Never,
}

#[derive(Debug, Clone)]
pub enum Remark {
    Far(Words),
    /// A mark, the server's text, and how many characters were cut.
    Quote(Words, PeerText, usize),
    Changed(&'static str),
    /// The server is gone; whether the user can restart it.
    Gone(ServerEnd, bool),
    /// The number of lines on standard error during the start; whether a command can show them.
    Started(u64, bool),
    LeftOut(u64),
}

const STDERR: &str = "stderr ";

/// The minimum interval between reports of progress without a message.
const FAR: Duration = Duration::from_secs(1);

/// The maximum number of kept lines of standard error.
const STDERR_LINES: usize = 1_000;

/// The maximum number of lines that are shown if a start fails or takes long.
const START_LINES: u64 = 24;

/// How long the lines of a start are held back.
const START: Duration = Duration::from_secs(2);

/// The maximum length of a remark, in characters.
const SHOWN: usize = 1024;

impl From<Row> for Remark {
    fn from(row: Row) -> Self {
        let (mark, about) = row.into_parts();
        Self::Quote(mark, about, 0)
    }
}

impl Remark {
    /// Puts the name of the server in front, for a user with several servers.
    pub(crate) fn named(self, name: &Words) -> Self {
        match self {
            Self::Far(far) => Self::Far(words!("{}: {}", name.clone(), far)),
            Self::Quote(mark, text, more) => {
                Self::Quote(words!("{}: {}", name.clone(), mark), text, more)
            }
            Self::Changed(_) | Self::Gone(..) | Self::Started(..) | Self::LeftOut(..) => self,
        }
    }
}

impl Remarks {
    pub fn new(limits: &Limits) -> Self {
        Self {
            progress: None,
            far: None,
            noted: None,
            changed: Vec::new(),
            lists: false,
            can_restart: false,
            most: limits.host.remarks,
            window: limits.host.remarks_window,
            began: Duration::ZERO,
            told: 0,
            left_out: 0,
            summed_up: false,
            stderr: StderrMode::default(),
            is_opening: true,
            stderr_log: VecDeque::new(),
            held: 0,
            held_since: None,
        }
    }

    /// Records that the server is starting, or that it is connected or no longer restarted.
    pub(crate) fn open(&mut self, is_opening: bool) {
        self.is_opening = is_opening;
        self.held_since = None;
        if is_opening {
            self.held = 0;
        }
    }

    /// Holds back standard error as during a start, or stops that.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.is_opening = is_held;
        self.held_since = None;
    }

    pub(crate) fn stderr_log(&self) -> impl Iterator<Item = &PeerText> {
        self.stderr_log.iter()
    }

    /// When held lines are shown, if the server has not answered by then.
    pub(crate) fn held_until(&self) -> Option<Duration> {
        self.held_since.map(|since| since.saturating_add(START))
    }

    /// Returns the held lines, at most the last [`START_LINES`].
    pub(crate) fn release(&mut self) -> Vec<Remark> {
        self.held_since = None;
        let held = mem::take(&mut self.held);
        let shown = held.min(START_LINES);
        let more = held.saturating_sub(shown);
        let mut released = Vec::new();
        if more > 0 {
            released.push(Remark::Started(more, self.can_restart));
        }
        let shown = usize::try_from(shown).unwrap_or(usize::MAX);
        let skipped = self.stderr_log.len().saturating_sub(shown);
        let lines = self.stderr_log.iter().skip(skipped).cloned();
        released.extend(lines.map(|line| Remark::Quote(STDERR.into(), line, 0)));
        released
    }

    /// Stores a line of standard error. Returns whether to show it now.
    fn shows_stderr(&mut self, line: &str, now: Duration) -> bool {
        if self.stderr_log.len() >= STDERR_LINES {
            self.stderr_log.pop_front();
        }
        let (line, _) = PeerText::from(line).cut(SHOWN);
        self.stderr_log.push_back(line);
        match self.stderr {
            StderrMode::Always => true,
            StderrMode::Never => false,
            // After a release, the remaining lines of the start are shown.
            StderrMode::AfterStart if !self.is_opening => true,
            StderrMode::AfterStart => {
                self.held = self.held.saturating_add(1);
                self.held_since.get_or_insert(now);
                false
            }
        }
    }

    /// Returns the remarks to show. Repeated progress is skipped. Left-out remarks are reported
    /// with the first remark of the next window.
    pub fn hear(&mut self, event: Event, now: Duration) -> Vec<Remark> {
        if let Event::Progress { message, .. } | Event::Task { message, .. } = &event {
            let is_told = match message {
                Some(_) => self.progress == *message,
                // Progress without a message is shown at intervals.
                None => self.far.is_some_and(|at| now.saturating_sub(at) < FAR),
            };
            if is_told {
                return Vec::new();
            }
            self.progress.clone_from(message);
            self.far = Some(now);
        }
        if let Event::Note(note) = &event {
            let is_told = |(last, at): &(String, Duration)| {
                last == note && now.saturating_sub(*at) < self.window
            };
            if self.noted.as_ref().is_some_and(is_told) {
                self.leave_out();
                return Vec::new();
            }
            self.noted = Some((note.clone(), now));
        }
        if let Event::StartedOver(_) = &event {
            // Output of the first start was about the probe.
            self.held = 0;
            self.held_since = None;
        }
        if let Event::ServerStderr(line) = &event
            && !self.shows_stderr(line, now)
        {
            return Vec::new();
        }
        let is_stderr = matches!(event, Event::ServerStderr(_));
        let Some(mut remark) = remark(event) else {
            return Vec::new();
        };
        if let Remark::Gone(_, can_restart) = &mut remark {
            *can_restart = self.can_restart;
        }
        if let Remark::Changed(list) = remark
            && !(self.lists && self.is_news(list, now))
        {
            return Vec::new();
        }
        let mut heard = match remark {
            Remark::Gone(..) => self.release(),
            _ if is_stderr => self.started().into_iter().collect(),
            _ => Vec::new(),
        };
        if now.saturating_sub(self.began) >= self.window {
            self.began = now;
            self.told = 0;
            self.summed_up = false;
            heard.extend(self.all_left_out());
        }
        if self.told >= self.most {
            self.leave_out();
        } else {
            self.told = self.told.saturating_add(1);
            heard.push(remark);
        }
        heard
    }

    /// Whether to report that this list has changed: once per window, as one look shows all.
    fn is_news(&mut self, list: &'static str, now: Duration) -> bool {
        let window = self.window;
        self.changed
            .retain(|(_, at)| now.saturating_sub(*at) < window);
        let is_news = self.changed.iter().all(|(known, _)| *known != list);
        if is_news {
            self.changed.push((list, now));
        }
        is_news
    }

    /// Counts a remark that is not shown after all.
    pub fn leave_out(&mut self) {
        self.left_out = self.left_out.saturating_add(1);
    }

    /// Counts events that were dropped from the queue.
    pub fn leave_out_all(&mut self, count: u64) {
        self.left_out = self.left_out.saturating_add(count);
    }

    /// `name` is the user's name for the server.
    pub fn put(page: &mut Page, name: &Words, remark: Remark) {
        match remark {
            Remark::Far(far) => page.say(Style::Plain, far),
            Remark::Quote(mark, text, more) => {
                page.quote_at(mark, text);
                if more > 0 {
                    page.note(Style::Dim, words!("{} more characters are left out", more));
                }
            }
            Remark::Gone(end, can_restart) => {
                match end.code {
                    Some(code) => {
                        let words = words!("{} exited (code {}).", name.clone(), i64::from(code));
                        page.say(Style::Warning, words);
                    }
                    None => page.quote_at(words!("{} went away: ", name.clone()), end.why),
                }
                page.note(
                    Style::Dim,
                    match can_restart {
                        true => "The next command starts it again; /restart does so now.",
                        false => "It is started again when it is needed.",
                    },
                );
            }
            Remark::Started(count, can_show) => {
                let lines: Words = match count {
                    1 => "1 line".into(),
                    count => words!("{} lines", count),
                };
                let how = match can_show {
                    true => "/stderr shows them",
                    false => "--stderr show shows them",
                };
                page.note(Style::Dim, words!("stderr: {}, {}", lines, how));
            }
            Remark::LeftOut(count) => {
                let words = words!(
                    "{} said more at once than is shown; lines left out: {}",
                    name.clone(),
                    count
                );
                page.note(Style::Dim, words);
            }
            Remark::Changed(what) => page.note(
                Style::Dim,
                words!(
                    "The {} of {} changed: /{} lists them.",
                    what,
                    name.clone(),
                    what
                ),
            ),
        }
    }

    /// Reports how many lines a server had written during its start, once it has answered.
    pub(crate) fn started(&mut self) -> Option<Remark> {
        if self.is_opening || self.held == 0 {
            return None;
        }
        let held = mem::take(&mut self.held);
        Some(Remark::Started(held, self.can_restart))
    }

    /// How many remarks were left out, to be reported before other output, once per window.
    pub fn sum_up(&mut self) -> Option<Remark> {
        if self.summed_up {
            return None;
        }
        let left_out = self.all_left_out();
        self.summed_up = left_out.is_some();
        left_out
    }

    /// How many remarks were left out since the last report.
    pub fn all_left_out(&mut self) -> Option<Remark> {
        let left_out = mem::take(&mut self.left_out);
        (left_out > 0).then_some(Remark::LeftOut(left_out))
    }
}

fn remark(event: Event) -> Option<Remark> {
    let (mark, text): (Words, _) = match event {
        Event::Progress {
            progress,
            total,
            message,
            ..
        } => {
            let message = message.map(PeerText::from);
            return Some(self::progress(progress, total, message));
        }
        Event::Task { message: None, .. } => return None,
        Event::Task { message, .. } => (Words::default(), message.unwrap_or_default()),
        Event::Log { level, data, .. } => {
            let words = match data.decode::<Value>() {
                Ok(Value::String(text)) => text,
                _ => data.as_str().to_owned(),
            };
            (words!("{} ", self::level(level)), words)
        }
        Event::ServerStderr(line) => (STDERR.into(), line),
        Event::ToolsChanged => return Some(Remark::Changed("tools")),
        Event::PromptsChanged => return Some(Remark::Changed("prompts")),
        Event::ResourcesChanged => return Some(Remark::Changed("resources")),
        Event::ResourceUpdated(uri) => ("changed ".into(), uri),
        Event::Disconnected(end) => return Some(Remark::Gone(end, false)),
        // A note may contain a server's text.
        Event::Note(note) => ("note ".into(), note),
        _ => return None,
    };
    let (text, more) = PeerText::from(text).cut(SHOWN);
    Some(Remark::Quote(mark, text, more))
}

fn progress(progress: f64, total: Option<f64>, message: Option<PeerText>) -> Remark {
    let far = match total {
        Some(total) => words!("{} of {}", progress, total),
        None => words!("{}", progress),
    };
    match message.filter(|message| !message.raw().is_empty()) {
        Some(message) => {
            let (text, more) = message.cut(SHOWN);
            Remark::Quote(words!("{} ", far), text, more)
        }
        None => Remark::Far(far),
    }
}

/// The names of the log levels, in their order.
pub const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

pub fn level(level: LoggingLevel) -> &'static str {
    LEVELS.get(level as usize).copied().unwrap_or_default()
}
