//! The accumulator module.
