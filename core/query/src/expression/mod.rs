//! The expression module.
