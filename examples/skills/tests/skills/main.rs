//! The program serves its skill, and the same folder can be read when the server starts.

use askback::{Server, Skill, client::Client, transport::Child};

#[tokio::test]
async fn the_program_serves_its_skill() {
    let home = tempfile::tempdir().expect("a folder");
    let program = Child::command(env!("CARGO_BIN_EXE_skills"))
        .env("HOME", home.path())
        .env("LOCALAPPDATA", home.path())
        .env("XDG_STATE_HOME", home.path());
    let client = Client::builder("test", "1")
        .connect(program)
        .await
        .expect("it serves");
    let skills = client.skills().await.expect("a list");
    let [skill] = &skills[..] else {
        panic!("one skill: {skills:?}")
    };
    let rules = client
        .read_skill_file(skill, "skill://refunds/rules.md")
        .await;
    assert!(rules.expect("the rules").starts_with(b"# Rules"));
    client.close().await;
}

#[test]
fn its_folder_is_a_skill() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/refunds");
    let server = Server::new("shop", "1.0")
        .skill(Skill::folder(folder))
        .build();
    assert!(server.is_ok(), "{:?}", server.err());
}
