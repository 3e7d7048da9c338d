//! Parameters that a form cannot represent: lists, maps, paths and structs.
//!
//! Forms are flat, but arguments need not be. The macros put arguments of plain types into a form, which fills in
//! defaults and checks bounds, and read the others with serde.

use askback_core::{
    forms::{Content, Form},
    protocol,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Extract, Extraction, extract::read_content, json::read_value};
use crate::{
    ctx::{Arguments, Ctx, Parameters},
    error::{Error, Result},
    schema,
};

/// The arguments that are read with serde. The macros implement this trait.
pub trait NestedArguments: Sized + Send + 'static {
    /// Adds their properties to the arguments' schema.
    fn describe(schema: &mut ObjectSchema);

    /// Takes them out of the arguments.
    ///
    /// # Errors
    ///
    /// The first argument that does not fit its type.
    fn read(arguments: &mut ArgumentReader) -> Result<Self>;
}

/// All arguments of a call.
pub struct CallArguments<F, N> {
    /// The arguments of plain types.
    pub form: F,
    /// The nested arguments.
    pub nested: N,
}

/// The schema of an object, built property by property.
pub struct ObjectSchema {
    generator: schemars::SchemaGenerator,
    members: Map<String, Value>,
}

/// The remaining members of an object.
pub struct ArgumentReader(Map<String, Value>);

impl ObjectSchema {
    /// Adds a property.
    pub fn property<T: JsonSchema>(
        &mut self,
        name: &str,
        title: Option<&str>,
        description: Option<&str>,
        is_required: bool,
    ) {
        let mut property = self.generator.subschema_for::<T>();
        for (keyword, text) in [("title", title), ("description", description)] {
            if let Some(text) = text {
                property.insert(keyword.to_owned(), text.into());
            }
        }
        let members = &mut self.members;
        members.entry("properties").or_insert_with(|| json!({}))[name] = property.into();
        if is_required
            && let Value::Array(required) = members.entry("required").or_insert_with(|| json!([]))
        {
            required.push(name.into());
        }
    }
}

impl ArgumentReader {
    /// Takes and reads a member. A missing member is read as null.
    ///
    /// # Errors
    ///
    /// If it does not fit the type.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        read_value(self.0.remove(name).unwrap_or_default(), name)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Form, N: NestedArguments> Extract for CallArguments<F, N> {
    fn describe(parameters: &mut Parameters) {
        let form = serde_json::from_str(&F::schema().to_json()).unwrap_or_default();
        let mut schema = ObjectSchema {
            generator: schema::generator(),
            members: form,
        };
        N::describe(&mut schema);
        let ObjectSchema {
            mut generator,
            mut members,
        } = schema;
        let definitions = generator.take_definitions(true);
        if !definitions.is_empty() {
            members.insert("$defs".to_owned(), definitions.into());
        }
        let schema = protocol::Schema::new(&members).unwrap_or_default();
        parameters.describe_by_schema(schema);
    }

    fn extract(ctx: &Ctx) -> Extraction<Self> {
        Extraction::Ready(read(ctx))
    }
}

fn read<F: Form, N: NestedArguments>(ctx: &Ctx) -> Result<CallArguments<F, N>> {
    let Arguments::Object(object) = ctx.incoming().arguments() else {
        return Err(Error::invalid_params("the arguments are not an object"));
    };
    let members: Content = object
        .decode()
        .map_err(|error| Error::invalid_params(format!("the arguments cannot be read: {error}")))?;
    let mut members = ArgumentReader(members);
    Ok(CallArguments {
        nested: N::read(&mut members)?,
        form: read_content(ctx, &F::schema(), members.0)?,
    })
}
