//! A request that is forwarded without parsing its parameters.

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
};

use serde::{Serialize, Serializer, ser};
use serde_json::value::RawValue;

use super::{
    ClientRequest, HasMeta, InputResponses, Meta, OrderedMap, RawJson, RawObject, meta::has_meta,
};
use crate::jsonrpc::ErrorObject;

/// A request of any method with unparsed parameters. A proxy forwards it, even if no revision has
/// the method or a parameter.
///
/// Only its `_meta` is parsed. Duplicate parameters are an error, because proxy and server could
/// use different ones.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherRequest {
    pub(super) method: String,
    /// Without the `_meta`.
    params: Option<RawObject>,
    /// The name of the tool, prompt or task, or the URI of the resource.
    target: Option<String>,
    /// The `_meta`.
    pub meta: Option<Box<Meta>>,
}

has_meta! { OtherRequest }

impl OtherRequest {
    /// Makes a request from its JSON.
    ///
    /// # Errors
    ///
    /// -32602 if the parameters are not an object, a parameter is duplicate, or the `_meta` is
    /// invalid.
    pub fn new(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        let mut members = read_members(params)?;
        let mut meta = None;
        if let Some(text) = members.remove("_meta") {
            meta = serde_json::from_str(text.get()).map_err(|why| invalid(&why))?;
        }
        let target = name_member(method).and_then(|wanted| {
            let value = members.get(wanted)?;
            serde_json::from_str(value.get()).ok()
        });
        Ok(Self {
            method: method.to_owned(),
            params: params.map(|_| write_members(members.iter().map(|(n, v)| (n, v.get())))),
            target,
            meta,
        })
    }

    /// Returns the name of the method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the name of the method if it is in the specification, else `other`: metrics need a
    /// small number of labels.
    #[must_use]
    pub fn known_method(&self) -> &'static str {
        let mut known = ClientRequest::METHODS.iter();
        known
            .find(|known| **known == self.method)
            .unwrap_or(&"other")
    }

    /// Returns the target; see [`ClientRequest::target`].
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Returns the parameters without the `_meta`, if there are any.
    #[must_use]
    pub fn params(&self) -> Option<&RawObject> {
        self.params.as_ref()
    }

    /// Replaces the answers and the state for the next round of the call (2026-07-28,
    /// basic/patterns/mrtr).
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written as JSON.
    pub fn set_round(
        &mut self,
        responses: Option<&InputResponses>,
        state: Option<&str>,
    ) -> Result<(), serde_json::Error> {
        let params = self.params.take().unwrap_or_default();
        let responses = responses.map(RawJson::new).transpose()?;
        let state = state.map(RawJson::new).transpose()?;
        let of_round = [("inputResponses", responses), ("requestState", state)];
        let members: OrderedMap<&RawValue> = params.decode()?;
        let kept = members.iter().map(|(name, value)| (name, value.get()));
        let kept = kept.filter(|(name, _)| of_round.iter().all(|(member, _)| member != name));
        let set = of_round.iter();
        let set = set.filter_map(|(name, value)| Some((*name, value.as_ref()?.as_str())));
        self.params = Some(write_members(kept.chain(set)));
        Ok(())
    }

    /// Parses the request as a known method. Unknown members are dropped.
    ///
    /// # Errors
    ///
    /// As [`ClientRequest::parse`].
    pub fn read(self) -> Result<ClientRequest, ErrorObject> {
        let params: Option<Box<RawValue>> = self.params.map(|params| params.into_json().into());
        let mut request = ClientRequest::parse(&self.method, params.as_deref())?;
        *request.meta_slot() = self.meta;
        Ok(request)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.params.is_none() && self.meta.is_none()
    }
}

impl From<OtherRequest> for ClientRequest {
    fn from(request: OtherRequest) -> Self {
        Self::Other(Box::new(request))
    }
}

/// Writes the parameters including the `_meta`.
impl Serialize for OtherRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let params = self.params.clone().unwrap_or_default();
        let Some(meta) = &self.meta else {
            return params.serialize(serializer);
        };
        let meta = RawJson::new(meta).map_err(ser::Error::custom)?;
        let members: OrderedMap<&RawValue> = params.decode().map_err(ser::Error::custom)?;
        let members = members.iter().map(|(name, value)| (name, value.get()));
        write_members(members.chain([("_meta", meta.as_str())])).serialize(serializer)
    }
}

/// Returns the member of `params` that names the target of a request, if the method has one. The
/// header `Mcp-Name` repeats it (Standard Request Headers; for tasks, SEP-2663).
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

fn read_members(params: Option<&RawValue>) -> Result<OrderedMap<&RawValue>, ErrorObject> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|why| invalid(&why))
}

fn invalid(why: &serde_json::Error) -> ErrorObject {
    ErrorObject::invalid_params(format!("invalid params: {why}"))
}

/// Makes an object of members with JSON values.
fn write_members<'a>(members: impl Iterator<Item = (&'a str, &'a str)>) -> RawObject {
    let mut text = String::from("{");
    for (name, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        // A string can always be written as JSON.
        text.push_str(&serde_json::Value::from(name).to_string());
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    RawObject::from_text(text).unwrap_or_default()
}
