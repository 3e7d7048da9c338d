//! The canonical form of JSON: equal, different and invalid values.

use askback_core::canonical::{CanonicalError, MAX_DEPTH, canonicalize, digest, digest_of};
use proptest::prelude::*;
use serde_json::value::RawValue;

#[track_caller]
fn check(text: &str, want: Result<&str, CanonicalError>) {
    assert_eq!(
        canonicalize(text).as_deref(),
        want.as_ref().copied(),
        "{text:.200}"
    );
}

#[test]
fn numbers_are_written_by_value() {
    for (want, spellings) in [
        (
            "0",
            &[
                "0",
                "-0",
                "0.0",
                "-0.00",
                "0e9",
                "0E-9",
                "0e99999999999999999999",
                "1e-400",
            ][..],
        ),
        (
            "1",
            &[
                "1", "1.0", "1.000", "1e0", "10e-1", "0.1e1", "1E+0", "100e-2", "0.001e3",
            ],
        ),
        ("100", &["100", "1e2", "1E2", "1.0e2", "1e+2", "1000.0e-1"]),
        ("-100", &["-100", "-1e2", "-0.1E3"]),
        (
            "0.1",
            &[
                "0.1",
                "1e-1",
                "0.10",
                "0.1000000000000000055511151231257827",
            ],
        ),
        ("4.5", &["4.5", "4.50", "45e-1", "0.0045e3"]),
        ("0.002", &["2e-3", "0.002"]),
        ("0.000001", &["0.000001", "1e-6"]),
        ("1e-7", &["0.0000001", "1e-7"]),
        ("9.999999999999997e-7", &["9.999999999999997e-7"]),
        ("1e-27", &["0.000000000000000000000000001"]),
        ("333333333.3333333", &["333333333.33333329"]),
        ("333333333.33333325", &["333333333.33333325"]),
        ("1424953923781206.2", &["1424953923781206.2"]),
        ("-0.0000033333333333333333", &["-0.0000033333333333333333"]),
        ("999999999999999700000", &["999999999999999700000"]),
        ("1e+21", &["1e21", "1000000000000000000000"]),
        ("1e+23", &["1e23", "1.0e23"]),
        ("9.999999999999997e+22", &["9.999999999999997e22"]),
        ("1.0000000000000001e+23", &["1.0000000000000001e23"]),
        ("1e+30", &["1E30"]),
        ("295147905179352830000", &["295147905179352825856"]),
        ("5e-324", &["5e-324", "4.94e-324"]),
        ("1.7976931348623157e+308", &["1.7976931348623157e308"]),
        // 64-bit integers stay distinct in any notation.
        ("9007199254740991", &["9007199254740991"]),
        (
            "9007199254740992",
            &[
                "9007199254740992",
                "9007199254740992.0",
                "9.007199254740992e15",
            ],
        ),
        (
            "9007199254740993",
            &[
                "9007199254740993",
                "9007199254740993.0",
                "9.007199254740993e15",
            ],
        ),
        (
            "-9007199254740993",
            &["-9007199254740993", "-90071992547409930e-1"],
        ),
        ("9223372036854775807", &["9223372036854775807"]),
        (
            "9223372036854775808",
            &["9223372036854775808", "9223372036854775808.0"],
        ),
        (
            "-9223372036854775808",
            &["-9223372036854775808", "-9223372036854775808.25"],
        ),
        (
            "18446744073709551615",
            &["18446744073709551615", "1.8446744073709551615e19"],
        ),
        (
            "18446744073709552000",
            &["18446744073709551616", "18446744073709551615.9"],
        ),
        ("-9223372036854778000", &["-9223372036854777856"]),
    ] {
        for spelling in spellings {
            check(spelling, Ok(want));
        }
    }
    for out_of_range in ["1e309", "-1e400", "1e99999999999999999999"] {
        check(out_of_range, Err(CanonicalError::NumberOutOfRange));
    }
}

