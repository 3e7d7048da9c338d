//! Servers whose lists never end.

use serde_json::{Value, json};

use super::{builder, limits, memory::Strange};

/// Checks how a client reads the tools of a server. The function gives the number of items on the
/// n-th page, extra bytes, and the next cursor. The limits are 100 pages, 10 items and 10000 bytes.
async fn check(page: impl Fn(usize) -> (usize, usize, Value) + Send + 'static, expected: &str) {
    let mut asked = 0;
    let (channel, heard) = Strange::start(move |_, _| {
        let (items, bytes, next) = page(asked);
        asked += 1;
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        json!({"result": {
            "tools": vec![tool; items], "_meta": {"a": "x".repeat(bytes)}, "nextCursor": next,
        }})
    });
    let limits = limits(|limits| {
        limits.client.pages = 100;
        limits.client.list_items = 10;
        limits.client.list_bytes = 10_000;
    });
    let client = builder(None).limits(limits).connect(channel).await.unwrap();
    let listed = match client.tools().await {
        Ok(tools) => format!("{} tools", tools.len()),
        Err(error) => error.to_string(),
    };
    let lists = heard.lock().unwrap().clone();
    let lists = lists.iter().filter(|it| it["method"] == "tools/list");
    assert_eq!(format!("{listed}; {} pages", lists.count()), expected);
}

#[tokio::test(start_paused = true)]
async fn a_list_without_end_is_the_servers_fault() {
    let last = |page: usize, count| {
        if page + 1 < count {
            json!(page.to_string())
        } else {
            Value::Null
        }
    };
    let broke = "the server broke the protocol: ";
    check(move |page| (1, 0, last(page, 10)), "10 tools; 10 pages").await;
    check(move |page| (0, 0, last(page, 20)), "0 tools; 20 pages").await;
    let many = format!("{broke}its list is longer than the 10 items accepted here; 6 pages");
    check(move |page| (2, 0, last(page, 20)), &many).await;
    let once = format!("{broke}its list is longer than the 10 items accepted here; 1 pages");
    check(|_| (11, 0, Value::Null), &once).await;
    let long = format!("{broke}its list is longer than the 10000 bytes accepted here; 4 pages");
    check(move |page| (0, 3000, last(page, 20)), &long).await;
    let pages = format!("{broke}its list is longer than the 100 pages accepted here; 100 pages");
    check(|page| (0, 0, json!(format!("{page:x}"))), &pages).await;
    let circle = format!("{broke}a cursor of its list leads back to an earlier page; ");
    check(|_| (1, 0, json!("same")), &format!("{circle}2 pages")).await;
    check(
        |page| (1, 0, json!((page % 3).to_string())),
        &format!("{circle}4 pages"),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_page_alone_is_bounded_like_a_list() {
    let (channel, _) = Strange::start(|_, _| {
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        json!({"result": {"tools": vec![tool; 11]}})
    });
    let limits = limits(|limits| limits.client.list_items = 10);
    let client = builder(None).limits(limits).connect(channel).await.unwrap();
    assert_eq!(
        client.tools_page(None).await.unwrap_err().to_string(),
        "the server broke the protocol: its list is longer than the 10 items accepted here"
    );
}

// Shows CC-20, PG-04, PG-06, PG-07, PG-08, PG25-01.
#[tokio::test(start_paused = true)]
async fn a_list_whose_cursor_was_lost_is_fetched_from_the_beginning() {
    let mut asked = 0;
    let (channel, heard) = Strange::start(move |_, params| {
        asked += 1;
        let page = |name: &str, next: Value| {
            json!({"result": {
                "tools": [{"name": name, "inputSchema": {"type": "object"}}],
                "nextCursor": next, "ttlMs": 60_000,
            }})
        };
        match (params["cursor"].as_str(), asked) {
            (None, 1) => page("old", json!(" 1\t")),
            (Some(" 1\t"), _) => json!({"error": {"code": -32602, "message": "invalid cursor"}}),
            (None, _) => page("first", json!("")),
            _ => page("last", Value::Null),
        }
    });
    let client = builder(None).connect(channel).await.unwrap();
    let names = || async {
        let tools = client.tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["first", "last"]);
    // The second time, the list comes from the cache.
    assert_eq!(names().await, ["first", "last"]);
    let lists = heard
        .lock()
        .unwrap()
        .iter()
        .filter(|it| it["method"] == "tools/list")
        .count();
    assert_eq!(lists, 4);
}
