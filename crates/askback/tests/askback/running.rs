//! Servers that are built and served in one step.

use std::net::TcpListener;

use askback::{
    Error, Result, RunError, Server, ServerBuilder, Tool,
    client::{Client, ClientError},
    transport::Http,
};

use crate::log::Log;

fn server(tool: &str) -> ServerBuilder {
    let hello = async || -> Result<&'static str> { Ok("Hello!") };
    Server::new("greeter", "1").tool(Tool::new(tool, hello))
}

#[track_caller]
fn check(outcome: Result<(), RunError>, told: &str) {
    let error = outcome.expect_err("it cannot run");
    assert_eq!(format!("{error:?}"), told);
    assert_eq!(error.to_string(), told);
    // A `main` with the error type of handlers.
    assert_eq!(format!("{:?}", Error::from(error)), told);
}

#[tokio::test]
async fn a_server_that_cannot_be_built_says_so_in_words() {
    let told = "the server cannot be built: `a tool` cannot name a tool: use 1 to 128 letters, \
                digits, underscores, hyphens and dots";
    check(server("a tool").run_stdio().await, told);
    check(server("a tool").run_http("127.0.0.1:0").await, told);
}

#[tokio::test]
async fn an_address_that_is_taken_is_named_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let outcome = server("hello").run_http(address).await;
    let Err(RunError::Listen { why, .. }) = &outcome else {
        panic!("{outcome:?}");
    };
    let told = format!(
        "cannot listen on {address}: {why}. Stop the program that listens there, or choose \
         another port."
    );
    check(outcome, &told);
}

#[tokio::test]
async fn an_address_without_a_port_says_what_one_looks_like() {
    let outcome = server("hello").run_http("localhost").await;
    let Err(RunError::Address(why)) = &outcome else {
        panic!("{outcome:?}");
    };
    let told = format!(
        "the address to listen on cannot be resolved: {why}. Give an IP address and a port, such \
         as `127.0.0.1:8000`."
    );
    check(outcome, &told);
}

#[tokio::test]
async fn a_server_logs_where_it_is_reached() {
    let log = Log::default();
    let _logging = log.listen();
    let running = tokio::spawn(server("hello").run_http("127.0.0.1:0"));
    let url = loop {
        let text = log.text();
        if let Some((_, rest)) = text.split_once("url=") {
            break rest.split_whitespace().next().unwrap().to_owned();
        }
        assert!(!running.is_finished(), "{text}");
        tokio::task::yield_now().await;
    };
    let tools = async {
        let client = Client::builder("test", "1")
            .connect(Http::new(&url).unwrap())
            .await?;
        client.tools().await
    };
    let tools: Result<_, ClientError> = tools.await;
    assert_eq!(tools.unwrap()[0].name, "hello", "{url}");
    running.abort();
}
