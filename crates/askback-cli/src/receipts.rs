//! The receipts that this user's host signed, and the keys for signing them.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use askback::{
    keys::state_dir,
    witness::{
        Receipt, ReceiptSecret, ReceiptSigner, ShownQuestion, WitnessKey, verify_chain_from,
    },
};
use askback_host::receipts::{ReceiptBook, Receipts};
use serde::{Deserialize, Serialize};

use crate::{own_files, private_file, target::Target};

/// The maximum length of a line of a list, in bytes. A receipt takes less than 1 KiB.
const LINE_MAX_BYTES: u64 = 8 << 10;

/// The maximum size of a list, in bytes. Each key has two lists: the current one and the previous one.
const LIST_MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct ReceiptFolder(PathBuf);

/// The receipts of one key, and whether the chain is complete.
#[derive(Debug)]
pub struct ReceiptChain {
    /// The name of the server, as configured by the user.
    pub server: String,
    pub key: String,
    pub receipts: Vec<Receipt>,
    /// How many older receipts were dropped.
    pub dropped: u64,
    pub fault: Option<String>,
}

/// The end of a key's chain. It is written before the last receipt is added to the list: after a crash between the two,
/// the receipt is added when the next one is signed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ChainHead {
    /// The name of the server, as configured by the user.
    server: String,
    /// The number of the oldest receipt that counts. The lists may still have older ones, which are ignored.
    first: u64,
    last: Receipt,
}

struct KeyFiles {
    folder: PathBuf,
    list_max_bytes: u64,
}

#[derive(Debug)]
struct ServerReceipts {
    folder: ReceiptFolder,
    /// The text from which the server's signing key is derived.
    server: String,
    name: String,
}

/// Returns the text that identifies a server: its address, or the digest of its command and folder.
pub fn identity(target: &Target) -> String {
    let address = target.reach.endpoint();
    address.map_or_else(|| target.digest(), |url| url.into())
}

impl ReceiptFolder {
    /// The folder of this user. `None` if the user has no folder for state.
    pub fn of_user() -> Option<Self> {
        Some(Self(state_dir()?.join("askback").join("receipts")))
    }

    pub fn signing_for(self, target: &Target) -> impl Receipts + use<> {
        self.signing_as(identity(target), target.name.clone())
    }

    fn signing_as(self, server: String, name: String) -> ServerReceipts {
        ServerReceipts {
            folder: self,
            server,
            name,
        }
    }

    /// Returns the public key for a server. Creates it on first use.
    ///
    /// # Errors
    ///
    /// Fails if the secret cannot be read or written.
    pub fn key(&self, target: &Target) -> io::Result<WitnessKey> {
        Ok(self.signer(&identity(target))?.key())
    }

    /// Reads the receipts of all keys, sorted by the name of the server.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read.
    pub fn chains(&self) -> io::Result<Vec<ReceiptChain>> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut chains = Vec::new();
        for entry in entries {
            let entry = entry?;
            let key = entry.file_name().into_string().ok();
            let key = key.filter(|key| key.parse::<WitnessKey>().is_ok());
            if let (Some(key), true) = (key, entry.file_type()?.is_dir()) {
                chains.extend(KeyFiles::of(&self.0, &key).chain(key)?);
            }
        }
        chains.sort_by(|one, other| (&one.server, &one.key).cmp(&(&other.server, &other.key)));
        Ok(chains)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the signer for a server. Creates the secret on first use.
    fn signer(&self, server: &str) -> io::Result<ReceiptSigner> {
        let path = self.0.join("secret");
        let _turn = private_file::lock(&path)?;
        let secret = match private_file::read(&path)? {
            Some(text) => ReceiptSecret::from_text(text.trim()).ok_or_else(|| {
                let words = format!(
                    "{} is not a secret for receipts; remove it to start with a new one",
                    path.display()
                );
                io::Error::new(io::ErrorKind::InvalidData, words)
            })?,
            None => {
                let secret = ReceiptSecret::random()?;
                private_file::write(&path, &secret.to_text())?;
                secret
            }
        };
        Ok(ReceiptSigner::new(&secret, server))
    }

