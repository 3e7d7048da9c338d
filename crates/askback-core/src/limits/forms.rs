//! The bounds on forms and schemas.

limits! {
    /// The bounds on forms, on the schemas of tools, and on what is checked by them.
    FormLimits {
        /// The most fields in a form.
        fields: usize = 64;
        /// The most options of one choice in a form.
        options: usize = 1024;
        /// The longest form schema read from a peer, in bytes of JSON.
        bytes: usize = 32 << 10;
        /// The longest `pattern` of a text field, in bytes; a longer one is shown but not checked.
        pattern_bytes: usize = 256;
        /// The most memory a compiled `pattern` may take, in bytes; one that needs more is shown but
        /// not checked.
        pattern_program_bytes: usize = 256 << 10;
        /// The longest text a `pattern` is applied to, in bytes; a longer answer to such a field is
        /// refused. Matching takes time in proportion to this times the size of the program.
        pattern_text_bytes: usize = 4 << 10;
        /// The longest schema of a tool that is compiled to check values by it, and the longest form of a question that comes,
        /// in bytes of JSON; for the latter the default counts.
        schema_bytes: usize = 256 << 10;
        /// How deep such a schema may be nested, in levels, those its references lead to counted.
        schema_depth: usize = 64;
        /// How much work checking one value may take: the values of JSON in the schema, those its references
        /// lead to counted each time, times the values of JSON in what is checked. What takes longer counts as
        /// more: each byte of text a step for each 64 bytes of the patterns' programs, and a number with a
        /// large exponent 2048 steps for each `multipleOf`. More is refused; the default is about half a
        /// second of work.
        schema_steps: usize = 32 << 20;
        /// The longest text answer accepted in one field, in bytes.
        answer_bytes: usize = 64 << 10;
    }
}
