//! What a check is called, for ever: people and programs leave checks out by these words.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($( $(#[$doc:meta])* $variant:ident = $text:literal, $title:literal; )+) => {
        /// The code of a check.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $( $(#[$doc])* $variant, )+ }

        impl Code {
            /// Every code, in the order in which they are shown and documented.
            pub const ALL: &[Self] = &[$( Self::$variant, )+];

            /// As it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )+ }
            }

            /// What is checked, in a line.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $( Self::$variant => $title, )+ }
            }
        }
    };
}

codes! {
    /// Groups and versions.
    Kinds = "kinds", "The API server serves the kinds that failover works on, in our versions";
    /// Whose control plane it is.
    Mode = "mode", "The control plane is of the kind that is meant: standalone, or beside a stock Karmada";
    /// What the schema drops.
    Fields = "fields", "Fields of ours survive a write, or have their second home in an annotation";
    /// Second homes that somebody edited.
    Annotations = "annotations", "What annotations of ours say can be read";
    /// An effect that stock refuses.
    PreferNoExecute = "prefer-no-execute", "The API server takes PreferNoExecute taints, or they have their second home";
    /// An effect that stock's webhook refuses.
    NoExecutePolicies = "no-execute-policies", "ClusterTaintPolicies with effect NoExecute are admitted";
    /// Time here and there.
    Clock = "clock", "This clock, the API server's and those of the controllers agree";
    /// Which stock Karmada.
    StockVersion = "stock-version", "The stock Karmada is of a version that is supported: v1.16 to v1.19";
    /// Stock's taint manager and policies.
    StockFailover = "stock-failover", "Stock's taint manager and its ClusterTaintPolicies are off";
    /// Stock's graceful eviction.
    StockGracefulEviction = "stock-graceful-eviction", "Stock's graceful eviction is off";
    /// Stock's application failover.
    StockApplicationFailover = "stock-application-failover", "Stock's application failover is off";
    /// What stock goes on doing.
    StockDuties = "stock-duties", "Stock goes on doing what ours rest on: status, scheduling, propagation";
    /// A scheduler plugin.
    StockScheduler = "stock-scheduler", "Stock's scheduler keeps a workload off the cluster that it leaves";
    /// What nobody can do there.
    StaysStock = "stays-stock", "What is different beside a stock Karmada";
    /// Two owners.
    SecondOwner = "second-owner", "No job has two owners";
    /// Lease holders.
    Controllers = "controllers", "Every controller that is needed runs";
    /// Gates across components.
    Gates = "gates", "Feature gate Failover is on, and the components agree about it";
    /// Versions across components.
    Versions = "versions", "The components, and this program, are at most one minor version apart";
    /// Caches, watches, clocks of processes.
    Caches = "caches", "No component's view of the API server is old or disturbed";
    /// The queue.
    Queue = "queue", "The eviction queue answers, knows who has to leave, and is heard";
    /// Policies.
    Policies = "policies", "Some ClusterTaintPolicy makes workloads leave a failed cluster";
    /// Of the person who asks.
    Rights = "rights", "This user may do what failoverctl does";
}

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

impl FromStr for Code {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || {
            Self::ALL
                .iter()
                .map(|code| code.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == text)
            .ok_or_else(|| format!("there is no check {text:?}; there are {}", known()))
    }
}