    fn sign(
        &self,
        server: &str,
        name: &str,
        shown: ShownQuestion<'_>,
    ) -> io::Result<Option<Receipt>> {
        let signer = self.signer(server)?;
        let key = signer.key().to_string();
        let files = KeyFiles::of(&self.0, &key);
        let _turn = files.lock()?;
        let previous = files.head()?;
        let last = previous.as_ref().map(|head| &head.last);
        let Some(receipt) = signer.sign(shown, last) else {
            return Ok(None);
        };
        files.add(previous, name, receipt.clone())?;
        Ok(Some(receipt))
    }
}

impl KeyFiles {
    fn of(folder: &Path, key: &str) -> Self {
        Self {
            folder: folder.join(key),
            list_max_bytes: LIST_MAX_BYTES,
        }
    }

    fn head_path(&self) -> PathBuf {
        self.folder.join("head.json")
    }

    fn current(&self) -> PathBuf {
        self.folder.join("current.jsonl")
    }

    fn before(&self) -> PathBuf {
        self.folder.join("previous.jsonl")
    }

    fn lock(&self) -> io::Result<File> {
        private_file::lock(&self.head_path())
    }

    /// Reads the end of the chain.
    ///
    /// # Errors
    ///
    /// If it is missing although there is a list: a new chain would contradict the list.
    fn head(&self) -> io::Result<Option<ChainHead>> {
        let path = self.head_path();
        if let Some(text) = private_file::read(&path)? {
            return private_file::parse(&path, &text).map(Some);
        }
        if self.current().exists() || self.before().exists() {
            let words = format!(
                "{} is missing; remove its folder to begin a new list",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        Ok(None)
    }

    fn write_head(&self, head: &ChainHead) -> io::Result<()> {
        private_file::write(&self.head_path(), &serde_json::to_string_pretty(head)?)
    }

    /// Adds a receipt to the chain that ends with `previous`. The caller holds the lock.
    fn add(&self, previous: Option<ChainHead>, server: &str, receipt: Receipt) -> io::Result<()> {
        let first = match previous {
            Some(mut previous) => {
                if self.last_in_list()?.as_ref() != Some(&previous.last) {
                    // The last receipt is missing in the list if the process crashed before writing
                    // it there.
                    self.append(&mut previous)?;
                }
                previous.first
            }
            None => receipt.sequence,
        };
        let mut head = ChainHead {
            server: server.to_owned(),
            first,
            last: receipt,
        };
        self.write_head(&head)?;
        self.append(&mut head)
    }

    /// Appends the last receipt to the current list. A full list first replaces the previous list, whose receipts are
    /// dropped.
    fn append(&self, head: &mut ChainHead) -> io::Result<()> {
        // The first newline ends a line that was truncated.
        let line = format!("\n{}\n", serde_json::to_string(&head.last)?);
        let size = match fs::metadata(self.current()) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let is_full = size.saturating_add(line.len() as u64) > self.list_max_bytes;
        if is_full && size > 0 {
            let mut first = None;
            each_receipt(&self.current(), |receipt| {
                first.get_or_insert(receipt.sequence);
            })?;
            head.first = first.unwrap_or(head.last.sequence);
            self.write_head(head)?;
            own_files::rename(&self.current(), &self.before())?;
        }
        let mut list = private_file::append(&self.current())?;
        list.write_all(line.as_bytes())?;
        list.sync_data()
    }

    /// Reads the last receipt of the lists, without reading all of them.
    fn last_in_list(&self) -> io::Result<Option<Receipt>> {
        for path in [self.current(), self.before()] {
            let Some(mut file) = open(&path)? else {
                continue;
            };
            let size = file.metadata()?.len();
            // This part has the last complete line, even if a truncated line follows it.
            file.seek(SeekFrom::Start(size.saturating_sub(2 * LINE_MAX_BYTES)))?;
            let mut last = None;
            each_line(file, |line| {
                if let Ok(receipt) = serde_json::from_slice(line) {
                    last = Some(receipt);
                }
            })?;
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    /// Reads the receipts of the key. `None` if nothing was signed.
    fn chain(&self, key: String) -> io::Result<Option<ReceiptChain>> {
        let _turn = self.lock()?;
        let head = self.head();
        let mut receipts = Vec::new();
        for path in [self.before(), self.current()] {
            each_receipt(&path, |receipt| receipts.push(receipt))?;
        }
        let head = match head {
            Ok(Some(head)) => head,
            Ok(None) => return Ok(None),
            Err(error) => {
                return Ok(Some(ReceiptChain {
                    server: String::new(),
                    key,
                    receipts,
                    dropped: 0,
                    fault: Some(error.to_string()),
                }));
            }
        };
        receipts.retain(|receipt| receipt.sequence >= head.first);
        // The process ended before it added the last receipt to the list.
        if receipts.last() != Some(&head.last) {
            receipts.push(head.last);
        }
        let checked = verify_chain_from(head.first, &receipts);
        let is_of_key = receipts.iter().all(|receipt| receipt.key == key);
        let fault = match checked {
            Err(error) => Some(error.to_string()),
            Ok(()) if !is_of_key => Some("the receipts are of another key".to_owned()),
            Ok(()) => None,
        };
        Ok(Some(ReceiptChain {
            server: head.server,
            key,
            receipts,
            dropped: head.first.saturating_sub(1),
            fault,
        }))
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match own_files::open(OpenOptions::new().read(true), path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the lines of a file. A line that is too long is split.
fn each_line(file: File, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines)
            .take(LINE_MAX_BYTES)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        take(&line);
    }
}

/// Reads the receipts of a list. Skips truncated lines: the check of the chain finds the missing receipt.
fn each_receipt(path: &Path, mut take: impl FnMut(Receipt)) -> io::Result<()> {
    let Some(file) = open(path)? else {
        return Ok(());
    };
    each_line(file, |line| {
        if let Ok(receipt) = serde_json::from_slice(line) {
            take(receipt);
        }
    })
}

impl ReceiptBook for ReceiptFolder {
    fn of(&self, identity: &str, name: &str) -> Arc<dyn Receipts> {
        Arc::new(
            self.clone()
                .signing_as(identity.to_owned(), name.to_owned()),
        )
    }
}

impl Receipts for ServerReceipts {
    fn sign(&self, shown: ShownQuestion<'_>) -> io::Result<Option<Receipt>> {
        self.folder.sign(&self.server, &self.name, shown)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use askback::{
        forms::Content,
        protocol::{ElicitParams, ElicitResult},
        witness::Renderer,
    };
    use serde_json::json;

    use super::*;

    /// A folder of the test, which is removed at its end.
    struct Folder(ReceiptFolder);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("askback-{name}-{}", std::process::id()));
            private_file::make_folder(&path).expect("there is room");
            Self(ReceiptFolder(path))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.0);
        }
    }

    fn shown<T>(take: impl FnOnce(ShownQuestion<'_>) -> T) -> T {
        let question: ElicitParams = serde_json::from_value(json!({
            "message": "Pay?", "requestedSchema": {"type": "object", "properties": {}},
            "_meta": {"dev.askback/challenge": "c"},
        }))
        .expect("it is a form");
        let answer = ElicitResult::accept(Content::new());
        take(ShownQuestion {
            question: &question,
            answer: &answer,
            shown_at: 1000,
            answered_at: 3000,
            renderer: Renderer::Terminal,
        })
    }

    fn sign_with(folder: &ReceiptFolder, server: &str) -> Receipt {
        let signed = shown(|shown| folder.sign(server, "bank", shown));
        signed
            .expect("there is room")
            .expect("the question asks for one")
    }

    /// The files of one key, with a list that is full after three receipts.
    struct Chain {
        folder: Folder,
        files: KeyFiles,
    }

    /// The head, the current list and the list before, as bytes.
    type State = [Option<Vec<u8>>; 3];

    impl Chain {
        fn new(name: &str) -> Self {
            let folder = Folder::new(name);
            let signer = folder.0.signer("bank").expect("there is room");
            let files = KeyFiles {
                list_max_bytes: 2500,
                ..KeyFiles::of(&folder.0.0, &signer.key().to_string())
            };
            Self { folder, files }
        }

        fn sign(&self) {
            let signer = self.folder.0.signer("bank").expect("it is there");
            let head = self.files.head().expect("it can be read");
            let last = head.as_ref().map(|head| &head.last);
            let receipt = shown(|shown| signer.sign(shown, last));
            let receipt = receipt.expect("the question asks for one");
            let _turn = self.files.lock().expect("there is room");
            let added = self.files.add(head, "bank", receipt);
            added.expect("there is room");
        }

        fn paths(&self) -> [PathBuf; 3] {
            let files = &self.files;
            [files.head_path(), files.current(), files.before()]
        }

        fn state(&self) -> State {
            self.paths().map(|path| fs::read(path).ok())
        }

        fn restore(&self, state: &State) {
            for (path, bytes) in self.paths().iter().zip(state) {
                let _ = fs::remove_file(path);
                if let Some(bytes) = bytes {
                    private_file::write(path, &String::from_utf8_lossy(bytes)).expect("it is ours");
                }
            }
        }

        /// The numbers of the chain, which must have no fault.
        #[track_caller]
        fn numbers(&self, state: &str) -> Vec<u64> {
            let chain = self.files.chain(self.key()).expect("it can be read");
            let chain = chain.expect("it has receipts");
            assert_eq!(chain.fault, None, "{state}");
            let numbers: Vec<_> = chain.receipts.iter().map(|it| it.sequence).collect();
            assert_eq!(
                chain.dropped.checked_add(1),
                numbers.first().copied(),
                "{state}"
            );
            numbers
        }

        fn key(&self) -> String {
            let signer = self.folder.0.signer("bank").expect("it is there");
            signer.key().to_string()
        }
    }

    #[test]
    fn no_crash_between_two_writes_breaks_the_chain() {
        let chain = Chain::new("receipts-crash");
        chain.sign();
        for number in 2..=12_u64 {
            let before = chain.state();
            chain.sign();
            let after = chain.state();
            assert_eq!(chain.numbers("signed").last(), Some(&number));
            let [head, current, older] = &after;
            // The head was written, and nothing else.
            let mut crashes = vec![[head.clone(), before[1].clone(), before[2].clone()]];
            let is_rotated = older != &before[2];
            let written = match is_rotated {
                true => 0,
                false => before[1].as_ref().map_or(0, Vec::len),
            };
            if is_rotated {
                // The list was not renamed yet, and the head does not know yet that it will be.
                let text = String::from_utf8_lossy(head.as_ref().expect("it is there"));
                let mut early: ChainHead = serde_json::from_str(&text).expect("it is a head");
                let old = String::from_utf8_lossy(before[0].as_ref().expect("it is there"));
                let old: ChainHead = serde_json::from_str(&old).expect("it is a head");
                early.first = old.first;
                let early = serde_json::to_vec(&early).expect("it is JSON");
                crashes.push([Some(early), before[1].clone(), before[2].clone()]);
                // It was renamed, and the receipt is not in the next one.
                crashes.push([head.clone(), None, before[1].clone()]);
            }
            // The line of the receipt is cut.
            let whole = current.as_ref().expect("it was written");
            for length in (written..whole.len()).step_by(53) {
                crashes.push([head.clone(), Some(whole[..length].to_vec()), older.clone()]);
            }
            for (at, crash) in crashes.iter().enumerate() {
                let state = format!("receipt {number}, crash {at}");
                chain.restore(crash);
                assert_eq!(chain.numbers(&state).last(), Some(&number));
                for later in number + 1..=number + 3 {
                    chain.sign();
                    assert_eq!(chain.numbers(&state).last(), Some(&later));
                }
            }
            chain.restore(&after);
        }
        // Two lists of three receipts each, at most.
        assert!(chain.numbers("the end").len() <= 6);
        let sizes = chain
            .paths()
            .map(|path| fs::metadata(path).map_or(0, |it| it.len()));
        assert!(sizes[1] <= 2500 && sizes[2] <= 2500, "{sizes:?}");
    }

    #[test]
    fn several_programs_sign_with_one_key() {
        let folder = Folder::new("receipts-together");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..8).for_each(|_| drop(sign_with(&folder.0, "bank"))));
            }
        });
        sign_with(&folder.0, "shop");
        let chains = folder.0.chains().expect("they can be read");
        let mut counts: Vec<_> = chains.iter().map(|it| it.receipts.len()).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 32]);
        assert!(
            chains.iter().all(|chain| chain.fault.is_none()),
            "{chains:?}"
        );
    }
}
