//! Searches logs and storage for known secrets, in plain text and in encodings of bytes as text.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    panic,
    path::Path,
    sync::{Arc, Mutex, OnceLock},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use lab::{browser::Person, issuers::Issuer};
use url::{Url, form_urlencoded};

use crate::{
    Result,
    scene::{BREAKS, KEY, SECRETS, Scene, held},
};

/// The redirect URIs, which receive codes.
const CALLBACKS: [&str; 2] = ["/cb/airline", "/signed-in"];

/// The kinds of secrets that the airline and the sign-in issuer create.
const OF_AIRLINE: &[&str] = &["access_token", "code", "code_verifier", "refresh_token"];
const OF_ISSUER: &[&str] = &["access_token", "code", "code_verifier", "id_token"];

/// The secrets, which only their owners may see.
#[derive(Default)]
pub(crate) struct Canary {
    secrets: Vec<Secret>,
}

struct Secret {
    name: String,
    is_code: bool,
    forms: Vec<String>,
}

impl Canary {
    /// Collects the key of the vault, the secrets of the clients, and everything exchanged between the pages and the
    /// two authorization servers so far.
    pub(crate) async fn of(scene: &Scene) -> Result<Self> {
        let mut canary = Self::default();
        canary.add("the key of the vault", str::from_utf8(&KEY)?);
        for secret in SECRETS {
            canary.add("the secret of a client", secret);
        }
        canary.add_issued(&scene.third, "kit", OF_AIRLINE).await?;
        canary.add_issued(&scene.issuer, "pages", OF_ISSUER).await?;
        // The handler had these tokens, so search for them.
        let had = scene.had.tokens();
        assert!(!had.is_empty() && had.iter().all(|it| canary.knows(it.expose())));
        Ok(canary)
    }

    /// Adds the secrets exchanged between an authorization server and a client. These kinds must be among them.
    pub(crate) async fn add_issued(
        &mut self,
        issuer: &Issuer,
        client: &str,
        kinds: &[&str],
    ) -> Result<()> {
        let issued = issuer.issued().await?;
        let of_client = issued
            .iter()
            .filter(|it| it.client.as_deref() == Some(client));
        let mut found = BTreeSet::new();
        for it in of_client {
            self.add(&format!("the {} of {client}", it.kind), &it.value);
            found.insert(&*it.kind);
        }
        let missing = kinds.iter().find(|kind| !found.contains(**kind));
        assert_eq!(missing, None, "{client}: {found:?}");
        Ok(())
    }

    fn add(&mut self, name: &str, secret: &str) {
        self.secrets.push(Secret {
            name: name.to_owned(),
            is_code: name.starts_with("the code of"),
            forms: forms(secret),
        });
    }

    pub(crate) fn knows(&self, secret: &str) -> bool {
        self.secrets.iter().any(|it| it.forms[0] == secret)
    }

    fn found(&self, bytes: &[u8], but_codes: bool) -> Option<&str> {
        let text = String::from_utf8_lossy(bytes);
        let is_there = |it: &&Secret| it.forms.iter().any(|form| text.contains(form));
        let searched = self.secrets.iter().filter(|it| !(but_codes && it.is_code));
        searched.into_iter().find(is_there).map(|it| &*it.name)
    }

    /// Panics if the bytes contain a secret, or do not contain `known`, which shows that they are the right bytes.
    pub(crate) fn hold_none(&self, place: &str, bytes: &[u8], known: &str) {
        let text = String::from_utf8_lossy(bytes);
        assert!(text.contains(known), "{place} has nothing of {known}");
        assert_eq!(self.found(bytes, false), None, "in {place}");
    }

    /// Panics if a file below the folder contains a secret, or if no file contains `known`.
    pub(crate) fn hold_none_below(&self, folder: &Path, known: &str) -> Result<()> {
        let mut all = Vec::new();
        read_below(folder, &mut all)?;
        self.hold_none(&folder.display().to_string(), &all, known);
        Ok(())
    }

