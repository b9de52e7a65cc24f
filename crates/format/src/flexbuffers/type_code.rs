//! Types of FlexBuffers: the upper six bits of a packed type.

pub(super) const NULL: u8 = 0;
pub(super) const INT: u8 = 1;
pub(super) const UINT: u8 = 2;
pub(super) const FLOAT: u8 = 3;
pub(super) const KEY: u8 = 4;
pub(super) const STRING: u8 = 5;
pub(super) const INDIRECT_INT: u8 = 6;
pub(super) const INDIRECT_UINT: u8 = 7;
pub(super) const INDIRECT_FLOAT: u8 = 8;
pub(super) const MAP: u8 = 9;
pub(super) const VECTOR: u8 = 10;
/// Vectors of integers, unsigned integers, floats, keys and (deprecated) strings follow.
pub(super) const VECTOR_INT: u8 = 11;
pub(super) const VECTOR_STRING: u8 = 15;
/// Pairs of integers, unsigned integers and floats, then triples and quadruples.
pub(super) const PAIR_INT: u8 = 16;
pub(super) const QUADRUPLE_FLOAT: u8 = 24;
/// 25 are bytes, which JSON has not.
pub(super) const BOOL: u8 = 26;
pub(super) const VECTOR_BOOL: u8 = 36;
