//! The filter module.
