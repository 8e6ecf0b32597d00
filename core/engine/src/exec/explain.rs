//! A plan as explain shows it: stages from the answer down to the table or index.

use super::QuerySpec;
use super::source::Examined;
use crate::catalog::IndexInfo;
use crate::plan::index_match::direction_of;
use crate::plan::{Access, IndexScan, Plan, describe};
use multifora_model::{DocBuilder, OwnedValue, RawDoc};

/// What a run of the plan did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    /// Rows that came out.
    pub returned: u64,
    /// What was looked at.
    pub examined: Examined,
    /// How long it took.
    pub millis: u64,
}

/// One step on the way from rows to the answer.
#[derive(Clone, Copy, Debug)]
pub enum Stage<'a> {
    /// Ends after so many.
    Limit(u64),
    /// Leaves out so many.
    Skip(u64),
    /// Makes other documents.
    Projection(RawDoc<'a>),
    /// Sorts, keeping so many.
    Sort(RawDoc<'a>, Option<u64>),
    /// A step that is told by its name alone (`COUNT`, `UPDATE`, `DELETE`, `RETURN_KEY`).
    Named(&'static str),
}

/// Everything that explain shows of one query.
pub struct Explained<'a> {
    /// The steps above the access path, outermost first.
    pub stages: Vec<Stage<'a>>,
    /// The access path.
    pub access: &'a Access,
    /// The filter as parsed.
    pub filter: RawDoc<'a>,
    /// Keys are counted, documents are not fetched.
    pub counts_keys: bool,
    /// A step that stands for all of them.
    pub only_stage: Option<&'static str>,
}

/// The steps that a query's skip, limit and blocking sort stand for.
pub fn row_stages<'a>(spec: &QuerySpec, plan: &Plan, sort: Option<RawDoc<'a>>) -> Vec<Stage<'a>> {
    let mut stages = Vec::new();
    let blocking = sort.filter(|_| spec.sort.is_some() && !plan.in_order);
    if let (Some(limit), None) = (spec.limit, blocking) {
        stages.push(Stage::Limit(limit));
    }
    if spec.skip > 0 {
        stages.push(Stage::Skip(spec.skip));
    }
    if let Some(sort) = blocking {
        stages.push(Stage::Sort(sort, spec.limit.map(|limit| limit.saturating_add(spec.skip))));
    }
    stages
}

impl Explained<'_> {
    /// Writes the tree of stages as the field `name`.
    pub fn write(&self, name: &str, run: Option<&Run>, out: &mut DocBuilder) {
        out.start_doc(name);
        self.write_fields(run, out);
        out.end();
    }

    /// Writes the tree of stages into the innermost open document.
    pub fn write_fields(&self, run: Option<&Run>, out: &mut DocBuilder) {
        if let Some(stage) = self.only_stage {
            return named(stage, run.map(|run| run.returned), out);
        }
        for stage in &self.stages {
            write_stage(stage, run, out);
            out.start_doc("inputStage");
        }
        self.write_access(run, out);
        for _ in &self.stages {
            out.end();
        }
    }

    fn write_access(&self, run: Option<&Run>, out: &mut DocBuilder) {
        match self.access {
            Access::Nothing => named("EOF", run.map(|_| 0), out),
            Access::Table { backwards } => {
                named("COLLSCAN", run.map(|run| run.returned), out);
                self.write_filter(out);
                out.str("direction", if *backwards { "backward" } else { "forward" });
                if let Some(run) = run {
                    out.count("docsExamined", run.examined.docs);
                }
            }
            Access::Id(lookup) if lookup.decides => {
                named("IDHACK", run.map(|run| run.returned), out);
                if let Some(run) = run {
                    out.count("keysExamined", run.examined.keys).count("docsExamined", run.examined.docs);
                }
            }
            Access::Id(lookup) => {
                self.fetch(run, out, |run, out| write_id_scan(&lookup.index, &lookup.key, run, out))
            }
            Access::Index(scan) if self.counts_keys => write_index_scan("COUNT_SCAN", scan, run, out),
            Access::Index(scan) => {
                self.fetch(run, out, |run, out| write_index_scan("IXSCAN", scan, run, out))
            }
            Access::Union(scans) => self.fetch(run, out, |run, out| {
                named("OR", run.map(|run| run.examined.docs), out);
                out.start_array("inputStages");
                for scan in scans {
                    out.push_start_doc();
                    write_index_scan("IXSCAN", scan, None, out);
                    out.end();
                }
                out.end();
            }),
        }
    }

    fn fetch(&self, run: Option<&Run>, out: &mut DocBuilder, input: impl Fn(Option<&Run>, &mut DocBuilder)) {
        named("FETCH", run.map(|run| run.returned), out);
        self.write_filter(out);
        if let Some(run) = run {
            out.count("docsExamined", run.examined.docs);
        }
        out.start_doc("inputStage");
        input(run, out);
        out.end();
    }

    fn write_filter(&self, out: &mut DocBuilder) {
        if !self.filter.is_empty() {
            out.doc("filter", self.filter);
        }
    }
}

