//! Forms that many questions share.

use alloc::{boxed::Box, string::String, sync::Arc};
use core::{fmt, ops::Deref};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{FormSchema, Issues};
use crate::{
    canonical::{self, CanonicalError},
    limits::FormLimits,
};

/// A form that many questions share: cheap to clone, and used like its [`FormSchema`].
///
/// The form of a type is [serialized](SharedForm::written) once for all questions.
#[derive(Clone)]
pub struct SharedForm(Arc<FormData>);

#[derive(Clone)]
struct FormData {
    schema: FormSchema,
    written: Option<WrittenForm>,
}

/// A serialized form, with precomputed facts for its questions.
#[derive(Clone)]
struct WrittenForm {
    json: Box<RawValue>,
    /// The beginning of the digest of each question.
    digest: Sha256,
    secret: Secret,
}

/// Which field seems to ask for a secret.
#[derive(Clone)]
enum Secret {
    /// This field, or none.
    Known(Option<String>),
    /// It depends on the message.
    Said,
}

impl SharedForm {
    /// Makes a form for repeated use: its JSON, its digest and the search for secrets are computed
    /// once.
    #[must_use]
    pub fn written(schema: FormSchema) -> Self {
        let written = RawValue::from_string(schema.to_json())
            .ok()
            .and_then(|json| {
                let digest = begin(canonical::digest(&json).ok()?);
                let secret = Secret::of(&schema);
                Some(WrittenForm {
                    json,
                    digest,
                    secret,
                })
            });
        Self(Arc::new(FormData { schema, written }))
    }

    /// Returns the form for changes. They affect only this copy, which is no longer precomputed.
    pub fn make_mut(&mut self) -> &mut FormSchema {
        let shared = Arc::make_mut(&mut self.0);
        shared.written = None;
        &mut shared.schema
    }

    /// Begins the digest of a question with the form's canonical JSON.
    ///
    /// # Errors
    ///
    /// Fails if the form has no canonical JSON. Its author is to blame.
    pub(crate) fn begin_digest(&self) -> Result<Sha256, CanonicalError> {
        match &self.0.written {
            Some(written) => Ok(written.digest.clone()),
            None => canonical::digest_of(&self.0.schema).map(begin),
        }
    }

    /// Returns the name of the first field that seems to ask for a secret
    /// ([`FormSchema::secret_fields`]).
    #[must_use]
    pub fn secret_field(&self, message: &str) -> Option<&str> {
        let FormData { schema, written } = &*self.0;
        match written {
            Some(WrittenForm {
                secret: Secret::Known(name),
                ..
            }) => name.as_deref(),
            _ => first_secret(schema, message),
        }
    }

    /// Checks the form as [`FormSchema::lint`] does.
    ///
    /// # Errors
    ///
    /// The issues, for the author of the form.
    pub fn lint(&self, limits: &FormLimits) -> Result<(), Issues> {
        let FormData { schema, written } = &*self.0;
        schema.lint_written(limits, || match written {
            Some(written) => written.json.get().len(),
            None => schema.to_json().len(),
        })
    }
}

impl Secret {
    fn of(schema: &FormSchema) -> Self {
        if schema.needs_message() {
            Self::Said
        } else {
            Self::Known(first_secret(schema, "").map(Into::into))
        }
    }
}

/// Begins the digests of a form's questions. The input fills a block of SHA-256, so that no work is
/// repeated per question.
fn begin(form: [u8; 32]) -> Sha256 {
    const LABEL: [u8; 32] = *b"askback: a form and its question";
    Sha256::new_with_prefix(LABEL).chain_update(form)
}

fn first_secret<'a>(schema: &'a FormSchema, message: &str) -> Option<&'a str> {
    let mut fields = schema.secret_fields(message);
    fields.next().map(|field| field.name.as_str())
}

impl Deref for SharedForm {
    type Target = FormSchema;

    fn deref(&self) -> &FormSchema {
        &self.0.schema
    }
}

impl From<FormSchema> for SharedForm {
    fn from(schema: FormSchema) -> Self {
        let written = None;
        Self(Arc::new(FormData { schema, written }))
    }
}

impl Default for SharedForm {
    fn default() -> Self {
        FormSchema::default().into()
    }
}

impl PartialEq for SharedForm {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.schema == other.0.schema
    }
}

impl fmt::Debug for SharedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.schema.fmt(f)
    }
}

impl Serialize for SharedForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.written {
            Some(written) => written.json.serialize(serializer),
            None => self.0.schema.serialize(serializer),
        }
    }
}
