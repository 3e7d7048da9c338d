//! How long a server is waited for, in words.

use std::time::Duration;

use crate::{
    model::Desk,
    text::{Words, given},
    words,
};

/// Says for whom there was a wait so far, and when it is over.
pub(crate) fn waited(desk: &Desk, so_far: Duration) -> Words {
    words!(
        "Waiting for {}: {} s of at most {} s without a sign.",
        given(&desk.asker().name).short(),
        so_far.as_secs(),
        desk.patience().as_secs()
    )
}
