//! Skills of servers, and clients that use them (SEP-2640).

use std::{fs, path::Path};

use askback::{
    Principal, Revision, Server, ServerBuilder, Skill,
    client::{Client, ClientError, Protocol, SkillError, check_skill_file},
    protocol::{self, ReadResourceResult, ResourceContents, SKILLS_EXTENSION, SkillResource},
    testing::Wire,
    transport,
};
use serde_json::{Value, json};

const MAIN: &str = "---\nname: refunds\ndescription: Refunds an order.\nmetadata:\n  version: 2\n---\nRead [it](rules/all of it.md).\n";
const URI: &str = "skill://acme/shop/refunds/SKILL.md";
const RULES: &str = "skill://acme/shop/refunds/rules/all%20of%20it.md";
const LOGO: &str = "skill://acme/shop/refunds/logo.png";

fn refunds() -> Skill {
    Skill::new(MAIN)
        .file("rules/all of it.md", "At most 30 days.\r\n")
        .file("logo.png", [0x89, b'P', 0xff])
        .prefix("acme/shop")
}

fn named(name: &str) -> Skill {
    Skill::new(format!("---\nname: {name}\ndescription: It helps.\n---\n"))
}

fn shop() -> ServerBuilder {
    Server::new("shop", "1")
        .skill(refunds())
        .skill(named("returns"))
}

async fn connect(server: &Server, revision: Revision) -> Client {
    let (near, far) = transport::memory();
    let server = server.clone();
    tokio::spawn(async move { server.serve(far).await });
    let client = Client::builder("test", "1").protocol(Protocol::Only(revision));
    client.connect(near).await.unwrap()
}

/// Sends a request of the newest revision, and returns the response.
async fn request(wire: &mut Wire, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::LATEST.as_str(),
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    wire.request(method, params).await;
    wire.hear().await.expect("a response")
}

/// The files are resources in every revision; the newest one also has the skills.
async fn use_skills(client: &Client, revision: Revision) {
    let resources = client.resources().await.unwrap();
    let of = |uri: &str| resources.iter().find(|it| it.uri == uri).unwrap();
    assert_eq!(resources.len(), 4, "{revision}");
    assert_eq!(of(URI).name, "refunds");
    assert_eq!(of(URI).description.as_deref(), Some("Refunds an order."));
    assert_eq!(of(URI).mime_type.as_deref(), Some("text/markdown"));
    assert_eq!(of(LOGO).mime_type.as_deref(), Some("image/png"));
    assert_eq!(of(RULES).size, Some(18));
    let read = client.read_resource(URI).await.unwrap();
    assert_eq!(read.text(), MAIN, "{revision}");

    let skills = client.skills().await.unwrap();
    assert_eq!(skills.left_out, []);
    if revision != Revision::LATEST {
        assert!(!client.has_skills() && skills.is_empty(), "{revision}");
        let refused = client.skill(URI).await.unwrap_err();
        assert!(
            matches!(refused, ClientError::Unsupported(_)),
            "{refused:?}"
        );
        return;
    }
    let names: Vec<_> = skills.iter().map(|skill| skill.name()).collect();
    assert_eq!(names, ["refunds", "returns"]);
    let skill = client.skill(URI).await.unwrap();
    assert_eq!(skill, skills[0]);
    assert_eq!(skill.frontmatter["metadata"], json!({"version": 2}));
    let files = [
        (URI, MAIN.as_bytes()),
        (RULES, b"At most 30 days.\r\n"),
        (LOGO, &[0x89, b'P', 0xff]),
    ];
    for (uri, content) in files {
        assert_eq!(
            client.read_skill_file(&skill, uri).await.unwrap(),
            content,
            "{uri}"
        );
    }
    for uri in [
        "skill://returns/SKILL.md",
        "skill://acme/shop/refunds/rules",
        "x:y",
    ] {
        let refused = client.read_skill_file(&skill, uri).await;
        assert_eq!(refused, Err(SkillError::Unlisted), "{uri}");
    }
}

