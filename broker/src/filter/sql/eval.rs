//! What a condition says of a message.

use std::cmp::Ordering;

/// A condition: it holds, it does not, or that is unknown.
#[derive(Debug)]
pub(super) enum Condition {
    /// `TRUE`, `FALSE`, `NULL`.
    Constant(Option<bool>),
    /// A property alone.
    Present(usize),
    Not(Box<Condition>),
    /// Joined by `AND`.
    All(Vec<Condition>),
    /// Joined by `OR`.
    Any(Vec<Condition>),
    Equal(Box<[Operand; 2]>),
    Ordered(Order, Box<[Operand; 2]>),
    /// The value, the least and the most.
    Between {
        not: bool,
        of: Box<[Operand; 3]>,
    },
    /// `IS NULL`.
    Absent(Operand),
    /// The texts are sorted.
    In {
        not: bool,
        property: usize,
        texts: Box<[Box<str>]>,
    },
    Has {
        not: bool,
        part: Part,
        of: Operand,
        text: Box<str>,
    },
}

/// What a condition is about. Properties are numbered in the order in which the expression names them.
#[derive(Debug)]
pub(super) enum Operand {
    Property(usize),
    Text(Box<str>),
    Number(Number),
    Negated(Box<Operand>),
    Condition(Box<Condition>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// Where in a text another one is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Any,
    Start,
    End,
}

/// A number: its kind decides as what a text beside it is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i32),
    Long(i64),
    Double(f64),
}

/// Two values that cannot be compared: the whole expression fails, as an exception of the peer's does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unfit;

#[derive(Clone, Copy, Debug)]
enum Value<'v> {
    Absent,
    Text(&'v str),
    Number(Number),
    Truth(bool),
}

type Truth = Result<Option<bool>, Unfit>;

impl Condition {
    /// Whether it holds of a message with these properties' values; `None` where that is unknown.
    pub(super) fn holds(&self, values: &[Option<&str>]) -> Truth {
        Ok(match self {
            Self::Constant(value) => *value,
            // Values are texts, and a text is neither true nor false.
            Self::Present(property) => values[*property].map(|_| false),
            Self::Not(condition) => condition.holds(values)?.map(|holds| !holds),
            Self::All(conditions) => return until(false, conditions.iter().map(|c| c.holds(values))),
            Self::Any(conditions) => return until(true, conditions.iter().map(|c| c.holds(values))),
            Self::Equal(of) => return equal(of[0].value(values)?, of[1].value(values)?),
            Self::Ordered(order, of) => return order.holds(&of[0], &of[1], values),
            Self::Between { not: false, of } => {
                let tests = [(Order::GreaterOrEqual, &of[1]), (Order::LessOrEqual, &of[2])];
                return until(
                    false,
                    tests.into_iter().map(|(order, bound)| order.holds(&of[0], bound, values)),
                );
            }
            Self::Between { not: true, of } => {
                let tests = [(Order::Less, &of[1]), (Order::Greater, &of[2])];
                return until(
                    true,
                    tests.into_iter().map(|(order, bound)| order.holds(&of[0], bound, values)),
                );
            }
            Self::Absent(of) => Some(matches!(of.value(values)?, Value::Absent)),
            Self::In { not, property, texts } => values[*property]
                .map(|value| texts.binary_search_by(|text| (**text).cmp(value)).is_ok() != *not),
            Self::Has { text, .. } if text.is_empty() => Some(false),
            Self::Has { not, part, of, text } => Some(match of.value(values)? {
                Value::Text(value) => part.has(value, text) != *not,
                _ => false,
            }),
        })
    }
}

