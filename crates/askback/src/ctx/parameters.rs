use std::{
    any::{Any, TypeId, type_name},
    collections::{BTreeMap, HashMap},
};

use askback_core::{
    forms::{Form, SharedForm},
    protocol::{RawObject, Schema},
};

use crate::error::{Error, Result};

/// The unparsed arguments of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Arguments {
    /// The arguments of a tool: a JSON object.
    Object(RawObject),
    /// The arguments of a prompt, or the matched variables of a resource template: strings.
    Texts(BTreeMap<String, String>),
}

/// The arguments and state that a handler's parameters need.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// The form of the arguments, if a parameter has one.
    pub form: Option<SharedForm>,
    /// The schema of the arguments, if a parameter has one but no form.
    pub schema: Option<Schema>,
    pub(crate) form_of: Option<TypeId>,
    pub(crate) undescribed: bool,
    pub(crate) asks: Vec<(SharedForm, &'static str)>,
    pub(crate) described_twice: bool,
    pub(crate) extensions: bool,
    pub(crate) states: Vec<StateType>,
}

#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct StateType {
    id: TypeId,
    pub(crate) name: &'static str,
}

impl Parameters {
    pub(crate) fn describe_by_form<T: Form>(&mut self) {
        self.described_twice |= self.schema.is_some();
        self.described_twice |= self.form.replace(T::schema()).is_some();
        self.form_of = Some(TypeId::of::<T>());
    }

    pub(crate) fn ask(&mut self, form: SharedForm, message: &'static str) {
        self.asks.push((form, message));
    }

    #[cfg(feature = "schemars")]
    pub(crate) fn describe_by_schema(&mut self, schema: Schema) {
        self.described_twice |= self.form.is_some();
        self.described_twice |= self.schema.replace(schema).is_some();
    }
}

impl StateType {
    pub(crate) fn of<T: 'static>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            name: type_name::<T>(),
        }
    }
}

impl States {
    pub(crate) fn add<T: Send + Sync + 'static>(&mut self, state: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Box::new(state)).is_none()
    }

    pub(crate) fn has(&self, state: StateType) -> bool {
        self.0.contains_key(&state.id)
    }

    pub(crate) fn require<T: Clone + 'static>(&self) -> Result<T> {
        let state = self.0.get(&TypeId::of::<T>());
        let state = state.and_then(|state| state.downcast_ref().cloned());
        state.ok_or_else(|| Error::new(format!("the server has no {}", type_name::<T>())))
    }
}
