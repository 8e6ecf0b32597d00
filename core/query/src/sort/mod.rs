//! Placeholder of the sort module.
