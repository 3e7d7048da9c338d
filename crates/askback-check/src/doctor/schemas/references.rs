//! Where the references of a schema lead.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The parts of a schema that can be referred to.
pub(super) struct Parts<'a> {
    root: &'a Value,
    anchors: BTreeMap<&'a str, &'a Value>,
    /// The addresses of parts, by which others may refer to them.
    addresses: BTreeSet<&'a str>,
}

/// Where a reference leads.
pub(super) enum Target<'a> {
    /// To this part.
    Here(&'a Value),
    /// To the network.
    Elsewhere,
    /// To what is not there.
    Nowhere,
    /// To what an address or an escape names, which is not looked up.
    Unknown,
}

impl<'a> Parts<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let mut parts = Self {
            root,
            anchors: BTreeMap::new(),
            addresses: BTreeSet::new(),
        };
        let mut open = vec![root];
        while let Some(part) = open.pop() {
            match part {
                Value::Object(members) => {
                    let anchors = ["$anchor", "$dynamicAnchor"].map(|word| part[word].as_str());
                    let anchors = anchors.into_iter().flatten();
                    parts.anchors.extend(anchors.map(|name| (name, part)));
                    let addresses = ["$id", "id"].map(|word| part[word].as_str());
                    parts.addresses.extend(addresses.into_iter().flatten());
                    open.extend(members.values());
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        parts
    }

    pub(super) fn target(&self, reference: &str) -> Target<'a> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !address.is_empty() {
            return match address.contains("://") {
                true if self.addresses.contains(address) => Target::Unknown,
                true => Target::Elsewhere,
                false if self.addresses.is_empty() => Target::Nowhere,
                false => Target::Unknown,
            };
        }
        let found = match fragment.is_empty() || fragment.starts_with('/') {
            true => self.root.pointer(fragment),
            false => self.anchors.get(fragment).copied(),
        };
        match found {
            Some(part) => Target::Here(part),
            None if !self.addresses.is_empty() || fragment.contains('%') => Target::Unknown,
            None => Target::Nowhere,
        }
    }
}
