//! The program as a user sees it, up to GitHub's own page.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use askback::{
    client::Client,
    protocol::{AnswerSource, ElicitResult},
    transport::Child,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_repositories");

const PROVIDERS: &str = r#"
[github]
preset = "github"
client_id = "Iv1.0123"
client_secret = { file = "github.secret" }
scopes = ["repo"]
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        }
    };
    write("providers.toml", PROVIDERS);
    write("github.secret", "canary\n");
    write("vault.keys", &"07".repeat(32));
    folder
}

fn answer(url: &str, form: Option<&str>, cookie: &str) -> (String, String) {
    let (_, rest) = url.split_once("://").expect("a whole URL");
    let (host, path) = rest.split_once('/').expect("a URL with a path");
    let (method, form) = match form {
        Some(form) => ("POST", form),
        None => ("GET", ""),
    };
    let mut stream = TcpStream::connect(host).expect("the pages are served");
    write!(
        stream,
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n\
         Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{form}",
        form.len()
    )
    .expect("it is sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, page) = text.split_once("\r\n\r\n").expect("an answer");
    (head.to_owned(), page.to_owned())
}

#[track_caller]
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{text}"));
    rest.split(after).next().unwrap_or_default()
}

fn consent(link: &str) -> (String, String) {
    let (head, page) = answer(link, None, "");
    let token = between(&page, "name=\"token\" value=\"", "\"");
    let cookies: Vec<_> = head
        .lines()
        .filter_map(|line| line.strip_prefix("set-cookie: "))
        .filter_map(|cookie| cookie.split(';').next())
        .collect();
    let form = format!("token={token}&answer=yes");
    let (head, _) = answer(link, Some(&form), &cookies.join("; "));
    let to = between(&head, "refresh: 0; url=", "\r\n").to_owned();
    (page, to)
}

#[tokio::test]
async fn a_person_is_led_to_github() {
    let folder = folder();
    let program = Child::command(PROGRAM)
        .arg(folder.path())
        .arg("127.0.0.1:0")
        .env("HOME", folder.path())
        .env("LOCALAPPDATA", folder.path())
        .env("XDG_STATE_HOME", folder.path());
    let opened = Arc::<Mutex<Vec<String>>>::default();
    let links = Arc::clone(&opened);
    let client = Client::builder("test", "1")
        .on_elicit_url(move |question| {
            links
                .lock()
                .expect("no panic")
                .push(question.request.url.clone());
            let link = question.request.url;
            async move {
                let opened = link.clone();
                let seen = tokio::task::spawn_blocking(move || consent(&opened));
                let (page, to) = seen.await.map_err(askback::Error::internal)?;
                for words in [
                    "Connect your GitHub account?",
                    "My repositories",
                    "Read and change all your repositories, the private ones too, their collaborators and \
                     webhooks, and the projects, invitations, team memberships and webhooks of your \
                     organizations <code>repo</code>",
                ] {
                    assert!(page.contains(words), "{words}: {page}");
                }
                let (github, query) = to.split_once('?').expect("a query");
                assert_eq!(github, "https://github.com/login/oauth/authorize");
                assert!(query.contains("client_id=Iv1.0123"), "{query}");
                assert!(query.contains("scope=repo"), "{query}");
                let (origin, _) = link.split_at("http://127.0.0.1:".len());
                let back = origin.replace(':', "%3A").replace('/', "%2F");
                assert!(query.contains(&format!("redirect_uri={back}")), "{query}");
                assert!(query.contains("%2Fcb%2Fgithub"), "{query}");
                // The next page is GitHub's.
                Ok(ElicitResult::decline().answered_by(AnswerSource::Person))
            }
        })
        .connect(program)
        .await
        .expect("the program serves");
    let result = client.call_tool("repositories", ()).await;
    let text = result.expect("a result").text().expect("words");
    assert_eq!(text, "Nothing was done: the person declined.");
    client.close().await;
    assert_eq!(opened.lock().expect("no panic").len(), 1);
}

#[test]
fn the_user_sees_what_is_connected() {
    let folder = folder();
    let mut program = Command::new(PROGRAM)
        .arg(folder.path())
        .arg("accounts")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program was built");
    let stdout = program.stdout.take().expect("it was asked for");
    let mut line = String::new();
    let read = BufReader::new(stdout).read_line(&mut line);
    read.expect("it writes a line");
    let link = line.trim_end().strip_prefix("Open within two minutes: ");
    let link = link.unwrap_or_else(|| panic!("{line}"));
    let (head, page) = answer(link, None, "");
    program.kill().expect("it runs");
    program.wait().expect("it ends");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(page.contains("My repositories"), "{page}");
}

#[test]
fn what_is_missing_is_named() {
    #[track_caller]
    fn check(folder: &Path, says: &str) {
        let ran = Command::new(PROGRAM)
            .arg(folder)
            .arg("127.0.0.1:0")
            .output();
        let ran = ran.expect("the program was built");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && stderr.contains(says), "{stderr}");
    }
    let folder = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let ran = Command::new(PROGRAM)
        .arg(folder.path())
        .arg(&address)
        .output();
    let stderr = ran.expect("the program was built").stderr;
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(
        stderr.contains(&format!("cannot listen at {address}: ")),
        "{stderr}"
    );
    let file = |name: &str| folder.path().join(name);
    fs::remove_file(file("github.secret")).expect("a file");
    check(folder.path(), "github.secret cannot be read");
    fs::remove_file(file("vault.keys")).expect("a file");
    check(folder.path(), "openssl rand -hex 32");
    check(&file("none"), "The folder of the file must be there");
}
