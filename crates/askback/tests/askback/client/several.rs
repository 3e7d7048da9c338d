//! Configuration files of servers.

use std::path::PathBuf;

use askback::client::{ServerCommand, ServerEntry, ServerUrl, ServersFile};
use serde_json::json;

use super::builder;

#[test]
fn a_server_is_read_as_most_hosts_write_it() {
    let file = r#"{
        "inputs": [],
        "mcpServers": {
            "travel": {"type": "stdio", "command": "askback", "args": ["serve"], "env": {"A": "b"}, "cwd": "sub"},
            "own": {"command": "bin/server", "disabled": true},
            "remote": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-A": "b"}}
        }
    }"#;
    let file = ServersFile::parse(file, "/etc").unwrap();
    let names: Vec<_> = file.names().collect();
    assert_eq!(names, ["own", "remote", "travel"]);
    let expected = [
        ServerEntry::Command(ServerCommand {
            program: "/etc/bin/server".to_owned(),
            cwd: Some(PathBuf::from("/etc/")),
            ..ServerCommand::default()
        }),
        ServerEntry::Url(ServerUrl {
            url: "https://example.com/mcp".to_owned(),
            headers: [("X-A".to_owned(), "b".to_owned())].into(),
        }),
        ServerEntry::Command(ServerCommand {
            program: "askback".to_owned(),
            args: vec!["serve".to_owned()],
            env: [("A".to_owned(), "b".to_owned())].into(),
            cwd: Some(PathBuf::from("/etc/sub")),
        }),
    ];
    for (name, expected) in names.into_iter().zip(expected) {
        assert_eq!(file.server(name).unwrap(), expected);
    }
}

/// Other hosts accept numbers and null instead of text.
#[test]
fn numbers_and_null_are_read_as_they_are_meant() {
    let command = |args: &[&str], env: &[(&str, &str)]| {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ServerEntry::Command(ServerCommand {
            program: "x".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.collect(),
            cwd: Some(PathBuf::from("/etc/")),
        })
    };
    for (members, expected) in [
        (
            r#""args": null, "env": null, "cwd": null, "url": null, "headers": null"#,
            command(&[], &[]),
        ),
        (
            r#""args": ["a", 8080, true, ""]"#,
            command(&["a", "8080", "true", ""], &[]),
        ),
        (
            r#""env": {"PORT": 8080, "RATE": 0.5, "ON": true, "UNSET": null, "EMPTY": ""}"#,
            command(
                &[],
                &[
                    ("PORT", "8080"),
                    ("RATE", "0.5"),
                    ("ON", "true"),
                    ("EMPTY", ""),
                ],
            ),
        ),
    ] {
        let file = format!(r#"{{"mcpServers": {{"a": {{"command": "x", {members}}}, "b": 7}}}}"#);
        let file = ServersFile::parse(&file, "/etc").expect("a wrong entry spoils no file");
        assert_eq!(file.server("a").expect("it can be used"), expected);
        assert!(file.server("b").is_err());
    }
    let file = r#"{"mcpServers": {"a": {"url": "http://x", "headers": {"A": 1, "B": null}}}}"#;
    let file = ServersFile::parse(file, "/etc").expect("a file of servers");
    let Ok(ServerEntry::Url(url)) = file.server("a") else {
        panic!("it has a URL");
    };
    assert_eq!(url.headers, [("A".to_owned(), "1".to_owned())].into());
}

#[test]
fn the_secrets_of_a_file_are_not_printed() {
    let file = r#"{"mcpServers": {
        "a": {"command": "x", "args": ["hidden"], "env": {"A": "hidden"}},
        "b": {"url": "https://example.com/mcp?key=hidden", "headers": {"Authorization": "hidden"}}
    }}"#;
    let file = ServersFile::parse(file, "/etc").unwrap();
    let shown = format!("{file:?} {:?} {:?}", file.server("a"), file.server("b"));
    assert!(!shown.contains("hidden"), "{shown}");
    assert!(shown.contains("Authorization"), "{shown}");

    for entry in [
        r#""headers": "Authorization: Bearer hidden""#,
        r#""args": "hidden, expected hidden""#,
        r#""env": {"TOKEN": ["hidden"]}"#,
        r#""env": "hidden""#,
        r#""url": {"hidden": 1}"#,
        r#""url": "https://me:hidden@example.com/mcp""#,
    ] {
        let file = format!(r#"{{"mcpServers": {{"a": {{{entry}}}}}}}"#);
        let file = ServersFile::parse(&file, "/etc").unwrap();
        let found = file.server("a");
        let words = found.as_ref().err().map(ToString::to_string);
        let shown = format!("{found:?} {}", words.unwrap_or_default());
        assert!(!shown.contains("hidden"), "{shown}");
    }
}

#[test]
fn a_file_or_a_server_that_cannot_be_used_says_why() {
    #[track_caller]
    fn check(json: &str, says: &str) {
        let error = match ServersFile::parse(json, "") {
            Ok(file) => file.server("a").unwrap_err(),
            Err(error) => error,
        };
        assert!(error.to_string().contains(says), "{error}");
    }
    check("nonsense", "it is not a file of servers: it is not JSON");
    check("{}", "`mcpServers` is missing");
    check(
        r#"{"mcpServers": {"b": {"command": "x"}, "c": {}}}"#,
        "no server is called `a`; the file names b, c",
    );
    check(r#"{"mcpServers": {}}"#, "the file names none");
    check(
        r#"{"mcpServers": {"a": {"command": "x", "args": "y"}}}"#,
        "server `a` cannot be read: args: expected a list, got a text",
    );
    check(
        r#"{"mcpServers": {"a": {"oauth": {}}}}"#,
        "server `a` has no `command` and no `url`",
    );
    let missing = ServersFile::read("/nowhere/mcp.json").unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("/nowhere/mcp.json cannot be read: "),
        "{missing}"
    );
}

#[test]
fn a_file_of_more_than_a_mebibyte_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    let file = r#"{"mcpServers": {}}"#;
    for (length, is_read) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        std::fs::write(&path, file.to_owned() + &" ".repeat(length - file.len())).unwrap();
        let read = ServersFile::read(&path).map_err(|error| error.to_string());
        assert_eq!(read.is_ok(), is_read, "{length}: {read:?}");
        let too_large = |why: &String| why.ends_with("it is larger than 1 MiB");
        assert!(read.as_ref().err().is_none_or(too_large), "{read:?}");
    }
}

/// A program runs in its folder, and headers are sent. Neither entry leads to a real server.
#[cfg(all(unix, feature = "http-client"))]
#[tokio::test]
async fn a_server_is_started_as_its_file_says() {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0);
        }
        String::from_utf8_lossy(&head).to_lowercase()
    });
    let touch = |name: &str| json!(["-c", format!("touch {name}")]);
    let file = json!({"mcpServers": {
        "beside": {"command": "sh", "args": touch("beside")},
        "sub": {"command": "sh", "args": touch("inside"), "cwd": "sub"},
        "remote": {"url": url, "headers": {"X-Tenant": "north"}},
    }});
    let file = ServersFile::parse(&file.to_string(), folder.path()).unwrap();
    for name in file.names() {
        let server = file.server(name).unwrap();
        assert!(server.connect(builder(None)).await.is_err(), "{name}");
    }
    assert!(folder.path().join("beside").exists());
    assert!(folder.path().join("sub/inside").exists());
    let head = heard.await.unwrap();
    assert!(head.contains("\r\nx-tenant: north\r\n"), "{head}");
}
