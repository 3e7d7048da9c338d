use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

use crate::{Problem, tree::Tree};

pub(super) const FOLDER: &str = "lab/requirements/";

/// The rows of one page of the specification, or of statements only in its older revisions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    /// The name of the file, without `.json`.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) title: String,
    /// The page of the specification, below the directory of the revision.
    pub(super) page: String,
    /// The number of statements per revision, counted in the specification, so that no row is lost unnoticed.
    #[serde(default)]
    pub(super) statements: BTreeMap<Revision, usize>,
    pub(super) rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) level: Level,
    party: OneOrMany,
    pub(super) revisions: Vec<Revision>,
    pub(super) section: String,
    /// The requirement, in the terms of the section, with its level and its party.
    pub(super) statement: String,
    /// Why no test shows it, and the plan.
    pub(super) open: Option<String>,
    /// The party that has to meet it instead of askback, and how askback helps.
    pub(super) others: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Party),
    Many(Vec<Party>),
}

impl Row {
    pub(super) fn parties(&self) -> &[Party] {
        match &self.party {
            OneOrMany::One(party) => std::slice::from_ref(party),
            OneOrMany::Many(parties) => parties,
        }
    }
}

/// Defines a closed set of words, as written in the rows.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        pub(super) enum $name {
            $(#[serde(rename = $word)] $variant,)*
        }

        impl $name {
            pub(super) const ALL: &[Self] = &[$(Self::$variant,)*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)*
                })
            }
        }
    };
}

words! {
    /// The level of a statement according to RFC 2119, or `fact` if the statement has no RFC 2119 word.
    Level {
        Must = "MUST",
        MustNot = "MUST NOT",
        Required = "REQUIRED",
        Shall = "SHALL",
        ShallNot = "SHALL NOT",
        Should = "SHOULD",
        ShouldNot = "SHOULD NOT",
        Recommended = "RECOMMENDED",
        NotRecommended = "NOT RECOMMENDED",
        May = "MAY",
        Optional = "OPTIONAL",
        Fact = "fact",
    }
}

words! {
    Party {
        Client = "client",
        Server = "server",
        Host = "host",
        Author = "author",
        Issuer = "issuer",
        Operator = "operator",
        Proxy = "proxy",
    }
}

words! {
    Revision {
        November2024 = "2024-11-05",
        March2025 = "2025-03-26",
        June2025 = "2025-06-18",
        November2025 = "2025-11-25",
        July2026 = "2026-07-28",
    }
}

/// Reads the groups by the names of their files, and the files that cannot be read.
pub(super) fn read(tree: &Tree) -> (Vec<Group>, Vec<Problem>) {
    let (mut groups, mut problems) = (Vec::new(), Vec::new());
    for (path, text) in tree.files() {
        let Some(file) = path.strip_prefix(FOLDER) else {
            continue;
        };
        let Some(name) = file.strip_suffix(".json") else {
            problems.push(format!("{path} is not a file of rows"));
            continue;
        };
        match serde_json::from_str::<Group>(text) {
            Ok(group) => groups.push(Group {
                name: name.to_owned(),
                ..group
            }),
            Err(error) => problems.push(format!("{path}: {error}")),
        }
    }
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    (groups, problems)
}

pub(super) fn faults(groups: &[Group]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut known = Vec::new();
    for Group {
        name,
        statements,
        rows,
        ..
    } in groups
    {
        for row in rows {
            let id = &row.id;
            let mut wrong = |what: &str| problems.push(format!("{FOLDER}{name}.json: {id} {what}"));
            if known.contains(&id) {
                wrong("is there twice");
            }
            known.push(id);
            if row.parties().is_empty() {
                wrong("binds no party");
            }
            let level = row.level.to_string();
            if row.level != Level::Fact && !row.statement.contains(&level) {
                wrong(&format!("does not say {level}"));
            }
            if row.revisions.is_empty() {
                wrong("is in no revision");
            }
        }
        for (revision, wanted) in statements {
            let of = |row: &&Row| row.revisions.contains(revision);
            let found = rows.iter().filter(of).count();
            if found != *wanted {
                problems.push(format!(
                    "{FOLDER}{name}.json: {found} rows of {revision}, and {wanted} statements"
                ));
            }
        }
    }
    problems
}
