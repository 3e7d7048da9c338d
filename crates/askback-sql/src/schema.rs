//! The tables of a store, and their version.

use crate::SqlError;

/// The tables that a store needs. Several stores may share one database.
#[derive(Clone, Copy)]
pub struct Schema {
    /// The name under which the version of the tables is noted in the table `askback_schemas`.
    pub name: &'static str,
    /// Their version. It changes whenever the tables do.
    pub version: i64,
    /// Writes the statements that make the tables.
    pub tables: fn(&Dialect) -> String,
    /// What to do about tables of an older version, as in "move them away".
    pub remedy: &'static str,
}

/// The words that differ between databases.
pub struct Dialect {
    /// The type of text, which is compared by its bytes.
    pub text: &'static str,
    /// The type of bytes.
    pub bytes: &'static str,
    /// The type of an integer.
    pub number: &'static str,
    /// The type of a number that counts up by itself, and is the key of its table.
    pub counter: &'static str,
    /// The end of a table's definition.
    pub table: &'static str,
}

impl Dialect {
    /// Writes statements in the words of the database, in which `TEXT`, `BYTES`, `NUMBER` and `COUNTER` are types, and
    /// `)TABLE` ends a table.
    #[must_use]
    pub fn write(&self, statements: &str) -> String {
        let statements = statements.replace("TEXT", self.text);
        let statements = statements.replace("BYTES", self.bytes);
        let statements = statements.replace("NUMBER", self.number);
        let statements = statements.replace("COUNTER", self.counter);
        statements.replace(")TABLE", self.table)
    }
}

impl Schema {
    /// Returns the statements that make the tables; none if they are there. `version` is the noted one, and 0 if none is.
    ///
    /// # Errors
    ///
    /// If the tables are of another version.
    #[cfg_attr(not(any(feature = "postgres", feature = "sqlite")), expect(dead_code))]
    pub(crate) fn missing(
        &self,
        version: i64,
        dialect: &Dialect,
    ) -> Result<Option<String>, SqlError> {
        let remedy = match version {
            0 => return Ok(Some((self.tables)(dialect))),
            it if it == self.version => return Ok(None),
            it if it < self.version => self.remedy,
            _ => "update the program",
        };
        let (name, needed) = (self.name, self.version);
        Err(SqlError::new(format!(
            "the tables of the {name} have version {version}, and this program needs version {needed}: {remedy}"
        )))
    }
}