    /// Panics if the pages gave a browser a secret, or if it sent one elsewhere: in the pages' content, in headers and
    /// cookies, and in the URLs of requests and of the history. The only exception is a code in its redirect URI.
    pub(crate) async fn hold_none_in(&self, person: &Person, pages: &str) -> Result<()> {
        let origin = Url::parse(pages)?.origin();
        let (mut read, mut brought) = (0, BTreeSet::<&str>::new());
        for request in person.requests().await? {
            let place = &request.url;
            let url = Url::parse(place)?;
            let is_ours = url.origin() == origin;
            // The page after the redirect has the code in its URL, and only sends that to the pages.
            let headers = format!("{:?}", request.headers);
            let found = self.found(headers.as_bytes(), is_ours);
            assert_eq!(found, None, "in the header fields to {place}");
            if !is_ours {
                continue;
            }
            let is_callback = callback(&url);
            brought.extend(is_callback);
            let found = self.found(place.as_bytes(), is_callback.is_some());
            assert_eq!(found, None, "in {place}");
            let answered = format!("{:?}", request.answered);
            for text in [&answered, &request.body] {
                assert_eq!(self.found(text.as_bytes(), false), None, "at {place}");
            }
            let Some(content) = request.content else {
                continue;
            };
            assert_eq!(self.found(content.as_bytes(), false), None, "on {place}");
            read += usize::from(content.contains("Acme Tools"));
        }
        assert!(read >= 3, "{read} pages were read");
        assert_eq!(brought.len(), CALLBACKS.len(), "{brought:?}");
        let cookies = format!("{:?}", person.cookies().await?);
        self.hold_none("cookies", cookies.as_bytes(), "connect");
        for url in person.history().await? {
            assert_eq!(
                self.found(url.as_bytes(), true),
                None,
                "in the history: {url}"
            );
        }
        self.hold_none(
            "the last page",
            person.source().await?.as_bytes(),
            "Acme Tools",
        );
        Ok(())
    }
}

fn callback(url: &Url) -> Option<&'static str> {
    let is_it = |it: &&str| url.path().ends_with(it);
    CALLBACKS.into_iter().find(is_it)
}

/// Returns a text in plain, in URL encoding, JSON, hexadecimal, and Base64 at any offset.
fn forms(secret: &str) -> Vec<String> {
    let url: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![
        secret.to_owned(),
        url,
        hex.to_uppercase(),
        hex,
        format!("{:?}", secret.as_bytes()).replace(['[', ']'], ""),
    ];
    for before in 0..3 {
        // The characters at both ends also encode adjacent bytes.
        let bytes = [&vec![0; before], secret.as_bytes()].concat();
        let whole = &bytes[..bytes.len() / 3 * 3];
        for written in [STANDARD.encode(whole), URL_SAFE_NO_PAD.encode(whole)] {
            forms.push(
                written
                    .split_at(if before == 0 { 0 } else { 4 })
                    .1
                    .to_owned(),
            );
        }
    }
    forms
}

fn read_below(folder: &Path, all: &mut Vec<u8>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let kind = fs::metadata(&path)?.file_type();
        if kind.is_dir() {
            read_below(&path, all)?;
        } else if kind.is_file() {
            all.extend(fs::read(&path)?);
        }
    }
    Ok(())
}

/// Collects this process's log. Panics are logged, too.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn begin() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Self::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_max_level(tracing::Level::TRACE)
                .with_writer(move || writer.clone());
            // Fails only if a logger is already set, which no other code does.
            let _ = tracing::subscriber::set_global_default(subscriber.finish());
            let (tell, told) = (panic::take_hook(), log.clone());
            panic::set_hook(Box::new(move |panic| {
                let words = panic.to_string();
                held(&told.0).extend_from_slice(words.as_bytes());
                if !words.contains(BREAKS) {
                    tell(panic);
                }
            }));
            log
        })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        held(&self.0).clone()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        held(&self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_planted_is_found() {
    let mut canary = Canary::default();
    canary.add("the token", "a/token+of the:Kit==");
    canary.add("the code of kit", "abcdefgh");
    let planted = [
        "x a/token+of the:Kit== x".to_owned(),
        "at?x=a%2Ftoken%2Bof+the%3AKit%3D%3D&y".to_owned(),
        "612f746f6b656e2b6f66207468653a4b69743d3d".to_owned(),
        "612F746F6B656E2B6F66207468653A4B69743D3D".to_owned(),
        format!("{:?}", "<a/token+of the:Kit==>".as_bytes()),
        STANDARD.encode("kit:a/token+of the:Kit=="),
        STANDARD.encode("a/token+of the:Kit=="),
        URL_SAFE_NO_PAD.encode(".a/token+of the:Kit==?????"),
        STANDARD.encode("..a/token+of the:Kit==\u{ff}"),
    ];
    for text in &planted {
        let bytes = [b"\xff\0".as_slice(), text.as_bytes(), b"\xff"].concat();
        assert_eq!(canary.found(&bytes, true), Some("the token"), "{text}");
    }
    assert_eq!(
        canary.found(b"?code=abcdefgh", false),
        Some("the code of kit")
    );
    for text in ["?code=abcdefgh", "a/token of the:Kit", "YWJj", ""] {
        assert_eq!(canary.found(text.as_bytes(), true), None, "{text}");
    }
}
