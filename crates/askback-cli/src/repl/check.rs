//! The current server, checked on connections of its own.

use askback_check::{Scope, ledger::Measure};
use askback_host::{page::out, text::given, words};

use super::Repl;
use crate::{
    commands::check::{PATIENCE, TRIED, misnamed, named},
    error::Error,
    probe_args::ProbeArgs,
};

impl Repl<'_> {
    /// Checks the current server in the revision that is spoken, and shows what it does wrong. `words` name tools that may
    /// be called, and their arguments.
    pub(super) async fn check(&mut self, words: &[String]) -> Result<(), Error> {
        let bounds = ProbeArgs::default().bounds(PATIENCE, TRIED);
        let bounds = self.session.beside(bounds);
        let way = self.session.way(&bounds)?;
        let revision = self.session.client.revision();
        let name = given(&self.session.host.desk().asker().name).short();
        self.tell(words!("Checking {} in {}…", name, given(revision)));
        let scope = Scope {
            only: Some(revision),
            tools: named(words)?,
            ..Scope::default()
        };
        let checking = askback_check::check(&way, &bounds, &scope, |_| {});
        let report = self.session.host.attend(checking).await?;
        let report = report.map_err(misnamed)?;
        let mut page = out::stdout_page();
        report.put(&mut page, false, &Measure::default());
        Ok(self.session.host.print(page.take().trimmed())?)
    }
}
