//! The size of a schema with its references followed, and the cost of its checks.

use std::collections::HashMap;

use askback_core::{limits::FormLimits, protocol::Schema};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Number, Value};

use super::{PATTERNS, SchemaError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) size: Size,
    pub(super) recursive: bool,
    pub(super) patterns: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// The number of values. A text counts one more for every 16 bytes, because each part of a schema may read it.
    values: usize,
    depth: usize,
    longest: usize,
    text: usize,
    /// The number of numbers that are not [near](is_near).
    far: usize,
}

/// The maximum recursion of a check with a recursive schema, as schema levels times value levels. Each takes stack
/// space.
const RECURSION: usize = 4 << 10;

/// The maximum size of a schema with `unevaluatedProperties` or `unevaluatedItems`, which compile each reference again.
const UNEVALUATED: usize = 1 << 16;

/// The number of text bytes that count as one value.
const TEXT: usize = 16;

/// The number of program bytes that one step processes per byte of text.
const PROGRAM: usize = 64;

/// The number of steps for a division with large fractions.
const DIVISION: usize = 2 << 10;

/// The number of different patterns per schema that are measured.
const MEASURED: usize = 256;

/// Keywords that check their sibling keywords again.
const AGAIN: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

impl Shape {
    /// Measures a schema; `program_bytes` returns the size of a pattern's program.
    ///
    /// # Errors
    ///
    /// If a reference leads out of the schema, or the schema is too deep.
    pub(super) fn of(
        schema: &Value,
        limits: &FormLimits,
        program_bytes: &dyn Fn(&str) -> usize,
    ) -> Result<Self, SchemaError> {
        let mut walk = Walk {
            root: schema,
            anchors: HashMap::new(),
            targets: HashMap::new(),
            limits,
            recursive: false,
            unevaluated: false,
            patterns: 0,
            program_bytes,
            programs: HashMap::new(),
        };
        walk.find_anchors(schema)?;
        let size = walk.schema(schema, 0)?;
        if walk.unevaluated && (walk.recursive || size.values > UNEVALUATED) {
            return Err(SchemaError::TooLarge);
        }
        Ok(Self {
            size,
            recursive: walk.recursive,
            patterns: walk.patterns,
        })
    }

    /// Whether a check of this value stays within the step limit and the stack, and matches no text longer than
    /// `text_bytes`.
    pub(super) fn can_check(&self, value: Extent, steps: usize, text_bytes: usize) -> bool {
        if self.patterns > 0 && value.longest > text_bytes {
            return false;
        }
        let deep = self.recursive && self.size.depth.saturating_mul(value.depth) > RECURSION;
        !deep && self.steps(value) <= steps
    }

    fn steps(&self, value: Extent) -> usize {
        let size = self.size;
        let looks = size.values.saturating_mul(value.values);
        let matches = size.programs.div_ceil(PROGRAM).saturating_mul(value.text);
        let divisions = size.divisors.saturating_mul(value.far);
        looks
            .saturating_add(matches)
            .saturating_add(divisions.saturating_mul(DIVISION))
    }
}

impl Extent {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            Value::Number(number) if !is_near(number) => Self {
                far: 1,
                ..Self::LEAF
            },
            Value::Array(items) => items.iter().map(Self::of).fold(Self::LEAF, Self::with),
            Value::Object(members) => members.iter().fold(Self::LEAF, |whole, (name, part)| {
                whole.with(Self::text(name)).with(Self::of(part))
            }),
            _ => Self::LEAF,
        }
    }

    /// Returns the maximum extent of a JSON text of this length, without the depth: each value takes at least a byte.
    pub(super) fn within(bytes: usize) -> Self {
        Self {
            values: bytes,
            depth: 1,
            longest: bytes,
            text: bytes,
            far: bytes,
        }
    }

    const LEAF: Self = Self {
        values: 1,
        depth: 1,
        longest: 0,
        text: 0,
        far: 0,
    };

    fn text(text: &str) -> Self {
        Self {
            values: 1 + text.len() / TEXT,
            longest: text.len(),
            text: text.len(),
            ..Self::LEAF
        }
    }

    fn with(self, part: Self) -> Self {
        Self {
            values: self.values + part.values,
            depth: self.depth.max(part.depth + 1),
            longest: self.longest.max(part.longest),
            text: self.text + part.text,
            far: self.far + part.far,
        }
    }
}

/// Whether dividing this number by a similar one needs no large fractions.
fn is_near(number: &Number) -> bool {
    let near = |float: f64| float == 0.0 || (1e-9..1e15).contains(&float.abs());
    !number.is_f64() || number.as_f64().is_some_and(near)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// The number of JSON values in it, with the target of each reference counted again. Each checked value is compared
    /// with at most this many.
    pub(super) values: usize,
    /// Its depth, with references followed.
    depth: usize,
    /// The total size of its compiled patterns in bytes, counted once per reference.
    programs: usize,
    divisors: usize,
}

impl Size {
    const LEAF: Self = Self {
        values: 1,
        depth: 1,
        programs: 0,
        divisors: 0,
    };

    fn divide(&mut self, divisor: &Number) {
        if is_near(divisor) {
            self.divisors = self.divisors.saturating_add(1);
        } else {
            self.values = self.values.saturating_add(DIVISION);
        }
    }

    fn add(&mut self, part: Self) {
        self.values = self.values.saturating_add(part.values);
        self.depth = self.depth.max(part.depth + 1);
        self.programs = self.programs.saturating_add(part.programs);
        self.divisors = self.divisors.saturating_add(part.divisors);
    }
}

