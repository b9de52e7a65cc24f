//! Reading CDL.

mod attribute;
mod constant;
mod data;
mod placed;
mod scope;

use crate::{DataType, Dimension, DimensionPath, Fill, Storage, Variable};

use self::placed::FoundData;
use self::scope::Scopes;
use super::document::Document;
use super::error::{CdlError, Position, Rule};
use super::token::{Lexer, Token, error, shortened};

/// The deepest nesting of groups.
const DEEPEST: usize = 64;
/// The longest name of netCDF, in bytes.
const LONGEST_NAME: usize = 256;

/// Reads a text of CDL. It should be UTF-8, but the values of char attributes and variables need not be.
///
/// Elements without a value in the text take no memory, whatever the shapes say, and the memory that is needed is a small
/// multiple of the text's length.
///
/// A few texts mean something else than to `ncgen`, which reads them with loss: a number that does not fit its type, a fraction
/// for a whole type, more values than elements, data or an attribute given twice are errors. A dimension of length 0 is not
/// unlimited. Where a char variable of a fixed shape has more texts than rows, a text that ends in a newline goes on in the
/// next one, because `ncdump` breaks them there.
///
/// # Errors
/// [`CdlError`], with the place and the rule.
pub fn parse(text: impl AsRef<[u8]>) -> Result<Document, CdlError> {
    let mut parser = Parser::new(text.as_ref())?;
    let name = parser.document()?;
    let data = placed::placed(&mut parser.scopes, parser.found)?;
    Ok(Document {
        name,
        dataset: parser.scopes.into_dataset(),
        data,
    })
}

