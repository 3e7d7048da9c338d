//! The receipts that this user's host signed, and the keys for signing them.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{self, BufRead, BufReader, Write},
    path::PathBuf,
    sync::Arc,
};

use askback::{
    keys::state_dir,
    witness::{Receipt, ReceiptSecret, ReceiptSigner, ShownQuestion, WitnessKey, verify_chain},
};
use askback_host::receipts::{ReceiptBook, Receipts};
use serde::{Deserialize, Serialize};

use crate::{own_files, private_file, target::Target};

/// The maximum length of a line of the list, in bytes. A receipt takes less than 1 KiB.
const LINE_MAX_BYTES: u64 = 8 << 10;

/// The folder with a user's receipts.
#[derive(Debug, Clone)]
pub struct ReceiptFolder(PathBuf);

/// A receipt that this host signed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignedReceipt {
    /// The name of the server, as configured by the user.
    pub server: String,
    pub receipt: Receipt,
}

/// The receipts of one key, and whether the chain is complete.
#[derive(Debug)]
pub struct ReceiptChain {
    pub server: String,
    pub key: String,
    pub receipts: Vec<Receipt>,
    /// The first fault.
    pub fault: Option<String>,
}

/// How many receipts each key signed. Stored apart from the list, so that a truncated list is detected.
type Counts = BTreeMap<String, u64>;

/// Signs receipts for one server.
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

    /// Signs receipts for a server.
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
        let _turn = private_file::lock(&self.list())?;
        Ok(self.signer(&identity(target))?.key())
    }

    /// Reads all receipts, by key in the order of their first receipt.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or if a line is not a receipt.
    pub fn chains(&self) -> io::Result<Vec<ReceiptChain>> {
        let _turn = private_file::lock(&self.list())?;
        let counts: Counts = private_file::load(&self.counts())?;
        let mut chains: Vec<ReceiptChain> = Vec::new();
        self.each(|signed| {
            let SignedReceipt { server, receipt } = signed;
            match chains.iter_mut().find(|chain| chain.key == receipt.key) {
                Some(chain) => chain.receipts.push(receipt),
                None => chains.push(ReceiptChain {
                    server,
                    key: receipt.key.clone(),
                    receipts: vec![receipt],
                    fault: None,
                }),
            }
        })?;
        for chain in &mut chains {
            let signed = counts.get(&chain.key).copied().unwrap_or(0);
            let kept = chain.receipts.len() as u64;
            chain.fault = match verify_chain(&chain.receipts) {
                Err(error) => Some(error.to_string()),
                Ok(()) if kept != signed => {
                    Some(format!("{signed} were signed, and {kept} are in the list"))
                }
                Ok(()) => None,
            };
        }
        let missing = counts
            .iter()
            .filter(|(key, _)| chains.iter().all(|it| it.key != **key));
        let missing: Vec<_> = missing
            .map(|(key, signed)| ReceiptChain {
                server: String::new(),
                key: key.clone(),
                receipts: Vec::new(),
                fault: Some(format!("{signed} were signed, and none is in the list")),
            })
            .collect();
        chains.extend(missing);
        Ok(chains)
    }

    /// The path of the list.
    pub fn list(&self) -> PathBuf {
        self.0.join("receipts.jsonl")
    }

    fn counts(&self) -> PathBuf {
        self.0.join("counts.json")
    }

    /// The signer for a server. The caller holds the lock of the list.
    fn signer(&self, server: &str) -> io::Result<ReceiptSigner> {
        let path = self.0.join("secret");
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

    fn each(&self, mut take: impl FnMut(SignedReceipt)) -> io::Result<()> {
        let file = match own_files::open(OpenOptions::new().read(true), &self.list()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut lines = BufReader::new(file);
        loop {
            let mut line = Vec::new();
            let read = io::Read::take(&mut lines, LINE_MAX_BYTES).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            // A truncated line is a missing receipt, which the counts reveal.
            if let Ok(signed) = serde_json::from_slice(&line) {
                take(signed);
            }
        }
        Ok(())
    }

    fn sign(
        &self,
        server: &str,
        name: &str,
        shown: ShownQuestion<'_>,
    ) -> io::Result<Option<Receipt>> {
        let _turn = private_file::lock(&self.list())?;
        let signer = self.signer(server)?;
        let key = signer.key().to_string();
        let mut last = None;
        self.each(|signed| {
            if signed.receipt.key == key {
                last = Some(signed.receipt);
            }
        })?;
        let Some(receipt) = signer.sign(shown, last.as_ref()) else {
            return Ok(None);
        };
        let signed = SignedReceipt {
            server: name.to_owned(),
            receipt,
        };
        // The first newline ends a line that was truncated.
        let line = format!("\n{}\n", serde_json::to_string(&signed)?);
        own_files::append(&self.list())?.write_all(line.as_bytes())?;
        let sequence = signed.receipt.sequence;
        private_file::change(&self.counts(), |counts: &mut Counts| {
            counts.insert(key, sequence);
        })?;
        Ok(Some(signed.receipt))
    }
}

impl ReceiptBook for ReceiptFolder {
    fn of(&self, identity: &str, name: &str) -> Arc<dyn Receipts> {
        Arc::new(self.clone().signing_as(identity.to_owned(), name.to_owned()))
    }
}

impl Receipts for ServerReceipts {
    fn sign(&self, shown: ShownQuestion<'_>) -> io::Result<Option<Receipt>> {
        self.folder.sign(&self.server, &self.name, shown)
    }
}
