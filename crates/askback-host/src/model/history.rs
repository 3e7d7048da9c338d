//! The lines that the person has entered.

/// The most lines that are remembered.
const REMEMBERED: usize = 1000;

/// The lines that the person has entered, in this conversation and before it.
#[derive(Debug, Default)]
pub struct History(Vec<String>);

impl History {
    /// Remembers lines, oldest first, behind those that are remembered.
    pub(super) fn remember(&mut self, lines: impl IntoIterator<Item = String>) {
        self.0.extend(lines);
        self.0.dedup();
        let over = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..over);
    }

    /// The line that is this far back; the newest is 0.
    pub fn back(&self, back: usize) -> Option<&str> {
        self.0.iter().rev().nth(back).map(String::as_str)
    }

    /// How many lines are remembered.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The lines that have a text in them, in small letters or capitals: newest first, and each once.
    pub fn find(&self, text: &str) -> Vec<&str> {
        let text = text.to_lowercase();
        let mut found: Vec<&str> = Vec::new();
        for line in self.0.iter().rev() {
            if line.to_lowercase().contains(&text) && !found.contains(&line.as_str()) {
                found.push(line);
            }
        }
        found
    }
}
