//! A form that is being filled in.

use askback::{
    forms::{Content, Field, FieldKind, FormSchema, Opt, read_json},
    limits::Limits,
};
use serde_json::Value;

use super::{
    nested::{self, Group, Key, Kind, Row, UnfoldedRows},
    options::marks,
    typed::{Typed, TypedValue},
};
use crate::text::{self, Clock, Words};

/// Returns the error message for an empty required field.
pub fn missing(field: &Field) -> &'static str {
    match field.kind {
        FieldKind::Boolean(_) | FieldKind::Choice(_) | FieldKind::Choices(_) => "needs a choice",
        _ => "needs an answer",
    }
}

/// A form and the current content of its fields.
///
/// A field keeps the user's text even if the text is not a valid value, so no input is lost.
/// Content is sent only if every field is valid.
///
/// The members of an object and the items of a list have fields of their own if the schema and the
/// value allow it. Otherwise the object or list is written as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The form as the server sent it.
    whole: Vec<Field>,
    fields: Vec<Field>,
    places: Vec<Place>,
    entries: Vec<Entry>,
    /// The objects and lists whose members or items have fields.
    groups: Vec<Group>,
    limits: Limits,
    clock: Clock,
}

#[derive(Debug, Clone, PartialEq)]
struct Place {
    path: Vec<Key>,
    /// Required if its parent value is present.
    is_required: bool,
    /// An invalid default, and the reason why it is invalid.
    dropped: Option<(Value, Words)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Empty,
    Value(Value),
    Written(String, Words),
    Chosen(Vec<Value>, Words),
}

impl Draft {
    /// Starts a form. Each field holds its preset value or its default, if that is valid.
    pub fn new(schema: FormSchema, preset: &Content, limits: Limits) -> Self {
        let mut draft = Self {
            whole: schema.fields.clone(),
            fields: Vec::new(),
            places: Vec::new(),
            entries: Vec::new(),
            groups: Vec::new(),
            limits,
            clock: Clock::default(),
        };
        let mut left = schema.fields.len();
        for field in schema.fields {
            left = left.saturating_sub(1);
            let preset = preset.get(&field.name).cloned();
            let passes = |value: &Value| field.check(value, &draft.limits.forms).is_ok();
            let mut dropped = None;
            let value = preset.filter(passes).or_else(|| {
                let default = field.default_value()?;
                match text::check(&field, &default, &draft.limits) {
                    Ok(()) => Some(default),
                    Err(issue) => {
                        dropped = Some((default, issue));
                        None
                    }
                }
            });
            let path = [Key::Member(field.name.clone())];
            let unfolded = match dropped {
                None => nested::unfold(&field, &path, value.as_ref(), &draft.limits),
                Some(_) => None,
            };
            let at = draft.fields.len();
            match unfolded.filter(|it| draft.has_room(it.rows.len().saturating_add(left))) {
                Some(unfolded) => draft.insert(at, unfolded),
                None => draft.insert_whole(at, field, value, dropped),
            }
        }
        draft.settle();
        draft
    }