#[test]
fn strings_have_the_fewest_escapes() {
    for (text, want) in [
        (r#""""#, r#""""#),
        (r#""\u0041\/""#, r#""A/""#),
        (r#""\u000a\u0009\u0008\u000c\u000d""#, r#""\n\t\b\f\r""#),
        (r#""\u0000\u001F\u001b""#, r#""\u0000\u001f\u001b""#),
        (r#""\u0022\u005c""#, r#""\"\\""#),
        ("\"\\u007f\\u20ac\\u2028\"", "\"\u{7f}\u{20ac}\u{2028}\""),
        (r#""\uD83D\uDE02 \u00e9""#, "\"\u{1f602} \u{e9}\""),
        ("\"e\u{301}\"", "\"e\u{301}\""), // not composed: text is compared as it is
    ] {
        check(text, Ok(want));
    }
}

#[test]
fn members_are_sorted_by_utf16() {
    for (text, want) in [
        (r#" { } "#, "{}"),
        (r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"{ "b" : 1 , "a" : [ ] }"#, r#"{"a":[],"b":1}"#),
        (
            r#"{"b":{"d":1,"c":2},"a":{"f":3,"e":4}}"#,
            r#"{"a":{"e":4,"f":3},"b":{"c":2,"d":1}}"#,
        ),
        (r#"{"\u0062":1,"a":2}"#, r#"{"a":2,"b":1}"#),
        (
            r#"{"10":1,"9":2,"":3,"A":4,"a":5}"#,
            r#"{"":3,"10":1,"9":2,"A":4,"a":5}"#,
        ),
        // A surrogate pair sorts before U+FB33, although its character is higher.
        (
            "{\"\u{fb33}\":1,\"\u{1f600}\":2}",
            "{\"\u{1f600}\":2,\"\u{fb33}\":1}",
        ),
        (r#"[true , null,false ,"x" ]"#, r#"[true,null,false,"x"]"#),
    ] {
        check(text, Ok(want));
    }
}

#[test]
fn what_has_no_canonical_form_is_refused() {
    for text in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":2,"a":3}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"[{"x":{"a":{},"b":0,"a":{}}}]"#,
    ] {
        check(text, Err(CanonicalError::DuplicateKey));
    }
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "'a'",
        "{\"a\"}",
        "[1] 2",
        "\"\n\"",
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\ud800""#,
        r#"{"\ud83d":1}"#,
    ] {
        check(text, Err(CanonicalError::Malformed));
    }
}

#[test]
fn depth_is_bounded_where_serde_json_bounds_it() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let deepest = nested(MAX_DEPTH);
    check(&deepest, Ok(&deepest));
    assert!(serde_json::from_str::<serde_json::Value>(&deepest).is_ok());

    let too_deep = nested(MAX_DEPTH + 1);
    check(&too_deep, Err(CanonicalError::TooDeep));
    assert!(serde_json::from_str::<serde_json::Value>(&too_deep).is_err());
    check(&nested(1_000_000), Err(CanonicalError::TooDeep));

    let wide = format!("[{}[]]", r#"{"a":[]},"#.repeat(MAX_DEPTH));
    check(&wide, Ok(&wide));
}

#[test]
fn digests_are_of_the_canonical_form() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    // SHA-256 of the two bytes `{}`.
    let empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    let hex: String = digest(&raw("{ }"))
        .unwrap()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(hex, empty);

    #[derive(serde::Serialize)]
    struct Trip<'a> {
        nights: f64,
        destination: &'a str,
    }
    let trip = Trip {
        nights: 7.0,
        destination: "Barcelona",
    };
    let text = raw(r#"{"destination":"Barcelona","nights":7}"#);
    assert_eq!(digest_of(&trip), digest(&text));
    assert_eq!(digest_of(&*text), digest(&text));

    let unserializable = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(matches!(
        digest_of(&unserializable),
        Err(CanonicalError::Unserializable(_))
    ));
}

#[derive(Debug, Clone, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// A deterministic random number generator.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn space(&mut self) -> &'static str {
        ["", " ", "\n\t", "\r\n  "][self.below(4)]
    }

    fn integer(&mut self, value: i64) -> String {
        match self.below(4) {
            0 => format!("{value}"),
            1 => format!("{value}.000"),
            2 if value != 0 => format!("{value}000e-3"),
            _ => format!("{value}.0E+0"),
        }
    }

    fn number(&mut self, value: f64) -> String {
        match self.below(3) {
            0 => format!("{value:?}"),
            1 => format!("{value:e}"),
            _ => format!("{value}"),
        }
    }

    fn text(&mut self, value: &str) -> String {
        let mut out = String::from('"');
        for unit in value.chars() {
            let mut pair = [0; 2];
            if self.below(3) == 0 || unit < ' ' || unit == '"' || unit == '\\' {
                for code in unit.encode_utf16(&mut pair) {
                    let escape = format!("\\u{code:04x}");
                    out +=
                        &[escape.clone(), escape.to_uppercase().replace('U', "u")][self.below(2)];
                }
            } else {
                out.push(unit);
            }
        }
        out + "\""
    }

    fn spell(&mut self, value: &Json) -> String {
        let body = match value {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Integer(value) => self.integer(*value),
            Json::Number(value) => self.number(*value),
            Json::Text(value) => self.text(value),
            Json::Array(items) => {
                let items: Vec<_> = items.iter().map(|item| self.spell(item)).collect();
                format!("[{}{}]", self.space(), items.join(","))
            }
            Json::Object(members) => {
                let mut members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| {
                        format!(
                            "{}{}{}:{}",
                            self.space(),
                            self.text(key),
                            self.space(),
                            self.spell(value)
                        )
                    })
                    .collect();
                for last in (1..members.len()).rev() {
                    members.swap(last, self.below(last + 1));
                }
                format!("{{{}{}}}", members.join(","), self.space())
            }
        };
        format!("{}{body}{}", self.space(), self.space())
    }
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Integer),
        (-9i64..9).prop_map(Json::Integer),
        prop::num::f64::NORMAL.prop_map(Json::Number),
        any::<String>().prop_map(Json::Text),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

/// Changes the leaf with this index, counted from 0. Returns whether it exists.
fn change_leaf(value: &mut Json, at: &mut usize) -> bool {
    match value {
        Json::Array(items) if !items.is_empty() => {
            items.iter_mut().any(|item| change_leaf(item, at))
        }
        Json::Object(members) if !members.is_empty() => {
            members.iter_mut().any(|(_, value)| change_leaf(value, at))
        }
        _ if *at > 0 => {
            *at -= 1;
            false
        }
        leaf => {
            *leaf = match leaf {
                Json::Null => Json::Array(vec![]),
                Json::Bool(value) => Json::Bool(!*value),
                Json::Integer(value) => Json::Integer(*value ^ 1),
                Json::Number(value) => Json::Number(f64::from_bits(value.to_bits() ^ 1)),
                Json::Text(value) => Json::Text(format!("{value}\0")),
                Json::Array(_) => Json::Object(vec![]),
                Json::Object(_) => Json::Null,
            };
            true
        }
    }
}

fn leaves(value: &Json) -> usize {
    match value {
        Json::Array(items) if !items.is_empty() => items.iter().map(leaves).sum(),
        Json::Object(members) if !members.is_empty() => {
            members.iter().map(|(_, value)| leaves(value)).sum()
        }
        _ => 1,
    }
}

proptest! {
    #![proptest_config(crate::proptest_config())]

    #[test]
    fn every_spelling_has_one_form(value in json(), seeds in any::<[u64; 2]>()) {
        let [one, other] = seeds.map(|seed| Choices(seed).spell(&value));
        let canonical = canonicalize(&one).unwrap();
        prop_assert_eq!(&canonical, &canonicalize(&other).unwrap());
        // The canonical form is canonical itself, and means the same to serde_json.
        prop_assert_eq!(&canonical, &canonicalize(&canonical).unwrap());
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        prop_assert!(same(&read(&canonical), &read(&one)));
    }

    #[test]
    fn every_leaf_counts(value in json(), seed in any::<u64>(), at in any::<prop::sample::Index>()) {
        let mut changed = value.clone();
        let mut at = at.index(leaves(&value));
        prop_assert!(change_leaf(&mut changed, &mut at));
        let [before, after] = [&value, &changed].map(|value| {
            digest(&RawValue::from_string(Choices(seed).spell(value).trim().to_owned()).unwrap())
        });
        prop_assert_ne!(before.unwrap(), after.unwrap());
    }

    #[test]
    fn any_text_is_answered_without_panic(text in any::<String>(), json in "[\\[\\]{}:,\"\\\\u0-9eE.+\\-dDaA ]{0,40}") {
        let _ = canonicalize(&text);
        let _ = canonicalize(&json);
    }
}

/// Near equality of numeric values: serde_json distinguishes 1 from 1.0, and reads a decimal with
/// many digits to within a few units of the last place.
fn same(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Number(a), Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= a.abs() * 1e-14
        }
        (Array(a), Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Object(a), Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (a, b) => a == b,
    }
}
