use super::*;

#[test]
fn a_crash_keeps_what_was_synced_and_any_part_of_the_rest() {
    let disk = SimDisk::new(1);
    disk.write_at(0, &[1; 8192]).unwrap();
    disk.sync().unwrap();
    disk.sync_parent().unwrap();
    disk.write_at(0, &[2; 4096]).unwrap();
    disk.write_at(8192, &[3; 4096]).unwrap();
    let crash = |keep, tear, seed| disk.crash(keep, tear, seed).image();
    assert_eq!(crash(Keep::Nothing, Tear::Whole, 0), [1; 8192]);
    assert_eq!(crash(Keep::Everything, Tear::Whole, 0), disk.image());
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let image = crash(Keep::Subset, Tear::Sectors512, seed);
        assert_eq!(image[4096..8192], [1; 4096]);
        seen.insert((image.len(), image[0], image[512], image.get(8192).copied()));
    }
    // Data lost and kept by the sector; the length kept without the data.
    assert!(seen.iter().any(|&(_, first, second, _)| first != second));
    assert!(seen.iter().any(|&(len, _, _, last)| len == 12288 && last == Some(0)));
    assert!(seen.iter().any(|&(len, ..)| len == 8192));
    assert!(seen.len() > 8);
}

#[test]
fn a_durable_write_keeps_its_range_only() {
    let disk = SimDisk::from_image(vec![0; 8192], 1);
    disk.write_at(0, &[1; 8192]).unwrap();
    disk.write_durable_at(512, &[2; 512]).unwrap();
    let image = disk.crash(Keep::Nothing, Tear::Whole, 0).image();
    assert_eq!((image[0], image[512], image[1023], image[1024]), (0, 2, 2, 0));
    let image = disk.crash(Keep::Everything, Tear::Whole, 0).image();
    assert_eq!((image[0], image[512], image[1023], image[1024]), (1, 2, 2, 1));
    // A length that was not synced takes the write with it.
    let disk = SimDisk::from_image(vec![0; 512], 1);
    disk.set_len(1024).unwrap();
    disk.write_durable_at(512, &[2; 512]).unwrap();
    assert_eq!(disk.crash(Keep::Nothing, Tear::Whole, 0).image().len(), 512);
}

#[test]
fn a_failed_sync_forgets_pages() {
    for seed in 0..20 {
        let disk = SimDisk::from_image(vec![0; 4096], seed);
        disk.set_plan(Plan::FailAt { call: Call::Sync, n: 0, once: true, kind: io::ErrorKind::Other });
        disk.write_at(0, &[1; 512]).unwrap();
        assert!(disk.sync().is_err());
        disk.sync().unwrap();
        assert_eq!(disk.image()[0], 1, "reads still see the page");
        if disk.crash(Keep::Everything, Tear::Whole, 0).image()[0] == 0 {
            return;
        }
    }
    panic!("no sync ever lost a page");
}

#[test]
fn power_and_room_end() {
    let disk = SimDisk::new(1);
    disk.set_capacity(4096);
    assert_eq!(disk.write_at(4000, &[1; 97]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    disk.write_at(0, &[1; 4096]).unwrap();
    disk.set_plan(Plan::CrashAt(1));
    disk.write_at(0, &[2; 512]).unwrap();
    assert!(disk.sync().is_err());
    assert!(disk.write_at(0, &[3; 512]).is_err());
    assert!(disk.read_at(0, &mut [0; 1]).is_err());
    assert_eq!(disk.crash(Keep::Everything, Tear::Whole, 0).image()[0], 2);
    assert!(
        disk.crash(Keep::Nothing, Tear::Whole, 0).image().is_empty(),
        "the directory entry was not synced"
    );
}
