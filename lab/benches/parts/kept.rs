//! Compares the instruction counts of the parts with the accepted ones in `instructions.txt`.

use std::{collections::BTreeMap, path::Path};

use crate::{count, parts::PARTS};

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/benches/parts/instructions.txt"
);

pub(crate) fn check() -> Result<(), String> {
    let mut counted = BTreeMap::new();
    for (name, _) in PARTS {
        let instructions = count(name).ok_or("`valgrind` counts the instructions: install it")?;
        counted.insert(*name, instructions);
    }
    lab::kept::check(Path::new(FILE), &counted)
}
