use super::*;
use crate::range::Direction;
use crate::record::Cell;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn item(key: &[u8], version: u64) -> Item {
    Item::new(Cell::new(key, &version.to_le_bytes(), &mut Vec::new()), None, version)
}

fn check(tree: &Tree, model: &BTreeMap<Vec<u8>, u64>) {
    assert_eq!(tree.count(), model.len() as u64);
    assert_eq!(tree.root().count(), model.len() as u64);
    let mut cursor = Cursor::new(tree.root().clone(), KeyRange::all(), Direction::Forward);
    for (key, version) in model {
        let item = cursor.next().unwrap();
        assert_eq!((item.cell.key(), item.version), (key.as_slice(), *version));
        assert_eq!(tree.get(key).unwrap().version, *version);
    }
    assert!(cursor.next().is_none());
    assert!(cursor.next().is_none());
}

#[test]
fn a_million_steps_of_a_small_key_space_match_a_model() {
    let mut tree = Tree::new();
    let mut model = BTreeMap::new();
    let mut random = 7u64;
    let mut kept = Vec::new();
    for step in 0..60_000u64 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let key = format!("{:0width$}", (random >> 40) % 5000, width = 1 + (random >> 33) as usize % 12)
            .into_bytes();
        let growing = (step / 15_000) % 2 == 0;
        if (random >> 20) % 10 < if growing { 7 } else { 2 } {
            let old = tree.insert(item(&key, step));
            assert_eq!(old.map(|item| item.version), model.insert(key, step));
        } else {
            assert_eq!(tree.remove(&key).map(|item| item.version), model.remove(&key));
        }
        if step % 9_000 == 0 {
            kept.push((tree.clone(), model.clone()));
        }
    }
    kept.push((tree, model));
    kept.iter().for_each(|(tree, model)| check(tree, model));
}

#[test]
fn large_keys_with_common_beginnings() {
    let mut tree = Tree::new();
    let mut model = BTreeMap::new();
    for number in 0..40u32 {
        let mut key = vec![b'x'; 200_000];
        key.extend_from_slice(&(number * 7919 % 40).to_be_bytes());
        tree.insert(item(&key, u64::from(number)));
        model.insert(key, u64::from(number));
    }
    check(&tree, &model);
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
        lower in bound(), upper in bound(), seeks in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..5), 0..4),
    ) {
        let mut tree = Tree::new();
        for key in &keys {
            tree.insert(item(key, 1));
        }
        let range = KeyRange { lower, upper };
        let expected: Vec<_> = keys.iter().filter(|key| range.contains(key)).cloned().collect();
        prop_assert_eq!(tree.count_range(&range), expected.len() as u64);
        for direction in [Direction::Forward, Direction::Backward] {
            let mut expected = expected.clone();
            if direction == Direction::Backward { expected.reverse(); }
            let mut cursor = Cursor::new(tree.root().clone(), range.clone(), direction);
            let collect = |cursor: &mut Cursor| {
                let mut found = Vec::new();
                while let Some(item) = cursor.next() { found.push(item.cell.key().to_vec()); }
                found
            };
            prop_assert_eq!(collect(&mut cursor), expected.clone());
            for seek in &seeks {
                cursor.seek(seek);
                let from: Vec<_> = expected.iter().filter(|key| match direction {
                    Direction::Forward => *key >= seek,
                    Direction::Backward => *key <= seek,
                }).cloned().collect();
                prop_assert_eq!(collect(&mut cursor), from);
            }
        }
    }
}
