//! Tests of the macros.

#[cfg(test)]
mod form;

#[cfg(test)]
mod compile_fail {
    #[test]
    fn errors_are_reported_at_their_location() {
        trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
    }
}
