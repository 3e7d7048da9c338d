//! The names of servers, as they stand before the names of what each of them has.

/// The servers of a conversation, by their names.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// The server that the person talks to.
    pub(super) home: String,
    /// The others; where there are none, a name is a name.
    pub(super) others: Vec<String>,
}

impl Addresses {
    /// Reads `SERVER/NAME` or, of the server that the person talks to, `NAME`. The name of a server
    /// counts as such, whatever a server calls what it has; of several that fit, the longest.
    pub(super) fn read<'a>(&'a self, text: &'a str) -> (&'a str, &'a str) {
        let addressed = |server: &'a str| {
            let name = text.strip_prefix(server)?.strip_prefix('/')?;
            Some((server, name))
        };
        let all = self.others.iter().chain([&self.home]);
        let named = all.filter_map(|server| addressed(server));
        let named = named.max_by_key(|(server, _)| server.len());
        match self.others.is_empty() {
            true => (&self.home, text),
            false => named.unwrap_or((&self.home, text)),
        }
    }

    /// Writes a name so that it is read as that of this server; none where it cannot be.
    pub(super) fn write(&self, server: &str, name: &str) -> Option<String> {
        let ways = [name.to_owned(), format!("{server}/{name}")];
        ways.into_iter()
            .find(|way| self.read(way) == (server, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(home: &str, others: &[&str]) -> Addresses {
        Addresses {
            home: home.to_owned(),
            others: others.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn a_name_is_of_the_server_before_it_or_of_the_one_that_is_talked_to() {
        #[track_caller]
        fn check(text: &str, server: &str, name: &str) {
            let addresses = addresses("a", &["b", "b/c", "https:"]);
            assert_eq!(addresses.read(text), (server, name), "{text}");
        }
        check("book", "a", "book");
        check("b/book", "b", "book");
        check("a/book", "a", "book");
        check("x/book", "a", "x/book");
        check("b/c/book", "b/c", "book");
        check("b/", "b", "");
        check("b", "a", "b");
        check("b/travel://x", "b", "travel://x");
        // A server cannot have itself called in place of another.
        check("a/b/book", "a", "b/book");
    }

    #[test]
    fn a_name_is_written_as_shortly_as_it_is_read() {
        #[track_caller]
        fn check(others: &[&str], server: &str, name: &str, written: Option<&str>) {
            let written_now = addresses("a", others).write(server, name);
            assert_eq!(written_now.as_deref(), written, "{server} {name}");
        }
        check(&["b"], "a", "book", Some("book"));
        check(&["b"], "b", "book", Some("b/book"));
        check(&["b"], "a", "b/book", Some("a/b/book"));
        check(&["b", "b/c"], "b", "c/book", None);
        check(&[], "a", "a/book", Some("a/book"));
        check(&[], "a", "b/book", Some("b/book"));
    }
}
