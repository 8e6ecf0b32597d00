//! Commits in the middle of checkpoints: a disk that lets somebody else work whenever a block is written.

use crate::watched::{Kind, Moment, WatchedDisk};
use crate::world::{Habits, World, options};
use multifora_storage::sim::{Random, SimDisk};
use multifora_storage::*;
use std::sync::{Arc, Mutex};

type Work = Box<dyn FnMut() + Send>;

/// Work to be done after each write that is not synced at once: those of a checkpoint, that is.
#[derive(Clone, Default)]
struct Meanwhile(Arc<Mutex<Option<Work>>>);

impl Meanwhile {
    fn set(&self, work: Option<Work>) {
        *self.0.lock().unwrap() = work;
    }

    fn is_told(&self, moment: Moment) {
        if moment != Moment::After(Kind::Write) {
            return;
        }
        // Taken out, so that what the work itself writes does not begin it again.
        let work = self.0.lock().unwrap().take();
        if let Some(mut work) = work {
            work();
            self.set(Some(work));
        }
    }
}

fn busy_life(seed: u64) {
    let busy = Meanwhile::default();
    let told = busy.clone();
    let disk = WatchedDisk::new(SimDisk::new(seed), move |moment| told.is_told(moment));
    // Nothing stays in the cache: what was freed too early is read from the disk.
    let tuning = Habits::of(seed, 1).tuning;
    let options = Options { cache_bytes: 0, tuning, ..options() };
    let world = Arc::new(Mutex::new(World::new(seed, Habits::of(seed, [50, 3000][seed as usize % 2]))));
    let mut random = Random::new(seed);
    for _ in 0..3 {
        let store = Store::open_on(disk.clone(), &options).unwrap();
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
