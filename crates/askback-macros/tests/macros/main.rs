//! Tests of the macros, in one binary.

mod form;

/// Code that does not compile, and the compiler's messages.
#[test]
fn errors_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
