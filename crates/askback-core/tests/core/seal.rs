//! The seal under attack: an invalid token never opens, and the error is always the same.

use askback_core::ask::keys::{Key, KeyRing};
use askback_core::ask::seal::{
    Binding, Entropy, SealCause, SealError, StateTooLong, open, open_bytes, seal, seal_bytes,
    sealed_chars,
};
use askback_core::canonical::digest_of;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

const MAX: usize = 64 << 10;
const STATE: &[u8] = br#"{"flow":"0123456789abcdef","answers":{"seat":"aisle"}}"#;

/// Tokens from earlier versions of this crate, by format version. Lines are only added, because a
/// server must open the tokens of its predecessor. OpenSSL also computed each token from the
/// documented layout, so the documentation is correct.
const GOLDEN: &[(u8, &str)] = &[(
    2,
    "AgHP34TZc1HWMsjHxsXEw8LBwL--vby7urm4t7a1tLOysbCvrq1USp1ui6dtUIaxtezFE327PETohOiPPHDQW3q3dwlQRlI2qpyN971wNlwzrGTVa4IwDe79JfJeQgPJ9QFQaj4P7BiKRpicMu_0WuTWQSDZzo9aherEVRWDS5zw6X3FD9jv6-6SXXaevbAkGCrpWGy0rEK4C3H8o4fH4MHygPzdpTIHStDBg5GgObssTRTFFSLc4BwKNcm44HmuAvMpqJW3OOPwt15Bu5VwoJKAccx1dXb7m0ZHJcnucx6Hmy-Qc6dTvPHUGmHnf2fMYyLmVjBsICr9LygFH3KJmiCKjHXgDl1VV65S1upIDozhZSe-v2CqMxmquTuA-WfVhYO53BzB448wdx4GgtB3i1NM-PB-WA",
)];

const BINDING: Binding<'static> = Binding {
    audience: "travel",
    tenant: Some("acme"),
    issuer: Some("https://issuer.example"),
    subject: Some("alice"),
    client_id: Some("client-1"),
    method: "tools/call",
    target: "book_holiday",
    arguments: [7; 32],
    revision: "2026-07-28",
};

fn key(number: u8) -> Key {
    Key::new(&[number; 32])
}

fn ring(numbers: &[u8]) -> KeyRing {
    let (active, retired) = numbers.split_first().unwrap();
    retired
        .iter()
        .fold(KeyRing::new(key(*active)), |ring, number| {
            ring.and_accept(key(*number))
        })
}

fn entropy() -> Entropy {
    Entropy(core::array::from_fn(|index| 200 - index as u8))
}

fn token() -> String {
    seal(&ring(&[1]), &BINDING, STATE, entropy(), MAX).unwrap()
}

#[track_caller]
fn check(token: &str, binding: &Binding<'_>, keys: &[u8], want: SealCause) {
    let error = open(&ring(keys), binding, token, MAX).expect_err("the token opened");
    assert_eq!(error.cause(), want);
    assert_uniform(&error);
}

#[track_caller]
fn assert_uniform(error: &SealError) {
    assert_eq!(error.to_string(), "Invalid or expired requestState");
    assert_eq!(
        format!("{error:?} {error:#?}"),
        "SealError(..) SealError(..)"
    );
    assert!(std::error::Error::source(error).is_none());
}

#[test]
fn what_was_sealed_opens() {
    for length in [0, 1, 254, 255, 256, 257, 511, 512, 5000] {
        for last in [0u8, 0x80, b'x'] {
            let mut state: Vec<u8> = (0..length).map(|index| index as u8).collect();
            if let Some(byte) = state.last_mut() {
                *byte = last;
            }
            let token = seal(&ring(&[1]), &BINDING, &state, entropy(), MAX).unwrap();
            assert_eq!(token.len(), sealed_chars(length));
            assert_eq!(*open(&ring(&[1]), &BINDING, &token, MAX).unwrap(), state);
            let bytes = seal_bytes(&ring(&[1]), &BINDING, &state, entropy()).unwrap();
            assert_eq!(bytes, URL_SAFE_NO_PAD.decode(&token).unwrap());
            assert_eq!(*open_bytes(&ring(&[1]), &BINDING, bytes).unwrap(), state);
        }
    }
}

#[test]
fn golden_tokens_open() {
    for (version, token) in GOLDEN {
        assert_eq!(URL_SAFE_NO_PAD.decode(token).unwrap()[0], *version);
        assert_eq!(*open(&ring(&[1]), &BINDING, token, MAX).unwrap(), STATE);
    }
    assert_eq!(
        token(),
        GOLDEN.last().unwrap().1,
        "a new format needs a new version"
    );
}

#[test]
fn length_says_little() {
    let chars = |length| {
        seal(&ring(&[1]), &BINDING, &vec![0; length], entropy(), MAX)
            .unwrap()
            .len()
    };
    assert_eq!(chars(0), chars(255));
    assert_eq!(chars(256), chars(511));
    assert!(chars(255) < chars(256));
}

