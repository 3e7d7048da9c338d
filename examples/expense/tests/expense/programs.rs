//! The programs: the desk over stdio, and the client of several desks.

use std::{fs, path::Path, process::Stdio, time::Duration};

use askback::{Revision, transport::Child};
use askback_expense::Claims;
use serde_json::json;
use tokio::{net::TcpListener, process::Command, time::timeout};

use crate::{
    bill, employee, has_forms,
    http::{connect, serve},
};

const DESK: &str = env!("CARGO_BIN_EXE_expense");

/// The environment variables that keep a program's files in this folder.
fn home(folder: &Path) -> [(&'static str, &Path); 3] {
    ["HOME", "LOCALAPPDATA", "XDG_STATE_HOME"].map(|name| (name, folder))
}

#[tokio::test]
async fn the_desk_serves_over_standard_streams() {
    for revision in Revision::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("expenses.db");
        let mut program = Child::command(DESK).arg(&database);
        for (name, value) in home(folder.path()) {
            program = program.env(name, value);
        }
        let client = employee(revision)
            .0
            .connect(program)
            .await
            .expect("the desk serves");
        let filed = client
            .call_tool("file_expenses", bill())
            .await
            .expect("a result");
        let signed_in = client.call_tool("sign_in", ()).await.expect("a result");
        let refused = signed_in.text().expect_err("nobody is known").to_string();
        assert!(refused.contains("Only callers with a token"), "{refused}");
        let tools = client.tools().await.expect("tools");
        client.close().await;
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["file_expenses", "sign_in", "audit"], "{revision}");
        let claims = Claims::open(&database).expect("a database").count();
        assert_eq!(
            claims,
            u32::from(has_forms(revision)),
            "{revision}: {filed:?}"
        );
    }
}

#[tokio::test]
async fn a_client_files_with_two_desks_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let near = folder.path().join("near.db");
    let far = Claims::open(folder.path().join("far.db")).expect("a database");
    let url = format!("http://{}/mcp", serve(&far).await);
    let servers = json!({"mcpServers": {
        "far": {"url": url, "headers": {"Authorization": "Bearer ada-token"}},
        "near": {"command": DESK, "args": [near]},
    }});
    let file = folder.path().join("mcp.json");
    fs::write(&file, servers.to_string()).expect("a file");
    let program = Command::new(env!("CARGO_BIN_EXE_expense-split"))
        .arg(&file)
        .envs(home(folder.path()))
        .output()
        .await
        .expect("the program runs");
    let printed = String::from_utf8_lossy(&program.stdout);
    let expected = ["far", "near"].map(|desk| {
        format!("{desk}: 1 of 1 Checking taxi\n{desk}: claim 1, Taxi to the airport, 2100 cents\n")
    });
    assert_eq!(printed, expected.concat(), "{program:?}");
    assert!(program.status.success(), "{program:?}");
    for claims in [far, Claims::open(&near).expect("a database")] {
        assert_eq!(claims.count(), 1);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_desk_ends_when_it_is_told_to() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let mut desk = Command::new(DESK)
            .arg(folder.path().join("expenses.db"))
            .arg(address.to_string())
            .envs(home(folder.path()))
            .env("EXPENSE_TOKENS", "ada-token=ada")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the desk starts");
        // The desk may not listen yet.
        let client = loop {
            match connect(address, Revision::V2025_11_25, "Bearer ada-token").await {
                Ok(client) => break client,
                Err(_) => assert_eq!(desk.try_wait().expect("a process"), None),
            }
        };
        let filed = client.call_tool("file_expenses", bill()).await;
        filed.expect("a result");
        let pid = desk.id().expect("it runs").to_string();
        let kill = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(kill.await.expect("a signal").success());
        let ended = timeout(Duration::from_secs(60), desk.wait()).await;
        let ended = ended.expect("it ends").expect("a process");
        assert!(ended.success(), "{signal}: {ended}");
        client.close().await;
    }
}
