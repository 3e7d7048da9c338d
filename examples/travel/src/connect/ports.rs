//! The ports of the pages and of the airline: the same at each start, so that a link and what an airline gave out stay
//! good when the agency is served again.

use std::{io, net::Ipv4Addr, path::Path};

use tokio::{fs, net::TcpListener};

/// Listens at the ports in the file, or at free ones; those of the first agency are kept there.
pub(super) async fn listeners(file: Option<&Path>) -> io::Result<[TcpListener; 2]> {
    let kept = match file {
        Some(file) => read(file).await,
        None => None,
    };
    let [pages, airline] = kept.unwrap_or_default();
    let listeners = [listener(pages).await?, listener(airline).await?];
    if let (Some(file), None) = (file, kept) {
        let [pages, airline] = &listeners;
        let ports = [pages.local_addr()?.port(), airline.local_addr()?.port()];
        if let Err(error) = fs::write(file, serde_json::to_vec(&ports)?).await {
            tracing::debug!(%error, "the next agency will be at other ports");
        }
    }
    Ok(listeners)
}

async fn read(file: &Path) -> Option<[u16; 2]> {
    let text = fs::read(file).await.ok()?;
    serde_json::from_slice(&text).ok()
}

/// Listens at a port of this machine; at a free one for 0, and where another program has it.
async fn listener(port: u16) -> io::Result<TcpListener> {
    let free = (Ipv4Addr::LOCALHOST, 0);
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Err(_) if port != 0 => TcpListener::bind(free).await,
        bound => bound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ports(file: &Path) -> ([TcpListener; 2], [u16; 2]) {
        let listeners = listeners(Some(file)).await.unwrap();
        let port = |at: usize| listeners[at].local_addr().unwrap().port();
        let ports = [port(0), port(1)];
        (listeners, ports)
    }

    #[tokio::test]
    async fn an_agency_is_where_it_was_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ports.json");
        let (first, before) = ports(&file).await;
        // One beside it is elsewhere, and leaves the ports to the first.
        let (_, beside) = ports(&file).await;
        assert!(before.iter().all(|port| !beside.contains(port)));
        drop(first);
        let (_first, again) = ports(&file).await;
        assert_eq!(again, before);
    }

    #[tokio::test]
    async fn a_file_that_holds_no_ports_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ports.json");
        for text in ["", "[1]", "[70000, 1]", "{}"] {
            std::fs::write(&file, text).unwrap();
            let (_listeners, [pages, airline]) = ports(&file).await;
            assert!(pages != airline && pages > 1, "{text}");
        }
    }
}
