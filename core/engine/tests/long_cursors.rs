//! A cursor that stays open while everything is written again and again: the file stays bounded, and a scan in the
//! collection's order goes on where it was, with documents as they are by then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Session, open};

/// Text that LZ4 does not shrink much.
fn noise(seed: u64, len: usize) -> String {
    let mut state = seed | 1;
    let mut text = String::with_capacity(len + 16);
    while text.len() < len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:016x}", state));
    }
    text
}

fn write_all(db: &Session, round: u64) {
    let updates: Vec<String> = (0..60)
        .map(|n| {
            let text = noise(round * 1000 + n, 64 << 10);
            format!(r#"{{"q": {{"_id": {n}}}, "u": {{"$set": {{"round": {round}, "text": "{text}"}}}}, "upsert": true}}"#)
        })
        .collect();
    db.ok(&format!(r#"{{"update": "c", "updates": [{}]}}"#, updates.join(",")));
}

#[test]
fn a_scan_goes_on_after_its_snapshot_was_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.mfdb");
    let db = open(&path);
    write_all(&db, 0);
    let reply = db.ok(r#"{"find": "c", "batchSize": 3}"#);
    let cursor = reply.i64("cursor.id").unwrap();
    let by_text = db.ok(r#"{"find": "c", "sort": {"text": 1}, "batchSize": 3}"#).i64("cursor.id").unwrap();
    let rounds = 50;
    (1..=rounds).for_each(|round| write_all(&db, round));
    let more = db.ok(&format!(r#"{{"getMore": {cursor}, "collection": "c", "batchSize": 1000}}"#)).text();
    // Each of the others once, and as it is now.
    for n in 3..60 {
        assert_eq!(more.matches(&format!(r#"{{"_id":{n},"#)).count(), 1, "{n}");
    }
    assert!(more.contains(&format!(r#""round":{rounds}"#)) && !more.contains(r#""round":0"#));
    // A sorted cursor cannot go on: it says so.
    db.fails(&format!(r#"{{"getMore": {by_text}, "collection": "c"}}"#), 239);
    // What nobody may read any more was used again: 50 rounds are over 100 MiB.
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 96 << 20, "{bytes} bytes");
}
