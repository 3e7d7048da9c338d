//! The runs: every peer, on either side, over every transport, in every revision that both speak.

use std::fmt;

use askback::Revision;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    TypeScript2,
    TypeScript1,
    Python2,
    Python1,
    FastMcp,
    Rmcp,
}

/// The side of the peer; askback is the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Client,
    Server,
    /// The client of `askback wrap`, without any capability; with the server of this peer behind it, or ours.
    Wrapped(Option<Peer>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Transport {
    Stdio,
    /// In 2024-11-05 this is HTTP with SSE, if a peer supports it.
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    List,
    Completion,
    Prompt,
    Form,
    Two,
    Decline,
    Cancel,
    Sampling,
    Roots,
    Progress,
    Cancellation,
    Crash,
    /// Only through `askback wrap`.
    Link,
    ServerCrash,
}

/// The servers behind `askback wrap`. Those of other peers speak their newest revision.
pub(crate) const SERVERS: [(Option<Peer>, Revision); 5] = [
    (None, Revision::V2026_07_28),
    (Some(Peer::TypeScript2), Revision::V2026_07_28),
    (None, Revision::V2025_11_25),
    (Some(Peer::Python1), Revision::V2025_11_25),
    (None, Revision::V2025_06_18),
];

/// All scenarios of one peer on one side over one transport in one revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    pub(crate) peer: Peer,
    pub(crate) side: Side,
    pub(crate) revision: Revision,
    pub(crate) transport: Transport,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The revision does not have this feature, and both sides report that.
    Absent,
    /// The peer does not support it, for this reason.
    Cannot(&'static str),
    Failed(String),
}

pub(crate) struct Gap {
    pub(crate) peer: Peer,
    pub(crate) side: Side,
    /// `None` means any transport.
    pub(crate) transport: Option<Transport>,
    /// Empty means any revision.
    pub(crate) revisions: &'static [Revision],
    /// Empty means that nothing works.
    pub(crate) scenarios: &'static [Scenario],
    pub(crate) why: &'static str,
}

impl Peer {
    pub(crate) const ALL: [Self; 6] = [
        Self::TypeScript2,
        Self::TypeScript1,
        Self::Python2,
        Self::Python1,
        Self::FastMcp,
        Self::Rmcp,
    ];

    pub(crate) fn newest(self) -> Revision {
        match self {
            Self::TypeScript2 | Self::Python2 | Self::FastMcp | Self::Rmcp => Revision::LATEST,
            Self::TypeScript1 | Self::Python1 => Revision::LATEST_LEGACY,
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::TypeScript2 => "TypeScript, `@modelcontextprotocol/client` and `server` 2.4.0",
            Self::TypeScript1 => "TypeScript, `@modelcontextprotocol/sdk` 1.32.2",
            Self::Python2 => "Python, `mcp` 2.3.0",
            Self::Python1 => "Python, `mcp` 1.30.0",
            Self::FastMcp => "Python, `fastmcp` 4.2.3",
            Self::Rmcp => "Rust, `rmcp` 3.11.0",
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TypeScript2 => "typescript-2",
            Self::TypeScript1 => "typescript-1",
            Self::Python2 => "python-2",
            Self::Python1 => "python-1",
            Self::FastMcp => "fastmcp",
            Self::Rmcp => "rmcp",
        })
    }
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

impl Scenario {
    const DIRECT: [Self; 12] = [
        Self::List,
        Self::Completion,
        Self::Prompt,
        Self::Form,
        Self::Two,
        Self::Decline,
        Self::Cancel,
        Self::Sampling,
        Self::Roots,
        Self::Progress,
        Self::Cancellation,
        Self::Crash,
    ];

    const WRAPPED: [Self; 8] = [
        Self::Two,
        Self::Link,
        Self::Sampling,
        Self::Roots,
        Self::Decline,
        Self::Cancel,
        Self::Crash,
        Self::ServerCrash,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::List => "lists",
            Self::Completion => "completion of an argument",
            Self::Prompt => "a prompt",
            Self::Form => "a form with every field type",
            Self::Two => "two questions, one after the other",
            Self::Decline => "a decline",
            Self::Cancel => "a cancelled question",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
            Self::Progress => "progress",
            Self::Cancellation => "a cancelled call",
            Self::Crash => "a crash of the peer",
            Self::Link => "a link",
            Self::ServerCrash => "a crash of the server",
        }
    }

    /// Whether it asks the user, which the first revisions cannot do.
    pub(crate) fn asks_a_person(self) -> bool {
        matches!(self, Self::Form | Self::Two | Self::Decline | Self::Cancel)
    }
}

impl Run {
    /// Every run, slow peers first.
    pub(crate) fn all() -> Vec<Self> {
        let mut runs = Vec::new();
        for peer in Peer::ALL.into_iter().rev() {
            for side in [Side::Server, Side::Client] {
                for revision in Revision::ALL.into_iter().rev() {
                    for transport in Transport::ALL {
                        runs.push(Self {
                            peer,
                            side,
                            revision,
                            transport,
                        });
                    }
                }
            }
        }
        runs.retain(|run| run.revision <= run.peer.newest());
        for peer in Peer::ALL.into_iter().rev() {
            for (server, revision) in SERVERS {
                runs.extend(Transport::ALL.map(|transport| Self {
                    peer,
                    side: Side::Wrapped(server),
                    revision,
                    transport,
                }));
            }
        }
        runs
    }

    /// Returns the revision that askback has to speak; `None` if it should negotiate the newest.
    pub(crate) fn pinned(&self) -> Option<Revision> {
        let newest = match self.side {
            Side::Client | Side::Server => self.peer.newest(),
            Side::Wrapped(_) => Revision::LATEST,
        };
        (self.revision != newest).then_some(self.revision)
    }

    /// Whether this uses HTTP with SSE. Some peers do not support that, and speak its revision over the newer
    /// transport.
    pub(crate) fn is_sse(&self) -> bool {
        let has_it = !matches!(
            (self.peer, self.side),
            (Peer::Rmcp, _) | (Peer::TypeScript2, Side::Server)
        );
        has_it && self.transport == Transport::Http && !self.revision.facts().http.streamable
    }

    /// Returns the reason for a known gap. `None` asks whether every scenario fails.
    pub(crate) fn gap(&self, gaps: &[Gap], scenario: Option<Scenario>) -> Option<&'static str> {
        let gap = gaps.iter().find(|gap| {
            gap.peer == self.peer
                && gap.side == self.side
                && gap.transport.is_none_or(|its| its == self.transport)
                && (gap.revisions.is_empty() || gap.revisions.contains(&self.revision))
                && match scenario {
                    None => gap.scenarios.is_empty(),
                    Some(scenario) => gap.scenarios.contains(&scenario),
                }
        });
        gap.map(|gap| gap.why)
    }
}

impl Side {
    pub(crate) fn scenarios(self) -> &'static [Scenario] {
        match self {
            Self::Client | Self::Server => &Scenario::DIRECT,
            Self::Wrapped(_) => &Scenario::WRAPPED,
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Client => "client".to_owned(),
            Side::Server => "server".to_owned(),
            Side::Wrapped(None) => "wrap ours".to_owned(),
            Side::Wrapped(Some(server)) => format!("wrap {server}"),
        };
        let transport = match self.transport {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        };
        let title = format!("{} {side} {transport} {}", self.peer, self.revision);
        f.pad(&title)
    }
}
