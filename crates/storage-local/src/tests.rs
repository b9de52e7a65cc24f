//! Tests of the whole backend, named after the cases of the fault catalogue.
