//! Keys and key rings: parsing, ids, and `Debug` without secrets.

use askback_core::ask::keys::{Key, KeyRing, KeyRingError};

const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
const BASE64: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const OTHER: &str = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
const OTHER_BASE64: &str = "//////////////////////////////////////////8=";
const OTHER_BASE64_URL: &str = "__________________________________________8";

fn counting() -> Key {
    Key::new(&core::array::from_fn(|index| index as u8))
}

#[track_caller]
fn check(text: &str, want: Result<(), KeyRingError>) {
    assert_eq!(text.parse::<KeyRing>().map(|_| ()), want, "{text}");
}

#[test]
fn a_ring_is_read_one_key_a_line() {
    for active in [
        HEX,
        &HEX.to_lowercase(),
        BASE64,
        BASE64.trim_end_matches('='),
    ] {
        for retired in [OTHER, OTHER_BASE64, OTHER_BASE64_URL] {
            let text = format!("# ours\r\n\n  {active}  # since May\r\n{retired}");
            let ring: KeyRing = text.parse().unwrap();
            assert_eq!(ring.active().id(), counting().id());
            assert!(ring.find(Key::new(&[0xff; 32]).id()).is_some());
            assert!(ring.find(Key::new(&[0xfe; 32]).id()).is_none());
        }
    }
}

#[test]
fn what_is_no_ring_is_refused_with_the_line() {
    check("", Err(KeyRingError::Empty));
    check("# only words\n \n", Err(KeyRingError::Empty));
    for line in [
        &HEX[1..],
        &format!("{HEX}0"),
        &HEX.replace("00", "+0"),
        &HEX.replace('f', "é"),
        &BASE64[1..],
        &format!("A{BASE64}"),
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh==",
        &format!("{HEX} {OTHER}"),
        "correct horse battery staple",
    ] {
        check(
            &format!("{OTHER}\n{line}"),
            Err(KeyRingError::NotAKey { line: 2 }),
        );
    }
    check(
        &format!("{HEX}\n\n{BASE64}"),
        Err(KeyRingError::Repeated { line: 3 }),
    );
}

#[test]
fn the_id_is_the_same_for_ever() {
    assert_eq!(counting().id().to_string(), "506c4622f540b735");
}

#[test]
fn nothing_prints_a_secret() {
    let ring = KeyRing::new(counting()).and_accept(Key::new(&[0xff; 32]));
    let error = format!("{HEX}x").parse::<KeyRing>().unwrap_err();
    let printed = format!(
        "{ring:?} {ring:#?} {:?} {} {error:?} {error}",
        counting(),
        counting().id()
    );
    for secret in ["0001", "0, 1, 2", "AAEC", "ffff", "255", "////", "0xff"] {
        assert!(!printed.contains(secret), "{secret} is in {printed}");
    }
    assert_eq!(format!("{:?}", counting()), "Key(506c4622f540b735)");
    assert_eq!(format!("{:?}", counting().id()), "KeyId(506c4622f540b735)");
}
