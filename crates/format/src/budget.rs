//! Bounds what a self-describing value would take in memory, before it is built.
//!
//! A few bytes can stand for much: an alias of YAML for a list that it repeats, one byte of MessagePack
//! for a value of dozens of bytes. So the text is walked once for counting only, which allocates
//! nothing that stays.

use std::cell::Cell;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

/// Bytes that a value counts for beside its text. Keys of maps are values, too.
const PER_VALUE: u64 = 64;

/// How many bytes may still be spent on values.
#[derive(Debug)]
pub(crate) struct Budget {
    /// `None` once something did not fit.
    left: Cell<Option<u64>>,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            left: Cell::new(Some(bytes)),
        }
    }

    /// Tells whether something did not fit.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.left.get().is_none()
    }

    /// Spends what a value takes. Fails as soon as that is too much, or where the value is invalid.
    pub(crate) fn spend_on<'de, D: Deserializer<'de>>(&self, value: D) -> Result<(), D::Error> {
        BudgetedWalk(self).deserialize(value)
    }

    /// Spends what one plain value with so many bytes of text takes; returns whether it fits.
    pub(crate) fn spend(&self, text: usize) -> bool {
        let cost = PER_VALUE.saturating_add(text as u64);
        let left = self.left.get().and_then(|left| left.checked_sub(cost));
        self.left.set(left);
        left.is_some()
    }
}

#[derive(Clone, Copy)]
struct BudgetedWalk<'a>(&'a Budget);

impl BudgetedWalk<'_> {
    fn spend<E: Error>(self, text: usize) -> Result<(), E> {
        match self.0.spend(text) {
            true => Ok(()),
            false => Err(E::custom("more values than the limit allows")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for BudgetedWalk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BudgetedWalk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.spend(text.len())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.spend(0)
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.deserialize(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.spend(0)?;
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.spend(0)?;
        while items.next_key_seed(self)?.is_some() {
            items.next_value_seed(self)?;
        }
        Ok(())
    }

    /// A value with a tag.
    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        let ((), contents) = tagged.variant_seed(self)?;
        contents.newtype_variant_seed(self)
    }
}