// Shows SK-01, SK-03, SK-04, SK-06, SK-08, SK-09, SK-10, SK-12, SK-14, SK-20.
#[tokio::test(start_paused = true)]
async fn skills_are_used_in_every_revision() {
    let server = shop().build().unwrap();
    for revision in Revision::ALL {
        let client = connect(&server, revision).await;
        use_skills(&client, revision).await;
        client.close().await;
    }
}

#[cfg(all(feature = "http-client", feature = "http-server"))]
#[tokio::test]
async fn skills_are_used_over_http() {
    let server = shop().build().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { server.http().serve(listener).await });
    for revision in Revision::ALL {
        let client = Client::builder("test", "1").protocol(Protocol::Only(revision));
        let http = transport::Http::new(&url).unwrap();
        let client = client.connect(http).await.unwrap();
        use_skills(&client, revision).await;
        client.close().await;
    }
    serving.abort();
}

// Shows SK-02, SK-11, SK-13, SK-15, SK-16, SK-17.
#[tokio::test(start_paused = true)]
async fn skills_are_listed_on_the_wire() {
    let server = shop().page_size(1).build().unwrap();
    let capabilities = serde_json::to_value(server.capabilities()).unwrap();
    assert_eq!(
        capabilities["extensions"],
        json!({SKILLS_EXTENSION: {"directoryRead": true}})
    );
    assert!(capabilities["resources"].is_object());
    let mut wire = Wire::connect(&server);
    let first = request(&mut wire, "skills/list", json!({})).await;
    let result = &first["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    let skill = &result["skills"][0];
    assert_eq!(result["skills"].as_array().unwrap().len(), 1);
    assert_eq!(skill["uri"], URI);
    assert_eq!(
        skill["resources"][2],
        json!({
            "uri": RULES,
            "digest": "sha256:414c149c007a44cc77ab019295b17e7a450e1cc50bdc84e14d453d1012f581f1",
            "size": 18,
        })
    );
    let cursor = &result["nextCursor"];
    let second = request(&mut wire, "skills/list", json!({"cursor": cursor})).await;
    assert_eq!(
        second["result"]["skills"][0]["frontmatter"]["name"],
        "returns"
    );
    assert_eq!(second["result"]["nextCursor"], Value::Null);
    let got = request(&mut wire, "skills/get", json!({"uri": URI})).await;
    assert_eq!(&got["result"]["skill"], skill);
    assert_eq!(got["result"]["resultType"], "complete");
    assert_eq!(got["result"]["ttlMs"], 0);
    let cases = [
        ("skills/get", json!({"uri": RULES}), -32602),
        (
            "skills/get",
            json!({"uri": "skill://nothing/SKILL.md"}),
            -32602,
        ),
        (
            "resources/read",
            json!({"uri": "skill://acme/shop/refunds/../SKILL.md"}),
            -32602,
        ),
        (
            "resources/read",
            json!({"uri": "skill://acme/shop/refunds/rules/all of it.md"}),
            -32602,
        ),
        ("skills/list", json!({"cursor": "x"}), -32602),
    ];
    for (method, params, code) in cases {
        let response = request(&mut wire, method, params).await;
        assert_eq!(response["error"]["code"], code, "{response}");
    }
}

/// The path, name and media type of what is in a folder.
type Child = (&'static str, &'static str, &'static str);

// Shows SK-28, SK-29.
#[tokio::test(start_paused = true)]
async fn each_folder_of_a_skill_is_listed() {
    let cases: [(&str, &[Child]); 11] = [
        ("skill://acme", &[("/shop", "shop", "inode/directory")]),
        (
            "skill://acme/shop/refunds",
            &[
                ("/SKILL.md", "refunds", "text/markdown"),
                ("/logo.png", "logo.png", "image/png"),
                ("/rules", "rules", "inode/directory"),
            ],
        ),
        (
            "skill://acme/shop/refunds/rules",
            &[("/all%20of%20it.md", "rules/all of it.md", "text/markdown")],
        ),
        (
            "skill://returns",
            &[("/SKILL.md", "returns", "text/markdown")],
        ),
        // No folders.
        ("skill://returns/SKILL.md", &[]),
        ("skill://returns/", &[]),
        ("skill://return", &[]),
        ("skill://", &[]),
        ("skill:/", &[]),
        ("skill:", &[]),
        ("", &[]),
    ];
    for page_size in [1, 9] {
        let server = shop().page_size(page_size).build().unwrap();
        let mut wire = Wire::connect(&server);
        for (folder, expected) in cases {
            let mut children = Vec::new();
            let mut params = json!({"uri": folder});
            loop {
                let response = request(&mut wire, "resources/directory/read", params.clone()).await;
                if expected.is_empty() {
                    assert_eq!(response["error"]["code"], -32602, "{response}");
                    break;
                }
                let result = &response["result"];
                assert_eq!(result["resultType"], "complete", "{response}");
                let page = result["resources"].as_array().unwrap();
                assert!(page.len() <= page_size, "{response}");
                children.extend(
                    page.iter().map(|child| {
                        ["uri", "name", "mimeType"].map(|member| child[member].clone())
                    }),
                );
                match result["nextCursor"].as_str() {
                    Some(cursor) => params["cursor"] = json!(cursor),
                    None => break,
                }
            }
            let expected = expected.iter().map(|(path, name, kind)| {
                [format!("{folder}{path}").into(), json!(name), json!(kind)]
            });
            assert_eq!(children, expected.collect::<Vec<_>>());
        }
    }
}

// Shows SK-05.
#[tokio::test(start_paused = true)]
async fn a_server_without_skills_does_not_know_the_methods() {
    let server = Server::new("shop", "1").build().unwrap();
    assert_eq!(server.capabilities().extension(SKILLS_EXTENSION), None);
    let mut wire = Wire::connect(&server);
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        let response = request(&mut wire, method, json!({"uri": URI})).await;
        assert_eq!(response["error"]["code"], -32601, "{response}");
    }
    let client = connect(&server, Revision::LATEST).await;
    assert!(client.skills().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hidden_skill_does_not_exist() {
    let secret = named("payroll").visible_to(|who| who.is_some_and(|who| who.subject == "ada"));
    let server = shop()
        .mount("hr", Server::new("hr", "1").skill(secret))
        .build()
        .unwrap();
    for (subject, is_visible) in [("ada", true), ("bob", false)] {
        let mut wire = Wire::connect_as(&server, Principal::new(subject));
        let listed = request(&mut wire, "skills/list", json!({})).await;
        let skills = listed["result"]["skills"].as_array().unwrap().len();
        assert_eq!(skills, 2 + usize::from(is_visible), "{subject}");
        let requests = [
            ("skills/get", "skill://payroll/SKILL.md"),
            ("resources/read", "skill://payroll/SKILL.md"),
            ("resources/directory/read", "skill://payroll"),
        ];
        for (method, uri) in requests {
            let response = request(&mut wire, method, json!({"uri": uri})).await;
            assert_eq!(
                response["result"].is_object(),
                is_visible,
                "{subject}: {response}"
            );
        }
    }
}

// Shows SK-07.
#[test]
fn a_skill_with_a_mistake_is_refused_when_the_server_is_built() {
    #[track_caller]
    fn check(skill: Skill, says: &str) {
        let error = Server::new("shop", "1")
            .skill(skill)
            .build()
            .err()
            .expect(says);
        let error = error.to_string();
        assert!(
            error.starts_with("the skill `") && error.contains(says),
            "{error}"
        );
    }
    check(Skill::new("# Refunds"), "does not begin with front matter");
    check(
        Skill::new("---\ndescription: x\n---\n"),
        "its name must have",
    );
    check(
        Skill::new("---\nname: a\n---\n"),
        "its description must have",
    );
    check(
        Skill::new("---\nname: 1\ndescription: x\n---\n"),
        "its name must have",
    );
    for name in [
        "A",
        "-a",
        "a-",
        "a--b",
        "a_b",
        "ä",
        "a/b",
        "..",
        &"a".repeat(65),
    ] {
        check(named(&format!("\"{name}\"")), "its name must have");
    }
    let long = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1025));
    check(Skill::new(long), "its description must have");
    for path in [
        "",
        "/etc/passwd",
        "../a",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        "a\\b",
    ] {
        check(named("a").file(path, "x"), "is not a path below its folder");
    }
    check(named("a").file("b", "x").file("b", "y"), "two files `b`");
    check(named("a").file("SKILL.md", "x"), "two files `SKILL.md`");
    for prefix in [
        "/", "a/", "/a", "a//b", "..", "a/../b", "a b", "a?b", "a:80", "u@h",
    ] {
        check(named("a").prefix(prefix), "its prefix");
    }
    let many = (0..512).fold(named("a"), |skill, n| skill.file(n.to_string(), ""));
    check(many, "it has 513 files, and may have 512");
    check(
        named("a").file("b", vec![0; 16 << 20]),
        "and may have 16777216",
    );
    check(Skill::folder("/nowhere/at/all"), "/nowhere/at/all");
    let twice = Server::new("shop", "1")
        .skill(named("a"))
        .skill(named("a"))
        .build();
    let twice = twice.err().expect("two skills at one URI").to_string();
    assert_eq!(twice, "two resources are called `skill://a/SKILL.md`");
}

fn write(folder: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_folder_is_read_with_the_folders_in_it() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("refunds");
    write(&folder, "SKILL.md", MAIN);
    write(&folder, "a/b/c.txt", "C");
    write(
        &folder,
        "a/SKILL.md",
        "---\nname: a\ndescription: Nested.\n---\n",
    );
    write(&folder, ".env", "PASSWORD=x");
    write(&folder, ".git/config", "x");
    let server = Server::new("shop", "1")
        .skill(Skill::folder(&folder))
        .build()
        .unwrap();
    // A change of the folder does not change what is served.
    write(&folder, "a/b/c.txt", "D");
    let client = connect(&server, Revision::LATEST).await;
    let skills = client.skills().await.unwrap();
    assert_eq!(skills.len(), 1);
    let files = skills[0].resources.as_ref().unwrap().iter();
    let files: Vec<_> = files
        .map(|file| &file.uri["skill://refunds/".len()..])
        .collect();
    assert_eq!(files, ["SKILL.md", "a/SKILL.md", "a/b/c.txt"]);
    let file = client
        .read_skill_file(&skills[0], "skill://refunds/a/b/c.txt")
        .await;
    assert_eq!(file.unwrap(), b"C");
}

#[test]
fn nothing_outside_of_a_folder_is_served() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("refunds");
    write(&folder, "SKILL.md", MAIN);
    #[track_caller]
    fn check(folder: &Path, says: &str) {
        let error = Server::new("shop", "1")
            .skill(Skill::folder(folder))
            .build()
            .err();
        let error = error.expect(says).to_string();
        assert!(error.contains(says), "{error}");
    }
    let other = home.path().join("other");
    fs::rename(&folder, &other).unwrap();
    check(&other, "must be called `refunds`");
    fs::rename(&other, &folder).unwrap();
    #[cfg(unix)]
    for outside in [
        home.path(),
        Path::new("/etc/passwd"),
        &folder.join("SKILL.md"),
    ] {
        let link = folder.join("link");
        std::os::unix::fs::symlink(outside, &link).unwrap();
        check(&folder, "no symbolic links");
        fs::remove_file(link).unwrap();
    }
    write(&folder, "large", vec![0; 16 << 20]);
    check(&folder, "more than 16777216 bytes");
    fs::remove_file(folder.join("large")).unwrap();
    for n in 0..512 {
        write(&folder, &n.to_string(), "");
    }
    check(&folder, "more than 512 files");
}

