//! Placeholder of the update module.
