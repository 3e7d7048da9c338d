//! What the parameters of a handler want, and what they are made of.

use std::{
    any::{Any, TypeId, type_name},
    collections::{BTreeMap, HashMap},
};

use askback_core::{forms::FormSchema, protocol::RawObject};

/// The arguments of a call, as they came.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Arguments {
    /// The arguments of a tool: a JSON object.
    Object(RawObject),
    /// The arguments of a prompt, or what a resource template's variables matched: texts.
    Texts(BTreeMap<String, String>),
}

/// What the parameters of a handler want of a call.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// The form that describes the arguments, where a parameter has one.
    pub form: Option<FormSchema>,
    /// The type whose form that is.
    pub(crate) form_of: Option<TypeId>,
    /// More than one parameter describes the arguments.
    pub(crate) described_twice: bool,
    /// What they take of the server's own.
    pub(crate) states: Vec<StateType>,
}

/// The states of a server, one of each type.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

/// A state that a handler takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateType {
    id: TypeId,
    /// The name of the type, for messages.
    pub(crate) name: &'static str,
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

    pub(crate) fn get<T: Clone + 'static>(&self) -> Option<T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref().cloned()
    }
}
