//! Where in a program a future is polled: in which handler, and whether inside a step.

use std::cell::Cell as Local;

use sha2::{Digest, Sha256};

thread_local! {
    static CURRENT: Local<Place> = const { Local::new(Place { flow: 0, course: OUTSIDE }) };
}

/// A line of execution: what is drawn and waited for in one leaves the others as they are.
///
/// A handler's own is run again from the top, and must come the same way. A step is left out when
/// its handler is run again, so nothing in it may count for the handler.
pub(crate) type Course = u64;

const HANDLER: Course = 0;
/// That of what waits for a person behind a link.
pub(super) const COURSE_OF_PAGES: Course = Course::MAX - 1;
/// That of what runs in no handler.
const OUTSIDE: Course = Course::MAX;

#[derive(Clone, Copy)]
struct Place {
    /// The address of the flow's cell; 0 outside every handler. An address is enough: the drive or
    /// commit that put it here holds the cell.
    flow: usize,
    course: Course,
}

/// While it lives, this thread polls the handler of one flow.
pub(crate) struct Scope {
    before: Place,
}

impl Scope {
    pub(crate) fn handler(cell: &super::Cell) -> Self {
        Self::enter(Place {
            flow: address(cell),
            course: HANDLER,
        })
    }

    /// Enters a step of a flow, wherever it is polled.
    pub(crate) fn step(cell: &super::Cell, course: Course) -> Self {
        let flow = address(cell);
        Self::enter(Place { flow, course })
    }

    /// Enters a course beside the handler's, in which nothing may be asked.
    pub(crate) fn aside(course: Course) -> Self {
        let before = CURRENT.get();
        Self::enter(Place { course, ..before })
    }

    /// The course that is followed here in the handler of this flow.
    pub(crate) fn course(cell: &super::Cell) -> Course {
        let place = CURRENT.get();
        if place.flow == address(cell) {
            place.course
        } else {
            OUTSIDE
        }
    }

    /// Whether the handler of this flow may ask here: in its own course alone.
    pub(crate) fn may_ask(cell: &super::Cell) -> bool {
        Self::course(cell) == HANDLER
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

pub(crate) fn course_of_step(key: &str) -> Course {
    let digest = Sha256::digest(key);
    let mut course = [0; 8];
    course.copy_from_slice(&digest[..8]);
    Course::from_le_bytes(course).clamp(HANDLER + 1, COURSE_OF_PAGES - 1)
}

fn address(cell: &super::Cell) -> usize {
    std::ptr::from_ref(cell).addr()
}
