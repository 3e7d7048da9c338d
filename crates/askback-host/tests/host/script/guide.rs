use askback_host::script::Script;

const GUIDE: &str = include_str!("../../../../../docs/guide/answers.md");

fn blocks(page: &str) -> Vec<&str> {
    let parts = page.split("```yaml\n").skip(1);
    parts
        .filter_map(|part| Some(part.split_once("```")?.0))
        .collect()
}

#[test]
fn the_files_of_the_guide_are_read() {
    let blocks = blocks(GUIDE);
    assert!(blocks.len() > 5, "{blocks:?}");
    for block in blocks {
        if let Err(why) = Script::parse(block) {
            panic!("{why}:\n{block}");
        }
    }
}

#[test]
fn the_guide_names_every_member() {
    for at in [
        "odd: 1",
        "answers: [{odd: 1}]",
        "answers: [{when: {odd: 1}}]",
        "answers: [{when: {message: {odd: 1}}}]",
        "sampling: [{odd: 1}]",
        "sampling: [{reply: {odd: 1}}]",
    ] {
        let refused = Script::parse(at).expect_err("there is no such member");
        let told = refused.to_string();
        let (_, members) = told.split_once("known: ").expect(at);
        let members: Vec<_> = members.split('`').skip(1).step_by(2).collect();
        assert!(!members.is_empty(), "{told}");
        for member in members {
            let written = [format!("`{member}`"), format!("{member}: ")];
            let is_named = written.iter().any(|written| GUIDE.contains(written));
            assert!(is_named, "{at}: {member}");
        }
    }
}
