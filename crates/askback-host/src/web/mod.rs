//! A front end in a browser on this machine.
//!
//! [`WebPage`] is the [`Leaf`](crate::leaf::Leaf). It renders each [`View`](crate::view::View) as
//! HTML and stores it in a `Snapshot`. Every `GET` is answered from the snapshot, so a page loads
//! at once even if the host is busy. A `POST` goes to the leaf, and its response waits until the
//! effect is rendered.
//!
//! | path | purpose |
//! |---|---|
//! | `GET /o/ONCE` | lets the first browser in that opens it |
//! | `GET /v/VISIT/` | shows the question in front, the servers and the log |
//! | `GET /v/VISIT/live` | sends changes of that page as events |
//! | `POST /v/VISIT/say` | performs the user's actions |
//! | `POST /v/VISIT/do` | runs a command, or stops the call |
//! | `GET /v/VISIT/file/N` | returns a file of a result |
//! | `GET /v/VISIT/wire/S/`, `wire/S/before/N` | lists messages of a server |
//! | `GET /v/VISIT/wire/S/N`, `wire/S/N/bytes` | shows a message; returns it as it was sent |
//! | `GET /style.css`, `GET /page.js` | |

mod bench;
mod form;
mod html;
mod leaf;
mod question;
mod serve;
mod snapshot;
mod visit;
mod wire;

pub use leaf::WebPage;

use std::time::Duration;

/// How many pages may receive changes at the same time.
const TABS: usize = 16;

const FORM_BYTES: usize = 1 << 20;

const FORM_TIME: Duration = Duration::from_secs(30);

const LINK_TIME: Duration = Duration::from_secs(600);

/// How long buttons are inactive after a question was first sent to a browser. An earlier click was
/// meant for the previous content.
const SETTLE: Duration = Duration::from_millis(600);

/// How long a response may wait until the form's effect is rendered.
const TAKEN: Duration = Duration::from_secs(10);

/// The shortest interval between two renderings, and between changes sent to a page. A new question and the effect
/// of the user's action do not wait.
const PACE: Duration = Duration::from_millis(100);

/// The interval between comments that keep an event stream alive.
const BEAT: Duration = Duration::from_secs(15);

/// The interval between these comments while a call runs in the background. The call's status is
/// sent each time.
const TASK_BEAT: Duration = Duration::from_secs(1);

const LOG_LINES: usize = 500;
