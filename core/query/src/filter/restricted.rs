//! What a filter must not ask for where it is no query: in `$pull`, `arrayFilters` and the `$elemMatch` of a
//! projection there is no document for `$expr`, and nothing for `$text` and `$where` to work on.

use multifora_model::{Error, ErrorCode, RawDoc, Result};

/// How deep `$and` and its like may nest; the compiler of filters has its own limit.
const MAX_DEPTH: usize = 200;

/// Refuses the operators that only a query may have.
///
/// # Errors
/// `QueryFeatureNotAllowed` for `$expr` and `$jsonSchema`, `BadValue` for `$text` and `$where`.
pub(super) fn check(query: RawDoc<'_>) -> Result<()> {
    check_below(query, MAX_DEPTH)
}

fn check_below(query: RawDoc<'_>, depth: usize) -> Result<()> {
    for field in query {
        let name = field.name();
        let message = || format!("{name} is not allowed in this context");
        match name {
            "$expr" | "$jsonSchema" => return Err(Error::new(ErrorCode::QueryFeatureNotAllowed, message())),
            "$text" | "$where" => return Err(Error::bad_value(message())),
            "$and" | "$or" | "$nor" if depth > 0 => {
                let branches = field.value.as_array().into_iter().flatten();
                for branch in branches.filter_map(|branch| branch.value.as_doc()) {
                    check_below(branch, depth - 1)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}
