//! The pages: `docs/requirements.md`, and one per group in `docs/requirements/`.

use std::collections::BTreeMap;

use super::{
    BLESS, Shown, Tests,
    rows::{FOLDER, Group, Level, Party, Revision, Row},
};

/// The page with the totals.
pub(super) const INDEX: &str = "docs/requirements.md";

pub(super) const PAGES: &str = "docs/requirements/";

pub(super) fn pages(groups: &[Group], tests: &Tests) -> BTreeMap<String, String> {
    let of_group = |group: &Group| {
        let path = format!("{PAGES}{}.md", group.name);
        (path, page(group, tests))
    };
    let mut pages: BTreeMap<_, _> = groups.iter().map(of_group).collect();
    pages.insert(INDEX.to_owned(), index(groups));
    pages
}

#[derive(Default)]
struct Counts {
    shown: usize,
    open: usize,
    others: usize,
}

impl Counts {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut counts = Self::default();
        for row in rows {
            *match (&row.open, &row.others) {
                (Some(_), _) => &mut counts.open,
                (None, Some(_)) => &mut counts.others,
                (None, None) => &mut counts.shown,
            } += 1;
        }
        counts
    }

    fn all(&self) -> usize {
        self.shown + self.open + self.others
    }

    fn line(&self, of: &str) -> String {
        let Self {
            shown,
            open,
            others,
        } = self;
        format!("| {of} | {} | {shown} | {open} | {others} |\n", self.all())
    }
}

fn index(groups: &[Group]) -> String {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let all = Counts::of(rows());
    let mut page = format!(
        "# Requirements\n\n\
         The requirements of the specification, statement by statement, and the state of each in askback:\n\n\
         - **shown**: the tests named would fail if the statement were violated ({} statements).\n\
         - **open**: askback does not do it yet, or no test shows it; the row gives the reason and the \
         plan ({} statements,\n  [listed below](#open)).\n\
         - **others**: it binds a party that askback is not; the row names the party, and says what askback \
         does to help, with\n  the tests if there are any ({} statements).\n\n\
         A row keeps the level, the party and the terms of the specification, but not its whole sentence: \
         the specification is\nbinding, under the heading named. The level `fact` marks a statement \
         without an RFC 2119 word. The revisions are those\nthat make the statement; a test need not run in \
         each of them.\n\n\
         The party is who has to do it: the client or the server as such; the host (the application around \
         a client) or the\nauthor (who writes a server's handlers), if the specification says client or \
         server and only they can do it; the issuer\n(the authorization server), the operator (who runs a \
         program), or a proxy (a program between client and server).\n\n\
         The rows are in `{FOLDER}`, one file for each page of the specification; the line above a test \
         says which rows it\nshows (`// Shows` and the ids). A test fails when rows and tests disagree, or \
         when these pages say something else;\n\
         `{BLESS}=1 cargo test -p lab --test tidy requirements` writes them.\n",
        all.shown, all.open, all.others
    );

    page.push_str("\n## By page of the specification\n\n");
    page.push_str(&head("page"));
    for group in groups {
        let link = format!("[{}](requirements/{}.md)", group.title, group.name);
        page.push_str(&Counts::of(&group.rows).line(&link));
    }
    page.push_str(&all.line("all"));

    page.push_str(
        "\n## By party\n\nA statement that binds several parties is counted for each.\n\n",
    );
    page.push_str(&head("party"));
    for party in Party::ALL {
        let bound = rows().filter(|row| row.parties().contains(party));
        page.push_str(&Counts::of(bound).line(&party.to_string()));
    }

    page.push_str("\n## By level\n\n");
    page.push_str(&head("level"));
    for level in Level::ALL {
        let counts = Counts::of(rows().filter(|row| row.level == *level));
        if counts.all() > 0 {
            page.push_str(&counts.line(&level.to_string()));
        }
    }

    page.push_str(
        "\n## By revision\n\nA statement that several revisions make is counted for each.\n\n",
    );
    page.push_str(&head("revision"));
    for revision in Revision::ALL {
        let of = rows().filter(|row| row.revisions.contains(revision));
        page.push_str(&Counts::of(of).line(&revision.to_string()));
    }

    page.push_str("\n## Open\n\n| id | statement | reason and plan |\n|---|---|---|\n");
    for group in groups {
        for row in &group.rows {
            if let (Row { id, statement, .. }, Some(why)) = (row, &row.open) {
                let link = format!("[{id}](requirements/{}.md)", group.name);
                page.push_str(&format!("| {link} | {statement} | {why} |\n"));
            }
        }
    }
    page
}

fn head(of: &str) -> String {
    format!("| {of} | statements | shown | open | others |\n|---|--:|--:|--:|--:|\n")
}

fn page(group: &Group, tests: &Tests) -> String {
    let Group {
        title, page, rows, ..
    } = group;
    let Counts {
        shown,
        open,
        others,
    } = Counts::of(rows);
    let mut text = format!(
        "# {title}\n\n\
         The statements of `{page}`: {shown} shown, {open} open, {others} for others. \
         [How to read this](../requirements.md)\n\n\
         | id | level | party | revisions | section | statement | state |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        text.push_str(&line(row, tests));
    }
    text
}

fn line(row: &Row, tests: &Tests) -> String {
    let Row {
        id,
        level,
        section,
        statement,
        ..
    } = row;
    let links = tests.get(id).into_iter().flatten();
    let links = links.map(|Shown { path, test }| format!("[{test}](../../{path})"));
    let links = links.collect::<Vec<_>>().join(", ");
    let state = match (&row.open, &row.others) {
        (Some(why), _) => format!("open: {why}"),
        (None, Some(who)) if links.is_empty() => format!("others: {who}"),
        (None, Some(who)) => format!("others: {who} ({links})"),
        (None, None) => links,
    };
    let party = list(row.parties());
    let revisions = list(&row.revisions);
    format!("| {id} | {level} | {party} | {revisions} | {section} | {statement} | {state} |\n")
}

fn list(of: &[impl ToString]) -> String {
    let words: Vec<_> = of.iter().map(ToString::to_string).collect();
    words.join(", ")
}
