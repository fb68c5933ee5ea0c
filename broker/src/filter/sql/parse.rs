//! From words to a condition: operators bind as tightly as their level says, and each to the left.

use super::eval::{Condition, Number, Operand, Order, Part};
use super::lex::{Kind, Lexer, Token, place, shown, unexpected};
use super::{DEPTH_MAX, PROPERTIES_MAX, SqlError};

/// The names of properties, numbered by their places.
pub(super) type Names = Box<[Box<str>]>;

/// The condition of a text, and the properties that it asks for.
pub(super) fn parse(text: &str) -> Result<(Condition, Names), SqlError> {
    let mut lexer = Lexer::new(text);
    let next = lexer.next()?;
    let mut parser = Parser { text, lexer, next, end: 0, properties: Vec::new(), nested: 0 };
    let term = parser.expression(OR)?;
    if parser.next.kind != Kind::End {
        return Err(parser.found("AND, OR or the end"));
    }
    Ok((parser.condition(term)?.0, parser.properties.into()))
}

/// The levels of binding, the loosest first.
const OR: u8 = 1;
const AND: u8 = 2;
const EQUALITY: u8 = 3;
const TESTS: u8 = 4;

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    next: Token,
    /// Where the last word taken ends, in bytes.
    end: usize,
    properties: Vec<Box<str>>,
    nested: usize,
}

/// What has been read: a part of an expression.
struct Term {
    operand: Operand,
    /// How many conditions lie in each other in it.
    depth: usize,
    /// Where it lies in the text, in bytes.
    at: usize,
    end: usize,
}

