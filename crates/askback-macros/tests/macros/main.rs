//! The tests of the macros, in one binary.

mod form;

/// What does not compile, and what the compiler says of it.
#[test]
fn errors_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
