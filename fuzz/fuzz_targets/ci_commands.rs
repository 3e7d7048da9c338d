//! Any text in the log of a CI job: no line of it is a command to the service, and nothing else of
//! it changes.

#![no_main]

use askback_host::text::without_ci_commands;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let inert = without_ci_commands(text);
    // A service may treat either character as a line end.
    for line in inert.split(['\n', '\r']) {
        assert!(!is_command(line), "{line:?} of {text:?}");
    }
    assert_eq!(without_ci_commands(&inert), inert);
    if !text.contains("<U+") {
        let again = inert.replace("<U+003A>", ":").replace("<U+0023>", "#");
        assert_eq!(again, text);
    }
    if !text.split(['\n', '\r']).any(is_command) {
        assert_eq!(inert, text);
    }
});

/// Whether the service obeys a line, according to its documentation.
fn is_command(line: &str) -> bool {
    let named = line.trim_start().strip_prefix("::");
    let is_colons = named.is_some_and(|name| name.contains("::"));
    let is_name = |name: &str| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    let mut hashes = line
        .char_indices()
        .filter_map(|(at, _)| line[at..].strip_prefix("##"));
    is_colons || hashes.any(|rest| rest.split_once('[').is_some_and(|(name, _)| is_name(name)))
}