impl Parser<'_> {
    /// Reads operands and the operators between them that bind at `level` or tighter.
    fn expression(&mut self, level: u8) -> Result<Term, SqlError> {
        let mut left = self.operand()?;
        // What has been read is an operand of operators that bind no tighter than its own do.
        let mut loosest = TESTS;
        loop {
            let binds = match self.next.kind {
                Kind::Or => OR,
                Kind::And => AND,
                Kind::Equal | Kind::Unequal | Kind::Is => EQUALITY,
                Kind::Greater
                | Kind::GreaterOrEqual
                | Kind::Less
                | Kind::LessOrEqual
                | Kind::Between
                | Kind::In
                | Kind::Contains
                | Kind::StartsWith
                | Kind::EndsWith
                | Kind::Not => TESTS,
                _ => return Ok(left),
            };
            if binds < level || binds > loosest {
                return Ok(left);
            }
            loosest = binds;
            let operator = self.take()?;
            left = match operator.kind {
                Kind::Or | Kind::And => {
                    let right = self.expression(binds + 1)?;
                    self.joined(operator.kind, left, right)?
                }
                Kind::Equal | Kind::Unequal => {
                    let right = self.expression(binds + 1)?;
                    self.equal(operator.kind == Kind::Unequal, left, right)?
                }
                Kind::Is => {
                    let not = self.eat(Kind::Not)?;
                    self.expect(Kind::Null, if not { "NULL" } else { "NULL or NOT NULL" })?;
                    let (at, depth) = (left.at, left.depth);
                    self.built(negated(not, Condition::Absent(left.operand)), at, depth)?
                }
                Kind::Not => {
                    let test = self.take_test()?;
                    self.test(test, true, left)?
                }
                _ => self.test(operator, false, left)?,
            };
        }
    }

    /// Reads one operand with what stands before it.
    fn operand(&mut self) -> Result<Term, SqlError> {
        let first = self.take()?;
        let at = first.at;
        let operand = match first.kind {
            Kind::Plus => return self.deeper(at, Self::operand),
            Kind::Minus => {
                let term = self.deeper(at, Self::operand)?;
                return self.wrapped(Operand::Negated(Box::new(term.operand)), at, term.depth);
            }
            Kind::Not => {
                let term = self.deeper(at, Self::operand)?;
                let (condition, depth) = self.condition(term)?;
                return self.built(Condition::Not(Box::new(condition)), at, depth);
            }
            Kind::Open => {
                let term = self.deeper(at, |parser| parser.expression(OR))?;
                self.expect(Kind::Close, "an operator or )")?;
                return Ok(Term { at, end: self.end, ..term });
            }
            Kind::Text => Operand::Text(unquoted(self.piece(first))),
            Kind::Whole => Operand::Number(self.whole(first)?),
            Kind::Decimal => Operand::Number(self.decimal(first)?),
            Kind::Name => Operand::Property(self.property(first)?),
            Kind::True => constant(Some(true)),
            Kind::False => constant(Some(false)),
            Kind::Null => constant(None),
            _ => return Err(self.unexpected(first, "a property, a value, NOT or (")),
        };
        Ok(Term { operand, depth: 0, at, end: self.end })
    }

    /// Reads what a test compares with; its operator was read.
    fn test(&mut self, operator: Token, not: bool, left: Term) -> Result<Term, SqlError> {
        let at = left.at;
        let (condition, depth) = match operator.kind {
            Kind::Between => {
                let low = self.operand()?;
                self.expect(Kind::And, "AND")?;
                let high = self.operand()?;
                for term in [&left, &low, &high] {
                    self.must_have_order(term)?;
                }
                if let (Operand::Number(least), Operand::Number(most)) = (&low.operand, &high.operand)
                    && most.order(*least).is_lt()
                    && !not
                {
                    let expected = format!("at least {}", shown(&self.text[low.at..low.end]));
                    return Err(unexpected(self.text, high.at, high.end, &expected));
                }
                let depth = left.depth.max(low.depth).max(high.depth);
                let of = Box::new([left.operand, low.operand, high.operand]);
                (Condition::Between { not, of }, depth)
            }
            Kind::In => {
                let Operand::Property(property) = left.operand else {
                    return Err(unexpected(self.text, left.at, left.end, "a property before IN"));
                };
                (Condition::In { not, property, texts: self.texts()? }, 0)
            }
            Kind::Contains | Kind::StartsWith | Kind::EndsWith => {
                let part = match operator.kind {
                    Kind::Contains => Part::Any,
                    Kind::StartsWith => Part::Start,
                    _ => Part::End,
                };
                let text = self.expect(Kind::Text, "a 'text'")?;
                let text = unquoted(self.piece(text));
                (Condition::Has { not, part, of: left.operand, text }, left.depth)
            }
            _ => {
                let order = match operator.kind {
                    Kind::Greater => Order::Greater,
                    Kind::GreaterOrEqual => Order::GreaterOrEqual,
                    Kind::Less => Order::Less,
                    _ => Order::LessOrEqual,
                };
                let right = self.operand()?;
                self.must_have_order(&left)?;
                self.must_have_order(&right)?;
                let depth = left.depth.max(right.depth);
                (Condition::Ordered(order, Box::new([left.operand, right.operand])), depth)
            }
        };
        self.built(condition, at, depth)
    }

    /// The texts of an `IN`, sorted.
    fn texts(&mut self) -> Result<Box<[Box<str>]>, SqlError> {
        self.expect(Kind::Open, "(")?;
        let mut texts = Vec::new();
        loop {
            let text = self.expect(Kind::Text, "a 'text'")?;
            texts.push(unquoted(self.piece(text)));
            if !self.eat(Kind::Comma)? {
                break;
            }
        }
        self.expect(Kind::Close, "a comma or )")?;
        texts.sort_unstable();
        Ok(texts.into())
    }

    /// `left AND right`, `left OR right`; a chain of them is one condition, so that it may be long.
    fn joined(&self, kind: Kind, left: Term, right: Term) -> Result<Term, SqlError> {
        let at = left.at;
        let (left, left_depth) = self.condition(left)?;
        let (right, right_depth) = self.condition(right)?;
        let (joined, left_depth) = match (kind, left) {
            (Kind::And, Condition::All(mut all)) => {
                all.push(right);
                (Condition::All(all), left_depth - 1)
            }
            (Kind::And, left) => (Condition::All(vec![left, right]), left_depth),
            (_, Condition::Any(mut any)) => {
                any.push(right);
                (Condition::Any(any), left_depth - 1)
            }
            (_, left) => (Condition::Any(vec![left, right]), left_depth),
        };
        self.built(joined, at, left_depth.max(right_depth))
    }

    fn equal(&self, not: bool, left: Term, right: Term) -> Result<Term, SqlError> {
        for term in [&left, &right] {
            if term.operand.is_null() {
                let expected = "a value (IS NULL asks for what is absent)";
                return Err(unexpected(self.text, term.at, term.end, expected));
            }
        }
        if left.operand.is_truth() && matches!(right.operand, Operand::Text(_) | Operand::Number(_)) {
            return Err(unexpected(self.text, right.at, right.end, "TRUE or FALSE"));
        }
        let (at, depth) = (left.at, left.depth.max(right.depth));
        let equal = Condition::Equal(Box::new([left.operand, right.operand]));
        self.built(negated(not, equal), at, depth)
    }

    /// Refuses what is neither more nor less than anything.
    fn must_have_order(&self, term: &Term) -> Result<(), SqlError> {
        let expected = match &term.operand {
            Operand::Text(_) => "a number or a property, texts have no order",
            Operand::Condition(condition) if matches!(**condition, Condition::Not(_)) => {
                "a number or a property (NOT binds first: write NOT (…))"
            }
            Operand::Condition(_) => "a number or a property",
            Operand::Property(_) | Operand::Number(_) | Operand::Negated(_) => return Ok(()),
        };
        Err(unexpected(self.text, term.at, term.end, expected))
    }

    /// What can hold or not, and its depth.
    fn condition(&self, term: Term) -> Result<(Condition, usize), SqlError> {
        match term.operand {
            Operand::Condition(condition) => Ok((*condition, term.depth)),
            Operand::Property(property) => Ok((Condition::Present(property), term.depth)),
            _ => Err(unexpected(self.text, term.at, term.end, "a condition")),
        }
    }

    /// A term of a condition on what is `depth` deep.
    fn built(&self, condition: Condition, at: usize, depth: usize) -> Result<Term, SqlError> {
        self.wrapped(Operand::Condition(Box::new(condition)), at, depth)
    }

    fn wrapped(&self, operand: Operand, at: usize, depth: usize) -> Result<Term, SqlError> {
        let depth = depth + 1;
        if depth > DEPTH_MAX {
            return Err(self.too_deep(at));
        }
        Ok(Term { operand, depth, at, end: self.end })
    }

    /// Reads something within what is being read.
    fn deeper(
        &mut self,
        at: usize,
        read: impl FnOnce(&mut Self) -> Result<Term, SqlError>,
    ) -> Result<Term, SqlError> {
        self.nested += 1;
        if self.nested > DEPTH_MAX {
            return Err(self.too_deep(at));
        }
        let term = read(self)?;
        self.nested -= 1;
        Ok(term)
    }

    fn too_deep(&self, at: usize) -> SqlError {
        SqlError::TooDeep { at: place(self.text, at), limit: DEPTH_MAX }
    }

    /// The number of a property among those asked for.
    fn property(&mut self, name: Token) -> Result<usize, SqlError> {
        let piece = self.piece(name);
        if let Some(known) = self.properties.iter().position(|known| **known == *piece) {
            return Ok(known);
        }
        if self.properties.len() == PROPERTIES_MAX {
            return Err(SqlError::TooManyProperties { at: place(self.text, name.at), limit: PROPERTIES_MAX });
        }
        let piece = piece.into();
        self.properties.push(piece);
        Ok(self.properties.len() - 1)
    }

    fn whole(&self, token: Token) -> Result<Number, SqlError> {
        let digits = self.piece(token).trim_end_matches(['l', 'L']);
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(self.unexpected(token, "a number that does not begin with 0"));
        }
        let number: i64 = digits.parse().map_err(|_| self.too_large(token))?;
        Ok(i32::try_from(number).map_or(Number::Long(number), Number::Int))
    }

    fn decimal(&self, token: Token) -> Result<Number, SqlError> {
        let number: f64 = self.piece(token).parse().map_err(|_| self.unexpected(token, "a number"))?;
        if number.is_finite() { Ok(Number::Double(number)) } else { Err(self.too_large(token)) }
    }

    fn too_large(&self, token: Token) -> SqlError {
        SqlError::NumberTooLarge { at: place(self.text, token.at), number: shown(self.piece(token)) }
    }

    /// Takes a word that `NOT` may stand before, between operands.
    fn take_test(&mut self) -> Result<Token, SqlError> {
        match self.next.kind {
            Kind::Between | Kind::In | Kind::Contains | Kind::StartsWith | Kind::EndsWith => self.take(),
            _ => Err(self.found("BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH")),
        }
    }

    fn take(&mut self) -> Result<Token, SqlError> {
        let next = self.lexer.next()?;
        let taken = std::mem::replace(&mut self.next, next);
        self.end = taken.end;
        Ok(taken)
    }

    fn eat(&mut self, kind: Kind) -> Result<bool, SqlError> {
        let there = self.next.kind == kind;
        if there {
            self.take()?;
        }
        Ok(there)
    }

    fn expect(&mut self, kind: Kind, expected: &str) -> Result<Token, SqlError> {
        if self.next.kind == kind { self.take() } else { Err(self.found(expected)) }
    }

    /// Says that something else than the next word belongs there.
    fn found(&self, expected: &str) -> SqlError {
        self.unexpected(self.next, expected)
    }

    fn unexpected(&self, token: Token, expected: &str) -> SqlError {
        unexpected(self.text, token.at, token.end, expected)
    }

    fn piece(&self, token: Token) -> &str {
        &self.text[token.at..token.end]
    }
}

fn constant(value: Option<bool>) -> Operand {
    Operand::Condition(Box::new(Condition::Constant(value)))
}

fn negated(not: bool, condition: Condition) -> Condition {
    if not { Condition::Not(Box::new(condition)) } else { condition }
}

/// A text without its quotes.
fn unquoted(quoted: &str) -> Box<str> {
    quoted[1..quoted.len() - 1].replace("''", "'").into()
}
