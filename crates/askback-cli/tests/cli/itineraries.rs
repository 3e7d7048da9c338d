//! Where itineraries can be saved over HTTP: only in a folder that the operator configured.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// A process of the agency, killed on drop.
struct Agency {
    process: Child,
    address: String,
}

impl Drop for Agency {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Agency {
    /// Starts an agency whose operator has this home folder.
    fn start(home: &Path, options: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["serve", "travel", "--http", "127.0.0.1:0", "--directory"])
            .arg(home.join("bookings"))
            .args(options)
            .env("HOME", home)
            .current_dir(home)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let lines = stderr.lines().map(Result::unwrap);
        // Warnings may come first.
        let mut told = lines.skip_while(|line| !line.contains("is at http://"));
        let line = told.next().unwrap();
        let address = line.split("http://").nth(1).unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        Self { process, address }
    }

    /// Sends a message. Returns the connection with its response.
    fn post(&self, headers: &[&str], message: &Value) -> BufReader<TcpStream> {
        let body = message.to_string();
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\
             Connection: close\r\n\r\n{body}",
            self.address,
            body.len(),
        )
        .unwrap();
        BufReader::new(stream)
    }

    /// The whole response to a request of 2026-07-28.
    fn call(&self, authorization: Option<&str>, method: &str, params: &Value) -> String {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        });
        let mut headers = vec![
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            format!("Mcp-Method: {method}"),
        ];
        headers.extend(params["name"].as_str().map(|it| format!("Mcp-Name: {it}")));
        headers.extend(authorization.map(|it| format!("Authorization: Bearer {it}")));
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        read(self.post(&headers, &message))
    }

    /// Saves an itinerary in 2026-07-28, with an answer that shares every folder.
    fn save(&self, authorization: Option<&str>, file: &str) -> String {
        let mut params = saving(file);
        let asked = self.call(authorization, "tools/call", &params);
        let Some(result) = asked.lines().find(|line| line.contains("requestState")) else {
            return asked;
        };
        let result: Value = serde_json::from_str(result).unwrap();
        params["requestState"] = result["result"]["requestState"].clone();
        params["inputResponses"] = json!({"roots": {"roots": [{"uri": "file:///"}]}});
        self.call(authorization, "tools/call", &params)
    }

    /// Saves an itinerary in a session. Returns the last message.
    fn save_in_session(&self, file: &str) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "mallory", "version": "1"},
        }});
        let opened = read(self.post(&[], &hello));
        let id = opened.lines().find_map(|line| {
            let (name, id) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then_some(id)
        });
        let session = format!("Mcp-Session-Id: {}", id.unwrap());
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        read(self.post(&[&session], &initialized));
        let call = json!({
            "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": saving(file),
        });
        let mut stream = self.post(&[&session], &call);
        let mut line = String::new();
        while stream.read_line(&mut line).unwrap() > 0 {
            if line.contains("roots/list") {
                let question = line.trim_start_matches("data:").trim();
                let question: Value = serde_json::from_str(question).unwrap();
                let roots = json!({"roots": [{"uri": "file:///"}]});
                let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": roots});
                read(self.post(&[&session], &answer));
            }
            if line.contains(r#""id":2"#) {
                break;
            }
            line.clear();
        }
        line
    }
}

fn read(mut response: BufReader<TcpStream>) -> String {
    let mut text = String::new();
    response.read_to_string(&mut text).unwrap();
    text
}

fn saving(file: &str) -> Value {
    let arguments = json!({"file": file, "text": "ssh-ed25519 AAAA mallory"});
    json!({"name": "save_itinerary", "arguments": arguments})
}

/// All files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files
}

/// A home folder with SSH keys, as a target for an attack.
fn home(name: &str) -> (Scratch, PathBuf) {
    let home = Scratch::new(name);
    fs::create_dir(home.path(".ssh")).unwrap();
    let keys = home.path(".ssh/authorized_keys");
    fs::write(&keys, "ssh-ed25519 AAAA ada").unwrap();
    (home, keys)
}

