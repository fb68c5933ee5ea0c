//! The machine, and what a process on it has used.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The unit of processor time in `/proc`: `USER_HZ`, 100 wherever Linux runs.
const TICKS_PER_S: f64 = 100.0;

/// Microseconds since 1970.
pub fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// Processor, cores, memory, system, and how busy it is.
pub fn description() -> Value {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kib = memory.lines().find_map(|line| number(line.strip_prefix("MemTotal:")?));
    let system = rustix::system::uname();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    json!({
        "cpu": model.map(|(_, model)| model),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory_gib": memory_kib.map(|kib| kib >> 20),
        "kernel": system.release().to_string_lossy(),
        "load_1_min": load.split(' ').next().and_then(|load| load.parse::<f64>().ok()),
    })
}

/// The first number in a line.
fn number(line: &str) -> Option<u64> {
    line.split_whitespace().next()?.parse().ok()
}

/// What processes have used so far, all together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// Seconds of processor time, theirs and the system's for them.
    pub cpu_s: f64,
    /// Bytes of memory that are theirs alone.
    pub anonymous: u64,
    /// Bytes of memory, with mapped files.
    pub resident: u64,
}

impl Used {
    /// Looks it up. A process that is gone has used nothing.
    pub fn by(processes: &[u32]) -> Self {
        let mut all = Self::default();
        for process in processes {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
            let bytes =
                |name| status.lines().find_map(|line| number(line.strip_prefix(name)?)).unwrap_or(0) << 10;
            all.anonymous += bytes("RssAnon:");
            all.resident += bytes("VmRSS:");
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            // The name in parentheses may hold blanks; the times are the 12th and 13th word behind it.
            let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
            let ticks: u64 =
                behind.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
            all.cpu_s += ticks as f64 / TICKS_PER_S;
        }
        all
    }
}

/// Bytes that files below a folder take on the disk.
pub fn disk_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
            Ok(meta) => meta.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}
