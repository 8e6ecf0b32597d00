//! `setParameter`: refused; settings are given when the file is opened.

use super::CommandSpec;
use super::generic;
use super::get_parameter::PARAMETERS;
use crate::context::CommandContext;
use crate::request::Request;
use multifora_model::{DocBuilder, Error, ErrorCode, Result};

/// The command's row.
pub const SPEC: CommandSpec = CommandSpec {
    name: "setParameter",
    help: "refused: settings are given when the file is opened",
    admin_only: true,
    run,
    ..CommandSpec::BASE
};

fn run(_: &CommandContext<'_>, request: &Request<'_>, _: &mut DocBuilder) -> Result<()> {
    let named = request.body.iter().skip(1).map(|e| e.name()).find(|name| !generic::is_generic(name));
    let Some(name) = named else {
        return Err(Error::new(
            ErrorCode::InvalidOptions,
            "no option found to set, use help:true to see options",
        ));
    };
    if PARAMETERS.iter().any(|p| p.0 == name) {
        let text = format!("not allowed to change [{name}] at runtime; give it when the file is opened");
        return Err(Error::new(ErrorCode::IllegalOperation, text));
    }
    let text = format!("attempted to set unrecognized parameter [{name}], use help:true to see options ");
    Err(Error::new(ErrorCode::InvalidOptions, text))
}
