//! What a file says of itself when it is only read.

use multifora_storage::{Location, Options, Store, TableId};

#[test]
fn a_read_only_handle_accounts_for_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("figures.mfdb"));
    let store = Store::open(&location, &Options::default()).unwrap();
    let mut transaction = store.begin();
    for n in 0u32..1000 {
        transaction.put(TableId::CATALOG, &n.to_be_bytes(), [n as u8; 500].as_slice()).unwrap();
    }
    let committed = transaction.commit().unwrap();
    store.wait_durable(committed.sequence).unwrap();
    store.close().unwrap();
    drop(store);

    let read_only = Store::open(&location, &Options { read_only: true, ..Options::default() }).unwrap();
    let (stats, report) = (read_only.stats(), read_only.verify().unwrap());
    assert!(report.is_clean(), "{:?}", report.problems);
    assert!(stats.log_bytes > 0 && stats.log_bytes < stats.file_bytes, "{stats:?}");
    assert!(report.used_bytes >= stats.log_bytes && report.used_bytes <= stats.file_bytes, "{report:?}");
    assert_eq!(report.used_bytes + report.free_bytes, stats.file_bytes);
    assert_eq!(report.free_bytes, stats.free_bytes);
}
