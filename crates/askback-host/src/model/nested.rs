//! Rows for the members of objects and the items of lists in a form.

use askback::{
    forms::{Field, FieldKind, JsonField},
    limits::Limits,
};
use serde_json::{Map, Value, json};

use crate::text;

/// The depth to which objects and lists have rows. Deeper values are written as JSON.
const DEPTH: usize = 5;

/// The maximum width, in columns, of the parent's label before a member's label.
const OUTER: usize = 120;

/// The schema keywords of an object that can have rows.
const OF_OBJECTS: [&str; 5] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "default",
];

const OF_LISTS: [&str; 5] = ["type", "items", "minItems", "maxItems", "default"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Member(String),
    Item(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) path: Vec<Key>,
    pub(super) field: Field,
    /// Required if its parent value is present.
    pub(super) is_required: bool,
    pub(super) value: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) path: Vec<Key>,
    /// Required if its parent value is present.
    pub(super) is_required: bool,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Object(Vec<String>),
    List(Box<List>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct List {
    field: Field,
    item: Field,
    least: usize,
    most: usize,
    pub(super) count: usize,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct UnfoldedRows {
    /// Whether a row may hold a value that is not valid for its field.
    is_lenient: bool,
    pub(super) rows: Vec<Row>,
    pub(super) groups: Vec<Group>,
}

enum Shape {
    Object(Vec<Field>),
    List(Box<List>),
}

/// Returns the rows of an object or a list with this value. Returns `None` if the schema does not
/// allow rows, or if the value has more than the rows would show or has something invalid.
pub(super) fn unfold(
    field: &Field,
    path: &[Key],
    value: Option<&Value>,
    limits: &Limits,
) -> Option<UnfoldedRows> {
    unfold_into(UnfoldedRows::default(), field, path, value, limits)
}

/// Like `unfold`, but accepts invalid values.
pub(super) fn unfold_all(
    field: &Field,
    path: &[Key],
    value: Option<&Value>,
    limits: &Limits,
) -> Option<UnfoldedRows> {
    let unfolded = UnfoldedRows {
        is_lenient: true,
        ..UnfoldedRows::default()
    };
    unfold_into(unfolded, field, path, value, limits)
}

fn unfold_into(
    mut unfolded: UnfoldedRows,
    field: &Field,
    path: &[Key],
    value: Option<&Value>,
    limits: &Limits,
) -> Option<UnfoldedRows> {
    let shape = Shape::of(field, path, limits)?;
    unfolded.shape(field, shape, path, value, limits)?;
    (unfolded.rows.len() <= limits.forms.fields).then_some(unfolded)
}

impl Shape {
    fn of(field: &Field, path: &[Key], limits: &Limits) -> Option<Self> {
        let FieldKind::Json(json) = &field.kind else {
            return None;
        };
        if path.len() >= DEPTH {
            return None;
        }
        let only = |known: &[&str]| json.schema.keys().all(|key| known.contains(&key.as_str()));
        match json.schema.get("type")?.as_str()? {
            "object" if only(&OF_OBJECTS) => Self::object(json, limits),
            "array" if only(&OF_LISTS) => Self::list(field, json, limits),
            _ => None,
        }
    }

    fn object(json: &JsonField, limits: &Limits) -> Option<Self> {
        let others = json.schema.get("additionalProperties");
        if !others.is_none_or(Value::is_boolean) {
            return None;
        }
        let members = json.members(&json.schema, &limits.forms).ok()?;
        (!members.is_empty()).then_some(Self::Object(members))
    }

    fn list(field: &Field, json: &JsonField, limits: &Limits) -> Option<Self> {
        let items = json.schema.get("items").filter(|items| items.is_object())?;
        let schema = [
            ("type".to_owned(), "object".into()),
            ("properties".to_owned(), json!({"item": items})),
        ];
        let item = json.members(&Map::from_iter(schema), &limits.forms);
        let item = item.ok()?.pop()?;
        let bound = |name: &str, without: usize| match json.schema.get(name) {
            None => Some(without),
            Some(bound) => usize::try_from(bound.as_u64()?).ok(),
        };
        let (least, most) = (bound("minItems", 0)?, bound("maxItems", usize::MAX)?);
        let list = List {
            field: field.clone(),
            item,
            least,
            most,
            count: 0,
        };
        (least <= most && least < limits.forms.fields).then(|| Self::List(Box::new(list)))
    }
}

impl UnfoldedRows {
    fn field(
        &mut self,
        field: Field,
        path: Vec<Key>,
        value: Option<&Value>,
        limits: &Limits,
    ) -> Option<()> {
        if let Some(shape) = Shape::of(&field, &path, limits) {
            return self.shape(&field, shape, &path, value, limits);
        }
        let fits = |value: &Value| text::check(&field, value, limits).is_ok();
        if !self.is_lenient && !value.is_none_or(fits) {
            return None;
        }
        self.rows.push(Row {
            is_required: field.required,
            value: value.cloned(),
            path,
            field,
        });
        (self.rows.len() <= limits.forms.fields).then_some(())
    }

    fn shape(
        &mut self,
        field: &Field,
        shape: Shape,
        path: &[Key],
        value: Option<&Value>,
        limits: &Limits,
    ) -> Option<()> {
        let at = self.groups.len();
        let mut group = Group {
            path: path.to_vec(),
            is_required: field.required,
            kind: Kind::Object(Vec::new()),
        };
        self.groups.push(group.clone());
        match shape {
            Shape::Object(members) => {
                let none = Map::new();
                let given = match value {
                    Some(value) => value.as_object()?,
                    None => &none,
                };
                let is_known = |name: &String| members.iter().any(|member| member.name == *name);
                if !given.keys().all(is_known) {
                    return None;
                }
                let names = members.iter().map(|member| member.name.clone()).collect();
                for member in members {
                    let value = given.get(&member.name);
                    let mut path = path.to_vec();
                    path.push(Key::Member(member.name.clone()));
                    self.field(member_of(field, member), path, value, limits)?;
                }
                group.kind = Kind::Object(names);
            }
            Shape::List(mut list) => {
                let given = match value {
                    Some(value) => value.as_array()?.as_slice(),
                    None => &[],
                };
                let rooms = given.len().saturating_add(1).min(list.most);
                for at in 0..rooms.max(list.least) {
                    self.item(&list, path, at, given.get(at), limits)?;
                    list.count = list.count.saturating_add(1);
                }
                if list.count < given.len() {
                    return None;
                }
                group.kind = Kind::List(list);
            }
        }
        if let Some(place) = self.groups.get_mut(at) {
            *place = group;
        }
        Some(())
    }

    fn item(
        &mut self,
        list: &List,
        path: &[Key],
        at: usize,
        value: Option<&Value>,
        limits: &Limits,
    ) -> Option<()> {
        let mut path = path.to_vec();
        path.push(Key::Item(at));
        self.field(list.item_at(at), path, value, limits)
    }
}

impl List {
    /// Returns the rows of one more item, if the list may have one more.
    pub(super) fn grown(&self, path: &[Key], limits: &Limits) -> Option<UnfoldedRows> {
        let mut unfolded = UnfoldedRows::default();
        let may_be = self.count < self.most;
        may_be.then(|| unfolded.item(self, path, self.count, None, limits))??;
        Some(unfolded)
    }

    fn item_at(&self, at: usize) -> Field {
        let number = at.saturating_add(1);
        let mut item = self.item.clone();
        item.name = format!("{}[{number}]", self.field.name);
        item.title = Some(format!("{}[{number}]", outer_label(&self.field)));
        item.required = at < self.least;
        if at == 0 && item.description.is_none() {
            item.description.clone_from(&self.field.description);
        }
        item
    }
}

fn member_of(field: &Field, mut member: Field) -> Field {
    member.title = Some(format!("{}.{}", outer_label(field), member.label()));
    member.name = format!("{}.{}", field.name, member.name);
    member
}

/// Returns the part of the parent's label that precedes each member's label.
fn outer_label(field: &Field) -> &str {
    text::fitted_end(field.label(), OUTER)
}
