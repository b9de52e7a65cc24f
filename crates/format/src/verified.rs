//! The one place outside generated code with `unsafe`: access to a flatbuffer that has been
//! verified.
//!
//! A [`Verified`] owns an immutable body that passed the verifier of the `flatbuffers` crate as a
//! `T`, so its accessors need not check again. Bodies of manifests do not pass through here: they
//! have a verifier of their own and are read by bounds-checked code only.
#![expect(
    unsafe_code,
    reason = "the one audited module, see each SAFETY comment"
)]

use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use flatbuffers::{Follow, InvalidFlatbuffer, Verifiable, VerifierOptions};

use crate::envelope::MAX_BODY_LEN;

/// The root table of a kind of file.
pub(crate) trait Root {
    /// The generated table.
    type Table<'a>: Follow<'a, Inner = Self::Table<'a>> + Verifiable + 'a;

    /// Deepest nesting of tables that a reader takes.
    const MAX_DEPTH: usize = 64;
    /// Most tables that a reader takes.
    const MAX_TABLES: usize = 50_000_000;
}

/// A body that is a valid flatbuffer with the root table `T`.
///
/// # Invariants
/// `body` passed `flatbuffers::root_with_opts::<T::Table>` and is never replaced. `Bytes` is
/// immutable.
pub(crate) struct Verified<T> {
    body: Bytes,
    table: PhantomData<fn() -> T>,
}

impl<T> Clone for Verified<T> {
    fn clone(&self) -> Self {
        Self {
            body: self.body.clone(),
            table: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Verified<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified")
            .field("len", &self.body.len())
            .finish()
    }
}

/// The limits of the verifier: those of the format's reference reader. Real files stay far below;
/// hostile ones cannot make the verifier work for longer than 2 GiB of apparent content.
fn verifier_options<T: Root>() -> VerifierOptions {
    VerifierOptions {
        max_depth: T::MAX_DEPTH,
        max_tables: T::MAX_TABLES,
        max_apparent_size: MAX_BODY_LEN as usize,
        // Strings without a terminator exist in the wild; nothing here relies on it.
        ignore_missing_null_terminator: true,
    }
}

impl<T: Root> Verified<T> {
    /// Verifies a body without keeping it.
    pub(crate) fn check(body: &[u8]) -> Result<(), InvalidFlatbuffer> {
        flatbuffers::root_with_opts::<T::Table<'_>>(&verifier_options::<T>(), body).map(drop)
    }

    /// Verifies the body.
    pub(crate) fn new(body: Bytes) -> Result<Self, InvalidFlatbuffer> {
        Self::check(&body)?;
        Ok(Self {
            body,
            table: PhantomData,
        })
    }

    /// Returns the root table.
    pub(crate) fn root(&self) -> T::Table<'_> {
        // SAFETY: `body` passed the verifier for this very table in `new`, the only constructor
        // besides `clone`, and cannot have changed since: the field is private and `Bytes` gives no
        // mutable access.
        unsafe { flatbuffers::root_unchecked::<T::Table<'_>>(&self.body) }
    }

    /// Returns the body.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// Returns the bytes held.
    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }
}
