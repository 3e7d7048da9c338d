//! A call of a tool in a reply, while its arguments are written.

use askback_core::{
    forms::{Content, FormSchema, read_json},
    protocol::{RawObject, Tool},
};
use serde_json::Value;

use super::{
    Draft,
    sampling::{LeftCall, Sampling},
};
use crate::text::Words;

/// A call whose arguments are written.
#[derive(Debug)]
pub(super) struct Calling {
    pub(super) sampling: Box<Sampling>,
    pub(super) arguments: Arguments,
    /// The tool among those offered, by its number from nought.
    tool: usize,
    /// The call of the reply in whose place it goes, by its number from nought; none behind all.
    place: Option<usize>,
}

/// The arguments of a call.
#[derive(Debug)]
pub(super) enum Arguments {
    /// In the fields of a form.
    Fields(Box<Draft>),
    /// As JSON, for there is no form for them or the person wants it so.
    Json(String),
}

impl Calling {
    /// A call of an offered tool; the one that was left, where it was of that tool.
    ///
    /// # Errors
    ///
    /// Gives the sampling back where there is no such tool.
    pub(super) fn begin(mut sampling: Box<Sampling>, tool: usize) -> Result<Self, Box<Sampling>> {
        let left = sampling.take_left(tool, None);
        Self::of(sampling, tool, None, left.as_deref().unwrap_or("{}"))
    }

    /// Another call in the place of one of the reply, with its arguments, or with those that were left.
    ///
    /// # Errors
    ///
    /// Gives the sampling back where there is no such call, or its tool is not offered.
    pub(super) fn change(mut sampling: Box<Sampling>, place: usize) -> Result<Self, Box<Sampling>> {
        let Some(call) = sampling.calls().nth(place) else {
            return Err(sampling);
        };
        let (name, id) = (call.name.clone(), call.id.clone());
        let json = call.input.as_str().to_owned();
        let mut offered = sampling.offered().iter();
        let Some(tool) = offered.position(|tool| tool.name == name) else {
            return Err(sampling);
        };
        let left = sampling.take_left(tool, Some(&id));
        Self::of(sampling, tool, Some(place), &left.unwrap_or(json))
    }

    /// A call with arguments in JSON.
    fn of(
        sampling: Box<Sampling>,
        tool: usize,
        place: Option<usize>,
        json: &str,
    ) -> Result<Self, Box<Sampling>> {
        match read_json(json) {
            Ok(Value::Object(given)) => Self::with(sampling, tool, place, &given),
            // It holds a number that no field holds exactly.
            Ok(_) | Err(_) => Ok(Self {
                arguments: Arguments::Json(json.to_owned()),
                sampling,
                tool,
                place,
            }),
        }
    }

    fn with(
        sampling: Box<Sampling>,
        tool: usize,
        place: Option<usize>,
        given: &Content,
    ) -> Result<Self, Box<Sampling>> {
        let Some(offered) = sampling.offered().get(tool) else {
            return Err(sampling);
        };
        let arguments = match form(offered, given, &sampling) {
            Some(draft) if !draft.fields().is_empty() => Arguments::Fields(Box::new(draft)),
            // There is nothing to write, unless the person wants to.
            Some(draft) if place.is_none() && takes_nothing(offered) => {
                Arguments::Fields(Box::new(draft))
            }
            _ => Arguments::Json(pretty(given)),
        };
        Ok(Self {
            sampling,
            arguments,
            tool,
            place,
        })
    }

    /// The tool.
    pub(super) fn tool(&self) -> Option<&Tool> {
        self.sampling.offered().get(self.tool)
    }

    /// Whether it goes in the place of a call of the reply.
    pub(super) fn is_change(&self) -> bool {
        self.place.is_some()
    }

    /// Has the arguments be written as JSON, with all that stands in the fields.
    pub(super) fn unfold(&mut self) {
        self.arguments = Arguments::Json(self.json());
    }

    /// The arguments as JSON, with all that stands in the fields.
    fn json(&self) -> String {
        match &self.arguments {
            Arguments::Fields(draft) => pretty(&draft.content_as_written()),
            Arguments::Json(text) => text.clone(),
        }
    }

    /// The sampling without the call, which is gone on with where it is begun again.
    pub(super) fn leave(mut self) -> Box<Sampling> {
        let call = self
            .place
            .and_then(|place| self.sampling.calls().nth(place));
        self.sampling.left = Some(LeftCall {
            tool: self.tool,
            id: call.map(|call| call.id.clone()),
            arguments: self.json(),
        });
        self.sampling
    }

    /// The sampling with the call in its reply, of the arguments as they stand in the fields.
    pub(super) fn done(mut self) -> Box<Sampling> {
        if let Arguments::Fields(draft) = &self.arguments {
            let content = draft.content();
            self.put(&content);
        }
        self.sampling
    }

    /// The sampling with the call in its reply, of the arguments in a text.
    ///
    /// # Errors
    ///
    /// Says why the text is none, and keeps it.
    pub(super) fn read(mut self, text: String) -> Result<Box<Sampling>, (Self, Words)> {
        let wrong = match read_json(&text) {
            Ok(Value::Object(content)) => {
                self.put(&content);
                return Ok(self.sampling);
            }
            Ok(_) => "arguments are an object in JSON, such as {\"city\": \"Rome\"}",
            Err(_) => "that is no JSON: arguments are an object such as {\"city\": \"Rome\"}",
        };
        self.arguments = Arguments::Json(text);
        Err((self, wrong.into()))
    }

    fn put(&mut self, content: &Content) {
        let name = self
            .tool()
            .map(|tool| tool.name.clone())
            .unwrap_or_default();
        if let Ok(input) = RawObject::new(content) {
            self.sampling.call(self.place, &name, input);
        }
    }
}

/// The form for the arguments of a tool, unless there is none that holds all that is given.
fn form(tool: &Tool, given: &Content, sampling: &Sampling) -> Option<Draft> {
    let limits = &sampling.limits;
    let schema = tool.input_schema.as_str().as_bytes();
    let schema = FormSchema::parse_arguments(schema, &limits.forms).ok()?;
    let draft = Draft::new(schema, given, limits.clone()).with_clock(sampling.clock);
    let content = draft.content();
    let mut given = given.iter();
    given
        .all(|(name, value)| content.get(name) == Some(value))
        .then_some(draft)
}

/// The keywords of a schema without which it says nothing of arguments but their fields.
const OF_FIELDS: [&str; 6] = [
    "$schema",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "description",
];

/// Whether a schema without fields leaves nothing to be written.
fn takes_nothing(tool: &Tool) -> bool {
    let schema: Result<Content, _> = tool.input_schema.decode();
    schema.is_ok_and(|schema| schema.keys().all(|key| OF_FIELDS.contains(&key.as_str())))
}

/// Arguments as JSON that is easy to read.
fn pretty(content: &Content) -> String {
    serde_json::to_string_pretty(content).unwrap_or_default()
}
