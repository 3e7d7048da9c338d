//! Tests of the macros, in one binary.

mod form;

#[test]
fn errors_are_reported_at_their_location() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