#[test]
fn a_state_too_long_is_not_sealed() {
    let chars = sealed_chars(STATE.len());
    let sealed = |max_chars| seal(&ring(&[1]), &BINDING, STATE, entropy(), max_chars);
    assert!(sealed(chars).is_ok());
    let want = StateTooLong {
        chars,
        max_chars: chars - 1,
    };
    assert_eq!(sealed(chars - 1).unwrap_err(), want);
    assert!(sealed_chars(usize::MAX) > usize::MAX / 2);
}

// Shows BP-41.
#[test]
fn fresh_entropy_gives_another_token() {
    let mut tokens: Vec<_> = (0..28)
        .map(|index| {
            let Entropy(mut random) = entropy();
            random[index] ^= 1;
            seal(&ring(&[1]), &BINDING, STATE, Entropy(random), MAX).unwrap()
        })
        .collect();
    tokens.push(token());
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 29);
    // No part of one ciphertext occurs in another, including the padding.
    let tails: std::collections::HashSet<_> = tokens.iter().map(|token| &token[60..80]).collect();
    assert_eq!(tails.len(), 29);
}

// Shows EL-18, MR-07.
#[test]
fn every_altered_byte_is_noticed() {
    let bytes = URL_SAFE_NO_PAD.decode(token()).unwrap();
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut altered = bytes.clone();
            altered[at] ^= flip;
            let want = match at {
                0 | 1 => SealCause::UnknownFormat,
                2..10 => SealCause::UnknownKey,
                _ => SealCause::NotAuthentic,
            };
            check(&URL_SAFE_NO_PAD.encode(altered), &BINDING, &[1], want);
        }
    }
}

#[test]
fn every_altered_character_is_noticed() {
    let token = token();
    for at in 0..token.len() {
        for other in ["A", "z", "9", "-", "_", "=", " ", "+", "/", "\0", "é"] {
            let mut altered = token.clone();
            altered.replace_range(at..=at, other);
            if altered != token {
                assert_uniform(&open(&ring(&[1]), &BINDING, &altered, MAX).unwrap_err());
            }
        }
    }
}

#[test]
fn another_shape_is_refused() {
    let token = token();
    let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
    for shape in [
        String::new(),
        "0".to_owned(),
        "{}".to_owned(),
        format!("{token}="),
        format!("{token}A"),
        format!("{token}AAAA"),
        format!(" {token}"),
        format!("{token}\n"),
        format!("{token}{token}"),
        token[1..].to_owned(),
        token[..token.len() - 1].to_owned(),
        token[..token.len() - 4].to_owned(),
        STANDARD.encode(&bytes),
        URL_SAFE.encode(&bytes[..bytes.len() - 256]) + "=",
        URL_SAFE_NO_PAD.encode(&bytes[..54]),
        URL_SAFE_NO_PAD.encode(&bytes[..bytes.len() - 1]),
        URL_SAFE_NO_PAD.encode([&bytes[..], &[0]].concat()),
    ] {
        if shape != token {
            check(&shape, &BINDING, &[1], SealCause::Malformed);
        }
    }
    // If whole blocks are cut off or added, the shape is valid but the seal is not.
    let long = seal(&ring(&[1]), &BINDING, &[7; 600], entropy(), MAX).unwrap();
    let long = URL_SAFE_NO_PAD.decode(long).unwrap();
    for shape in [
        long[..long.len() - 256].to_vec(),
        [&long[..38], &long[38 + 256..]].concat(),
        [&long[..], &[0; 256]].concat(),
        [&long[..38], &[0; 256], &long[38..]].concat(),
    ] {
        check(
            &URL_SAFE_NO_PAD.encode(shape),
            &BINDING,
            &[1],
            SealCause::NotAuthentic,
        );
    }
}

#[test]
fn a_token_longer_than_the_limit_is_refused_unread() {
    let token = token();
    let at = |max_chars| open(&ring(&[1]), &BINDING, &token, max_chars);
    assert!(at(token.len()).is_ok());
    let error = at(token.len() - 1).unwrap_err();
    assert_eq!(error.cause(), SealCause::TooLong);
    assert_uniform(&error);
    check(&"A".repeat(1 << 20), &BINDING, &[1], SealCause::TooLong);
}

