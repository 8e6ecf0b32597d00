//! What the fuzz targets do, by seed: mutated bytes given to everything that reads bytes.

use multifora_storage::sim::{Random, bytes};

fn noise(random: &mut Random, most: u64) -> Vec<u8> {
    let len = random.below(most);
    // Small numbers are lengths and counts that fit more often than not.
    let small = random.one_in(2);
    (0..len)
        .map(|_| if small && !random.one_in(4) { random.below(12) as u8 } else { random.next() as u8 })
        .collect()
}

#[test]
fn frames_nodes_and_maps() {
    let mut random = Random::new(1);
    for _ in 0..crate::seeds(60_000) {
        let data = noise(&mut random, 300);
        bytes::frame(&data);
        bytes::node(&data);
        bytes::space_map(&data);
    }
}

#[test]
fn files() {
    for seed in 0..crate::seeds(700) {
        let mut random = Random::new(seed);
        let mut data = noise(&mut random, 6 * 12);
        data.insert(0, 1 + random.below(12) as u8);
        let result = std::panic::catch_unwind(|| bytes::image(&data));
        assert!(result.is_ok(), "seed {seed}");
    }
}
