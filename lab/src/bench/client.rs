//! A minimal HTTP client that costs little.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub(super) struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

pub(super) struct Head {
    pub(super) status: u16,
    /// The length of the body; `None` if it is chunked.
    length: Option<usize>,
    pub(super) session: Option<String>,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            read: Vec::with_capacity(4096),
        })
    }

    pub(super) async fn exchange(&mut self, request: &[u8]) -> io::Result<(Head, Vec<u8>)> {
        let head = self.begin(request).await?;
        let body = self.body(&head).await?;
        Ok((head, body))
    }

    pub(super) async fn begin(&mut self, request: &[u8]) -> io::Result<Head> {
        self.stream.write_all(request).await?;
        loop {
            if let Some(end) = find(&self.read, b"\r\n\r\n") {
                let head = Head::parse(&self.read[..end]);
                self.read.drain(..end + 4);
                return Ok(head);
            }
            self.fill().await?;
        }
    }

    async fn body(&mut self, head: &Head) -> io::Result<Vec<u8>> {
        if let Some(length) = head.length {
            while self.read.len() < length {
                self.fill().await?;
            }
            return Ok(self.read.drain(..length).collect());
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    pub(super) async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = loop {
            match find(&self.read, b"\r\n") {
                Some(end) => break end,
                None => self.fill().await?,
            }
        };
        let length = std::str::from_utf8(&self.read[..line]).map_err(io::Error::other)?;
        let length = usize::from_str_radix(length, 16).map_err(io::Error::other)?;
        while self.read.len() < line + 2 + length + 2 {
            self.fill().await?;
        }
        let chunk = self.read[line + 2..][..length].to_vec();
        self.read.drain(..line + 2 + length + 2);
        Ok((length > 0).then_some(chunk))
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

impl Head {
    fn parse(head: &[u8]) -> Self {
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let mut parsed = Self {
            status: status.and_then(|status| status.parse().ok()).unwrap_or(0),
            length: Some(0),
            session: None,
        };
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            if name.eq_ignore_ascii_case("content-length") {
                parsed.length = value.parse().ok();
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                parsed.length = None;
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                parsed.session = Some(value.to_owned());
            }
        }
        parsed
    }
}

pub(super) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|piece| piece == what)
}
