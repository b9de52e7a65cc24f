//! Attributes, and those with a meaning.

use crate::{Attribute, DataType, Fill, Values};

use super::super::error::{CdlError, Position, Rule};
use super::super::list::empty;
use super::super::special::{Taken, is_of_file, take_special};
use super::super::token::{Token, error};
use super::constant::{Constant, ConstantKind, common_type};
use super::scope::VariableId;
use super::{Parser, data_type};

/// The rule for `_FillValue`.
const FILL_VALUE: &str = "one value of the variable's type";

impl Parser<'_> {
    /// Reads an attribute, if there is one: `[type] [variable]:name = values ;`.
    pub(super) fn attribute(&mut self, group: usize) -> Result<bool, CdlError> {
        let mut given = None;
        let mut owner = None;
        let position = self.position;
        if let Token::Word(word) = self.token.clone() {
            let mut ahead = self.lexer.clone();
            let (second, second_position) = ahead.next()?;
            if second == Token::Sign(b':') {
                // The word is a variable, or a type with a group's attribute. `ncdump` prints a variable that is called
                // like a type without a sign of it, but a blank only behind a type.
                let is_variable = self.scopes.own_variable(group, &word).is_some();
                let is_variable = is_variable && !self.lexer.is_at_blank();
                if data_type(&word).is_some() && !is_variable {
                    given = data_type(&word);
                } else {
                    owner = Some(self.scopes.variable_id(group, &word, position)?);
                }
                self.advance()?;
            } else if let Token::Word(variable) = &second
                && ahead.next()?.0 == Token::Sign(b':')
            {
                given = Some(self.data_type()?);
                owner = Some(self.scopes.variable_id(group, variable, second_position)?);
                self.advance()?;
            } else {
                return Ok(false);
            }
        } else if self.token != Token::Sign(b':') {
            return Ok(false);
        }
        self.sign(b':', ":")?;
        let position = self.position;
        let name = self.name("the name of an attribute")?;
        self.sign(b'=', "=")?;
        let constants = self.constants()?;
        self.sign(b';', "; or a comma")?;
        match owner {
            Some(id) => self.of_variable(id, name, (given, &constants), position)?,
            None => {
                let values = values(&name, given, &constants)?;
                if group == 0 && is_of_file(&name) {
                    self.scopes.note_attribute(group, None, &name, position)?;
                } else {
                    self.scopes
                        .add_attribute(group, None, (name, values), position)?;
                }
            }
        }
        Ok(true)
    }

    /// Reads constants up to the first other token.
    fn constants(&mut self) -> Result<Vec<Constant>, CdlError> {
        let mut constants = Vec::new();
        if self.token == Token::Sign(b';') {
            return Ok(constants);
        }
        loop {
            let constant = Constant::of(&self.token, self.position)?;
            constants.push(constant.ok_or_else(|| self.expected("a constant"))?);
            self.advance()?;
            if !self.take_sign(b',')? {
                return Ok(constants);
            }
        }
    }

    fn of_variable(
        &mut self,
        id: VariableId,
        name: String,
        (given, constants): (Option<DataType>, &[Constant]),
        position: Position,
    ) -> Result<(), CdlError> {
        if name == "_FillValue" {
            return self.fill_value(id, name, constants, position);
        }
        let variable = &self.scopes.variable(id).name;
        let full_name = format!("{variable}:{name}");
        let values = values(&full_name, given, constants)?;
        let taken = take_special(self.scopes.variable_mut(id), &name, &values);
        match taken {
            Ok(Taken::No) => {
                let (group, variable) = id;
                self.scopes
                    .add_attribute(group, Some(variable), (name, values), position)
            }
            Ok(Taken::Yes) => self
                .scopes
                .note_attribute(id.0, Some(id.1), &name, position),
            Err(expected) => {
                let name = full_name;
                Err(error(position, Rule::Special { name, expected }))
            }
        }
    }

    /// Takes a fill value, which is of the variable's type, whatever is written.
    fn fill_value(
        &mut self,
        id: VariableId,
        name: String,
        constants: &[Constant],
        position: Position,
    ) -> Result<(), CdlError> {
        self.scopes
            .note_attribute(id.0, Some(id.1), &name, position)?;
        let variable = self.scopes.variable_mut(id);
        let full_name = format!("{}:{name}", variable.name);
        let mut values = empty(variable.data_type);
        for constant in constants {
            constant.append_to(&mut values, &full_name)?;
        }
        if let (
            Values::Char(text),
            [
                Constant {
                    kind: ConstantKind::Text(_),
                    ..
                },
            ],
        ) = (&mut values, constants)
            && text.is_empty()
        {
            text.push(0); // zeros at the end of a text are not printed
        }
        if values.len() != 1 {
            let (name, expected) = (full_name, FILL_VALUE);
            return Err(error(position, Rule::Special { name, expected }));
        }
        if variable.fill != Fill::Off {
            variable.fill = Fill::Value(values.clone());
        }
        variable.attributes.push(Attribute { name, values });
        Ok(())
    }
}

/// Returns the values of an attribute; their type is that of the constants if none is given.
fn values(name: &str, given: Option<DataType>, constants: &[Constant]) -> Result<Values, CdlError> {
    let data_type = match given {
        Some(data_type) => data_type,
        None => common_type(constants, name)?,
    };
    let mut values = empty(data_type);
    for constant in constants {
        constant.append_to(&mut values, name)?;
    }
    Ok(values)
}
