//! Which index builds are at work in this process: whatever the catalogue says is being built and is not among them
//! was left behind.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A collection's UUID and an index's name.
type Key = ([u8; 16], String);

/// The builds of one open database.
#[derive(Debug, Default)]
pub struct LiveBuilds {
    live: Arc<Mutex<HashSet<Key>>>,
    left_behind: AtomicBool,
}

/// Keeps builds listed; they end with it, however that comes about.
#[derive(Debug)]
pub struct LiveBuild {
    live: Arc<Mutex<HashSet<Key>>>,
    keys: Vec<Key>,
}

impl LiveBuilds {
    /// Lists the builds of these indexes.
    pub fn begin(&self, uuid: [u8; 16], names: impl Iterator<Item = String>) -> LiveBuild {
        let keys: Vec<Key> = names.map(|name| (uuid, name)).collect();
        self.live.lock().extend(keys.iter().cloned());
        LiveBuild { live: Arc::clone(&self.live), keys }
    }

    /// Is somebody building it?
    pub fn is_live(&self, uuid: &[u8; 16], name: &str) -> bool {
        self.live.lock().contains(&(*uuid, name.to_owned()))
    }

    /// Something could not be taken out.
    pub fn leave_behind(&self) {
        self.left_behind.store(true, Ordering::Relaxed);
    }

    /// Was something left behind since this was asked last?
    pub fn take_left_behind(&self) -> bool {
        self.left_behind.swap(false, Ordering::Relaxed)
    }
}

impl Drop for LiveBuild {
    fn drop(&mut self) {
        let mut live = self.live.lock();
        for key in &self.keys {
            live.remove(key);
        }
    }
}
