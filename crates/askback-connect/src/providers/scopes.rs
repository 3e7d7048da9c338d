use std::collections::BTreeMap;

use askback_core::auth::{BadScopes, Scopes};

#[derive(Debug, Clone)]
pub(super) struct ScopeRules {
    pub(super) parameter: String,
    pub(super) separator: char,
    /// Scopes that another scope includes, and that responses do not list.
    pub(super) implied: BTreeMap<String, Vec<String>>,
    pub(super) unlisted: Scopes,
    pub(super) words: BTreeMap<String, String>,
    /// An optional prefix of scopes without any meaning.
    pub(super) prefix: Option<String>,
}

impl Default for ScopeRules {
    fn default() -> Self {
        Self {
            parameter: "scope".to_owned(),
            separator: ' ',
            implied: BTreeMap::new(),
            unlisted: Scopes::new(),
            words: BTreeMap::new(),
            prefix: None,
        }
    }
}

impl ScopeRules {
    pub(super) fn written(&self, scopes: &Scopes) -> String {
        let all: Vec<_> = scopes.iter().collect();
        all.join(&self.separator.to_string())
    }

    /// Returns the granted scopes: the listed ones, and the requested ones that these include. If the response lists
    /// none, all requested scopes were granted (RFC 6749, 5.1).
    pub(super) fn granted(
        &self,
        asked: &Scopes,
        answered: Option<&Scopes>,
    ) -> Result<Scopes, BadScopes> {
        let Some(answered) = answered else {
            return Ok(asked.clone());
        };
        let implied = asked.iter().filter(|scope| self.covers(answered, scope));
        Scopes::of(answered.iter().chain(implied))
    }

    /// Returns the scopes that remain after a renewal whose response lists scopes.
    pub(super) fn left(&self, before: &Scopes, answered: &Scopes) -> Scopes {
        let left = before.iter().filter(|scope| self.covers(answered, scope));
        // A subset of the earlier scopes.
        Scopes::of(left).unwrap_or_default()
    }

    pub(super) fn missing(asked: &Scopes, granted: &Scopes) -> Result<Scopes, BadScopes> {
        Scopes::of(asked.iter().filter(|scope| !granted.contains(scope)))
    }

    /// Returns the description of what a scope allows.
    pub(super) fn words(&self, scope: &str) -> Option<&str> {
        let mut known = self.words.iter();
        let found = known.find(|(name, _)| self.bare(name) == self.bare(scope));
        found.map(|(_, words)| words.as_str())
    }

    fn covers(&self, answered: &Scopes, scope: &str) -> bool {
        let is_same = |other: &str| self.bare(other) == self.bare(scope);
        let brings = |(bigger, smaller): (&String, &Vec<String>)| {
            answered.contains(bigger) && smaller.iter().any(|it| it == scope)
        };
        self.unlisted.contains(scope)
            || answered.iter().any(is_same)
            || self.implied.iter().any(brings)
    }

    fn bare<'a>(&self, scope: &'a str) -> &'a str {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        scope.strip_prefix(prefix).unwrap_or(scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Scopes {
        Scopes::parse(text).expect("scopes")
    }

    fn rules() -> ScopeRules {
        ScopeRules {
            implied: BTreeMap::from([("user".to_owned(), vec!["user:email".to_owned()])]),
            unlisted: scopes("offline_access"),
            prefix: Some("https://graph.example/".to_owned()),
            ..ScopeRules::default()
        }
    }

    #[test]
    fn a_renewal_grants_no_additional_scopes() {
        let rules = rules();
        for (before, answered, left) in [
            ("a b", "a b", "a b"),
            ("a b", "b", "b"),
            ("a", "a b", "a"),
            ("a b", "", ""),
            ("user user:email", "user", "user user:email"),
            ("user user:email", "user:email", "user:email"),
            ("a offline_access", "a", "a offline_access"),
            (
                "https://graph.example/Mail.Read a",
                "Mail.Read",
                "https://graph.example/Mail.Read",
            ),
        ] {
            let found = rules.left(&scopes(before), &scopes(answered));
            assert_eq!(found, scopes(left), "{before} {answered}");
        }
    }

    #[test]
    fn an_answer_is_read_by_the_rules_of_the_third_party() {
        let rules = rules();
        for (asked, answered, granted, missing) in [
            ("a b", None, "a b", ""),
            ("a b", Some("a"), "a", "b"),
            ("a", Some("a b"), "a b", ""),
            ("a", Some(""), "", "a"),
            ("user:email", Some("user"), "user user:email", ""),
            // The narrower scope does not include the wider one.
            ("user", Some("user:email"), "user:email", "user"),
            ("a offline_access", Some("a"), "a offline_access", ""),
            (
                "https://graph.example/Mail.Read",
                Some("Mail.Read"),
                "Mail.Read https://graph.example/Mail.Read",
                "",
            ),
        ] {
            let asked = scopes(asked);
            let answered = answered.map(scopes);
            let found = rules
                .granted(&asked, answered.as_ref())
                .expect("few scopes");
            assert_eq!(found, scopes(granted), "{asked} {answered:?}");
            let lacking = ScopeRules::missing(&asked, &found).expect("few scopes");
            assert_eq!(lacking, scopes(missing), "{asked} {answered:?}");
        }
    }
}