#[test]
fn every_part_of_the_binding_counts() {
    let others = [
        Binding {
            audience: "travel-staging",
            ..BINDING
        },
        Binding {
            audience: "",
            ..BINDING
        },
        Binding {
            tenant: None,
            ..BINDING
        },
        Binding {
            tenant: Some(""),
            ..BINDING
        },
        Binding {
            tenant: Some("globex"),
            ..BINDING
        },
        Binding {
            issuer: None,
            ..BINDING
        },
        Binding {
            issuer: Some("https://issuer.example/"),
            ..BINDING
        },
        Binding {
            subject: None,
            ..BINDING
        },
        Binding {
            subject: Some("bob"),
            ..BINDING
        },
        Binding {
            subject: Some("Alice"),
            ..BINDING
        },
        Binding {
            client_id: None,
            ..BINDING
        },
        Binding {
            client_id: Some("client-2"),
            ..BINDING
        },
        Binding {
            method: "prompts/get",
            ..BINDING
        },
        Binding {
            target: "cancel_holiday",
            ..BINDING
        },
        Binding {
            arguments: digest_of(&"other").unwrap(),
            ..BINDING
        },
        Binding {
            revision: "2025-11-25",
            ..BINDING
        },
        // The joined fields have the same characters as before, divided differently.
        Binding {
            method: "tools/callb",
            target: "ook_holiday",
            ..BINDING
        },
        Binding {
            audience: "trave",
            tenant: Some("lacme"),
            ..BINDING
        },
        Binding {
            tenant: Some("https://issuer.example"),
            issuer: Some("acme"),
            ..BINDING
        },
        Binding {
            issuer: Some("https://issuer.examplea"),
            subject: Some("lice"),
            ..BINDING
        },
    ];
    for other in others {
        check(&token(), &other, &[1], SealCause::NotAuthentic);
        // The other way round, to show that each of them can be used in a binding.
        let token = seal(&ring(&[1]), &other, STATE, entropy(), MAX).unwrap();
        assert_eq!(*open(&ring(&[1]), &other, &token, MAX).unwrap(), STATE);
        check(&token, &BINDING, &[1], SealCause::NotAuthentic);
    }
}

#[test]
fn keys_rotate_with_overlap() {
    let (old, new) = (1, 2);
    let phases: [&[u8]; 4] = [&[old], &[old, new], &[new, old], &[new]];
    for (from, sealing) in phases.iter().enumerate() {
        let token = seal(&ring(sealing), &BINDING, STATE, entropy(), MAX).unwrap();
        // Adjacent phases serve at the same time while a rotation is rolled out.
        for opening in &phases[from.saturating_sub(1)..(from + 2).min(phases.len())] {
            assert!(
                open(&ring(opening), &BINDING, &token, MAX).is_ok(),
                "{sealing:?} {opening:?}"
            );
        }
    }
    check(&token(), &BINDING, &[new], SealCause::UnknownKey);
    check(&token(), &BINDING, &[3, new], SealCause::UnknownKey);
}

#[test]
fn the_name_of_a_key_is_not_the_key() {
    // A token with an unknown key must not open, even if it names a known key.
    let mut bytes = URL_SAFE_NO_PAD.decode(token()).unwrap();
    bytes[2..10].copy_from_slice(&key(2).id().0);
    let renamed = URL_SAFE_NO_PAD.encode(bytes);
    check(&renamed, &BINDING, &[2], SealCause::NotAuthentic);
    check(&renamed, &BINDING, &[1], SealCause::UnknownKey);
    check(&renamed, &BINDING, &[1, 2], SealCause::NotAuthentic);
}

#[test]
fn what_the_caller_finds_in_the_state_reads_the_same() {
    for (error, want) in [
        (SealError::expired(), SealCause::Expired),
        (SealError::unreadable(), SealCause::Unreadable),
    ] {
        assert_eq!(error.cause(), want);
        assert_uniform(&error);
    }
}

#[test]
fn nothing_prints_a_principal_or_what_they_asked_for() {
    let printed = format!("{BINDING:?} {:?}", entropy());
    for secret in [
        "acme",
        "issuer",
        "alice",
        "client-1",
        "book_holiday",
        "7, 7",
        "200",
    ] {
        assert!(!printed.contains(secret), "{secret} is in {printed}");
    }
    assert!(printed.starts_with("Binding { audience: \"travel\", method: \"tools/call\""));
    assert!(printed.ends_with(".. } Entropy(..)"), "{printed}");
}

proptest! {
    #![proptest_config(crate::proptest_config())]

    #[test]
    fn any_text_is_answered_without_panic(
        text in any::<String>(),
        bytes in prop::collection::vec(any::<u8>(), 0..700),
        blocks in 0usize..3,
    ) {
        let mut shaped = bytes.clone();
        shaped.resize(54 + 256 * blocks, 0);
        shaped[..10].copy_from_slice(&[&[2, 1][..], &key(1).id().0[..]].concat());
        for token in [text, URL_SAFE_NO_PAD.encode(bytes), URL_SAFE_NO_PAD.encode(shaped)] {
            assert_uniform(&open(&ring(&[1, 2]), &BINDING, &token, MAX).unwrap_err());
        }
    }

    #[test]
    fn any_state_comes_back(state in prop::collection::vec(any::<u8>(), 0..2000), random: [u8; 28]) {
        let token = seal(&ring(&[1]), &BINDING, &state, Entropy(random), MAX).unwrap();
        prop_assert_eq!(&*open(&ring(&[2, 1]), &BINDING, &token, MAX).unwrap(), &state);
    }
}
