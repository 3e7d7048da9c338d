//! A page in a browser of this machine: one more front end.
//!
//! [`WebPage`] is the [`Leaf`](crate::leaf::Leaf). It draws each [`View`](crate::view::View) as HTML when it is shown, and
//! keeps the result in a `Snapshot`. The server answers every `GET` from that, so that a page is
//! shown at once even if the host is busy. A `POST` goes to the leaf, and its answer waits until its effect is drawn.
//!
//! | path | does |
//! |---|---|
//! | `GET /o/ONCE` | lets the first browser in that opens it |
//! | `GET /v/VISIT/` | shows the question in front, the servers and the log |
//! | `GET /v/VISIT/live` | sends the changes of that page as events |
//! | `POST /v/VISIT/say` | takes the actions of the person |
//! | `GET /style.css`, `GET /page.js` | |

mod form;
mod html;
mod leaf;
mod question;
mod serve;
mod snapshot;
mod visit;

pub use leaf::WebPage;

use std::time::Duration;

/// The most pages that receive changes at the same time.
const TABS: usize = 16;

/// The longest form that is read, in bytes.
const FORM_BYTES: usize = 1 << 20;

/// How long a form may take to arrive.
const FORM_TIME: Duration = Duration::from_secs(30);

/// How long a one-time link can be used.
const LINK_TIME: Duration = Duration::from_secs(600);

/// How long a button does nothing after a question was first sent to a browser: an early click was meant for the
/// previous content.
const SETTLE: Duration = Duration::from_millis(600);

/// The longest wait until the effect of a form is drawn.
const TAKEN: Duration = Duration::from_secs(10);

/// The least time between two changes that are sent to a page.
const PACE: Duration = Duration::from_millis(50);

/// The time between two comments that keep a stream of events alive.
const BEAT: Duration = Duration::from_secs(15);

/// The least time between two openings of the browser.
const OPENING_PAUSE: Duration = Duration::from_secs(30);

/// The most lines of the log.
const LOG_LINES: usize = 500;
