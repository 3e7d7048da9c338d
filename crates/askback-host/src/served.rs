//! The doings of each server beside its questions: what it says, and what is kept and shown for it.

use askback_core::limits::Limits;

use crate::{
    model::Permission,
    page::{Page, Style},
    remarks::Remarks,
    text::Words,
    wire::Shown,
};

/// Puts what is wanted of the messages that travelled on a page, or says why not.
pub(crate) type ShowWire = dyn Fn(&mut Page, Shown) -> Result<(), Words>;

/// Keeps a permission beyond the session, or says why it does not.
pub(crate) type Keep = dyn Fn(Permission) -> Result<(), Words>;

/// The doings of one server.
pub(crate) struct Served {
    pub(crate) remarks: Remarks,
    /// Keeps what the person said of models and this server.
    pub(crate) keep: Option<Box<Keep>>,
    /// Shows the messages that travelled.
    pub(crate) wire: Option<Box<ShowWire>>,
}

impl Served {
    /// Those of a server that has said nothing yet.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            remarks: Remarks::new(limits),
            keep: None,
            wire: None,
        }
    }

    /// Puts what is wanted of the messages that travelled on a page, or why it is not there.
    pub(crate) fn put_wire(&self, page: &mut Page, shown: Shown) {
        let put = match &self.wire {
            Some(show) => show(page, shown),
            None => Err("the messages of this session are not kept".into()),
        };
        if let Err(why) = put {
            page.item("× ", Style::Warning, why);
        }
    }
}