#[derive(Clone, Copy)]
enum Target {
    /// Being followed: a reference to it closes a cycle.
    Open,
    Known(Size),
}

struct Walk<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// By address, because many references can lead to one part, spelled in different ways.
    targets: HashMap<*const Value, Target>,
    limits: &'a FormLimits,
    recursive: bool,
    unevaluated: bool,
    patterns: usize,
    program_bytes: &'a dyn Fn(&str) -> usize,
    programs: HashMap<&'a str, usize>,
}

impl<'a> Walk<'a> {
    fn find_anchors(&mut self, value: &'a Value) -> Result<(), SchemaError> {
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.find_anchors(item)),
            Value::Object(members) => {
                let names = ["$anchor", "$dynamicAnchor"].map(|keyword| members.get(keyword));
                for name in names.into_iter().flatten().filter_map(Value::as_str) {
                    if self.anchors.insert(name, value).is_some() {
                        let why = "two parts have the same anchor";
                        return Err(SchemaError::Invalid(why.to_owned()));
                    }
                }
                members
                    .values()
                    .try_for_each(|part| self.find_anchors(part))
            }
            _ => Ok(()),
        }
    }

    fn schema(&mut self, value: &'a Value, above: usize) -> Result<Size, SchemaError> {
        let mut size = Size::LEAF;
        self.check_depth(above, size)?;
        match value {
            Value::Array(items) => {
                for item in items {
                    size.add(self.schema(item, above + 1)?);
                }
            }
            Value::Object(members) => self.members(members, above, &mut size)?,
            _ => {}
        }
        Ok(size)
    }

    fn members(
        &mut self,
        members: &'a Map<String, Value>,
        above: usize,
        size: &mut Size,
    ) -> Result<(), SchemaError> {
        let is_root = self
            .root
            .as_object()
            .is_some_and(|root| std::ptr::eq(root, members));
        for (keyword, value) in members {
            let keyword = keyword.as_str();
            match value {
                // A part in another dialect would not mean what the code here assumes.
                Value::String(dialect) if keyword == "$schema" && !is_root => {
                    return Err(SchemaError::Dialect(dialect.clone()));
                }
                Value::String(reference) if REFERENCES.contains(&keyword) => {
                    size.add(self.target(reference, above + 1)?);
                }
                Value::String(id) if keyword == "$id" && !is_root => {
                    return Err(SchemaError::Identified(id.clone()));
                }
                Value::Object(named) if Schema::NAMED.contains(&keyword) => {
                    if keyword == "patternProperties" {
                        for pattern in named.keys() {
                            self.pattern(pattern, size);
                        }
                    }
                    for schema in named.values() {
                        size.add(self.schema(schema, above + 1)?);
                    }
                }
                data if DATA.contains(&keyword) => {
                    let Extent { values, depth, .. } = Extent::of(data);
                    let data = Size {
                        values,
                        depth,
                        ..Size::LEAF
                    };
                    self.check_depth(above, data)?;
                    size.add(data);
                }
                part => {
                    match part {
                        Value::String(pattern) if keyword == "pattern" => {
                            self.pattern(pattern, size);
                        }
                        Value::Number(divisor) if keyword == "multipleOf" => {
                            size.divide(divisor);
                        }
                        _ => {}
                    }
                    size.add(self.schema(part, above + 1)?);
                }
            }
        }
        // To find out what was evaluated, each level checks the parts again.
        if AGAIN.iter().any(|keyword| members.contains_key(*keyword)) {
            self.unevaluated = true;
            let times = size.depth.saturating_add(2);
            size.values = size.values.saturating_mul(times);
            size.programs = size.programs.saturating_mul(times);
            size.divisors = size.divisors.saturating_mul(times);
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &'a str, size: &mut Size) {
        self.patterns += 1;
        let measured = self.programs.len();
        let bytes = self.programs.entry(pattern).or_insert_with(|| {
            if measured < MEASURED {
                (self.program_bytes)(pattern)
            } else {
                // The average limit of that many patterns.
                self.limits.pattern_program_bytes * PATTERNS / MEASURED
            }
        });
        size.programs = size.programs.saturating_add(*bytes);
    }

    fn target(&mut self, reference: &str, above: usize) -> Result<Size, SchemaError> {
        let target = self
            .resolve(reference)
            .ok_or_else(|| SchemaError::Reference(reference.to_owned()))?;
        let place: *const Value = target;
        match self.targets.get(&place) {
            Some(Target::Open) => {
                self.recursive = true;
                Ok(Size::LEAF)
            }
            Some(&Target::Known(size)) => {
                self.check_depth(above, size)?;
                Ok(size)
            }
            None => {
                self.targets.insert(place, Target::Open);
                let size = self.schema(target, above)?;
                self.targets.insert(place, Target::Known(size));
                Ok(size)
            }
        }
    }

    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let fragment = percent_decode_str(reference.strip_prefix('#')?);
        let fragment = fragment.decode_utf8().ok()?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(&fragment)
        } else {
            self.anchors.get(&*fragment).copied()
        }
    }

    fn check_depth(&self, above: usize, size: Size) -> Result<(), SchemaError> {
        let most = self.limits.schema_depth;
        if above + size.depth > most {
            return Err(SchemaError::TooDeep(most));
        }
        Ok(())
    }
}
