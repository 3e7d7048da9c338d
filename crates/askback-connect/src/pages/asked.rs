//! The person who was asked, told from everybody else who opens their link.

use askback_core::ask::Millis;

use super::Refused;
use super::browser::Visit;
use crate::connections::Kit;
use crate::intents::{IntentId, Kept, TRIES, Unkept, Visitor};
use crate::vault::AuditEvent;

/// The intent, where it is not over and the visitor is the person who was asked. Anybody else is written down.
pub(super) async fn intent(kit: &Kit, id: IntentId, visit: &Visit) -> Result<Kept, Refused> {
    let vault = &kit.vault;
    let now: Millis = vault.now();
    let visitor = visit.holder();
    for _ in 0..TRIES {
        let mut kept = match Kept::find(vault, id).await? {
            Some(kept) if !kept.intent.is_over(now) => kept,
            Some(Kept { intent, .. }) if intent.is_cut_off(now) && intent.holder == visitor => {
                return Err(Refused::CutOff);
            }
            _ => return Err(Refused::Over),
        };
        let is_person = kept.intent.holder == visitor;
        let event = match kept.intent.opened_by(&visitor, visit.id) {
            Visitor::Asked => return Ok(kept),
            Visitor::Other if is_person => AuditEvent::WrongBrowser,
            Visitor::Other => AuditEvent::WrongPerson,
            Visitor::OtherAgain => AuditEvent::Burned,
        };
        match kept.write(vault, event).await {
            // Others have opened it at the same time: each counts.
            Err(Unkept::Changed) => continue,
            written => written?,
        }
        kit.notify();
        if !is_person {
            // The visitor's own audit has it, too.
            let provider = kept.intent.purpose.name();
            let line = vault.line(&visitor, provider, AuditEvent::WrongPerson);
            vault.append(&line).await?;
        }
        break;
    }
    Err(Refused::Wrong)
}
