use super::*;
use crate::pages::Pages;
use crate::range::Direction;
use crate::record::Cell;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn put(tree: &mut Tree, key: &[u8], version: u64, pages: &Arc<Pages>) -> u64 {
    let cell = Cell::new(key, &version.to_le_bytes(), &mut Vec::new());
    tree.apply(Change::put(cell, None, version), None, &Context { pages, table: 0 }).unwrap().version
}

fn remove(tree: &mut Tree, key: &[u8], pages: &Arc<Pages>) -> u64 {
    let change = Change::delete(Cell::new(key, &[], &mut Vec::new()), 1);
    tree.apply(change, None, &Context { pages, table: 0 }).unwrap().version
}

fn check(tree: &Tree, model: &BTreeMap<Vec<u8>, u64>, pages: &Arc<Pages>) {
    let context = Context { pages, table: 0 };
    assert_eq!(tree.count(), model.len() as u64);
    let mut cursor = Cursor::new(tree, KeyRange::all(), Direction::Forward, &context).unwrap();
    for (key, version) in model {
        let entry = cursor.next().unwrap().unwrap().entry();
        assert_eq!((entry.key, entry.version), (key.as_slice(), *version));
        assert_eq!(tree.version(key, &context).unwrap(), *version);
    }
    assert!(cursor.next().unwrap().is_none());
    assert!(cursor.next().unwrap().is_none());
}

#[test]
fn many_steps_of_a_small_key_space_match_a_model() {
    let pages = Pages::new(1, None);
    let mut tree = Tree::default();
    let mut model = BTreeMap::new();
    let mut random = 7u64;
    let mut kept = Vec::new();
    for step in 1..=120_000u64 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let key = format!("{:0width$}", (random >> 40) % 20_000, width = 1 + (random >> 33) as usize % 12)
            .into_bytes();
        let growing = (step / 30_000) % 2 == 0;
        if (random >> 20) % 10 < if growing { 8 } else { 2 } {
            assert_eq!(put(&mut tree, &key, step, &pages), model.insert(key, step).unwrap_or(0));
        } else {
            assert_eq!(remove(&mut tree, &key, &pages), model.remove(&key).unwrap_or(0));
        }
        if step % 9_000 == 0 {
            kept.push((tree.clone(), model.clone()));
        }
    }
    for key in model.keys() {
        remove(&mut tree, key, &pages);
    }
    assert!(tree.height() == 0 && tree.count() == 0, "height {}", tree.height());
    kept.iter().for_each(|(tree, model)| check(tree, model, &pages));
}

#[test]
fn large_keys_with_common_beginnings() {
    let pages = Pages::new(1, None);
    let mut tree = Tree::default();
    let mut model = BTreeMap::new();
    for number in 0..40u32 {
        let mut key = vec![b'x'; 200_000];
        key.extend_from_slice(&(number * 7919 % 40).to_be_bytes());
        put(&mut tree, &key, u64::from(number) + 1, &pages);
        model.insert(key, u64::from(number) + 1);
    }
    check(&tree, &model, &pages);
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    let key = proptest::collection::vec(0u8..4, 0..4);
    prop_oneof![Just(Bound::Unbounded), key.clone().prop_map(Bound::Included), key.prop_map(Bound::Excluded)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn ranges_match_a_model(
        keys in proptest::collection::btree_set(proptest::collection::vec(0u8..4, 0..6), 0..600),
        gone in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..6), 0..200),
        lower in bound(), upper in bound(), seeks in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..5), 0..4),
        skips in proptest::collection::vec(0u64..300, 0..4),
    ) {
        let pages = Pages::new(1, None);
        let context = Context { pages: &pages, table: 0 };
        let mut tree = Tree::default();
        for key in &keys {
            put(&mut tree, key, 1, &pages);
        }
        let mut keys = keys;
        for key in &gone {
            prop_assert_eq!(remove(&mut tree, key, &pages) > 0, keys.remove(key));
        }
        let range = KeyRange { lower, upper };
        let expected: Vec<_> = keys.iter().filter(|key| range.contains(key)).cloned().collect();
        prop_assert_eq!(tree.count_range(&range, &context).unwrap(), expected.len() as u64);
        for direction in [Direction::Forward, Direction::Backward] {
            let mut expected = expected.clone();
            if direction == Direction::Backward { expected.reverse(); }
            let mut cursor = Cursor::new(&tree, range.clone(), direction, &context).unwrap();
            let collect = |cursor: &mut Cursor| {
                let mut found = Vec::new();
                while let Some(entry) = cursor.next().unwrap() { found.push(entry.entry().key.to_vec()); }
                found
            };
            prop_assert_eq!(collect(&mut cursor), expected.clone());
            for seek in &seeks {
                cursor.seek(seek).unwrap();
                let from: Vec<_> = expected.iter().filter(|key| match direction {
                    Direction::Forward => *key >= seek,
                    Direction::Backward => *key <= seek,
                }).cloned().collect();
                prop_assert_eq!(collect(&mut cursor), from);
            }
            for skip in &skips {
                let mut cursor = Cursor::new(&tree, range.clone(), direction, &context).unwrap();
                let first = cursor.next().unwrap().is_some();
                cursor.skip(*skip).unwrap();
                let left: Vec<_> = expected.iter().skip(usize::from(first) + *skip as usize).cloned().collect();
                prop_assert_eq!(collect(&mut cursor), left);
            }
        }
    }
}
