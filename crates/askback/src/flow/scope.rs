//! Where a future is polled: in which handler, and whether in a step.

use std::cell::Cell as Local;

use sha2::{Digest, Sha256};

thread_local! {
    static CURRENT: Local<Place> = const { Local::new(Place { flow: 0, course: OUTSIDE }) };
}

/// A line of execution. Random values and waits in one course do not affect the others.
///
/// A replay runs the handler's own course again from the top, which must take the same path. It skips steps, so nothing
/// in a step may affect the handler.
pub(crate) type Course = u64;

const HANDLER: Course = 0;
pub(super) const COURSE_OF_PAGES: Course = Course::MAX - 1;
/// The course of code outside every handler.
const OUTSIDE: Course = Course::MAX;

#[derive(Clone, Copy)]
struct Place {
    /// The address of the flow's cell; 0 outside every handler. The drive or commit that set it keeps the cell alive.
    flow: usize,
    course: Course,
}

/// Marks this thread as polling the handler of one flow, until dropped.
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

    pub(crate) fn step(cell: &super::Cell, course: Course) -> Self {
        let flow = address(cell);
        Self::enter(Place { flow, course })
    }

    /// Enters another course of the same flow, in which questions are not allowed.
    pub(crate) fn aside(course: Course) -> Self {
        let before = CURRENT.get();
        Self::enter(Place { course, ..before })
    }

    pub(crate) fn course(cell: &super::Cell) -> Course {
        let place = CURRENT.get();
        if place.flow == address(cell) {
            place.course
        } else {
            OUTSIDE
        }
    }

    /// Whether the handler of this flow may ask here: only in its own course.
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
