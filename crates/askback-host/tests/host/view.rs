//! What a person is shown, as data.

use askback_host::{
    model::Desk,
    text::{PeerText, Words},
    view::{self, Reader, View},
};
use serde_json::json;

/// Checks that what is shown now is the same after a trip through JSON.
pub(super) fn travels(desk: &Desk) {
    if let Some(front) = desk.front() {
        let view = view::view(desk.asker(), &front, Reader::default());
        let json = serde_json::to_string(&view).expect("it is JSON");
        let read: View = serde_json::from_str(&json).expect("it is a view");
        assert_eq!(read, view, "{json}");
    }
}

#[test]
fn our_words_and_text_of_a_peer_are_not_read_as_each_other() {
    let (ours, peer) = (json!({"ours": "a\u{1b}[2J"}), json!({"peer": "a\u{1b}[2J"}));
    let words: Words = serde_json::from_value(ours.clone()).expect("they are words");
    assert_eq!(words.as_str(), "a<U+001B>[2J");
    let text: PeerText = serde_json::from_value(peer.clone()).expect("it is a text");
    assert_eq!(text.raw(), "a\u{1b}[2J");
    assert!(serde_json::from_value::<Words>(peer).is_err());
    assert!(serde_json::from_value::<PeerText>(ours).is_err());
}
