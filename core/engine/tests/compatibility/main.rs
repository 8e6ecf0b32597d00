//! `docs/compatibility.md` is what the registries say. `UPDATE_COMPATIBILITY=1` rewrites it.
//!
//! `mongodb-8.0.txt` lists the names that MongoDB 8.0 has and why some are missing; whether one is missing, and what it
//! does when it is not, only the registries know.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use multifora_engine::commands::REGISTRY;
use multifora_model::collation::{collation_options, locale_variants};
use multifora_query::accumulator::accumulators;
use multifora_query::expression::operators;
use multifora_query::filter::{field_operators, schema_keywords, top_level_operators};
use multifora_query::stage::stage_operators;
use multifora_query::update::UPDATE_OPERATORS;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const MONGODB: &str = include_str!("mongodb-8.0.txt");

/// Names of one kind, each with what is said about it.
type Notes = BTreeMap<String, String>;

/// Kinds in the order of the file, each with its names and the reasons why they may be missing.
fn mongodb() -> Vec<(&'static str, Notes)> {
    let mut kinds: Vec<(&str, Notes)> = Vec::new();
    for line in MONGODB.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(kind) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            kinds.push((kind, Notes::new()));
            continue;
        }
        let (reason, names) = line.split_once(": ").unwrap_or_else(|| panic!("no reason in {line:?}"));
        let (_, notes) = kinds.last_mut().expect("a kind comes first");
        for name in names.split_whitespace() {
            let twice = notes.insert(name.to_owned(), reason.to_owned());
            assert!(twice.is_none(), "{name} stands twice");
        }
    }
    kinds
}

/// What works, with what it does.
fn supported(kind: &str) -> Notes {
    fn notes<'r>(rows: impl Iterator<Item = (&'r str, &'r str)>) -> Notes {
        rows.map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
    }
    match kind {
        "query operators" => {
            let on_fields = field_operators().iter().filter(|row| row.supported);
            let at_the_top = top_level_operators().iter().filter(|row| row.supported);
            notes(
                on_fields.map(|row| (row.name, row.about)).chain(at_the_top.map(|row| (row.name, row.about))),
            )
        }
        "update operators" => notes(UPDATE_OPERATORS.iter().map(|row| (row.name, row.doc))),
        "expressions" => notes(operators().map(|row| (row.name, row.about))),
        "accumulators" => notes(accumulators().iter().map(|row| (row.name, row.about))),
        "stages" => {
            notes(stage_operators().iter().filter(|row| row.supported).map(|row| (row.name, row.about)))
        }
        "commands" => notes(REGISTRY.iter().map(|row| (row.name, row.help))),
        "keywords of $jsonSchema" => {
            notes(schema_keywords().iter().filter(|row| row.supported).map(|row| (row.name, row.about)))
        }
        "collation options" => notes(collation_options().iter().map(|row| (row.name, row.about))),
        "locale variants of collations" => locale_variants()
            .filter(|variant| variant.1)
            .map(|variant| (variant.0, String::from("an order besides the locale's own")))
            .collect(),
        // They have no registry before $setWindowFields exists.
        "window functions" => Notes::new(),
        other => panic!("no registry of {other}"),
    }
}

fn generate() -> String {
    let mut text = String::from(
        "# Compatibility with MongoDB 8.0\n\n\
         Every operator, stage and command of MongoDB 8.0: what works here, and why the rest does not. What is missing is \
         refused with an error, never passed over.\n\n\
         This file is generated from the registries of operators and commands and checked by a test; \
         `UPDATE_COMPATIBILITY=1 cargo test -p multifora-engine --test compatibility` rewrites it.\n",
    );
    for (kind, in_mongodb) in mongodb() {
        let works = supported(kind);
        let unknown: Vec<&String> = works.keys().filter(|name| !in_mongodb.contains_key(*name)).collect();
        assert!(unknown.is_empty(), "{kind} that mongodb-8.0.txt does not list: {unknown:?}");
        let (title, rest) = kind.split_at(1);
        let (there, all) = (works.len(), in_mongodb.len());
        write!(text, "\n## {}{rest}\n\n{there} of {all} work.\n", title.to_uppercase()).unwrap();
        if there > 0 {
            text.push_str("\n| name | |\n|---|---|\n");
        }
        for (name, about) in &works {
            writeln!(text, "| `{name}` | {} |", sentence(about)).unwrap();
        }
        if there < all {
            text.push_str("\n| missing | why |\n|---|---|\n");
        }
        let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (name, reason) in in_mongodb.iter().filter(|(name, _)| !works.contains_key(*name)) {
            by_reason.entry(reason).or_default().push(format!("`{name}`"));
        }
        for (reason, names) in by_reason {
            writeln!(text, "| {} | {reason} |", names.join(" ")).unwrap();
        }
    }
    text
}

/// Rows of the registries are written as parts of sentences or as sentences; the page has them alike.
fn sentence(about: &str) -> String {
    let about = about.trim_end_matches('.').replace('|', "\\|");
    let mut letters = about.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let wanted = generate();
    if std::env::var_os("UPDATE_COMPATIBILITY").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/compatibility.md is out of date: \
         UPDATE_COMPATIBILITY=1 cargo test -p multifora-engine --test compatibility"
    );
}
