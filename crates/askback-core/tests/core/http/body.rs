//! Bodies that arrive in pieces.

use askback_core::http::body::{BodyBuffer, BodyTooLong};

#[test]
fn the_gathered_body_is_bounded() {
    let mut body = BodyBuffer::new(5);
    assert_eq!(body.push(b"abc"), Ok(()));
    assert_eq!(body.push(b"def"), Err(BodyTooLong(5)));
    assert_eq!(body.push(b""), Ok(()));
    assert_eq!(body.push(b"de"), Ok(()));
    assert_eq!(body.push(b"f"), Err(BodyTooLong(5)));
    assert_eq!(body.into_bytes(), b"abcde");
    assert_eq!(BodyBuffer::new(0).push(b"a"), Err(BodyTooLong(0)));
}
