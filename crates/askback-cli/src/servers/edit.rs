//! Writes an edited file of servers.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

use crate::private_file;

pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members.iter();
            CstInputValue::Object(
                members
                    .map(|(name, value)| (name.clone(), input(value)))
                    .collect(),
            )
        }
    }
}

/// Writes a file. An existing file is replaced atomically and keeps its permissions. A new file is only readable by its
/// owner. Returns whether the file is new.
pub fn write(path: &Path, text: &str) -> io::Result<bool> {
    // A symbolic link is kept.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = match fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Never overwrite a file that was created in the meantime.
            let mut file = private_file::create_new(&path)?;
            file.write_all(text.as_bytes())?;
            return Ok(true);
        }
        Err(error) => return Err(error),
    };
    private_file::write(&path, text)?;
    fs::set_permissions(&path, before.permissions())?;
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_there_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;

        let path = std::env::temp_dir().join(format!("askback-edit-{}", std::process::id()));
        let mode = || {
            let metadata = fs::metadata(&path).expect("it is there");
            metadata.permissions().mode() & 0o777
        };
        assert!(write(&path, "one").expect("it is new"));
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        assert!(!write(&path, "two").expect("it is ours"));
        assert_eq!(mode(), 0o644);
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "two");
        fs::remove_file(&path).expect("it is ours");
    }
}
