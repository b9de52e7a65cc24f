//! CDL, the text that `ncdump` prints and `ncgen` reads.
