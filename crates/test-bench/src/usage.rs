//! What another process takes of the machine, as `/proc` tells it.

use std::fs;
use std::time::Duration;

/// In which time is told there: Linux shows programs hundredths of a second on every architecture of today.
const TICK: Duration = Duration::from_millis(10);

/// What a process has in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resident {
    /// Now, in MiB.
    pub mib: f64,
    /// The most that it ever had, in MiB.
    pub peak_mib: f64,
}

/// What the process of this id has in memory.
///
/// # Panics
/// When it has ended.
#[must_use]
pub fn resident(id: u32) -> Resident {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    Resident {
        mib: kib(&status, "VmRSS:") / 1024.0,
        peak_mib: kib(&status, "VmHWM:") / 1024.0,
    }
}

/// Time that the process of this id has had of the processor, its own and the system's for it; exact to a hundredth of a
/// second or two.
///
/// # Panics
/// When it has ended.
#[must_use]
pub fn cpu_time(id: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    TICK * u32::try_from(ticks(&stat)).unwrap()
}

/// What a process has in memory, looked at several times.
#[derive(Clone, Debug, Default)]
pub struct Looks(Vec<f64>);

impl Looks {
    /// One more look, of which a line is printed.
    #[expect(clippy::print_stdout, reason = "a benchmark tells how it goes")]
    pub fn take(&mut self, when: &str, resident: Resident) {
        println!(
            "{when}: {:.1} MiB, the most ever {:.1} MiB",
            resident.mib, resident.peak_mib
        );
        self.0.push(resident.mib);
    }

    /// The most of all looks, in MiB.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// By how many per cent the last is above the first; 0 when it is not.
    #[must_use]
    pub fn growth(&self) -> f64 {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else {
            return 0.0;
        };
        (last / first - 1.0).max(0.0) * 100.0
    }
}

fn kib(status: &str, field: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Fields 14 and 15. The second one, the program's name, may hold anything, closing brackets too.
fn ticks(stat: &str) -> u64 {
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let fields = after_name.split_ascii_whitespace().skip(11).take(2);
    fields.map(|field| field.parse::<u64>().unwrap()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_about(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
    }

    #[test]
    fn sizes_are_read() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1536 kB\n";
        is_about(kib(status, "VmRSS:"), 1536.0);
        is_about(kib(status, "VmHWM:"), 2048.0);
    }

    #[test]
    fn times_are_read_whatever_the_program_is_called() {
        let stat = "4321 (a (b) c) S 1 4321 4321 0 -1 4194560 100 200 3 4 150 25 7 9 20 0 5 0 12345 1000000 300";
        assert_eq!(ticks(stat), 175);
    }

    #[test]
    fn this_process_has_memory_and_time() {
        let id = std::process::id();
        let resident = resident(id);
        assert!(resident.mib > 0.5 && resident.peak_mib >= resident.mib, "{resident:?}");
        let began = cpu_time(id);
        let wanted = crate::cpu_time::of_this_process() + Duration::from_millis(50);
        while crate::cpu_time::of_this_process() < wanted {}
        let had = cpu_time(id).checked_sub(began).unwrap();
        assert!(had >= Duration::from_millis(30), "{had:?}");
    }

    #[test]
    fn the_most_and_the_growth_of_looks() {
        let looks = Looks(vec![100.0, 120.0, 110.0]);
        is_about(looks.most(), 120.0);
        is_about(looks.growth(), 10.0);
        is_about(Looks(vec![100.0, 90.0]).growth(), 0.0);
        is_about(Looks::default().growth(), 0.0);
    }
}
