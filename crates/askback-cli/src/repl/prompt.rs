//! A prompt in a conversation.

use std::collections::BTreeMap;

use askback_core::protocol::PromptArgument;

use super::{Repl, again::Call, attend, grammar};
use crate::{args, error::Error, lookup, missing, secret, session::Session};

impl Repl<'_> {
    /// Gets a prompt; arguments that are not given are asked for.
    pub(super) async fn prompt(&mut self, name: &str, words: &[String]) -> Result<(), Error> {
        let prompts = attend(&mut self.session.host, self.session.client.prompts()).await?;
        let prompt = lookup::prompt(&prompts, name).map_err(|error| match self.has_tool(name) {
            true => error.hint("It is a tool: /call calls it."),
            false => match grammar::near(name) {
                Some(near) => error.hint(near),
                None => error.hint("/help lists the commands."),
            },
        })?;
        let known = prompt.arguments.as_deref().unwrap_or_default();
        let given = named(words, known);
        // Which word is which is not known where there are too many.
        let has_secret = match &given {
            Ok(given) => given.keys().any(|name| secret::is_name(name)),
            Err(_) => known.iter().any(|argument| secret::is_name(&argument.name)),
        };
        self.keep_typed(!has_secret);
        let given = given?;
        missing::tell_unknown(&mut self.session.host, prompt, &given);
        let before = given.clone();
        let Session { client, host, .. } = &mut *self.session;
        let filled = missing::for_prompt(client, host, prompt, given, words.is_empty()).await;
        let Some(given) = filled else { return Ok(()) };
        let is_filled = given != before;
        let call = Call::Prompt(name.to_owned(), given);
        if is_filled {
            self.write(&call, "/call");
        }
        self.make(call, false).await
    }
}

/// The arguments that the words behind a prompt give; those without the name of one are given to
/// the arguments in their order. Where one is given by its name, `name=value` names one, whether the prompt has it or not.
///
/// # Errors
///
/// A usage error for what a person wrote twice, and for a word too many.
fn named(
    words: &[String],
    arguments: &[PromptArgument],
) -> Result<BTreeMap<String, String>, Error> {
    let is_named = |word: &String| {
        let name = word
            .split_once('=')
            .map(|(name, _)| name.trim_end_matches(':'));
        name.is_some_and(|name| arguments.iter().any(|argument| argument.name == name))
    };
    let has_named = words.iter().any(is_named);
    let (named, others): (Vec<_>, Vec<_>) = words
        .iter()
        .cloned()
        .partition(|word| is_named(word) || has_named && args::names_one(word));
    let mut given = args::for_prompt(args::parse(&named)?);
    let mut others = others.into_iter().peekable();
    for argument in arguments {
        if others.peek().is_some() && !given.contains_key(&argument.name) {
            given.extend(others.next().map(|word| (argument.name.clone(), word)));
        }
    }
    let too_many: Vec<_> = others.collect();
    given.extend(args::for_prompt(args::parse(&too_many)?));
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_without_a_name_are_given_in_order() {
        #[track_caller]
        fn check(words: &[&str], expected: &[(&str, &str)]) {
            let argument = |name: &str| PromptArgument {
                name: name.to_owned(),
                ..PromptArgument::default()
            };
            // A server may name two arguments alike.
            let arguments = ["to", "days", "to"].map(argument);
            let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
            let expected = expected
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            assert_eq!(named(&words, &arguments), Ok(expected.collect()));
        }
        check(&[], &[]);
        check(&["Rome"], &[("to", "Rome")]);
        check(&["Rome", "7"], &[("to", "Rome"), ("days", "7")]);
        check(&["days=7", "Rome"], &[("days", "7"), ("to", "Rome")]);
        check(&["a=b"], &[("to", "a=b")]);
        check(&["days:=7", "a b=c"], &[("days", "7"), ("to", "a b=c")]);
        check(&["dasy=7", "to=Rome"], &[("dasy", "7"), ("to", "Rome")]);
        check(
            &["Rome", "7", "more=1"],
            &[("to", "Rome"), ("days", "7"), ("more", "1")],
        );
        let words = ["Rome", "7", "more"].map(str::to_owned);
        let arguments = ["to", "days"].map(|name| PromptArgument {
            name: name.to_owned(),
            ..PromptArgument::default()
        });
        let error = named(&words, &arguments).expect_err("there is a word too many");
        assert_eq!(error.message.as_str(), "`more` is no argument");
    }
}
