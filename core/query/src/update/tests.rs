//! Rows of document, update and result; most of them are MongoDB's own documented behaviour.

use super::*;
use crate::NoResources;
use crate::filter::Filter;
use multifora_model::DocumentView;
use multifora_model::extjson::{Mode, parse_document, parse_value, to_text};

fn doc(text: &str) -> Vec<u8> {
    parse_document(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn raw(bytes: &[u8]) -> RawDoc<'_> {
    RawDoc::framed(bytes).unwrap()
}

fn show(bytes: &[u8]) -> String {
    multifora_model::validate::document(bytes, usize::MAX, 100).unwrap();
    to_text(raw(bytes), Mode::Canonical)
}

fn context() -> CompileContext {
    CompileContext::new(1_700_000_000_123)
}

fn compile(update: &str, filters: Option<&str>) -> Result<Update> {
    let update = parse_value(update).unwrap_or_else(|e| panic!("{update}: {e}"));
    let filters = filters.map(|f| parse_value(f).unwrap());
    let filters = filters.as_ref().and_then(|f| f.as_ref().as_array());
    Update::compile(update.as_ref(), filters, &context())
}

/// Applies an update to the document as `query` finds it.
fn run_with(before: &str, query: &str, update: &str, filters: Option<&str>) -> Result<Outcome> {
    let update = compile(update, filters)?;
    let before = doc(before);
    let query = doc(query);
    let filter = Filter::compile(raw(&query), &context()).unwrap();
    let view = DocumentView::whole(raw(&before));
    let matched = filter.matches_with_position(&view, &NoResources).unwrap().expect("the query must match");
    update.apply(&view, matched.position, false, &NoResources)
}

fn run(before: &str, update: &str) -> Result<Outcome> {
    run_with(before, "{}", update, None)
}

fn check(before: &str, query: &str, update: &str, filters: Option<&str>, wanted: &str) {
    let what = format!("{before} {query} {update} {filters:?}");
    match run_with(before, query, update, filters) {
        Ok(Outcome::Changed(after)) => assert_eq!(show(&after), show(&doc(wanted)), "{what}"),
        Ok(Outcome::Unchanged) => assert_eq!("unchanged", wanted, "{what}"),
        Err(error) => assert_eq!(error.code().code().to_string(), wanted, "{what}: {error}"),
    }
}

/// (document, update, result or "unchanged" or the error's code)
type Row = (&'static str, &'static str, &'static str);

fn table(rows: &[Row]) {
    for (before, update, wanted) in rows {
        check(before, "{}", update, None, wanted);
    }
}

mod arrays;
mod assignment;
mod paths;
mod pipelines;
mod properties;
mod upsert;