#[test]
fn a_client_over_http_writes_none_of_the_servers_files() {
    const READER: &[&str] = &["--development-token", "mallory=m", "--development-scopes"];
    let reader = [READER, &["travel:read"]].concat();
    for (name, options, token) in [
        ("nobody", &[][..], None),
        ("unknown", &reader, None),
        ("reader", &reader, Some("m")),
    ] {
        let (home, keys) = home(&format!("roots-{name}"));
        let agency = Agency::start(&home.path(""), options);
        let file = keys.to_str().unwrap();
        let answer = agency.save(token, file);
        assert!(!answer.contains("Saved"), "{name}: {answer}");
        if options.is_empty() {
            let answer = agency.save_in_session(file);
            assert!(answer.contains("no tool `save_itinerary`"), "{answer}");
        }
        assert_eq!(fs::read_to_string(&keys).unwrap(), "ssh-ed25519 AAAA ada");
        let tools = agency.call(token, "tools/list", &json!({}));
        assert!(!tools.contains("save_itinerary"), "{name}: {tools}");
    }
}

#[test]
fn saving_takes_a_scope_of_its_own() {
    let (home, keys) = home("save-scope");
    let folder = home.path("itineraries");
    let options = [
        "--itineraries",
        folder.to_str().unwrap(),
        "--development-token",
        "ada=a",
        "--development-scopes",
        "travel:read travel:book",
    ];
    let agency = Agency::start(&home.path(""), &options);
    let refused = agency.save(Some("a"), "plan.md");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(
        refused.contains(r#"scope="travel:read travel:save""#),
        "{refused}"
    );
    assert_eq!(agency.save(None, "plan.md").get(..12), Some("HTTP/1.1 401"));
    assert!(files(&folder).is_empty());
    assert_eq!(fs::read_to_string(&keys).unwrap(), "ssh-ed25519 AAAA ada");
}

#[test]
fn over_http_everything_is_saved_within_the_folder_of_the_operator() {
    let (home, keys) = home("save-folder");
    let folder = home.path("itineraries");
    let options = [
        "--itineraries",
        folder.to_str().unwrap(),
        "--development-token",
        "ada=a",
        "--development-token",
        "bob=b",
        "--development-scopes",
        "travel:save",
    ];
    let agency = Agency::start(&home.path(""), &options);
    for file in [
        keys.to_str().unwrap(),
        "../.ssh/authorized_keys",
        "sub/plan.md",
        "..",
        ".",
        ".plan.md",
        "a\\b",
        "C:plan.md",
        "a\u{0}b",
        "",
    ] {
        let refused = agency.save(Some("a"), file);
        assert!(refused.contains(r#""isError":true"#), "{file}: {refused}");
        assert!(!refused.contains(folder.to_str().unwrap()), "{refused}");
    }
    assert!(files(&folder).is_empty());
    for token in ["a", "a", "b"] {
        let saved = agency.save(Some(token), "Plan 1.md");
        assert!(saved.contains("Saved as Plan 1.md."), "{saved}");
    }
    let saved = files(&folder);
    assert_eq!(saved.len(), 2, "{saved:?}");
    #[cfg(unix)]
    for kept in [home.path("bookings"), folder.clone()] {
        use std::os::unix::fs::PermissionsExt;
        // Only the operator can access data of the agency's clients.
        let within = files(&kept).into_iter().chain([kept]);
        let exposed = within.filter(|path| {
            let metadata = fs::metadata(path).unwrap();
            metadata.permissions().mode() & 0o077 != 0
        });
        let exposed = exposed.collect::<Vec<_>>();
        assert!(exposed.is_empty(), "{exposed:?}");
    }
    assert!(saved.iter().all(|file| file.ends_with("Plan 1.md")));
    assert_eq!(fs::read_to_string(&keys).unwrap(), "ssh-ed25519 AAAA ada");
}
