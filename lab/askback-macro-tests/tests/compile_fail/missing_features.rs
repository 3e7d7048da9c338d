// Built with only the feature `macros`.

use askback::{Server, client::Client, http::Guard};

async fn serve() {
    let _ = Server::new("a", "1").run_http("127.0.0.1:8000").await;
    let _ = Server::new("a", "1").run_stdio().await;
}

fn main() {}
