/// Makes text of a server safe to show: shortens it and removes control and invisible characters.
pub(super) fn shown(words: &str) -> String {
    const MOST: usize = 200;
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    words
        .chars()
        .filter(|c| !invisible(*c))
        .take(MOST)
        .collect()
}
