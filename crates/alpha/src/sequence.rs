//! The numbers of branch files, in names that sort newest first.
//!
//! ```text
//! number    five bytes   eight bytes
//! 0         ZZZZZZZZ     ZZZZZZZZZZZZY
//! 1         ZZZZZZZY     ZZZZZZZZZZZZW
//! 100       ZZZZZZWV     ZZZZZZZZZZZSP
//! largest   00000000     0000000000000
//! ```
//! The encoded number is the largest number less the number, big endian, in Crockford's base 32. 40 bits are eight
//! characters; 64 bits are thirteen, the last of which ends with one zero bit.

use base32::Alphabet;

/// The number of bytes of a number that its name contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SequenceForm {
    /// Eight characters: the text of the specification.
    FiveBytes,
    /// Thirteen characters: the code of that time.
    EightBytes,
}

impl SequenceForm {
    /// Returns the largest number that has a name.
    #[must_use]
    pub const fn largest(self) -> u64 {
        match self {
            Self::FiveBytes => (1 << 40) - 1,
            Self::EightBytes => u64::MAX,
        }
    }

    const fn bytes(self) -> usize {
        match self {
            Self::FiveBytes => 5,
            Self::EightBytes => 8,
        }
    }

    /// Returns the number of characters in a name.
    #[must_use]
    pub const fn characters(self) -> usize {
        match self {
            Self::FiveBytes => 8,
            Self::EightBytes => 13,
        }
    }

    /// Returns the name of a number; none beyond [`SequenceForm::largest`].
    #[must_use]
    pub fn encode(self, number: u64) -> Option<String> {
        let value = self.largest().checked_sub(number)?.to_be_bytes();
        let first = value.len() - self.bytes();
        Some(base32::encode(Alphabet::Crockford, &value[first..]))
    }

    /// Returns the number of a name; none for a text that [`SequenceForm::encode`] does not make.
    #[must_use]
    pub fn decode(self, name: &str) -> Option<u64> {
        if name.len() != self.characters() {
            return None;
        }
        let decoded = base32::decode(Alphabet::Crockford, name)?;
        let mut value = [0; 8];
        value.get_mut(8 - self.bytes()..)?.copy_from_slice(&decoded);
        let number = self.largest().checked_sub(u64::from_be_bytes(value))?;
        // Lower case, other letters for 0 and 1, and a last bit of 1 would be second names of a number.
        (self.encode(number)? == name).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_those_of_the_specification_and_of_its_code() {
        for (number, five, eight) in [
            (0, "ZZZZZZZZ", "ZZZZZZZZZZZZY"),
            (1, "ZZZZZZZY", "ZZZZZZZZZZZZW"),
            (2, "ZZZZZZZX", "ZZZZZZZZZZZZT"),
            (100, "ZZZZZZWV", "ZZZZZZZZZZZSP"),
        ] {
            for (form, name) in [
                (SequenceForm::FiveBytes, five),
                (SequenceForm::EightBytes, eight),
            ] {
                assert_eq!(form.encode(number).as_deref(), Some(name));
                assert_eq!(form.decode(name), Some(number));
            }
        }
    }

    #[test]
    fn the_largest_number_is_all_zeros_and_there_is_none_beyond() {
        let five = SequenceForm::FiveBytes;
        assert_eq!(five.encode((1 << 40) - 1).as_deref(), Some("00000000"));
        assert_eq!(five.encode(1 << 40), None);
        assert_eq!(five.encode(u64::MAX), None);
        assert_eq!(five.decode("00000000"), Some((1 << 40) - 1));
        let eight = SequenceForm::EightBytes;
        assert_eq!(eight.encode(u64::MAX).as_deref(), Some("0000000000000"));
        assert_eq!(eight.decode("0000000000000"), Some(u64::MAX));
    }

    #[test]
    fn only_the_one_name_of_a_number_is_taken() {
        for name in [
            "",
            "ZZZZZZZ",
            "ZZZZZZZZZ",
            "zzzzzzzz",
            "ZZZZZZZU",
            "ZZZZZZZ-",
            "OOOOOOOO",
            "ZZZZZZZé",
        ] {
            assert_eq!(SequenceForm::FiveBytes.decode(name), None, "{name}");
        }
        // The last of thirteen characters ends with a zero bit.
        for name in [
            "ZZZZZZZZZZZZZ",
            "ZZZZZZZZZZZZX",
            "ZZZZZZZZ",
            "zzzzzzzzzzzzy",
        ] {
            assert_eq!(SequenceForm::EightBytes.decode(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_newer_file_sorts_first(one in 0u64..1 << 40, other in 0u64..1 << 40, far: u64) {
            for (form, a, b) in [
                (SequenceForm::FiveBytes, one, other),
                (SequenceForm::EightBytes, one, far),
            ] {
                let (first, second) = (form.encode(a).unwrap(), form.encode(b).unwrap());
                prop_assert_eq!(second.cmp(&first), a.cmp(&b));
                prop_assert_eq!(form.decode(&first), Some(a));
            }
        }

        #[test]
        fn no_text_is_a_second_name(text in "[0-9A-Za-z]{8}|[0-9A-Za-z]{13}|.{0,14}") {
            for form in [SequenceForm::FiveBytes, SequenceForm::EightBytes] {
                if let Some(number) = form.decode(&text) {
                    prop_assert_eq!(form.encode(number), Some(text.clone()));
                }
            }
        }
    }
}
