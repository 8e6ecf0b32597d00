//! `setFeatureCompatibilityVersion`: accepts the version that is in force.

use super::CommandSpec;
use super::args::{Args, Field, Types};
use crate::context::CommandContext;
use crate::limits::FEATURE_COMPATIBILITY_VERSION;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "setFeatureCompatibilityVersion",
    help: "accepts the version that is in force",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

static FIELDS: &[Field] = &[
    Field::required("setFeatureCompatibilityVersion", Types::STRING),
    Field::optional("confirm", Types::BOOL),
    Field::optional("fromConfigServer", Types::BOOL),
];

fn run(_: &CommandContext<'_>, request: &Request<'_>, _: &mut DocBuilder) -> Result<()> {
    let args = Args::command("setFeatureCompatibilityVersion", FIELDS, request)?;
    let version = args.str("setFeatureCompatibilityVersion").unwrap_or_default();
    if version != FEATURE_COMPATIBILITY_VERSION {
        let text = format!(
            "the feature compatibility version is {FEATURE_COMPATIBILITY_VERSION} and cannot be set to '{version}'"
        );
        return Err(Error::bad_value(text));
    }
    Ok(())
}