/// Goes through conditions up to the first that is `decides`; one unknown makes the whole unknown.
fn until(decides: bool, conditions: impl Iterator<Item = Truth>) -> Truth {
    let mut unknown = false;
    for holds in conditions {
        match holds? {
            Some(holds) if holds == decides => return Ok(Some(decides)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok((!unknown).then_some(!decides))
}

impl Operand {
    /// Whether it is `NULL`.
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Condition(condition) if matches!(**condition, Condition::Constant(None)))
    }

    /// Whether it is `TRUE` or `FALSE`.
    pub(super) fn is_truth(&self) -> bool {
        matches!(self, Self::Condition(condition) if matches!(**condition, Condition::Constant(Some(_))))
    }

    fn value<'v>(&'v self, values: &[Option<&'v str>]) -> Result<Value<'v>, Unfit> {
        Ok(match self {
            Self::Property(property) => values[*property].map_or(Value::Absent, Value::Text),
            Self::Text(text) => Value::Text(text),
            Self::Number(number) => Value::Number(*number),
            Self::Negated(of) => match of.value(values)? {
                Value::Number(number) => Value::Number(number.negated()),
                _ => Value::Absent,
            },
            Self::Condition(condition) => condition.holds(values)?.map_or(Value::Absent, Value::Truth),
        })
    }
}

impl Order {
    fn holds(self, left: &Operand, right: &Operand, values: &[Option<&str>]) -> Truth {
        let left = left.value(values)?;
        if let Value::Absent = left {
            return Ok(None);
        }
        let order = match (left, right.value(values)?) {
            (_, Value::Absent) => return Ok(None),
            (Value::Text(left), Value::Text(right)) => double(left)?.total_cmp(&double(right)?),
            (left, right) => compare(left, right)?.unwrap_or(Ordering::Less),
        };
        Ok(Some(match self {
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }))
    }
}

impl Part {
    fn has(self, value: &str, text: &str) -> bool {
        match self {
            Self::Any => value.contains(text),
            Self::Start => value.starts_with(text),
            Self::End => value.ends_with(text),
        }
    }
}

/// Whether two values are equal. Not symmetric where one is absent, as with the peer.
fn equal(left: Value<'_>, right: Value<'_>) -> Truth {
    Ok(match (left, right) {
        (Value::Absent, Value::Absent) => Some(true),
        (Value::Absent, _) => None,
        (_, Value::Absent) => Some(false),
        (left, right) => Some(compare(left, right)? == Some(Ordering::Equal)),
    })
}

/// Compares two values that are there; `None` where they are of kinds that have nothing in common.
fn compare(left: Value<'_>, right: Value<'_>) -> Result<Option<Ordering>, Unfit> {
    Ok(match (left, right) {
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => Some(left.order(right)),
        (Value::Truth(left), Value::Truth(right)) => Some(left.cmp(&right)),
        (Value::Text(left), Value::Number(right)) => Some(right.read(left)?.order(right)),
        (Value::Number(left), Value::Text(right)) => Some(left.order(left.read(right)?)),
        (Value::Text(left), Value::Truth(right)) => Some(left.eq_ignore_ascii_case("true").cmp(&right)),
        // The peer reads the wrong one of the two as a truth, and fails.
        (Value::Truth(_), Value::Text(_)) => return Err(Unfit),
        _ => None,
    })
}

impl Number {
    /// A text as a number of the same kind.
    fn read(self, text: &str) -> Result<Self, Unfit> {
        match self {
            Self::Int(_) => text.parse().map(Self::Int).map_err(|_| Unfit),
            Self::Long(_) => text.parse().map(Self::Long).map_err(|_| Unfit),
            Self::Double(_) => double(text).map(Self::Double),
        }
    }

    pub(super) fn order(self, other: Self) -> Ordering {
        match (self.whole(), other.whole()) {
            (Some(left), Some(right)) => left.cmp(&right),
            // Zero is more than minus zero, and what is no number more than all, as with `Double#compareTo`.
            _ => self.double().total_cmp(&other.double()),
        }
    }

    fn negated(self) -> Self {
        match self {
            Self::Int(number) => Self::Int(number.wrapping_neg()),
            Self::Long(number) => Self::Long(number.wrapping_neg()),
            Self::Double(number) => Self::Double(-number),
        }
    }

    fn whole(self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(number.into()),
            Self::Long(number) => Some(number),
            Self::Double(_) => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "compared as doubles, both are rounded, as the peer does")]
    fn double(self) -> f64 {
        match self {
            Self::Int(number) => number.into(),
            Self::Long(number) => number as f64,
            Self::Double(number) => number,
        }
    }
}

/// Peer: `Double#valueOf`, but for its hexadecimal form.
fn double(text: &str) -> Result<f64, Unfit> {
    let text = text.trim_matches(|c| c <= ' ');
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        "NaN" => return Ok(f64::NAN),
        "Infinity" if text.starts_with('-') => return Ok(f64::NEG_INFINITY),
        "Infinity" => return Ok(f64::INFINITY),
        _ => {}
    }
    let digits = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    // Rust reads words as well, and in any case.
    if digits.bytes().any(|byte| !byte.is_ascii_digit() && !b"+-.eE".contains(&byte)) {
        return Err(Unfit);
    }
    digits.parse().map_err(|_| Unfit)
}
