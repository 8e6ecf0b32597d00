//! Commits in the middle of checkpoints: a disk that lets somebody else work whenever a block is written.

use crate::world::{Habits, World, options};
use multifora_storage::sim::{Random, SimDisk};
use multifora_storage::*;
use std::io;
use std::sync::{Arc, Mutex};

type Work = Box<dyn FnMut() + Send>;

/// Does some work after each write that is not synced at once: those of a checkpoint, that is.
struct BusyDisk {
    disk: Arc<SimDisk>,
    meanwhile: Mutex<Option<Work>>,
}

impl BusyDisk {
    fn set(&self, work: Option<Work>) {
        *self.meanwhile.lock().unwrap() = work;
    }
}

impl Disk for BusyDisk {
    fn place(&self) -> &str {
        self.disk.place()
    }
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }
    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.disk.set_len(len_bytes)
    }
    fn reserve(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.disk.reserve(offset, len_bytes)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(offset, buffer)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_at(offset, bytes)?;
        // Taken out, so that what the work itself writes does not begin it again.
        let work = self.meanwhile.lock().unwrap().take();
        if let Some(mut work) = work {
            work();
            self.set(Some(work));
        }
        Ok(())
    }
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.write_durable_at(offset, bytes)
    }
    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
    fn sync_parent(&self) -> io::Result<()> {
        self.disk.sync_parent()
    }
    fn lock(&self, mode: LockMode) -> io::Result<bool> {
        self.disk.lock(mode)
    }
    fn unlock(&self) -> io::Result<()> {
        self.disk.unlock()
    }
    fn pin(&self, checkpoint: u64) -> io::Result<bool> {
        self.disk.pin(checkpoint)
    }
    fn unpin(&self, checkpoint: u64) -> io::Result<()> {
        self.disk.unpin(checkpoint)
    }
    fn is_pinned_before(&self, checkpoint: u64) -> io::Result<bool> {
        self.disk.is_pinned_before(checkpoint)
    }
    fn entropy(&self) -> io::Result<u64> {
        self.disk.entropy()
    }
}

fn busy_life(seed: u64) {
    let busy = Arc::new(BusyDisk { disk: SimDisk::new(seed), meanwhile: Mutex::new(None) });
    // Nothing stays in the cache: what was freed too early is read from the disk.
    let tuning = Habits::of(seed, 1).tuning;
    let options = Options { cache_bytes: 0, tuning, ..options() };
    let world = Arc::new(Mutex::new(World::new(seed, Habits::of(seed, [50, 3000][seed as usize % 2]))));
    let mut random = Random::new(seed);
    for _ in 0..3 {
        let store = Store::open_on(busy.clone(), &options).unwrap();
        world.lock().unwrap().check(&store).unwrap();
        for _ in 0..25 {
            for _ in 0..random.below(6) {
                world.lock().unwrap().step_in_checkpoint(&store).unwrap();
            }
            let (inside, during) = (store.clone(), Arc::clone(&world));
            busy.set(Some(Box::new(move || during.lock().unwrap().step_in_checkpoint(&inside).unwrap())));
            store.checkpoint().unwrap();
            busy.set(None);
            world.lock().unwrap().check(&store).unwrap();
        }
        world.lock().unwrap().let_go();
    }
}

#[test]
fn commits_in_the_middle_of_checkpoints() {
    for seed in 0..crate::seeds(12) {
        busy_life(seed);
    }
}
