//! The stage module.
