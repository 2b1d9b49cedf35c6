//! What is shorter than its window was never there.

use api_types::names::annotation;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Ready fails again and again, each time for less than every window. While it fails nothing but our record of it
    /// changes, and after it not a byte of the Cluster is other than before, but for the flap score; the transitions
    /// are counted.
    #[test]
    fn a_blip_leaves_no_trace(
        windows in prop::collection::vec(2_i64..400, 1..4),
        blips in prop::collection::vec((1_i64..1000, 0_i64..400, prop::bool::ANY), 1..20),
    ) {
        let policies: Vec<ClusterTaintPolicy> = windows.iter().enumerate().map(|(n, add)| {
            let spec = json!({
                "matchConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
                "taintsToAdd": [{"key": format!("k{n}"), "effect": "NoExecute", "addOnMatchSeconds": add, "removeOnMismatchSeconds": 1}]
            });
            policy(&format!("p{n}"), 0, spec)
        }).collect();
        let longest = windows.iter().min().unwrap() - 1;
        let mut world = World::new(&policies);
        world.condition("Ready", "True");
        world.look();
        let bare = |world: &World| {
            let mut cluster = world.cluster.clone();
            let annotations = cluster.metadata.annotations.get_or_insert_default();
            annotations.remove(annotation::FLAP_SCORE);
            cluster.status = None;
            cluster
        };
        let before = bare(&world);
        let mut second = 0;
        let count = u64::try_from(blips.len()).unwrap();
        for (calm, length, restarted) in blips {
            second += calm;
            world.until(second);
            world.condition("Ready", "False");
            world.look();
            second += length.min(longest);
            world.until(second);
            prop_assert!(world.cluster.spec.taints.is_empty());
            if restarted {
                // Elsewhere a count of transitions ends with its process.
                let kept = world.memory.as_ref().unwrap().transitions.clone();
                world.restart();
                world.look();
                world.memory.as_mut().unwrap().transitions = kept;
            }
            world.condition("Ready", "True");
            world.look();
            prop_assert_eq!(bare(&world), before.clone());
            prop_assert_eq!(world.last.as_ref().unwrap().next_look, None);
        }
        for policy in &policies {
            let uid = policy.metadata.uid.as_ref().unwrap();
            prop_assert_eq!(world.memory.as_ref().unwrap().transitions(uid), 2 * count);
        }
    }

    /// The window of a policy is written when it opens, fires or closes, and when a condition that this policy names says
    /// another transition time; by the mere passing of time, and by what is none of its business, never.
    #[test]
    fn windows_are_written_only_when_something_happens(policies in policies(), history in history()) {
        let mut world = World::new(&policies);
        let mut second = 0;
        for (gap, event) in history {
            let until = second + gap;
            while second < until {
                second += 1;
                let due = world.last.as_ref().and_then(|e| e.next_look).is_some_and(|next| next <= at(second));
                if second < until && !due {
                    continue;
                }
                let before: Vec<Seen> = policies.iter().map(|policy| Seen::of(policy, &world)).collect();
                let text = world.annotation(annotation::TAINT_WINDOWS).cloned();
                world.now = at(second);
                if second == until {
                    apply(&mut world, &event);
                }
                world.look();
                let mut rewritten = false;
                for (policy, before) in policies.iter().zip(before) {
                    let after = Seen::of(policy, &world);
                    rewritten |= before.window != after.window;
                    prop_assert!(
                        before.window == after.window || before.reasons() != after.reasons(),
                        "at second {}: {:?} became {:?}", second, before, after
                    );
                }
                prop_assert!(rewritten || text.as_ref() == world.annotation(annotation::TAINT_WINDOWS));
            }
        }
    }
}

/// What is stored of a policy's window, and what can be a reason to store another.
#[derive(Debug)]
struct Seen {
    window: Option<Window>,
    /// The conditions that the policy names, as they are on the Cluster.
    conditions: Vec<Option<Condition>>,
    /// The taints that stand for it.
    taints: Vec<TaintId>,
}

impl Seen {
    fn of(policy: &ClusterTaintPolicy, world: &World) -> Self {
        let annotations = world.cluster.metadata.annotations.as_ref();
        let named = policy.spec.match_conditions.iter().flatten();
        let managed = ManagedTaints::read(annotations).unwrap().taints.into_iter();
        let name = policy.metadata.name.as_ref().unwrap();
        Self {
            window: Windows::read(annotations)
                .unwrap()
                .windows
                .remove(policy.metadata.uid.as_ref().unwrap()),
            conditions: named
                .map(|named| world.cluster.condition(&named.condition_type).cloned())
                .collect(),
            taints: managed
                .filter(|(_, entry)| entry.policies.contains_key(name))
                .map(|(id, _)| id)
                .collect(),
        }
    }

    fn reasons(&self) -> (&[Option<Condition>], &[TaintId]) {
        (&self.conditions, &self.taints)
    }
}
