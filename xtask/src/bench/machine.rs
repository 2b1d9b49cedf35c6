//! Which machine the numbers are of.

use std::{fmt, fs, thread};

/// A machine, as far as it matters for numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Processors that may be used.
    pub processors: usize,
    /// What they call themselves.
    pub model: String,
}

impl Machine {
    /// The one that this runs on.
    pub fn this() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            processors,
            model: model(&cpuinfo).unwrap_or(std::env::consts::ARCH).to_owned(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.processors, self.model)
    }
}

fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found() {
        let text = "processor\t: 0\nmodel name\t: A Fast One @ 9 GHz\nflags\t: x";
        assert_eq!(model(text), Some("A Fast One @ 9 GHz"));
        assert_eq!(model(""), None);
    }
}
