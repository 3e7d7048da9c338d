//! Generates valid field values. The same seed gives the same values.

use std::time::SystemTime;

use askback::{
    forms::{ChoicesField, Field, FieldKind, NumberField, Opt, TextField, TextFormat},
    limits::FormLimits,
};
use jiff::Span;
use serde_json::{Number, Value};

use super::moment::utc;

const TRIES: u32 = 64;

const TEXT: &str = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) seed: u64,
    /// The time of the run. Generated dates are after it.
    pub(super) now: SystemTime,
}

impl Source {
    /// Returns a valid value, or `None` if none was found.
    pub(super) fn value(self, field: &Field, limits: &FormLimits) -> Option<Value> {
        let mut dice = Dice::new(self.seed, &field.name);
        (0..TRIES).find_map(|_| {
            let value = self.draw(field, &mut dice, limits)?;
            field.check(&value, limits).is_ok().then_some(value)
        })
    }

    fn draw(self, field: &Field, dice: &mut Dice, limits: &FormLimits) -> Option<Value> {
        match &field.kind {
            FieldKind::Text(text) => self.text(text, dice, limits).map(Value::from),
            FieldKind::Number(number) if number.integer => integer(number, dice).map(Value::Number),
            FieldKind::Number(number) => decimal(number, dice).map(Value::Number),
            // Servers often use a boolean as a confirmation.
            FieldKind::Boolean(_) => Some(true.into()),
            FieldKind::Choice(choice) => option(&choice.options, dice.next()),
            FieldKind::Choices(choices) => Some(options(choices, dice)),
            _ => None,
        }
    }

    fn text(self, field: &TextField, dice: &mut Dice, limits: &FormLimits) -> Option<String> {
        // Values for a pattern must come from the author.
        if field.pattern.is_some() {
            return None;
        }
        let number = dice.below(1000);
        let day = Span::new().try_days(i64::try_from(dice.below(28)).ok()?.saturating_add(1));
        let moment = utc(self.now).saturating_add(day.ok()?);
        // A value that is too short is padded.
        let least = usize::try_from(field.min_length.unwrap_or_default()).ok()?;
        if least > limits.answer_bytes {
            return None;
        }
        let filler = |length: usize| "a".repeat(least.saturating_sub(length));
        Some(match field.format {
            Some(TextFormat::Email) => {
                let (name, host) = (format!("ada{number}"), "@example.com");
                let filler = filler(name.len().saturating_add(host.len()));
                format!("{name}{filler}{host}")
            }
            Some(TextFormat::Uri) => {
                let uri = format!("https://example.com/{number}");
                let filler = filler(uri.len());
                format!("{uri}{filler}")
            }
            Some(TextFormat::Date) => moment.date().to_string(),
            Some(TextFormat::DateTime) => format!("{}Z", moment.strftime("%Y-%m-%dT%H:%M:%S")),
            _ => {
                let most = field.max_length.and_then(|most| usize::try_from(most).ok());
                let wanted = usize::try_from(dice.below(20)).ok()?.saturating_add(6);
                let length = wanted.max(least).min(most.unwrap_or(usize::MAX));
                let text: String = TEXT.chars().cycle().take(length).collect();
                // A trailing space is easily lost.
                text.strip_suffix(' ')
                    .map_or(text.clone(), |text| format!("{text}s"))
            }
        })
    }
}

fn integer(field: &NumberField, dice: &mut Dice) -> Option<Number> {
    let whole = |number: &Number| {
        let exact = number.as_i64().map(i128::from);
        exact.or_else(|| number.as_u64().map(i128::from))
    };
    let bound = |bound: &Option<Number>, round: fn(f64) -> f64| {
        bound.as_ref().and_then(|number| {
            // Numbers this large hardly limit anything.
            whole(number).or_else(|| Some(round(number.as_f64()?) as i128))
        })
    };
    let most = bound(&field.maximum, f64::floor);
    let least = bound(&field.minimum, f64::ceil);
    let least = least.unwrap_or_else(|| most.map_or(1, |most| most.min(1)));
    let most = most.unwrap_or(i128::MAX).min(least.saturating_add(99));
    let room = u64::try_from(most.checked_sub(least)?).ok()?;
    let number = least.saturating_add(i128::from(dice.below(room.saturating_add(1))));
    i64::try_from(number)
        .map(Number::from)
        .or_else(|_| u64::try_from(number).map(Number::from))
        .ok()
}

fn decimal(field: &NumberField, dice: &mut Dice) -> Option<Number> {
    let most = field.maximum.as_ref().and_then(Number::as_f64);
    let least = field.minimum.as_ref().and_then(Number::as_f64);
    let least = least.unwrap_or_else(|| most.map_or(1.0, |most| most.min(1.0)));
    let most = most.unwrap_or(f64::MAX).min(least + 100.0);
    let part = dice.below(1001) as f64 / 1000.0;
    let number = least + (most - least) * part;
    let short = (number * 100.0).round() / 100.0;
    let fits = (least..=most).contains(&short);
    Number::from_f64(if fits { short } else { number })
}

fn option(options: &[Opt], dice: u64) -> Option<Value> {
    let count = u64::try_from(options.len()).ok()?;
    let at = usize::try_from(dice.checked_rem(count)?).ok()?;
    options.get(at).map(|option| option.value.as_str().into())
}

/// As few options as allowed, but at least one.
fn options(field: &ChoicesField, dice: &mut Dice) -> Value {
    let count = field.min_items.unwrap_or_default().max(1);
    let count = field.max_items.map_or(count, |most| count.min(most));
    let first = dice.next();
    let options = (0..count.min(u64::try_from(field.options.len()).unwrap_or(u64::MAX)))
        .filter_map(|index| option(&field.options, first.wrapping_add(index)));
    options.collect()
}

/// Pseudorandom numbers (SplitMix64), determined by the seed and the field name.
struct Dice(u64);

impl Dice {
    fn new(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self(name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or_default()
    }
}
