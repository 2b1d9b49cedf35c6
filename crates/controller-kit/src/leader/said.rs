//! What the holder of a Lease says about itself.

use k8s_openapi::api::coordination::v1::Lease;

use super::{
    ADDRESS_ANNOTATION, CONTROLLERS_ANNOTATION, DISTURBANCES_ANNOTATION, GATES_ANNOTATION, MODE_ANNOTATION,
    VERSION_ANNOTATION,
};
use crate::gates::{FeatureGates, GateError};
use crate::mode::Mode;

/// The annotations that the holder of a Lease has put there. What a former holder said of itself says nothing: of a
/// Lease that nobody holds everything is unsaid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Version of its program.
    pub version: Option<String>,
    /// Its feature gates.
    pub gates: Result<FeatureGates, NoGates>,
    /// Whose control plane it takes it for, where that makes a difference to it.
    pub mode: Option<Mode>,
    /// Names of the controllers that run in its process.
    pub controllers: Vec<String>,
    /// Where it serves, as `host:port`.
    pub address: Option<String>,
    /// What disturbs its process, in its own words; nothing when all is well.
    pub disturbances: Option<String>,
}

/// Why the gates of a holder are not known. Neither means that they are off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoGates {
    /// It does not say, or there is no holder.
    #[error("nothing is said about feature gates")]
    Unsaid,
    /// It says something that cannot be read.
    #[error("{said:?} cannot be read: {why}")]
    Unreadable {
        /// The annotation.
        said: String,
        /// What is wrong with it.
        why: GateError,
    },
}

/// What the holder of `lease` says about itself.
#[must_use]
pub fn said(lease: &Lease) -> Said {
    let spec = lease.spec.as_ref();
    let is_held = spec
        .and_then(|spec| spec.holder_identity.as_deref())
        .is_some_and(|holder| !holder.is_empty());
    let annotations = lease.metadata.annotations.as_ref().filter(|_| is_held);
    let text = |name: &str| annotations?.get(name).filter(|text| !text.is_empty()).cloned();
    Said {
        version: text(VERSION_ANNOTATION),
        gates: match text(GATES_ANNOTATION) {
            None => Err(NoGates::Unsaid),
            Some(said) => FeatureGates::parse_known(&said).map_err(|why| NoGates::Unreadable { said, why }),
        },
        mode: text(MODE_ANNOTATION).and_then(|name| Mode::named(&name)),
        controllers: text(CONTROLLERS_ANNOTATION)
            .iter()
            .flat_map(|names| names.split(','))
            .map(str::to_owned)
            .collect(),
        address: text(ADDRESS_ANNOTATION),
        disturbances: text(DISTURBANCES_ANNOTATION),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::gates::{Gate, GateValue};

    fn lease(holder: &str, gates: &str) -> Lease {
        let annotations = json!({VERSION_ANNOTATION: "1.2.3", GATES_ANNOTATION: gates,
            CONTROLLERS_ANNOTATION: "evictionQueue,evictor", ADDRESS_ANNOTATION: "10.0.0.1:9443",
            DISTURBANCES_ANNOTATION: "conflicts since noon", MODE_ANNOTATION: "beside"});
        serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": {"holderIdentity": holder}}))
            .unwrap()
    }

    #[test]
    fn a_holder_is_read() {
        assert_eq!(
            said(&lease("a", "Failover=true")),
            Said {
                version: Some("1.2.3".to_owned()),
                gates: Ok(FeatureGates::defaults().with(Gate::Failover, GateValue::Enabled)),
                mode: Some(Mode::Beside),
                controllers: vec!["evictionQueue".to_owned(), "evictor".to_owned()],
                address: Some("10.0.0.1:9443".to_owned()),
                disturbances: Some("conflicts since noon".to_owned()),
            }
        );
    }

    // In the middle of an upgrade the holder may know gates that we do not know.
    #[rstest]
    #[case::on("Failover=true", "Ok(Enabled)")]
    #[case::off("Failover=false", "Ok(Disabled)")]
    #[case::newer("Sharding=maybe,Failover=true", "Ok(Enabled)")]
    #[case::nothing("", "Unsaid")]
    #[case::unreadable("Failover=maybe", "Unreadable")]
    #[case::no_gate("Failover", "Unreadable")]
    fn unreadable_gates_are_not_taken_for_off(#[case] gates: &str, #[case] expected: &str) {
        let read = match said(&lease("a", gates)).gates {
            Ok(gates) if gates.enabled(Gate::Failover) => "Ok(Enabled)",
            Ok(_) => "Ok(Disabled)",
            Err(NoGates::Unsaid) => "Unsaid",
            Err(NoGates::Unreadable { .. }) => "Unreadable",
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn what_a_former_holder_said_says_nothing() {
        let nothing = Said {
            version: None,
            gates: Err(NoGates::Unsaid),
            mode: None,
            controllers: Vec::new(),
            address: None,
            disturbances: None,
        };
        assert_eq!(said(&lease("", "Failover=true")), nothing);
        assert_eq!(said(&Lease::default()), nothing);
    }
}
