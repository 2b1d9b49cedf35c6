//! The Go modules as they were when this crate was compiled, the name that stands for them, and their versions.

/// One of the Go modules beside this crate.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its folder beside this crate's manifest.
    pub folder: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
}

impl Module {
    /// etcd and the programs of Kubernetes, which agree on their dependencies.
    pub const KUBERNETES: Self = Self {
        folder: "kubernetes",
        go_mod: include_str!("../kubernetes/go.mod"),
        go_sum: include_str!("../kubernetes/go.sum"),
    };
    /// kwok, which wants other versions.
    pub const KWOK: Self = Self {
        folder: "kwok",
        go_mod: include_str!("../kwok/go.mod"),
        go_sum: include_str!("../kwok/go.sum"),
    };
    /// grpcurl, which wants other versions again.
    pub const GRPCURL: Self = Self {
        folder: "grpcurl",
        go_mod: include_str!("../grpcurl/go.mod"),
        go_sum: include_str!("../grpcurl/go.sum"),
    };
    /// helm, which wants other versions again.
    pub const HELM: Self = Self {
        folder: "helm",
        go_mod: include_str!("../helm/go.mod"),
        go_sum: include_str!("../helm/go.sum"),
    };

    const ALL: [&'static Self; 4] = [&Self::KUBERNETES, &Self::KWOK, &Self::GRPCURL, &Self::HELM];

    /// The version at which this module requires `path`, with its leading `v`.
    fn version_of(&self, path: &str) -> Option<&'static str> {
        self.go_mod.lines().find_map(|line| {
            let line = line.trim();
            let mut words = line.strip_prefix("require ").unwrap_or(line).split_whitespace();
            (words.next() == Some(path))
                .then(|| words.next())
                .flatten()
                .filter(|word| word.starts_with('v'))
        })
    }
}

/// The linker flags of every program: no symbol tables, and for Kubernetes' own its version, which its own build
/// scripts stamp and without which an API server reports v0.0.0.
pub(crate) fn linker_flags(module: &Module) -> String {
    let mut flags = "-s -w".to_owned();
    if let Some(version) = module.version_of("k8s.io/kubernetes") {
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        for (name, value) in [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)] {
            flags.push_str(" -X k8s.io/component-base/version.");
            flags.push_str(name);
            flags.push('=');
            flags.push_str(value);
        }
    }
    flags
}

/// A short name for everything that decides what the programs are: the module files and the linker flags.
pub(crate) fn key() -> String {
    let mut hash = Fnv1a::default();
    for module in Module::ALL {
        hash.add(module.folder);
        hash.add(module.go_mod);
        hash.add(module.go_sum);
        hash.add(&linker_flags(module));
    }
    format!("{:016x}", hash.0)
}

/// FNV-1a: the name must be the same in every build of this crate, which std's hashers do not promise. It only tells
/// pins apart, nobody is kept out by it.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn add(&mut self, text: &str) {
        // 0xff stands in no UTF-8 text: it keeps "ab" + "c" apart from "a" + "bc".
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_is_the_published_function() {
        let mut hash = Fnv1a::default();
        hash.add("");
        // One step over the separator: (offset basis xor 0xff) times the prime.
        assert_eq!(
            hash.0,
            (0xcbf2_9ce4_8422_2325_u64 ^ 0xff).wrapping_mul(0x0000_0100_0000_01b3)
        );
    }

    #[test]
    fn texts_are_kept_apart() {
        let (mut one, mut other) = (Fnv1a::default(), Fnv1a::default());
        one.add("ab");
        one.add("c");
        other.add("a");
        other.add("bc");
        assert_ne!(one.0, other.0);
    }

    #[test]
    fn kubernetes_is_stamped_with_the_pinned_version() {
        let version = Module::KUBERNETES.version_of("k8s.io/kubernetes").unwrap();
        let flags = linker_flags(&Module::KUBERNETES);
        assert!(flags.contains(&format!("version.gitVersion={version} ")), "{flags}");
        assert!(flags.contains("version.gitMajor=1 "), "{flags}");
        assert_eq!(linker_flags(&Module::GRPCURL), "-s -w");
    }

    #[test]
    fn the_staging_modules_are_of_the_same_release() {
        let version = Module::KUBERNETES.version_of("k8s.io/kubernetes").unwrap();
        let staging = version.replacen("v1.", "v0.", 1);
        let replaced: Vec<_> = Module::KUBERNETES
            .go_mod
            .lines()
            .filter(|line| line.contains("=>"))
            .collect();
        assert!(replaced.len() > 30, "{replaced:?}");
        for line in replaced {
            assert!(line.ends_with(&staging), "{line} is not of {staging}");
        }
    }
}
