//! `askback receipts` shows the receipts of questions that were shown here.

use std::time::{Duration, SystemTime};

use askback_host::{
    page::{Page, Style, out},
    text::{self, given},
    words,
};

use super::print_as_json;
use crate::{
    error::{Error, Kind, Outcome},
    locate::TargetArgs,
    receipts::{ReceiptChain, ReceiptFolder},
};

/// List and verify the receipts of questions that you answered
///
/// A server may ask for a receipt: a signed note that a person saw a question, and when. It has no content. The exit code
/// is 1 if a receipt was changed or is missing.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Examples:\n  askback receipts\n  askback receipts --key https://bank.example/mcp"
)]
pub struct ReceiptsArgs {
    /// Print them as JSON, with the receipts themselves
    #[arg(long, conflicts_with = "key")]
    json: bool,
    /// Print the public key with which receipts for this server are signed: a name of mcp.json, a URL, or a script
    #[arg(long, value_name = "SERVER")]
    key: Option<String>,
    /// The command that starts the server of --key
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub fn run(args: ReceiptsArgs, outcome: &mut Outcome) -> Result<(), Error> {
    let folder = ReceiptFolder::of_user().ok_or_else(|| {
        Error::usage("no folder for receipts").hint("Set XDG_STATE_HOME or HOME.")
    })?;
    if args.key.is_some() || !args.command.is_empty() {
        let mut target = TargetArgs {
            command: args.command,
            ..TargetArgs::default()
        };
        target.name_by(&mut args.key.into_iter().collect())?;
        let key = folder.key(&target.target()?).map_err(unreadable)?;
        return Ok(out::print_text(key.to_string().into())?);
    }
    let chains = folder.chains().map_err(unreadable)?;
    outcome.tool_error = chains.iter().any(|chain| chain.fault.is_some());
    if args.json {
        return print_as_json(&chains);
    }
    let mut page = out::stdout_page();
    for chain in &chains {
        put(&mut page, chain);
    }
    if chains.is_empty() {
        page.say(Style::Plain, "No server has asked for a receipt.");
    } else {
        page.say(
            Style::Dim,
            words!("They are kept in {}", given(folder.path().display())),
        );
    }
    Ok(out::print(&page.take())?)
}

/// The newest is last.
fn put(page: &mut Page, chain: &ReceiptChain) {
    page.say(Style::Strong, given(&chain.list.server).short());
    page.line(words!("  key {}", given(&chain.key)));
    if chain.list.dropped > 0 {
        page.line(words!(
            "  {} older ones are no longer in the list, which begins with number {}",
            chain.list.dropped,
            chain.list.dropped.saturating_add(1)
        ));
    }
    for receipt in &chain.list.receipts {
        let took = receipt.answered_at.saturating_sub(receipt.shown_at);
        page.line(words!(
            "  {} {}, {}, answered after {}.{} s",
            receipt.sequence,
            given(at(receipt.answered_at)),
            given(&receipt.renderer),
            took / 1000,
            took % 1000 / 100
        ));
    }
    match &chain.fault {
        Some(fault) => page.item("✗ ", Style::Error, words!("{}", given(fault))),
        None => page.item(
            "✓ ",
            Style::Plain,
            "signed by this user, and none is missing",
        ),
    }
}

fn at(millis: u64) -> String {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis));
    time.map_or_else(|| millis.to_string(), text::instant)
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(Kind::Server, "the receipts cannot be read:").quoting(error.to_string())
}
