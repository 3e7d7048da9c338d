//! The bounds on forms and schemas.

use serde::Deserialize;

/// The bounds on forms, on the schemas of tools, and on what is checked by them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FormLimits {
    /// The most fields in a form.
    pub fields: usize,
    /// The most options of one choice in a form.
    pub options: usize,
    /// The longest form schema read from a peer, in bytes of JSON.
    pub bytes: usize,
    /// The longest `pattern` of a text field, in bytes; a longer one is shown but not checked.
    pub pattern_bytes: usize,
    /// The most memory a compiled `pattern` may take, in bytes; one that needs more is shown but
    /// not checked.
    pub pattern_program_bytes: usize,
    /// The longest text a `pattern` is applied to, in bytes; a longer answer to such a field is
    /// refused. Matching takes time in proportion to this times the size of the program.
    pub pattern_text_bytes: usize,
    /// The longest schema of a tool that is compiled to check values by it, and the longest form of a question that comes,
    /// in bytes of JSON; for the latter the default counts.
    pub schema_bytes: usize,
    /// How deep such a schema may be nested, in levels, those its references lead to counted.
    pub schema_depth: usize,
    /// How much work checking one value may take: the values of JSON in the schema, those its references
    /// lead to counted each time, times the values of JSON in what is checked. What takes longer counts as
    /// more: each byte of text a step for each 64 bytes of the patterns' programs, and a number with a
    /// large exponent 2048 steps for each `multipleOf`. More is refused; the default is about half a
    /// second of work.
    pub schema_steps: usize,
    /// The longest text answer accepted in one field, in bytes.
    pub answer_bytes: usize,
}

impl Default for FormLimits {
    fn default() -> Self {
        Self {
            fields: 64,
            options: 1024,
            bytes: 32 << 10,
            pattern_bytes: 256,
            pattern_program_bytes: 256 << 10,
            pattern_text_bytes: 4 << 10,
            schema_bytes: 256 << 10,
            schema_depth: 64,
            schema_steps: 32 << 20,
            answer_bytes: 64 << 10,
        }
    }
}
