//! Where in a program a future is polled: in which handler, and whether inside a step.

use std::cell::Cell as Local;

thread_local! {
    static CURRENT: Local<Place> = const { Local::new(Place { flow: 0, in_step: false }) };
}

#[derive(Clone, Copy)]
struct Place {
    /// The address of the flow's cell; 0 outside every handler. An address is enough: the cell
    /// lives as long as the drive that put it here.
    flow: usize,
    in_step: bool,
}

/// While it lives, this thread polls the handler of one flow.
pub(crate) struct Scope {
    before: Place,
}

impl Scope {
    /// Enters the handler of a flow.
    pub(crate) fn handler(cell: &super::Cell) -> Self {
        Self::enter(Place {
            flow: address(cell),
            in_step: false,
        })
    }

    /// Enters a step, in which nothing may be asked.
    pub(crate) fn step() -> Self {
        let before = CURRENT.get();
        Self::enter(Place {
            in_step: true,
            ..before
        })
    }

    /// Whether the handler of this flow may ask here.
    pub(crate) fn may_ask(cell: &super::Cell) -> bool {
        let place = CURRENT.get();
        place.flow == address(cell) && !place.in_step
    }

    fn enter(place: Place) -> Self {
        Self {
            before: CURRENT.replace(place),
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

fn address(cell: &super::Cell) -> usize {
    std::ptr::from_ref(cell).addr()
}
