//! What holds for every update.

use super::*;
use proptest::prelude::*;

/// A document as Extended JSON, small enough that random paths meet something.
fn value(depth: u32) -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        (-3i32..4).prop_map(|n| n.to_string()),
        Just("null".to_owned()),
        Just("\"s\"".to_owned()),
        Just(r#"{"$numberDouble": "1.5"}"#.to_owned()),
        Just(r#"{"$numberLong": "2"}"#.to_owned()),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(", "))),
            prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|fields| {
                let fields: Vec<String> = fields.into_iter().map(|(k, v)| format!("\"{k}\": {v}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
    .boxed()
}

fn document() -> impl Strategy<Value = String> {
    prop::collection::btree_map("[abc]", value(3), 0..4).prop_map(|fields| {
        let fields: Vec<String> = fields.into_iter().map(|(k, v)| format!(", \"{k}\": {v}")).collect();
        format!("{{\"_id\": 1{}}}", fields.concat())
    })
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof!["[abc]", "[012]", Just("$[]".to_owned())], 0..3)
        .prop_flat_map(|rest| "[abc]".prop_map(move |first| [&[first], &*rest.clone()].concat().join(".")))
}

fn update() -> impl Strategy<Value = (&'static str, String)> {
    let idempotent = prop_oneof![
        Just("$set"),
        Just("$min"),
        Just("$max"),
        Just("$addToSet"),
        Just("$pull"),
        Just("$setOnInsert"),
    ];
    let other = prop_oneof![Just("$inc"), Just("$mul"), Just("$push"), Just("$unset"), Just("$pop")];
    let operator = prop_oneof![3 => idempotent, 1 => other];
    (operator, prop::collection::btree_map(path(), value(2), 1..3)).prop_map(|(operator, fields)| {
        let fields: Vec<String> = fields.into_iter().map(|(k, v)| format!("\"{k}\": {v}")).collect();
        (operator, format!(r#"{{"{operator}": {{{}}}}}"#, fields.join(", ")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// The result is a valid document with the same `_id`; what no path begins with is as it was; and an
    /// operator that states how things shall be has nothing to do the second time.
    #[test]
    fn results_are_documents((operator, update) in update(), before in document()) {
        let Ok(compiled) = compile(&update, None) else { return Ok(()) };
        let before = doc(&before);
        let Ok(Outcome::Changed(after)) = compiled.apply(&raw(&before).into(), None, false, &NoResources) else { return Ok(()) };
        let after = multifora_model::validate::document(&after, usize::MAX, 100).unwrap();
        prop_assert_eq!(after.get("_id"), raw(&before).get("_id"));
        for field in raw(&before) {
            if !compiled.touched().touches(field.name()) {
                prop_assert_eq!(after.get(field.name()), Some(field.value));
            }
        }
        // Elements of an array need not be named by their positions, but they are.
        prop_assert!(arrays_are_numbered(after));
        if ["$set", "$min", "$max", "$addToSet", "$pull"].contains(&operator) {
            prop_assert_eq!(compiled.apply(&after.into(), None, false, &NoResources).unwrap(), Outcome::Unchanged);
        }
    }
}

fn arrays_are_numbered(doc: RawDoc<'_>) -> bool {
    doc.iter().all(|field| {
        let numbered = field
            .value
            .as_array()
            .is_none_or(|array| array.iter().enumerate().all(|(at, e)| e.name() == at.to_string()));
        numbered && field.value.as_doc_or_array().is_none_or(arrays_are_numbered)
    })
}
