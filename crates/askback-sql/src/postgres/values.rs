use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::{
    Row,
    types::{IsNull, ToSql, Type, to_sql_checked},
};

use crate::{Statement, Value};

/// Replaces each `?` with `$1`, `$2` and so on, as PostgreSQL requires.
pub(super) fn numbered(text: &str) -> String {
    let mut parts = text.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    (1..).zip(parts).fold(first, |text, (number, part)| {
        format!("{text}${number}{part}")
    })
}

/// Returns the types of a statement's parameters. PostgreSQL infers the types of missing values.
pub(super) fn types(statement: &Statement) -> Vec<Type> {
    let of = |value: &Value| match value {
        Value::Text(_) => Type::TEXT,
        Value::Bytes(_) => Type::BYTEA,
        Value::Number(_) => Type::INT8,
        Value::Null => Type::UNKNOWN,
    };
    statement.values.iter().map(of).collect()
}

pub(super) fn parameters(statement: &Statement) -> Vec<&(dyn ToSql + Sync)> {
    let values = statement.values.iter();
    values.map(|value| value as &(dyn ToSql + Sync)).collect()
}

pub(super) fn of_row(row: &Row) -> Result<Vec<Value>, tokio_postgres::Error> {
    let value = |at: usize| {
        let value = match *row.columns()[at].type_() {
            Type::TEXT => row.try_get::<_, Option<_>>(at)?.map(Value::Text),
            Type::BYTEA => row.try_get::<_, Option<_>>(at)?.map(Value::Bytes),
            _ => row.try_get::<_, Option<_>>(at)?.map(Value::Number),
        };
        Ok(value.unwrap_or(Value::Null))
    };
    (0..row.len()).map(value).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Text(text) => text.to_sql(of, out),
            Self::Bytes(bytes) => bytes.to_sql(of, out),
            Self::Number(number) => number.to_sql(of, out),
            Self::Null => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each statement is prepared with the types of its values.
        true
    }

    to_sql_checked!();
}