/// The part of a group that is being read.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Attributes,
    Dimensions,
    Variables,
    Data,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    position: Position,
    scopes: Scopes,
    found: Vec<FoundData>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Result<Self, CdlError> {
        let mut lexer = Lexer::new(text);
        let (token, position) = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            position,
            scopes: Scopes::new(text.len()),
            found: Vec::new(),
        })
    }

    fn document(&mut self) -> Result<String, CdlError> {
        if self.token != Token::Word(String::from("netcdf")) {
            return Err(self.expected("\"netcdf\""));
        }
        self.advance()?;
        // The name is whatever stands before the brace.
        let mut name = String::new();
        while let Token::Word(part) | Token::Number(part) = &self.token {
            name.push_str(part);
            self.advance()?;
        }
        self.sign(b'{', "{")?;
        self.body(0, 0)?;
        if self.token != Token::End {
            return Err(self.expected("the end of the text"));
        }
        Ok(name)
    }

    /// Reads the content of a group and the brace behind it.
    fn body(&mut self, group: usize, depth: usize) -> Result<(), CdlError> {
        let mut section = Section::Attributes;
        loop {
            if self.take_sign(b'}')? {
                return Ok(());
            }
            if let Some(next) = self.section(group)? {
                section = next;
                continue;
            }
            if self.take_group()? {
                self.group(group, depth)?;
                continue;
            }
            match section {
                Section::Data => self.data(group)?,
                _ if self.attribute(group)? => {}
                Section::Dimensions => self.dimensions(group)?,
                Section::Variables => self.variables(group)?,
                Section::Attributes => {
                    return Err(self.expected("a section, an attribute or }"));
                }
            }
        }
    }

    /// Begins a section, if there is its word. A variable may be called like it, too: its attributes follow the colon at once.
    fn section(&mut self, group: usize) -> Result<Option<Section>, CdlError> {
        let Token::Word(word) = &self.token else {
            return Ok(None);
        };
        let section = match word.as_str() {
            "dimensions" => Section::Dimensions,
            "variables" => Section::Variables,
            "data" => Section::Data,
            "types" => Section::Attributes,
            _ => return Ok(None),
        };
        let mut ahead = self.lexer.clone();
        if ahead.next()?.0 != Token::Sign(b':') {
            return Ok(None);
        }
        if self.scopes.own_variable(group, word).is_some() && !ahead.is_at_blank() {
            return Ok(None);
        }
        if word == "types" {
            let name = String::from("the section of types");
            return Err(error(self.position, Rule::UserType { name }));
        }
        self.advance()?;
        self.advance()?;
        Ok(Some(section))
    }

    /// Takes `group:`, if a group begins here.
    fn take_group(&mut self) -> Result<bool, CdlError> {
        if self.token != Token::Word(String::from("group")) {
            return Ok(false);
        }
        let mut ahead = self.lexer.clone();
        let is_group = ahead.next()?.0 == Token::Sign(b':')
            && matches!(ahead.next()?.0, Token::Word(_))
            && ahead.next()?.0 == Token::Sign(b'{');
        if is_group {
            self.advance()?;
            self.advance()?;
        }
        Ok(is_group)
    }

    fn group(&mut self, parent: usize, depth: usize) -> Result<(), CdlError> {
        let position = self.position;
        if depth >= DEEPEST {
            let (what, limit) = ("groups are nested too deeply", DEEPEST as u64);
            return Err(error(position, Rule::TooLarge { what, limit }));
        }
        let name = self.name("the name of a group")?;
        let group = self.scopes.add_group(parent, name, position)?;
        self.sign(b'{', "{")?;
        self.body(group, depth + 1)
    }

    fn dimensions(&mut self, group: usize) -> Result<(), CdlError> {
        loop {
            let position = self.position;
            let name = self.name("the name of a dimension")?;
            self.sign(b'=', "=")?;
            let (length, is_unlimited) = self.length(&name)?;
            let dimension = Dimension {
                name,
                length,
                is_unlimited,
            };
            self.scopes.add_dimension(group, dimension, position)?;
            if !self.take_sign(b',')? {
                return self.sign(b';', "; or a comma");
            }
        }
    }

    fn length(&mut self, name: &str) -> Result<(u64, bool), CdlError> {
        let (token, position) = self.advance()?;
        let length = match &token {
            Token::Word(word) if word.eq_ignore_ascii_case("unlimited") => return Ok((0, true)),
            Token::Number(_) => self::constant::Constant::of(&token, position)?,
            _ => None,
        };
        let length = match length.map(|constant| constant.kind) {
            Some(self::constant::ConstantKind::Whole(length, _)) => i64::try_from(length).ok(),
            Some(self::constant::ConstantKind::MinusZero(_)) => Some(0),
            _ => None,
        };
        let length = length.and_then(|length| u64::try_from(length).ok());
        let name = name.to_owned();
        let length = length.ok_or_else(|| error(position, Rule::Length { name }))?;
        Ok((length, false))
    }

    fn variables(&mut self, group: usize) -> Result<(), CdlError> {
        let data_type = self.data_type()?;
        loop {
            let position = self.position;
            let name = self.name("the name of a variable")?;
            let dimensions = self.dimensions_of_variable(group)?;
            let variable = Variable {
                name,
                data_type,
                dimensions,
                attributes: Vec::new(),
                fill: Fill::Default,
                storage: Storage::default(),
            };
            self.scopes.add_variable(group, variable, position)?;
            if !self.take_sign(b',')? {
                return self.sign(b';', "; or a comma");
            }
        }
    }

    fn dimensions_of_variable(&mut self, group: usize) -> Result<Vec<DimensionPath>, CdlError> {
        let mut dimensions = Vec::new();
        if !self.take_sign(b'(')? {
            return Ok(dimensions);
        }
        while !self.take_sign(b')')? {
            if !dimensions.is_empty() {
                self.sign(b',', ") or a comma")?;
            }
            let position = self.position;
            let Token::Word(name) = self.advance()?.0 else {
                return Err(error_expected(
                    position,
                    "the name of a dimension",
                    &self.token,
                ));
            };
            dimensions.push(self.scopes.dimension(group, &name, position)?);
        }
        Ok(dimensions)
    }

    /// Takes the name of a type.
    fn data_type(&mut self) -> Result<DataType, CdlError> {
        let position = self.position;
        let Token::Word(word) = &self.token else {
            return Err(self.expected("a type or an attribute"));
        };
        let Some(data_type) = data_type(word) else {
            let name = shortened(word);
            return Err(error(position, Rule::UserType { name }));
        };
        self.advance()?;
        Ok(data_type)
    }

    /// Takes a name that something is to be called.
    fn name(&mut self, expected: &'static str) -> Result<String, CdlError> {
        if !matches!(self.token, Token::Word(_)) {
            return Err(self.expected(expected));
        }
        let (token, position) = self.advance()?;
        match token {
            Token::Word(name) if is_name(&name) => Ok(name),
            other => {
                let name = other.describe();
                Err(error(position, Rule::Name { name }))
            }
        }
    }

    /// Takes the word at hand, and reads the next one.
    fn advance(&mut self) -> Result<(Token, Position), CdlError> {
        let (next, next_position) = self.lexer.next()?;
        let token = std::mem::replace(&mut self.token, next);
        let position = std::mem::replace(&mut self.position, next_position);
        Ok((token, position))
    }

    /// Takes a sign, if it is there.
    fn take_sign(&mut self, sign: u8) -> Result<bool, CdlError> {
        let is_there = self.token == Token::Sign(sign);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    /// Takes a sign that must be there.
    fn sign(&mut self, sign: u8, expected: &'static str) -> Result<(), CdlError> {
        if self.take_sign(sign)? {
            Ok(())
        } else {
            Err(self.expected(expected))
        }
    }

    fn expected(&self, expected: &'static str) -> CdlError {
        error_expected(self.position, expected, &self.token)
    }
}

fn error_expected(position: Position, expected: &'static str, found: &Token) -> CdlError {
    let found = found.describe();
    error(position, Rule::Expected { expected, found })
}

/// Returns whether a group, dimension, variable or attribute can be called like this.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(['/', '\0'])
}

/// Returns the type of a name, by which some types have two.
fn data_type(name: &str) -> Option<DataType> {
    match name {
        "long" | "integer" => Some(DataType::Int),
        "real" => Some(DataType::Float),
        "ulong" => Some(DataType::UInt),
        name => DataType::ALL.into_iter().find(|it| it.name() == name),
    }
}
