//! The suites of the travel agency and of the guide.

use std::{fs, path::Path};

use askback::Revision;

use crate::{
    end_to_end::Agency,
    run::{ASKBACK, Ran, Run},
};

/// The path of a file in the repository.
fn project(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(path).display().to_string()
}

/// Checks that all cases passed in all revisions.
#[track_caller]
fn passes(ran: Ran) {
    let mut ran = ran.expect(0);
    for revision in Revision::ALL {
        ran = ran.prints(&format!("knows where it travels [{revision}]"));
    }
}

#[test]
fn the_travel_agency_passes_its_suite_in_every_revision() {
    let suite = project("examples/travel/suite.yaml");
    passes(Run::new("suite-stdio", &["test", &suite]).on_travel());
    let agency = Agency::open("suite-agency");
    passes(Run::new("suite-http", &["test", &suite, "--url", &agency.url]).run());
    passes(Run::new("suite-word", &["test", &suite, &agency.url]).run());
}

#[test]
fn the_suites_of_the_guide_pass() {
    let guide = fs::read_to_string(project("docs/guide/testing-a-server.md"));
    let guide = guide.expect("the page is there");
    let blocks = guide.split("```yaml\n").skip(1);
    let suites: Vec<_> = blocks
        .filter_map(|block| block.split("```").next())
        .filter(|block| block.contains("cases:"))
        .collect();
    assert!(suites.len() >= 2, "the page shows suites");
    for suite in suites {
        let run = Run::new("suite-guide", &["test", "suite.yaml"]);
        run.scratch.file("suite.yaml", suite);
        run.and(&["--", ASKBACK, "serve", "travel"]).run().expect(0);
    }
}