// Shows SK-18, SK-19, SK-22, SK-23.
#[test]
fn a_file_that_differs_from_its_entry_is_refused() {
    let entry = json!({
        "uri": "skill://a/SKILL.md",
        "frontmatter": {"name": "a", "description": "x"},
        "resources": [{
            "uri": "skill://a/SKILL.md",
            "digest": "sha256:6a5ee0ef00ff63315085c9929ac65f11c1ed6c8cbca3b7c15efef3c4d0e83b3b",
            "size": 35,
        }],
    });
    let main = "---\nname: a\ndescription: x\n---\nGo.\n";
    let read = |contents: Vec<ResourceContents>| ReadResourceResult {
        contents,
        ..Default::default()
    };
    let check = |entry: &Value, contents: Vec<ResourceContents>, says: &str| {
        let skill = serde_json::from_value(entry.clone()).unwrap();
        let error = check_skill_file(&skill, "skill://a/SKILL.md", &read(contents));
        let error = error.expect_err(says).to_string();
        assert!(error.contains(says), "{error}");
    };
    let text = |text: &str| vec![ResourceContents::text("skill://a/SKILL.md", text)];
    check(&entry, text("---\nname: a\n---\n"), "bytes, got");
    check(
        &entry,
        text(&main.replace("Go", "No")),
        "its digest differs",
    );
    check(&entry, vec![], "expected one content");
    check(
        &entry,
        [text(main), text(main)].concat(),
        "expected one content",
    );
    check(
        &entry,
        vec![ResourceContents::text("skill://b", main)],
        "of this file alone",
    );
    check(
        &entry,
        vec![ResourceContents::blob("skill://a/SKILL.md", "?")],
        "not base64",
    );
    let mut generated = entry.clone();
    generated["resources"] = json!("dynamic");
    check(
        &generated,
        text("---\nname: a\ndescription: y\n---\n"),
        "its front matter differs",
    );
    check(&generated, text("Go."), "does not begin with front matter");
    let skill = serde_json::from_value(generated).unwrap();
    let content = check_skill_file(&skill, "skill://a/SKILL.md", &read(text(main)));
    assert_eq!(content.unwrap(), main.as_bytes());
    for uri in [
        "skill://a/../b",
        "skill://ab/c",
        "skill://a",
        "skill://a/b?c",
    ] {
        let refused = check_skill_file(&skill, uri, &read(text(main)));
        assert_eq!(refused, Err(SkillError::Unlisted), "{uri}");
    }
    let broken = [
        (
            "/uri",
            json!("skill://b/SKILL.md"),
            "does not end in its name",
        ),
        (
            "/uri",
            json!("skill://a/skill.md"),
            "does not end in its name",
        ),
        ("/resources", json!([]), "not among its files"),
        ("/resources/0/size", json!(1 << 25), "and may have 16777216"),
        (
            "/resources/0/uri",
            json!("skill://b/SKILL.md"),
            "not in its folder",
        ),
    ];
    for (pointer, value, says) in broken {
        let mut entry = entry.clone();
        *entry.pointer_mut(pointer).unwrap() = value;
        check(&entry, text(main), says);
    }
    for resources in [
        json!(null),
        json!("static"),
        json!({}),
        json!([{"uri": "skill://a/SKILL.md"}]),
    ] {
        let mut entry = entry.clone();
        entry["resources"] = resources;
        assert!(serde_json::from_value::<protocol::Skill>(entry).is_err());
    }
    // A skill at the limits is accepted.
    let mut largest: protocol::Skill = serde_json::from_value(entry).unwrap();
    let files = largest.resources.as_mut().unwrap();
    let mut more = files[0].clone();
    more.size = (protocol::Skill::MAX_BYTES - files[0].size) / 511;
    files.extend((1..512).map(|n| SkillResource {
        uri: format!("skill://a/{n}"),
        ..more.clone()
    }));
    assert_eq!(largest.check(), Ok(()));
    largest.resources.as_mut().unwrap()[0].size += more.size;
    assert!(
        largest
            .check()
            .unwrap_err()
            .contains("and may have 16777216")
    );
}
