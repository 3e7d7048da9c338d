//! The person who was asked, told from everybody else who opens their link.

use askback_core::ask::Millis;

use super::PageError;
use super::browser::Visit;
use crate::connections::Kit;
use crate::intents::{Intent, IntentError, IntentId, TRIES, Visitor};
use crate::vault::AuditEvent;

/// The intent, where it is not over and the visitor is the person who was asked. Anybody else is written down.
pub(super) async fn intent(kit: &Kit, id: IntentId, visit: &Visit) -> Result<Intent, PageError> {
    let vault = &kit.vault;
    let now: Millis = vault.now();
    let visitor = &visit.holder;
    for _ in 0..TRIES {
        let mut intent = match Intent::find(vault, id).await? {
            Some(intent) if !intent.is_over(now) => intent,
            Some(intent) if intent.is_cut_off(now) && intent.holder == *visitor => {
                return Err(PageError::CutOff);
            }
            _ => return Err(PageError::Over),
        };
        let is_person = intent.holder == *visitor;
        let event = match intent.opened_by(visitor, visit.id) {
            Visitor::Asked => return Ok(intent),
            Visitor::Other if is_person => AuditEvent::WrongBrowser,
            Visitor::Other => AuditEvent::WrongPerson,
            Visitor::OtherAgain => AuditEvent::Burned,
        };
        match intent.write(vault, event).await {
            // Others have opened it at the same time: each counts.
            Err(IntentError::Changed) => continue,
            written => written?,
        }
        kit.notify();
        if !is_person {
            // The visitor's own audit has it, too.
            let provider = intent.purpose.name();
            let line = vault.line(visitor, provider, AuditEvent::WrongPerson);
            vault.append(&line).await?;
        }
        break;
    }
    Err(PageError::Wrong)
}
