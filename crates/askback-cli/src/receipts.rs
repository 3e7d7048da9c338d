//! The receipts that this user's host signed, and the keys for signing them.

use std::{
    fs, io,
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

use crate::{private_file, target::Target};

/// Older receipts of a key are dropped. A receipt takes less than 1 KiB.
const MAX_RECEIPTS_PER_KEY: usize = 1_000;

#[derive(Debug, Clone)]
pub struct ReceiptFolder(PathBuf);

/// The receipts of one key, and whether the chain is complete.
#[derive(Debug, Serialize)]
pub struct ReceiptChain {
    pub key: String,
    pub fault: Option<String>,
    #[serde(flatten)]
    pub list: ReceiptList,
}

/// The file of one key. It is replaced as a whole for each receipt.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ReceiptList {
    /// The name of the server, as configured by the user.
    pub server: String,
    /// How many receipts were signed.
    signed: u64,
    pub dropped: u64,
    pub receipts: Vec<Receipt>,
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
    /// `None` if the user has no folder for state.
    pub fn of_user() -> Option<Self> {
        Some(Self(state_dir()?.join("askback").join("receipts")))
    }

    /// Creates the key on first use.
    pub fn key(&self, target: &Target) -> io::Result<WitnessKey> {
        Ok(self.signer(&identity(target))?.key())
    }

    /// Reads the receipts of all keys, sorted by the name of the server.
    pub fn chains(&self) -> io::Result<Vec<ReceiptChain>> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut chains = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let key = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if let Some(key) = key.filter(|key| key.parse::<WitnessKey>().is_ok()) {
                chains.push(self.chain(key));
            }
        }
        let order = |chain: &ReceiptChain| (chain.list.server.clone(), chain.key.clone());
        chains.sort_by_key(order);
        Ok(chains)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    fn list_path(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.json"))
    }

    fn chain(&self, key: &str) -> ReceiptChain {
        let (list, fault) = match private_file::load::<ReceiptList>(&self.list_path(key)) {
            Ok(list) => {
                let fault = list.fault(key);
                (list, fault)
            }
            Err(error) => (ReceiptList::default(), Some(error.to_string())),
        };
        ReceiptChain {
            key: key.to_owned(),
            fault,
            list,
        }
    }

    /// Creates the secret on first use.
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
        let path = self.list_path(&signer.key().to_string());
        let _turn = private_file::lock(&path)?;
        let mut list: ReceiptList = private_file::load(&path)?;
        if !list.has_all() {
            // The next receipt would hide that some are missing.
            let words = format!(
                "receipts were removed from {}; remove the file to begin a new list",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        let receipt = signer.sign(shown, list.receipts.last());
        if let Some(receipt) = &receipt {
            list.add(name, receipt.clone());
            private_file::write(&path, &serde_json::to_string_pretty(&list)?)?;
        }
        Ok(receipt)
    }
}

impl ReceiptList {
    fn add(&mut self, server: &str, receipt: Receipt) {
        server.clone_into(&mut self.server);
        self.signed = receipt.sequence;
        self.receipts.push(receipt);
        let excess = self.receipts.len().saturating_sub(MAX_RECEIPTS_PER_KEY);
        self.receipts.drain(..excess);
        self.dropped = self.dropped.saturating_add(excess as u64);
    }

    fn has_all(&self) -> bool {
        self.dropped.saturating_add(self.receipts.len() as u64) == self.signed
    }

    fn fault(&self, key: &str) -> Option<String> {
        let first = self.dropped.saturating_add(1);
        if let Err(error) = verify_chain_from(first, &self.receipts) {
            return Some(error.to_string());
        }
        if self.receipts.iter().any(|receipt| receipt.key != key) {
            return Some("the receipts are of another key".to_owned());
        }
        (!self.has_all()).then(|| "the last receipt is missing".to_owned())
    }
}

impl ReceiptBook for ReceiptFolder {
    fn of(&self, identity: &str, name: &str) -> Arc<dyn Receipts> {
        Arc::new(ServerReceipts {
            folder: self.clone(),
            server: identity.to_owned(),
            name: name.to_owned(),
        })
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
    use tempfile::TempDir;

    use super::*;

    /// A folder, and the temporary folder that it is.
    fn folder() -> (ReceiptFolder, TempDir) {
        let folder = tempfile::tempdir().expect("there is room");
        (ReceiptFolder(folder.path().to_owned()), folder)
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

    #[test]
    fn only_the_newest_receipts_are_kept() {
        let (folder, _temporary) = folder();
        let signer = folder.signer("bank").expect("there is room");
        let mut list = ReceiptList::default();
        for _ in 0..MAX_RECEIPTS_PER_KEY + 2 {
            let receipt = shown(|shown| signer.sign(shown, list.receipts.last()));
            list.add("bank", receipt.expect("the question asks for one"));
        }
        assert_eq!(
            (list.receipts.len(), list.dropped),
            (MAX_RECEIPTS_PER_KEY, 2)
        );
        assert_eq!(list.fault(&signer.key().to_string()), None);
    }

    #[test]
    fn a_list_without_its_last_receipt_is_not_continued() {
        let (folder, _temporary) = folder();
        sign_with(&folder, "bank");
        let key = sign_with(&folder, "bank").key;
        private_file::change(&folder.list_path(&key), |list: &mut ReceiptList| {
            list.receipts.pop()
        })
        .expect("it is ours");
        let fault = folder.chain(&key).fault;
        assert_eq!(fault.as_deref(), Some("the last receipt is missing"));
        let error = shown(|shown| folder.sign("bank", "bank", shown)).expect_err("one is missing");
        assert!(
            error.to_string().contains("receipts were removed"),
            "{error}"
        );
    }

    #[test]
    fn several_programs_sign_with_one_key() {
        let (folder, _temporary) = folder();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..8).for_each(|_| drop(sign_with(&folder, "bank"))));
            }
        });
        sign_with(&folder, "shop");
        let chains = folder.chains().expect("they can be read");
        let mut counts: Vec<_> = chains.iter().map(|it| it.list.receipts.len()).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 32]);
        assert!(
            chains.iter().all(|chain| chain.fault.is_none()),
            "{chains:?}"
        );
    }
}
