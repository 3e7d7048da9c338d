//! The client of `bench-client`, written with rmcp.
//!
//! `rmcp-client DEPTH MILLISECONDS --http URL` and `rmcp-client DEPTH MILLISECONDS --stdio PROGRAM…` call a server's
//! tool `echo` with this many concurrent calls for this time, and print the calls per second.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rmcp::{
    RoleClient, ServiceExt,
    model::{CallToolRequestParams, ContentBlock, object},
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::json;
use tokio::{process::Command, task::JoinSet};

const WARM_UP: Duration = Duration::from_millis(300);

type Client = Arc<RunningService<RoleClient, ()>>;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (depth, span, client) = match arguments[..] {
        [depth, span, "--http", url] => {
            let transport = StreamableHttpClientTransport::from_uri(url);
            (depth, span, ().serve(transport).await.expect("a server"))
        }
        [depth, span, "--stdio", program, ref rest @ ..] => {
            let mut command = Command::new(program);
            command.args(rest);
            let transport = TokioChildProcess::new(command).expect("a process");
            (depth, span, ().serve(transport).await.expect("a server"))
        }
        _ => panic!("usage: rmcp-client DEPTH MILLISECONDS --http URL | --stdio PROGRAM…"),
    };
    let depth = depth.parse().expect("a number");
    let span = Duration::from_millis(span.parse().expect("a number"));
    let client = Arc::new(client);
    calls(&client, depth, Instant::now() + WARM_UP).await;
    let begun = Instant::now();
    let count = calls(&client, depth, begun + span).await;
    println!("{}", count as f64 / begun.elapsed().as_secs_f64());
}

async fn calls(client: &Client, depth: usize, until: Instant) -> u64 {
    let mut tasks = JoinSet::new();
    for _ in 0..depth {
        let client = Arc::clone(client);
        tasks.spawn(async move {
            let mut count = 0;
            while Instant::now() < until {
                let arguments = object(json!({"message": "Hello, world!"}));
                let call = CallToolRequestParams::new("echo").with_arguments(arguments);
                let result = client.call_tool(call).await.expect("a result");
                let text = result.content.first().and_then(ContentBlock::as_text);
                assert_eq!(text.map(|text| &*text.text), Some("Hello, world!"));
                count += 1;
            }
            count
        });
    }
    let mut all = 0;
    while let Some(count) = tasks.join_next().await {
        all += count.expect("calls do not panic");
    }
    all
}
