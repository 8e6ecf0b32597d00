//! Placeholder of the projection module.
