use crate::SqlError;

/// The tables that a store needs. Several stores may share one database.
#[derive(Clone, Copy)]
pub struct Schema {
    /// The key of the tables' version in the table `askback_schemas`.
    pub name: &'static str,
    /// The version of the tables. It changes whenever the tables do.
    pub version: i64,
    /// Returns the statements that create the tables.
    pub tables: fn(&Dialect) -> String,
    /// What to do about tables of an older version, as in "move them away".
    pub remedy: &'static str,
}

/// The SQL that differs between databases.
pub struct Dialect {
    /// The type for text, compared by its bytes.
    pub text: &'static str,
    /// The type for bytes.
    pub bytes: &'static str,
    /// The type for integers.
    pub number: &'static str,
    /// The type for an auto-incremented primary key.
    pub counter: &'static str,
    /// The end of a table's definition.
    pub table: &'static str,
}

impl Dialect {
    /// Replaces the types `TEXT`, `BYTES`, `NUMBER` and `COUNTER`, and `)TABLE` at the end of a table, with the
    /// database's own.
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
    /// Returns the statements that create the tables; `None` if the tables exist. `version` is the recorded one, or 0.
    ///
    /// # Errors
    ///
    /// If the tables have another version.
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
