//! Small NetCDF-3 files, written by hand: classic format, dimensions of fixed lengths, doubles and 32-bit integers.

/// A file that is being described.
#[derive(Clone, Debug, Default)]
pub struct Classic {
    dimensions: Vec<(String, u32)>,
    attributes: Vec<Attribute>,
    variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    dimensions: Vec<u32>,
    attributes: Vec<Attribute>,
    values: Values,
}

#[derive(Clone, Debug)]
struct Attribute {
    name: String,
    value: AttributeValue,
}

#[derive(Clone, Debug)]
enum AttributeValue {
    Text(String),
    Number(f64),
}

#[derive(Clone, Debug)]
enum Values {
    Doubles(Vec<f64>),
    Integers(Vec<i32>),
}

impl Classic {
    /// Begins a file with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a dimension.
    #[must_use]
    pub fn dimension(mut self, name: &str, length: u32) -> Self {
        self.dimensions.push((name.to_owned(), length));
        self
    }

    /// Adds an attribute of the last variable, or of the file if there is none yet.
    #[must_use]
    pub fn text(self, name: &str, text: &str) -> Self {
        self.attribute(name, AttributeValue::Text(text.to_owned()))
    }

    /// As [`Classic::text`], of a number.
    #[must_use]
    pub fn number(self, name: &str, number: f64) -> Self {
        self.attribute(name, AttributeValue::Number(number))
    }

    fn attribute(mut self, name: &str, value: AttributeValue) -> Self {
        let of = match self.variables.last_mut() {
            Some(variable) => &mut variable.attributes,
            None => &mut self.attributes,
        };
        of.push(Attribute {
            name: name.to_owned(),
            value,
        });
        self
    }

    /// Adds a variable of doubles.
    #[must_use]
    pub fn doubles(self, name: &str, along: &[&str], values: &[f64]) -> Self {
        self.variable(name, along, Values::Doubles(values.to_vec()))
    }

    /// Adds a variable of 32-bit integers.
    #[must_use]
    pub fn integers(self, name: &str, along: &[&str], values: &[i32]) -> Self {
        self.variable(name, along, Values::Integers(values.to_vec()))
    }

    fn variable(mut self, name: &str, along: &[&str], values: Values) -> Self {
        let position = |wanted: &&str| {
            let found = self.dimensions.iter().position(|(name, _)| name == *wanted);
            found.unwrap_or_else(|| panic!("no dimension {wanted}")) as u32
        };
        let dimensions: Vec<u32> = along.iter().map(position).collect();
        let length = dimensions
            .iter()
            .map(|at| self.dimensions[*at as usize].1 as usize);
        assert_eq!(length.product::<usize>(), values.length(), "{name}");
        self.variables.push(Variable {
            name: name.to_owned(),
            dimensions,
            attributes: Vec::new(),
            values,
        });
        self
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        // Offsets take as many bytes whatever they are.
        let header = self.header(&vec![0; self.variables.len()]).len();
        let mut at = header;
        let mut begins = Vec::new();
        for variable in &self.variables {
            begins.push(at as u32);
            at += variable.values.bytes().len();
        }
        let mut bytes = self.header(&begins);
        for variable in &self.variables {
            bytes.extend(variable.values.bytes());
        }
        bytes
    }

    fn header(&self, begins: &[u32]) -> Vec<u8> {
        let mut bytes = b"CDF\x01".to_vec();
        number(&mut bytes, 0);
        list(&mut bytes, 0x0a, self.dimensions.len());
        for (name, length) in &self.dimensions {
            text(&mut bytes, name);
            number(&mut bytes, *length);
        }
        attributes(&mut bytes, &self.attributes);
        list(&mut bytes, 0x0b, self.variables.len());
        for (variable, begin) in self.variables.iter().zip(begins) {
            text(&mut bytes, &variable.name);
            number(&mut bytes, variable.dimensions.len() as u32);
            for dimension in &variable.dimensions {
                number(&mut bytes, *dimension);
            }
            attributes(&mut bytes, &variable.attributes);
            number(&mut bytes, variable.values.kind());
            number(&mut bytes, variable.values.bytes().len() as u32);
            number(&mut bytes, *begin);
        }
        bytes
    }
}

impl Values {
    fn length(&self) -> usize {
        match self {
            Self::Doubles(values) => values.len(),
            Self::Integers(values) => values.len(),
        }
    }

    fn kind(&self) -> u32 {
        match self {
            Self::Doubles(_) => 6,
            Self::Integers(_) => 4,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Doubles(values) => values.iter().flat_map(|it| it.to_be_bytes()).collect(),
            Self::Integers(values) => values.iter().flat_map(|it| it.to_be_bytes()).collect(),
        }
    }
}

fn number(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend(number.to_be_bytes());
}

/// The tag of a list and its length; both zero if it is empty.
fn list(bytes: &mut Vec<u8>, tag: u32, length: usize) {
    number(bytes, if length == 0 { 0 } else { tag });
    number(bytes, length as u32);
}

/// A text behind its length, padded to four bytes.
fn text(bytes: &mut Vec<u8>, text: &str) {
    number(bytes, text.len() as u32);
    bytes.extend(text.bytes());
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn attributes(bytes: &mut Vec<u8>, attributes: &[Attribute]) {
    list(bytes, 0x0c, attributes.len());
    for attribute in attributes {
        text(bytes, &attribute.name);
        match &attribute.value {
            AttributeValue::Text(value) => {
                number(bytes, 2);
                text(bytes, value);
            }
            AttributeValue::Number(value) => {
                number(bytes, 6);
                number(bytes, 1);
                bytes.extend(value.to_be_bytes());
            }
        }
    }
}
