//! The codes of findings: what a finding is called, for ever. Programs and people silence findings by them.

use std::fmt;

use serde::{Serialize, Serializer};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// The API server refuses the object or drops a part of it, or it can never do anything.
    Error,
    /// It is accepted, and most likely not what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// In lower case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// What a rule needs to know beside the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Files,
    /// The clusters, and what runs on the control plane.
    Fleet,
}

macro_rules! codes {
    ($( $(#[$doc:meta])* $variant:ident = $text:literal, $severity:ident, $needs:ident, $title:literal; )+) => {
        /// The code of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $( $(#[$doc])* $variant, )+ }

        impl Code {
            /// Every code, in the order of the table in the documentation.
            pub const ALL: &[Self] = &[$( Self::$variant, )+];

            /// As it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )+ }
            }

            /// How bad it is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $( Self::$variant => Severity::$severity, )+ }
            }

            /// What its rule needs to know.
            #[must_use]
            pub fn needs(self) -> Needs {
                match self { $( Self::$variant => Needs::$needs, )+ }
            }

            /// What it stands for, in a line.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $( Self::$variant => $title, )+ }
            }
        }
    };
}

codes! {
    /// The text is no YAML.
    YamlSyntax = "yaml-syntax", Error, Files, "The document cannot be read as YAML";
    /// No `apiVersion`, `kind` or `metadata.name`.
    NotAnObject = "not-an-object", Error, Files, "The document has no apiVersion, kind or metadata.name";
    /// A kind or version that is nearly one of ours.
    UnknownKind = "unknown-kind", Error, Files, "The kind, or its version, is none that exists, but is close to one";
    /// The same object twice.
    DuplicateObject = "duplicate-object", Warning, Files, "The same object stands in the files twice: the later one wins";
    /// A field that the schema does not know.
    UnknownField = "unknown-field", Error, Files, "A field that does not exist: the API server drops it";
    /// The API server refuses the object.
    Refused = "refused", Error, Files, "The API server refuses this value";
    /// Both forms of a ClusterTaintPolicy, or both spellings of its target.
    TwoForms = "two-forms", Error, Files, "Two forms of a ClusterTaintPolicy, or two spellings of its target, at once";
    /// Not readable for another reason.
    Invalid = "invalid", Error, Files, "Nothing can be done for this ClusterTaintPolicy";
    /// The conditions exclude each other.
    NeverMatches = "never-matches", Error, Files, "The conditions can never hold together";
    /// The conditions always hold.
    AlwaysMatches = "always-matches", Warning, Files, "Every target is tainted, and workloads leave it, whatever its state";
    /// A latch that nothing closes.
    NeverAdded = "never-added", Error, Files, "Stock's form: nothing ever adds the taints";
    /// A latch that nothing opens.
    NeverRemoved = "never-removed", Warning, Files, "Stock's form: nothing ever removes the taints again";
    /// A condition type that looks like a slip of the pen.
    MisspeltCondition = "misspelt-condition", Warning, Files, "The condition type is nearly one that is known";
    /// A window that is shorter than the time between two probes.
    WindowBelowProbePeriod = "window-below-probe-period", Warning, Files,
        "A window of a taint that moves workloads is shorter than the time between two looks at a cluster";
    /// A taint by which people or stock Karmada say something.
    ReservedTaint = "reserved-taint", Warning, Files, "The taint is one by which somebody else says something";
    /// Another value for the same taint.
    PoliciesAtOdds = "policies-at-odds", Warning, Files, "Two policies want different values for the same taint";
    /// The same taint from two policies.
    SharedTaint = "shared-taint", Note, Files, "Two policies add the same taint: it comes with the first and goes with the last";
    /// A policy that is switched off.
    Suspended = "suspended", Note, Files, "The policy evaluates and reports, and neither adds nor removes taints";
    /// PreferNoExecute, and nobody has `failover.cluster`.
    NobodyOptedIn = "nobody-opted-in", Warning, Files,
        "PreferNoExecute moves nothing: no known PropagationPolicy has failover.cluster";
    /// A target that selects no cluster.
    TargetMatchesNothing = "target-matches-nothing", Warning, Files, "The target, or the placement, selects no cluster";
    /// A cluster that does not exist.
    NoSuchCluster = "no-such-cluster", Warning, Fleet, "A cluster that is named does not exist";
    /// A condition type that no targeted cluster has.
    NoSuchCondition = "no-such-condition", Warning, Fleet, "No targeted cluster has this condition type: the policy never matches";
    /// A condition type that some targeted clusters lack.
    ConditionMissingSomewhere = "condition-missing-somewhere", Note, Fleet,
        "Some targeted clusters lack this condition type: there the policy never matches";
    /// A field that stock Karmada's CRDs do not have.
    StockDrops = "stock-drops", Error, Fleet, "A field that the stock Karmada here does not know: its API server drops it";
    /// A taint that moves workloads while the gate is off.
    GateOff = "gate-off", Warning, Fleet, "NoExecute or PreferNoExecute while feature gate Failover is off: it is not added";
    /// A toleration of every NoExecute taint for ever.
    ToleratesEverything = "tolerates-everything", Warning, Files, "No NoExecute taint ever moves the workload";
    /// A toleration that matches nothing, or more than it seems to.
    OddToleration = "odd-toleration", Warning, Files, "The toleration does not mean what it seems to, or nothing at all";
    /// A time limit that plays no part.
    TolerationSecondsIgnored = "toleration-seconds-ignored", Warning, Files, "tolerationSeconds counts for NoExecute only";
    /// A toleration of PreferNoExecute.
    PreferNoExecuteTolerated = "prefer-no-execute-tolerated", Warning, Files,
        "Tolerations play no part for PreferNoExecute: failover.cluster decides";
    /// PreferNoExecute is in use, and this policy does not opt in.
    NotOptedIn = "not-opted-in", Note, Files, "A known ClusterTaintPolicy adds PreferNoExecute, and this workload stays";
    /// One cluster only.
    NowhereToGo = "nowhere-to-go", Warning, Files, "The workload is to move, and only one cluster may take it";
    /// Application failover without `propagateDeps`.
    DependenciesStay = "dependencies-stay", Warning, Files,
        "An application is to move when it fails, and what it needs does not follow";
    /// Application failover of a kind without a health rule.
    NoHealthRule = "no-health-rule", Note, Files, "Application failover of a kind of which no copy ever counts as unhealthy";
    /// A purge mode in its former spelling.
    OldSpelling = "old-spelling", Note, Files, "A purge mode in its former spelling";
    /// A selector of a PropagationPolicy that names another namespace.
    SelectorElsewhere = "selector-elsewhere", Error, Files,
        "A selector of a PropagationPolicy names another namespace than the policy's: it selects nothing";
    /// A selector without sense.
    UnreadableSelector = "unreadable-selector", Error, Files, "A label or field selector without sense: it selects nothing";
    /// A path of `statePreservation` that is no JSONPath.
    UnreadablePath = "unreadable-path", Error, Files, "A jsonPath of statePreservation cannot be read: its value is lost";
    /// A label of `statePreservation` that cannot be one.
    BadLabel = "bad-label", Error, Files, "A label of statePreservation that is no label, or is given twice";
    /// A spread that asks for more groups than it allows.
    ContradictingSpread = "contradicting-spread", Error, Files, "A spread constraint wants more groups than it allows";
    /// Two groups of clusters with one name.
    TwinGroups = "twin-groups", Error, Files, "Two groups of clusters have one name";
    /// An annotation of ours that cannot be read.
    UnreadableAnnotation = "unreadable-annotation", Error, Files, "An annotation by which people speak to us cannot be read";
    /// A pause that holds nothing, or something else.
    PauseInVain = "pause-in-vain", Error, Files, "The pause holds nothing, or not what it says";
    /// A pause of everything without an end.
    PauseWithoutEnd = "pause-without-end", Warning, Files, "Everything is paused until somebody deletes the pause";
}

impl std::str::FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .find(|code| code.as_str() == text)
            .copied()
            .ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

/// There is no such code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no code {0:?}: a code looks like unknown-field")]
pub struct UnknownCode(pub String);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
