//! The processes of this machine.

use std::{io, process::Command, time::Duration};

use tokio::time::{Instant, sleep};

/// A process that has not ended.
pub(crate) struct Process {
    pub(crate) id: u32,
    parent: u32,
    /// Its command line.
    pub(crate) line: String,
}

pub(crate) fn all() -> io::Result<Vec<Process>> {
    let listed = Command::new("ps")
        .args(["-Ao", "pid=,ppid=,stat=,args="])
        .output()?;
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        let (id, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        // A zombie has ended.
        let is_running = !words.next()?.starts_with('Z');
        let line = line.to_owned();
        is_running.then_some(Process { id, parent, line })
    };
    let lines = String::from_utf8_lossy(&listed.stdout);
    Ok(lines.lines().filter_map(read).collect())
}

/// Returns the ids of a process's descendants.
pub(crate) fn below(ancestor: u32) -> io::Result<Vec<u32>> {
    let all = all()?;
    let mut below = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        let children: Vec<u32> = children.map(|process| process.id).collect();
        below.extend(&children);
        parents.extend(children);
    }
    Ok(below)
}

/// Waits until no matching process runs. Returns false if one still runs after `limit`.
pub(crate) async fn ended(limit: Duration, is_meant: impl Fn(&Process) -> bool) -> bool {
    until(limit, || all().is_ok_and(|all| !all.iter().any(&is_meant))).await
}

/// Waits until a condition holds. Returns false if it does not hold within `limit`.
pub(crate) async fn until(limit: Duration, is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !is_so() {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(50)).await;
    }
    true
}
