//! Expressions between `{{` and `}}`: names, numbers, texts, sums and products, and a template with its parameters.
//! The template language of kerchunk, Jinja2, has far more; all else is refused. `minijinja` cannot take its place: it divides
//! otherwise than Python.

use std::collections::BTreeMap;

/// A value of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    Number(i64),
    Text(String),
}

impl Term {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

/// The values of names.
pub(super) trait Names {
    /// A name alone, or a name with parameters.
    fn value(&mut self, name: &str, parameters: &BTreeMap<String, Term>) -> Result<Term, String>;
}

/// Deepest nesting of parentheses.
const DEEPEST: usize = 16;

/// Evaluates an expression, all of it.
pub(super) fn evaluate(text: &str, names: &mut dyn Names) -> Result<Term, String> {
    let mut parser = Parser {
        rest: text,
        names,
        depth: 0,
    };
    let term = parser.sum()?;
    parser.skip();
    match parser.rest.is_empty() {
        true => Ok(term),
        false => Err(parser.unexpected()),
    }
}

struct Parser<'a, 'n> {
    rest: &'a str,
    names: &'n mut dyn Names,
    depth: usize,
}

impl<'a> Parser<'a, '_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self) -> String {
        match self.rest.is_empty() {
            true => "it ends too early".to_owned(),
            false => format!("{:?} is more than is known here", self.rest),
        }
    }

    /// Goes on behind `token` if that comes next.
    fn take(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<Term, String> {
        let mut left = self.product()?;
        loop {
            let operation = match () {
                () if self.take("+") => i64::checked_add,
                () if self.take("-") => i64::checked_sub,
                () => return Ok(left),
            };
            let right = self.product()?;
            left = combine(&left, &right, operation)?;
        }
    }

    fn product(&mut self) -> Result<Term, String> {
        let mut left = self.factor()?;
        loop {
            let operation = match () {
                () if self.take("**") => {
                    return Err("powers are more than is known here".to_owned());
                }
                () if self.take("*") => i64::checked_mul,
                () if self.take("//") => floored_quotient,
                () if self.take("%") => floored_remainder,
                () => return Ok(left),
            };
            let right = self.factor()?;
            left = combine(&left, &right, operation)?;
        }
    }

    fn factor(&mut self) -> Result<Term, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let term = self.term();
        self.depth -= 1;
        term
    }

    fn term(&mut self) -> Result<Term, String> {
        if self.take("-") {
            let zero = Term::Number(0);
            return combine(&zero, &self.factor()?, i64::checked_sub);
        }
        if self.take("(") {
            let term = self.sum()?;
            return match self.take(")") {
                true => Ok(term),
                false => Err(self.unexpected()),
            };
        }
        for quote in ["'", "\""] {
            if self.take(quote) {
                let (text, rest) = self.rest.split_once(quote).ok_or("a text has no end")?;
                self.rest = rest;
                return Ok(Term::Text(text.to_owned()));
            }
        }
        let word = self.word();
        match word.as_bytes().first() {
            None => Err(self.unexpected()),
            Some(b'0'..=b'9') => {
                let number = word.parse().map_err(|_| format!("{word:?} is no number"))?;
                Ok(Term::Number(number))
            }
            Some(_) => {
                let parameters = self.parameters()?;
                self.names.value(word, &parameters)
            }
        }
    }

    /// The letters, digits and underscores that come next; there may be none.
    fn word(&mut self) -> &'a str {
        self.skip();
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let end = self.rest.bytes().position(|byte| !is_part(byte));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn parameters(&mut self) -> Result<BTreeMap<String, Term>, String> {
        let mut parameters = BTreeMap::new();
        if !self.take("(") || self.take(")") {
            return Ok(parameters);
        }
        loop {
            let name = self.word().to_owned();
            if name.is_empty() || !self.take("=") {
                return Err("a parameter is not name=value".to_owned());
            }
            let value = self.sum()?;
            parameters.insert(name, value);
            if self.take(")") {
                return Ok(parameters);
            }
            if !self.take(",") {
                return Err(self.unexpected());
            }
        }
    }
}

fn combine(
    left: &Term,
    right: &Term,
    operation: fn(i64, i64) -> Option<i64>,
) -> Result<Term, String> {
    match (left, right) {
        (Term::Number(left), Term::Number(right)) => operation(*left, *right)
            .map(Term::Number)
            .ok_or_else(|| "a number is too large, or divided by 0".to_owned()),
        _ => Err("a text is no number to calculate with".to_owned()),
    }
}

/// Division as Python has it, towards the smaller number.
fn floored_quotient(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let is_below = left.checked_rem(right)? != 0 && (left < 0) != (right < 0);
    quotient.checked_sub(is_below.into())
}

fn floored_remainder(left: i64, right: i64) -> Option<i64> {
    let remainder = left.checked_rem(right)?;
    match remainder != 0 && (remainder < 0) != (right < 0) {
        true => remainder.checked_add(right),
        false => Some(remainder),
    }
}
