//! The tests of the macros, in one binary.

mod form;

/// The code that does not compile, and the words of the compiler.
#[test]
fn errors_are_told_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