fn write_stage(stage: &Stage<'_>, run: Option<&Run>, out: &mut DocBuilder) {
    let returned = run.map(|run| run.returned);
    match stage {
        Stage::Limit(limit) => {
            named("LIMIT", returned, out);
            out.count("limitAmount", *limit);
        }
        Stage::Skip(skip) => {
            named("SKIP", returned, out);
            out.count("skipAmount", *skip);
        }
        Stage::Projection(projection) => {
            named("PROJECTION_DEFAULT", returned, out);
            out.doc("transformBy", *projection);
        }
        Stage::Sort(pattern, limit) => {
            named("SORT", returned, out);
            out.doc("sortPattern", *pattern);
            out.count("memLimit", multifora_query::sort::MAX_SORT_BYTES as u64);
            if let Some(limit) = limit {
                out.count("limitAmount", *limit);
            }
            out.str("type", "simple");
        }
        Stage::Named(name) => named(name, returned, out),
    }
}

fn named(stage: &str, returned: Option<u64>, out: &mut DocBuilder) {
    out.str("stage", stage);
    if let Some(returned) = returned {
        out.count("nReturned", returned).i32("executionTimeMillisEstimate", 0).bool("isEOF", true);
    }
}

fn write_index(index: &IndexInfo, out: &mut DocBuilder) {
    out.doc("keyPattern", index.key_pattern()).str("indexName", &index.name);
    if let Some(collation) = &index.collation {
        out.doc("collation", collation.document());
    }
    out.bool("isMultiKey", index.is_multikey());
    out.start_doc("multiKeyPaths");
    for (at, field) in index.fields.iter().enumerate() {
        out.start_array(field.path.as_str());
        if index.multikey.get(at).copied().unwrap_or(false) {
            out.push(OwnedValue::string(field.path.as_str()).as_ref());
        }
        out.end();
    }
    out.end();
    out.bool("isUnique", index.unique)
        .bool("isSparse", index.sparse)
        .bool("isPartial", index.partial_filter.is_some());
    out.i32("indexVersion", 2);
}

fn write_index_scan(stage: &str, scan: &IndexScan, run: Option<&Run>, out: &mut DocBuilder) {
    named(stage, run.map(|run| run.examined.keys), out);
    write_index(&scan.index, out);
    out.str("direction", if scan.backwards { "backward" } else { "forward" });
    out.start_doc("indexBounds");
    for (at, field) in scan.index.fields.iter().enumerate() {
        let shown = describe::Field {
            direction: direction_of(field.descending),
            collated: scan.index.collation.is_some(),
        };
        out.start_array(field.path.as_str());
        let lines = match scan.bounds.fields().get(at) {
            Some(set) => describe::intervals(set, shown, scan.backwards),
            None => vec![describe::unbounded(shown, scan.backwards)],
        };
        for line in lines {
            out.push(OwnedValue::string(&line).as_ref());
        }
        out.end();
    }
    out.end();
    if let Some(run) = run {
        out.count("keysExamined", run.examined.keys).count("seeks", run.examined.seeks + 1);
    }
}

fn write_id_scan(index: &IndexInfo, key: &[u8], run: Option<&Run>, out: &mut DocBuilder) {
    named("IXSCAN", run.map(|run| run.examined.keys), out);
    write_index(index, out);
    out.str("direction", "forward");
    out.start_doc("indexBounds").start_array("_id");
    let shown = describe::Field { direction: direction_of(false), collated: index.collation.is_some() };
    let text = describe::point(key, shown);
    out.push(OwnedValue::string(&text).as_ref());
    out.end().end();
    if let Some(run) = run {
        out.count("keysExamined", run.examined.keys).count("seeks", 1);
    }
}
