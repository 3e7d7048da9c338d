//! The last call, made again as no client would.

use std::time::Duration;

use askback_core::revision::Revision;
use askback_host::{
    page::{Page, Style, out},
    text::{PeerText, given},
    words,
};

use super::{Repl, again::Call, line::Trouble};
use crate::{
    check::{
        self, NamedTool,
        attempt::{Attempt, is_asked, is_success},
        report::put_exchange,
    },
    error::Error,
    probe::{Exchange, ProbeArgs},
};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the server is tried, beside the time in which a state lapses.
const TRIED: Duration = Duration::from_secs(5 * 60);

/// The most characters of an error of the server that stand in a row.
const SAID: usize = 200;

impl Repl<'_> {
    /// Makes the last call again in all ways in which a client would not, on connections of their
    /// own, and says what the server did and should have done. A state is sent again after the seconds of
    /// `wanted`, and by its other principal, where it has them.
    pub(super) async fn trouble(&mut self, wanted: Trouble) -> Result<(), Error> {
        let tool = match self.known.last.as_ref().map(|last| last.whole()) {
            Some(Some(Call::Tool(tool, arguments))) => NamedTool {
                name: tool.name.clone(),
                arguments: arguments.clone(),
            },
            Some(Some(_)) => return Err(Error::usage("the last call was not one of a tool")),
            Some(None) => {
                let error = "the last call had arguments that seem to be secrets and are not kept";
                return Err(Error::usage(error).hint("askback check --tool makes such a call."));
            }
            None => {
                let error = Error::usage("there was no call that could be made again");
                return Err(error.hint("Call a tool that asks, then write /trouble."));
            }
        };
        let lapse = wanted
            .lapse
            .map(|seconds| Duration::from_secs(seconds.into()));
        let whole = TRIED.saturating_add(lapse.unwrap_or_default());
        let bounds = self
            .session
            .beside(ProbeArgs::default().bounds(PATIENCE, whole));
        let way = self.session.way(&bounds)?;
        let other = wanted
            .other
            .map(|name| self.session.other_way(&name, &bounds));
        let other = other.transpose()?;
        let revision = self.session.client.revision();
        let words = words!("Forms and links are declined, in {}: ", given(revision));
        self.session.host.page().quote_line(words, &tool.name);
        let known = check::Known {
            other: other.as_ref(),
            lapse,
        };
        let trouble = check::trouble(&way, &bounds, revision, &tool, known);
        let attempts = self.session.host.attend(trouble).await?;
        let Some(attempts) = attempts else {
            return Err(Error::usage("the call asked nothing this time"));
        };
        let mut page = out::stdout_page();
        put(&mut page, &attempts, revision);
        Ok(self.session.host.print(page.take().trimmed())?)
    }
}

/// Puts what was tried on the page.
fn put(page: &mut Page, attempts: &[Attempt], revision: Revision) {
    for Attempt { kind, seen } in attempts {
        let rule = match kind.rule().filter(|rule| rule.applies(revision, false)) {
            Some(rule) => words!("{} {}", rule.id, rule.level.as_str()),
            None => "-".into(),
        };
        let seen = match seen {
            Ok(seen) if seen.reply.is_unseen() => Err("the server is gone since"),
            Ok(seen) => Ok(seen),
            Err(why) => Err(*why),
        };
        let seen = match seen {
            Ok(seen) => seen,
            Err(why) => {
                let words = words!("{}  {}", rule.padded(15), kind.does());
                page.item("- ", Style::Dim, words);
                page.item("    ", Style::Dim, words!("not tried: {}", why));
                continue;
            }
        };
        // A server that does not answer refuses nothing.
        let is_mute = seen.reply.is_gone() || seen.reply.is_silent();
        let is_kept = kind.is_kept(seen).map(|is_kept| is_kept && !is_mute);
        let (mark, style) = match is_kept {
            Some(true) => ("\u{2713} ", Style::Plain),
            Some(false) => ("× ", Style::Warning),
            None => ("· ", Style::Plain),
        };
        page.item(mark, style, words!("{}  {}", rule.padded(15), kind.does()));
        let (came, said) = came(seen);
        match said {
            Some(said) => page.quote_at(words!("    {} ", came), said),
            None => page.item("    ", Style::Plain, came),
        }
        if is_kept != Some(true) {
            page.item("    ", Style::Dim, words!("wanted: {}", kind.wanted()));
        }
        if is_kept == Some(false) {
            put_exchange(page, &seen.shown, &seen.reply.shown());
        }
    }
}

/// The words for what the server did, and its own words where it refused.
fn came(seen: &Exchange) -> (&'static str, Option<PeerText>) {
    let reply = &seen.reply;
    if let Some(error) = reply.error() {
        let said = format!(
            "{}: {}",
            error["code"],
            error["message"].as_str().unwrap_or_default()
        );
        let (said, _) = PeerText::from(askback_host::text::line(&said)).cut(SAID);
        return ("it refused:", Some(said));
    }
    let came = match () {
        () if is_asked(seen) => "it asked",
        () if is_success(seen) => "a result",
        () if reply.result().is_some() => "a result that reports an error",
        () if reply.is_gone() => "it went away",
        () if reply.is_silent() => "nothing came in time",
        () => "something else came",
    };
    (came, None)
}
