//! The needs of a handler's parameters.

use std::{
    any::{Any, TypeId, type_name},
    collections::{BTreeMap, HashMap},
};

use askback_core::{
    forms::{Form, SharedForm},
    protocol::{RawObject, Schema},
};

use crate::error::{Error, Result};

/// The arguments of a call, as they came.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Arguments {
    /// The arguments of a tool: a JSON object.
    Object(RawObject),
    /// The arguments of a prompt, or what a resource template's variables matched: texts.
    Texts(BTreeMap<String, String>),
}

/// The arguments and state that a handler's parameters need.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// The form that describes the arguments, where a parameter has one.
    pub form: Option<SharedForm>,
    /// The schema of the arguments, where a parameter has one and no form.
    pub schema: Option<Schema>,
    pub(crate) form_of: Option<TypeId>,
    /// A parameter reads the arguments and does not describe them.
    pub(crate) undescribed: bool,
    /// The forms that are asked before the handler runs, with their messages.
    pub(crate) asks: Vec<(SharedForm, &'static str)>,
    pub(crate) described_twice: bool,
    /// A parameter takes something of the HTTP request.
    pub(crate) extensions: bool,
    /// The states of the server that they take.
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

    /// Asks a form before the handler runs.
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
    /// Adds a state; false where there is one of this type already.
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