    /// Sets the clock that dates and times are read with.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    fn has_room(&self, more: usize) -> bool {
        self.fields.len().saturating_add(more) <= self.limits.forms.fields
    }

    fn insert(&mut self, at: usize, unfolded: UnfoldedRows) {
        for (row, at) in unfolded.rows.into_iter().zip(at..) {
            let Row {
                path,
                mut field,
                is_required,
                value,
            } = row;
            explain(&mut field);
            self.fields.insert(at, field);
            let place = Place {
                path,
                is_required,
                dropped: None,
            };
            self.places.insert(at, place);
            let entry = value.map_or(Entry::Empty, |value| self.entry(at, value));
            self.entries.insert(at, entry);
        }
        self.groups.extend(unfolded.groups);
    }

    /// A value that is not valid becomes text, in JSON.
    fn entry(&self, index: usize, value: Value) -> Entry {
        let checked = self
            .fields
            .get(index)
            .map(|field| text::check(field, &value, &self.limits));
        match (checked, value) {
            (Some(Err(issue)), Value::String(text)) if read_json(&text).is_err() => {
                Entry::Written(text, issue)
            }
            (Some(Err(issue)), value) => Entry::Written(value.to_string(), issue),
            (_, value) => Entry::Value(value),
        }
    }

    fn insert_whole(
        &mut self,
        at: usize,
        mut field: Field,
        value: Option<Value>,
        dropped: Option<(Value, Words)>,
    ) {
        explain(&mut field);
        let place = Place {
            path: vec![Key::Member(field.name.clone())],
            is_required: field.required,
            dropped,
        };
        self.places.insert(at, place);
        self.fields.insert(at, field);
        self.entries
            .insert(at, value.map_or(Entry::Empty, Entry::Value));
    }

    /// Adds room for one more item to each list whose last item is filled in, and updates which
    /// fields are required: the fields of an optional object are required only if another of its
    /// fields is filled in.
    fn settle(&mut self) {
        while let Some((group, unfolded)) = self.growth() {
            let path = &self.groups[group].path;
            let within = |place: &Place| place.path.starts_with(path);
            let last = self.places.iter().rposition(within).unwrap_or_default();
            if let Kind::List(list) = &mut self.groups[group].kind {
                list.count = list.count.saturating_add(1);
            }
            self.insert(last.saturating_add(1), unfolded);
        }
        let required = self.places.iter().map(|place| {
            let mut around = self.groups.iter();
            let is_wanted = |group: &Group| group.is_required || self.is_given(&group.path);
            place.is_required
                && around.all(|group| !place.path.starts_with(&group.path) || is_wanted(group))
        });
        let required: Vec<_> = required.collect();
        for (field, required) in self.fields.iter_mut().zip(required) {
            field.required = required;
        }
    }

    /// Finds the first list whose last item is filled in, and returns the fields of a new item.
    fn growth(&self) -> Option<(usize, UnfoldedRows)> {
        let mut groups = self.groups.iter().enumerate();
        groups.find_map(|(index, group)| {
            let Kind::List(list) = &group.kind else {
                return None;
            };
            let mut last = group.path.clone();
            last.push(Key::Item(list.count.checked_sub(1)?));
            let unfolded = list.grown(&group.path, &self.limits);
            let unfolded = unfolded.filter(|it| self.has_room(it.rows.len()))?;
            self.is_given(&last).then_some((index, unfolded))
        })
    }

    fn is_given(&self, path: &[Key]) -> bool {
        let mut all = self.places.iter().zip(&self.entries);
        all.any(|(place, entry)| place.path.starts_with(path) && *entry != Entry::Empty)
    }

    /// Whether a field is a member of an object or an item of a list.
    pub fn is_inner(&self, index: usize) -> bool {
        let place = self.places.get(index);
        place.is_some_and(|place| place.path.len() > 1)
    }

    fn remove(&mut self, path: &[Key]) {
        let stays: Vec<_> = self
            .places
            .iter()
            .map(|place| !place.path.starts_with(path))
            .collect();
        let (mut fields, mut entries) = (stays.iter(), stays.iter());
        self.fields.retain(|_| fields.next() == Some(&true));
        self.entries.retain(|_| entries.next() == Some(&true));
        self.places.retain(|place| !place.path.starts_with(path));
        self.groups.retain(|group| !group.path.starts_with(path));
    }

    /// Returns the value at this path. With `all`, text that is not valid is included as written.
    fn value_at(&self, path: &[Key], all: bool) -> Option<Value> {
        if let Some(index) = self.places.iter().position(|place| place.path == path) {
            return match self.entries.get(index)? {
                Entry::Value(value) => Some(value.clone()),
                Entry::Written(text, _) if all => {
                    Some(read_json(text).unwrap_or_else(|_| text.as_str().into()))
                }
                Entry::Chosen(chosen, _) if all => Some(chosen.clone().into()),
                Entry::Empty | Entry::Written(..) | Entry::Chosen(..) => None,
            };
        }
        let group = self.groups.iter().find(|group| group.path == path)?;
        let inner = |key: Key| {
            let mut path = path.to_vec();
            path.push(key);
            self.value_at(&path, all)
        };
        let is_wanted = group.is_required || self.is_given(path);
        let value = match &group.kind {
            Kind::Object(names) => {
                let members = names.iter().filter_map(|name| {
                    let value = inner(Key::Member(name.clone()))?;
                    Some((name.clone(), value))
                });
                Value::Object(members.collect())
            }
            Kind::List(list) => (0..list.count).map(Key::Item).filter_map(inner).collect(),
        };
        is_wanted.then_some(value)
    }

    /// Returns the content of each field of the server's form, except for those with a secret.
    pub(super) fn typed(&self, is_secret: impl Fn(&Field) -> bool) -> Typed {
        let fields = self.whole.iter().filter_map(|field| {
            let path = [Key::Member(field.name.clone())];
            let mut rows = self.places.iter().zip(&self.fields);
            let hides = rows.any(|(place, row)| place.path.starts_with(&path) && is_secret(row));
            let is_open = !hides && !is_secret(field);
            is_open.then(|| (field.name.clone(), self.typed_at(&path)))
        });
        fields.collect()
    }

    fn typed_at(&self, path: &[Key]) -> TypedValue {
        let at = self.places.iter().position(|place| place.path == path);
        match at.and_then(|at| self.entries.get(at)) {
            Some(Entry::Empty) => TypedValue::Empty,
            Some(Entry::Value(value)) => TypedValue::Value(value.clone()),
            Some(Entry::Written(text, _)) => TypedValue::Text(text.clone()),
            Some(Entry::Chosen(chosen, _)) => TypedValue::Value(chosen.clone().into()),
            None => match self.value_at(path, true) {
                Some(value) => TypedValue::Value(value),
                None => TypedValue::Empty,
            },
        }
    }

    /// Replaces the content of a field of the server's form, as [`Draft::typed`] returned it.
    pub(super) fn retype(&mut self, name: &str, typed: &TypedValue) {
        let Some(field) = self.whole.iter().find(|field| field.name == name).cloned() else {
            return;
        };
        let path = [Key::Member(field.name.clone())];
        let mut places = self.places.iter();
        let Some(first) = places.position(|place| place.path.starts_with(&path)) else {
            return;
        };
        let has_rows = self.groups.iter().any(|group| group.path == path);
        match (typed, &field.kind) {
            (TypedValue::Text(text), _) => {
                if has_rows {
                    self.remove(&path);
                    self.insert_whole(first, field, None, None);
                }
                self.write(first, text.clone());
            }
            (typed, _) if has_rows => {
                let value = match typed {
                    TypedValue::Value(value) => Some(value),
                    TypedValue::Text(_) | TypedValue::Empty => None,
                };
                let unfolded = nested::unfold_all(&field, &path, value, &self.limits);
                self.remove(&path);
                if let Some(unfolded) = unfolded.filter(|it| self.has_room(it.rows.len())) {
                    self.insert(first, unfolded);
                    self.settle();
                    if self.typed_at(&path) == *typed {
                        return;
                    }
                    self.remove(&path);
                }
                // Rows cannot show this value, such as an empty object.
                self.insert_whole(first, field, None, None);
                let text = value.map_or_else(String::new, Value::to_string);
                self.write(first, text);
            }
            (TypedValue::Empty, _) => self.clear(first),
            (TypedValue::Value(Value::Array(chosen)), FieldKind::Choices(_)) => {
                let entry = self.several(&field, chosen.clone());
                self.put(first, entry);
            }
            (TypedValue::Value(value), FieldKind::Json(_)) => {
                self.write(first, value.to_string());
            }
            (TypedValue::Value(value), _) => {
                let entry = self.entry(first, value.clone());
                self.put(first, entry);
            }
        }
    }

    /// Returns the default of a field if it is not valid, and why.
    pub fn dropped(&self, index: usize) -> Option<(&Value, Words)> {
        let dropped = self.places.get(index)?.dropped.as_ref();
        dropped.map(|(value, issue)| (value, issue.clone()))
    }

    /// Returns the fields in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the value of a field, if it is valid.
    pub fn value(&self, index: usize) -> Option<&Value> {
        match self.entries.get(index)? {
            Entry::Value(value) => Some(value),
            Entry::Empty | Entry::Written(..) | Entry::Chosen(..) => None,
        }
    }

    /// Returns the text of a field that is not valid.
    pub fn written(&self, index: usize) -> Option<&str> {
        match self.entries.get(index)? {
            Entry::Written(text, _) => Some(text),
            Entry::Empty | Entry::Value(_) | Entry::Chosen(..) => None,
        }
    }

    /// Returns why a field prevents sending the form.
    pub fn issue(&self, index: usize) -> Option<Words> {
        let field = self.fields.get(index)?;
        match self.entries.get(index)? {
            Entry::Value(_) => None,
            Entry::Written(_, issue) | Entry::Chosen(_, issue) => Some(issue.clone()),
            Entry::Empty => field.required.then(|| missing(field).into()),
        }
    }

    /// Returns the first field that prevents sending the form.
    pub fn wrong(&self) -> Option<usize> {
        (0..self.entries.len()).find(|&index| self.issue(index).is_some())
    }

    /// Returns the number of fields that prevent sending the form.
    pub fn left(&self) -> usize {
        let wrong = |index: &usize| self.issue(*index).is_some();
        (0..self.entries.len()).filter(wrong).count()
    }

    /// Parses text for a field without changing the form. An option's mark is accepted too.
    ///
    /// # Errors
    ///
    /// Returns the reason if the text is not a valid value.
    pub fn read(&self, index: usize, written: &str) -> Result<Value, Words> {
        let Some(field) = self.fields.get(index) else {
            return Err("unknown field".into());
        };
        let value = read_field(field, written, self.clock)?;
        text::check(field, &value, &self.limits)?;
        self.check_nested(index, field, &value)?;
        Ok(value)
    }

    fn check_nested(&self, index: usize, field: &Field, value: &Value) -> Result<(), Words> {
        let path = self.places.get(index).map(|place| place.path.as_slice());
        let path = path.unwrap_or_default();
        let fits = nested::unfold(field, path, Some(value), &self.limits).is_some();
        match nested::unfold_all(field, path, Some(value), &self.limits) {
            Some(_) if !fits => {
                Err("has a value that does not fit".into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns a copy of the form with this text in a field.
    #[must_use]
    pub fn with(&self, index: usize, written: String) -> Self {
        let mut draft = self.clone();
        draft.write(index, written);
        draft
    }

    /// Sets the text of a field. Empty text clears it.
    pub(super) fn write(&mut self, index: usize, written: String) {
        let entry = match self.read(index, &written) {
            _ if written.is_empty() => Entry::Empty,
            Ok(value) => Entry::Value(value),
            Err(issue) => Entry::Written(written, issue),
        };
        self.put(index, entry);
    }

    /// Selects an option by its index, or toggles it if several can be selected. In a yes/no field,
    /// yes is option 0.
    pub(super) fn choose(&mut self, index: usize, option: usize) {
        let Some(field) = self.fields.get(index) else {
            return;
        };
        let entry = match &field.kind {
            FieldKind::Boolean(_) => Entry::Value(Value::from(option == 0)),
            FieldKind::Choice(choice) => match choice.options.get(option) {
                Some(option) => Entry::Value(option.value.as_str().into()),
                None => return,
            },
            FieldKind::Choices(choices) => {
                let Some(toggled) = choices.options.get(option) else {
                    return;
                };
                let stays = |option: &&Opt| {
                    let is_in = self.is_chosen(index, &option.value);
                    is_in != (option.value == toggled.value)
                };
                let chosen = choices.options.iter().filter(stays);
                let chosen = chosen.map(|option| option.value.as_str().into());
                self.several(field, chosen.collect())
            }
            _ => return,
        };
        self.put(index, entry);
    }

    /// Whether a field has this option selected, by its value.
    pub fn is_chosen(&self, index: usize, option: &str) -> bool {
        match self.entries.get(index) {
            Some(Entry::Value(Value::Array(chosen)) | Entry::Chosen(chosen, _)) => {
                chosen.iter().any(|chosen| chosen == option)
            }
            Some(Entry::Value(chosen)) => chosen == option,
            Some(Entry::Empty | Entry::Written(..)) | None => false,
        }
    }

    fn several(&self, field: &Field, chosen: Vec<Value>) -> Entry {
        if chosen.is_empty() {
            return Entry::Empty;
        }
        let chosen = Value::Array(chosen);
        match (text::check(field, &chosen, &self.limits), chosen) {
            (Err(issue), Value::Array(chosen)) => Entry::Chosen(chosen, issue),
            (_, chosen) => Entry::Value(chosen),
        }
    }

    pub(super) fn clear(&mut self, index: usize) {
        self.put(index, Entry::Empty);
    }

    fn put(&mut self, index: usize, entry: Entry) {
        if let Some(place) = self.entries.get_mut(index) {
            *place = entry;
            self.settle();
        }
    }

    /// Returns the content to send.
    pub fn content(&self) -> Content {
        let fields = self.whole.iter().filter_map(|field| {
            let value = self.value_at(&[Key::Member(field.name.clone())], false)?;
            Some((field.name.clone(), value))
        });
        fields.collect()
    }
}

/// Appends the schema of a JSON field to the server's description. Unless the field is an object or
/// a list, also appends why it is written as JSON.
fn explain(field: &mut Field) {
    if let FieldKind::Json(json) = &field.kind {
        let schema = Value::from(json.schema.clone());
        let is_nested = matches!(schema["type"].as_str(), Some("object" | "array"));
        let why = match is_nested {
            true => format!("As JSON. Its schema: {schema}"),
            false => format!("As JSON: {}. Its schema: {schema}", json.reason),
        };
        let description = field.description.take();
        let parts: Vec<_> = description.into_iter().chain([why]).collect();
        field.description = Some(parts.join(" "));
    }
}

/// Parses text for a field. An option's title or mark is accepted too.
///
/// # Errors
///
/// Returns the expected kind of value. The limits of the field are not checked.
pub fn read_field(field: &Field, written: &str, clock: Clock) -> Result<Value, Words> {
    match (&field.kind, text::read(field, written, clock)) {
        (FieldKind::Choice(choice), Err(wanted)) => marked(&choice.options, written.trim())
            .map(|option| option.value.as_str().into())
            .ok_or(wanted),
        (FieldKind::Choices(choices), read) => match read_choices(field, &choices.options, written)
        {
            Some(value) => Ok(value),
            None => read,
        },
        (_, read) => read,
    }
}

fn marked<'a>(options: &'a [Opt], mark: &str) -> Option<&'a Opt> {
    let at = marks(options)?
        .iter()
        .position(|known| known.as_str() == mark)?;
    options.get(at)
}

/// Parses options by name or mark, separated by commas, or by mark, separated by spaces. Duplicates
/// are dropped.
fn read_choices(field: &Field, options: &[Opt], text: &str) -> Option<Value> {
    let named = |text: &str| match field.parse(text) {
        Ok(Value::Array(values)) => Some(values),
        _ => None,
    };
    let by_piece = || {
        let pieces = text
            .split(',')
            .map(str::trim)
            .filter(|piece| !piece.is_empty());
        let read = pieces.map(|piece| named(piece).or_else(|| by_marks(options, piece)));
        Some(read.collect::<Option<Vec<_>>>()?.concat())
    };
    let mut values: Vec<Value> = Vec::new();
    for value in named(text).or_else(by_piece)? {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Some(Value::Array(values))
}

fn by_marks(options: &[Opt], text: &str) -> Option<Vec<Value>> {
    let marks = text.split_whitespace();
    marks
        .map(|mark| Some(marked(options, mark)?.value.as_str().into()))
        .collect()
}
