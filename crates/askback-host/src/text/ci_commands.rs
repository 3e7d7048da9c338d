//! Commands to CI services in a job's output.
//!
//! CI services execute some lines that a job prints: GitHub Actions runs `::name::` at the start of
//! a line and `##[name]` anywhere, Azure Pipelines `##vso[…]`, TeamCity `##teamcity[…]`. A peer's
//! text must not become a command.

use std::borrow::Cow;

use super::push_number;

/// Environment variables that CI services set.
const VARIABLES: [&str; 4] = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];

/// Whether this process runs in a CI job, according to its environment.
pub fn is_ci_job() -> bool {
    VARIABLES.iter().any(|name| {
        std::env::var_os(name)
            .is_some_and(|value| !value.is_empty() && !value.eq_ignore_ascii_case("false"))
    })
}

/// Writes the first character of each CI command as `<U+XXXX>`.
pub fn without_ci_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut inert = String::with_capacity(text.len());
    // CI services accept either character as a line end.
    for line in text.split_inclusive(['\n', '\r']) {
        let start = line.find(|c: char| !c.is_whitespace()).unwrap_or(0);
        for (at, c) in line.char_indices() {
            let rest = &line[at..];
            let is_command = starts_hash_command(rest) || at == start && is_colon_command(rest);
            match is_command {
                true => push_number(&mut inert, c),
                false => inert.push(c),
            }
        }
    }
    Cow::Owned(inert)
}

/// Whether the text starts with `##name[`. The name may be empty.
pub(super) fn starts_hash_command(text: &str) -> bool {
    text.strip_prefix("##").is_some_and(|name| {
        name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-.".contains(c))
            .starts_with('[')
    })
}

fn is_colon_command(line: &str) -> bool {
    line.strip_prefix("::")
        .is_some_and(|name| name.contains("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_command() {
        #[track_caller]
        fn check(text: &str, inert: &str) {
            assert_eq!(without_ci_commands(text), inert);
            assert_eq!(without_ci_commands(inert), inert, "again");
        }
        check("::error::no", "<U+003A>:error::no");
        check(
            "a\n \t::Set-Env name=x::y\n",
            "a\n \t<U+003A>:Set-Env name=x::y\n",
        );
        check(
            "::add-mask::a\n::stop-commands::b",
            "<U+003A>:add-mask::a\n<U+003A>:stop-commands::b",
        );
        check("\u{3000}::debug::", "\u{3000}<U+003A>:debug::");
        check(
            "a\r::error::b\r\n::c::",
            "a\r<U+003A>:error::b\r\n<U+003A>:c::",
        );
        check("::::", "<U+003A>:::");
        check(
            "a ##[error]b ##[group]",
            "a <U+0023>#[error]b <U+0023>#[group]",
        );
        check("###[x]", "#<U+0023>#[x]");
        check(
            "####vso[task.setvariable]",
            "##<U+0023>#vso[task.setvariable]",
        );
        check("| ##VSO[task]", "| <U+0023>#VSO[task]");
        check("x##teamcity[a]", "x<U+0023>#teamcity[a]");
        // Not commands.
        for text in [
            "",
            "std::fs::read",
            "::",
            "::: note",
            "## [a]",
            "# a",
            "a ::b::",
            "##\n[x]",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn long_texts_are_handled_quickly() {
        for part in ["#", "##a", ":", "::\n", "a"] {
            let text = part.repeat(1 << 20);
            assert!(without_ci_commands(&text).len() >= text.len());
        }
    }
}
