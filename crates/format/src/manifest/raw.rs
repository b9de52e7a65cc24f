//! Reads flatbuffer structure out of a body that [`verify`](super::verify) has passed.
//!
//! All of it is bounds-checked: a body that breaks a rule which the verifier should have found
//! panics here instead of being undefined behaviour.

/// Returns `N` bytes, none past the end.
#[inline]
pub(super) fn get<const N: usize>(body: &[u8], at: usize) -> Option<&[u8; N]> {
    body.get(at..)?.first_chunk()
}

#[inline]
pub(super) fn array<const N: usize>(body: &[u8], at: usize) -> &[u8; N] {
    get(body, at).expect("BUG: the verifier lets no offset out of the body")
}

#[inline]
pub(super) fn u16_at(body: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(*array(body, at))
}

#[inline]
pub(super) fn u32_at(body: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*array(body, at))
}

#[inline]
pub(super) fn u64_at(body: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*array(body, at))
}

/// Follows the offset at a position.
#[inline]
pub(super) fn follow(body: &[u8], at: usize) -> usize {
    at + u32_at(body, at) as usize
}

/// A table at a position of the body.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) body: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Table<'a> {
    pub(super) fn root(body: &'a [u8]) -> Self {
        Self {
            body,
            at: follow(body, 0),
        }
    }

    /// Returns the position of a field; none if it is absent.
    #[inline]
    pub(super) fn field(&self, slot: usize) -> Option<usize> {
        let back = u32_at(self.body, self.at).cast_signed();
        let vtable = self.at.wrapping_add_signed((back as isize).wrapping_neg());
        let entry = 4 + 2 * slot;
        if entry >= usize::from(u16_at(self.body, vtable)) {
            return None;
        }
        match u16_at(self.body, vtable + entry) {
            0 => None,
            offset => Some(self.at + usize::from(offset)),
        }
    }

    /// Returns a field that the verifier has found present.
    #[inline]
    pub(super) fn required(&self, slot: usize) -> usize {
        self.field(slot)
            .expect("BUG: the verifier demands required fields")
    }

    /// Returns the start of a vector's items and their number.
    #[inline]
    pub(super) fn vector(&self, slot: usize) -> Option<(usize, usize)> {
        let at = follow(self.body, self.field(slot)?);
        Some((at + 4, u32_at(self.body, at) as usize))
    }

    /// Returns the contents of a vector of bytes, or of a string.
    #[inline]
    pub(super) fn bytes(&self, slot: usize) -> Option<&'a [u8]> {
        let (at, len) = self.vector(slot)?;
        Some(&self.body[at..at + len])
    }
}
