#[derive(Clone, Copy)]
pub(crate) enum Case {
    Lower,
    Upper,
    Snake,
    ScreamingSnake,
    Kebab,
    Camel,
    Pascal,
}

impl Case {
    pub(crate) const NAMES: [(&'static str, Self); 7] = [
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
        ("snake_case", Self::Snake),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
        ("kebab-case", Self::Kebab),
        ("camelCase", Self::Camel),
        ("PascalCase", Self::Pascal),
    ];

    pub(crate) fn write(self, name: &str) -> String {
        let words = words(name);
        match self {
            Self::Lower => words.concat(),
            Self::Upper => words.concat().to_uppercase(),
            Self::Snake => words.join("_"),
            Self::ScreamingSnake => words.join("_").to_uppercase(),
            Self::Kebab => words.join("-"),
            Self::Camel => {
                let rest = words.iter().skip(1).map(|word| capitalized(word));
                words.iter().take(1).cloned().chain(rest).collect()
            }
            Self::Pascal => words.iter().map(|word| capitalized(word)).collect(),
        }
    }
}

/// Converts a name to a sentence: `NoPreference` becomes "No preference".
pub(crate) fn sentence(name: &str) -> String {
    capitalized(&words(name).join(" "))
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        // `HTMLPage` is "html page": the last capital of a sequence begins the next word.
        let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        let begins = c.is_uppercase() && (!before.is_uppercase() || next_is_lower) && before != '_';
        if begins || c == '_' {
            words.push(String::new());
        }
        if c != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}
