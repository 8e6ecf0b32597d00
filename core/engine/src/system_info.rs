//! What hostInfo and serverStatus tell of the machine and the process; zero or empty where the system does not say.

use std::fs;

/// The machine's name.
pub(crate) fn hostname() -> String {
    let name =
        fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).unwrap_or_else(|| String::from("localhost"))
}

/// Bytes of memory in the machine.
pub(crate) fn total_memory_bytes() -> u64 {
    field_kib("/proc/meminfo", "MemTotal:") * 1024
}

/// Bytes of memory that the process may use: the machine's, or what its container leaves of it.
pub(crate) fn available_memory_bytes() -> u64 {
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse().ok()).filter(|limit| *limit > 0);
    total_memory_bytes().min(limit.unwrap_or(u64::MAX))
}

/// Bytes of memory that the process holds, and bytes it has addresses for.
pub(crate) fn process_memory_bytes() -> (u64, u64) {
    (field_kib("/proc/self/status", "VmRSS:") * 1024, field_kib("/proc/self/status", "VmSize:") * 1024)
}

/// Processors that may be used.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The operating system's version, in its own words.
pub(crate) fn os_version() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").map(|v| v.trim().to_owned()).unwrap_or_default()
}

/// The number behind `name` in a file of lines `Name:   123 kB`.
fn field_kib(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_process_has_memory() {
        let (resident, virtual_size) = super::process_memory_bytes();
        assert!(resident > 0 && virtual_size >= resident && super::total_memory_bytes() >= resident);
    }
}
