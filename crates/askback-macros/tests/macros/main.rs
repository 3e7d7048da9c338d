//! Tests of the macros, in one binary.

mod form;

#[test]
fn errors_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
