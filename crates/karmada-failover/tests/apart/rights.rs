//! Each component asks the control plane for what the chart `control-plane` grants its ServiceAccount, and for nothing
//! else: the stories are played, every request is noted and held against the rights, and a right that nobody needed is as
//! wrong as one that is missing.

use std::path::Path;

use controller_kit::Mode;

use crate::COMPONENTS;
use crate::granted::{Right, files, granted};
use crate::lives;
use crate::log::Asked;

/// A right that no story here needs, why it is granted nevertheless, and which test needs it.
struct Excuse {
    /// The component; `*`: each.
    component: &'static str,
    /// What, and on which resource.
    right: (&'static str, &'static str),
    why: &'static str,
    /// A file, from the checkout's root, and a function in it.
    test: (&'static str, &'static str),
}

const NOT_SEEN_HERE: &[Excuse] = &[
    Excuse {
        component: "*",
        right: ("patch", "events"),
        why: "what is told again is counted in its Event",
        test: (
            "crates/controller-kit/tests/kit/events.rs",
            "equal_events_are_one_with_a_count",
        ),
    },
    Excuse {
        component: "application-failover-controller",
        right: ("get", "resourcebindings"),
        why: "read anew when somebody else was faster",
        test: (
            "crates/application-failover-controller/tests/applications/rights.rs",
            "a_whole_life_needs_these_rights_and_no_others",
        ),
    },
    Excuse {
        component: "cluster-health-controller",
        right: ("list", "works"),
        why: "what a deletion waits for is counted when its member is away",
        test: (
            "crates/cluster-health-controller/tests/health/deletion.rs",
            "works_that_nobody_lets_go_are_counted_and_force_does_not_wait_for_them",
        ),
    },
    Excuse {
        component: "cluster-health-controller",
        right: ("list", "failoverpauses"),
        why: "whose pause holds the bindings that a deletion waits for",
        test: (
            "crates/cluster-health-controller/tests/health/deletion.rs",
            "the_condition_counts_what_holds_the_bindings",
        ),
    },
    Excuse {
        component: "cluster-health-controller",
        right: ("patch", "namespaces"),
        why: "an execution namespace that another hand made gets its label",
        test: (
            "crates/cluster-health-controller/tests/health/main.rs",
            "a_namespace_that_another_hand_made_gets_its_label",
        ),
    },
    Excuse {
        component: "eviction-queue",
        right: ("create", "tokenreviews"),
        why: "whose a caller's token is",
        test: (
            "e2e/scenarios/tests/queue_access.rs",
            "a_real_api_server_judges_the_callers_of_the_queue",
        ),
    },
    Excuse {
        component: "eviction-queue",
        right: ("create", "subjectaccessreviews"),
        why: "what a caller may",
        test: (
            "e2e/scenarios/tests/queue_access.rs",
            "a_real_api_server_judges_the_callers_of_the_queue",
        ),
    },
    Excuse {
        component: "graceful-eviction-controller",
        right: ("get", "clusters"),
        why: "before a task is let go because its cluster is gone",
        test: (
            "crates/graceful-eviction-controller/tests/graceful/main.rs",
            "tasks_of_a_cluster_that_does_not_exist_go",
        ),
    },
    Excuse {
        component: "graceful-eviction-controller",
        right: ("create", "failoverrecords"),
        why: "makes up for one that the evictor could not write",
        test: (
            "crates/graceful-eviction-controller/tests/graceful/records.rs",
            "a_record_that_the_evictor_owes_is_made_up",
        ),
    },
    Excuse {
        component: "scheduler",
        right: ("get", "clusters"),
        why: "before a copy counts as gone because its cluster is",
        test: (
            "crates/scheduler/tests/scheduler/last_copy.rs",
            "a_cluster_that_only_the_cache_misses_stays",
        ),
    },
    Excuse {
        component: "scheduler",
        right: ("get", "resourcebindings"),
        why: "read anew when somebody else was faster",
        test: (
            "crates/scheduler/tests/scheduler/writes.rs",
            "a_conflict_places_anew_and_loses_nobodys_change",
        ),
    },
    Excuse {
        component: "propagation-controllers",
        right: ("delete", "resourcebindings"),
        why: "its template is gone",
        test: (
            "crates/propagation-controllers/tests/propagation/rights.rs",
            "a_whole_life_needs_these_rights_and_no_others",
        ),
    },
    Excuse {
        component: "propagation-controllers",
        right: ("get", "priorityclasses"),
        why: "of a policy that names one",
        test: (
            "crates/propagation-controllers/tests/propagation/rights.rs",
            "a_whole_life_needs_these_rights_and_no_others",
        ),
    },
    Excuse {
        component: "propagation-controllers",
        right: ("get", "namespaces"),
        why: "before what is in one counts as gone",
        test: (
            "crates/propagation-controllers/tests/propagation/rights.rs",
            "a_whole_life_needs_these_rights_and_no_others",
        ),
    },
    Excuse {
        component: "propagation-controllers",
        right: ("get", "resourcebindings"),
        why: "before one counts as gone",
        test: (
            "crates/propagation-controllers/tests/propagation/rights.rs",
            "a_whole_life_needs_these_rights_and_no_others",
        ),
    },
];

/// Whose rights are held against what it asks for by a test of its own, and which.
const HELD_ELSEWHERE: &[(&str, (&str, &str))] = &[
    (
        "failoverctl",
        (
            "crates/failoverctl/tests/failoverctl/rights.rs",
            "each_command_asks_for_what_its_role_allows",
        ),
    ),
    // It is asked over sockets, which know real time alone.
    (
        "webhook",
        (
            "crates/webhook/tests/reviews/rights.rs",
            "a_whole_life_needs_these_rights_and_no_others",
        ),
    ),
];

/// Every account may ask what is served.
fn is_discovery(asked: &Asked) -> bool {
    let is_open = |path: &str| path.starts_with("/api") || path.starts_with("/openapi/") || path == "/version";
    matches!(asked, Asked::Path { verb, path } if verb == "get" && is_open(path))
}

fn is_excused(component: &str, mode: Mode, right: &Right) -> bool {
    let (verb, resource) = right.one();
    // Standalone alone the server has these fields and subresources.
    (mode == Mode::Beside && resource == "clustertaintpolicies/status")
    // Kinds of templates are many, and a story has a few.
        || right.is_on_templates()
        // Asked of the API server by the queue about its callers, and never by these.
        || resource == "evictionqueues"
        || NOT_SEEN_HERE
            .iter()
            .any(|excuse| ["*", component].contains(&excuse.component) && excuse.right == (verb, resource))
}

/// A kind that a person defines, and gives the right to, as docs/propagation.md says.
fn is_given(asked: &Asked) -> bool {
    matches!(asked, Asked::Resource { group, name, .. } if group == "example.com" || name.as_deref() == Some("games.example.com"))
}

/// What is asked for and not granted, and what is granted and not asked for by those of whom `is_judged` says so.
fn wrong(mode: Mode, is_judged: impl Fn(&str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (component, asked) in &lives::all(mode) {
        if !is_judged(component) {
            continue;
        }
        let rights = granted(component, mode);
        let missing = asked
            .iter()
            .filter(|asked| !is_discovery(asked) && !is_given(asked))
            .filter(|asked| !rights.iter().any(|right| right.allows(asked)));
        wrong.extend(
            missing
                .take(20)
                .map(|asked| format!("{component} asks for what it may not: {asked:?}")),
        );
        let is_used = |right: &Right| asked.iter().any(|asked| right.allows(asked));
        // Of two kinds of binding that one piece of code treats alike, a story may have one.
        let is_its_twin_used = |right: &Right| {
            let (verb, resource) = right.one();
            let twin = resource
                .strip_prefix("cluster")
                .filter(|twin| twin.starts_with("resourcebindings"));
            twin.is_some_and(|twin| {
                rights
                    .iter()
                    .any(|other| other.one() == (verb, twin) && (is_used(other) || is_excused(component, mode, other)))
            })
        };
        let unused = rights
            .iter()
            .filter(|right| !is_excused(component, mode, right) && !is_used(right) && !is_its_twin_used(right));
        wrong.extend(unused.map(|right| format!("{component} never needs {right}")));
    }
    wrong
}

#[test]
fn what_the_stories_ask_for_is_what_the_chart_grants() {
    let wrong = wrong(Mode::Standalone, |_| true);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two of them are stock there, and have stock's rights.
#[test]
fn beside_stock_too() {
    let is_ours = |component: &str| !["cluster-health-controller", "propagation-controllers"].contains(&component);
    let wrong = wrong(Mode::Beside, is_ours);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An excuse for what is not granted any more is stale.
#[test]
fn excuses_are_for_rights_that_are_granted() {
    for Excuse {
        component, right, why, ..
    } in NOT_SEEN_HERE
    {
        let of_whom = COMPONENTS.iter().map(|(name, _)| *name);
        let mut of_whom = of_whom.filter(|name| *component == "*" || component == name);
        let is_granted = of_whom.any(|name| {
            let rights = granted(name, Mode::Beside);
            rights.iter().any(|granted| granted.one() == *right)
        });
        assert!(is_granted, "{component} {right:?}: {why}");
    }
}

/// Of nobody the chart grants rights that no test holds against what is asked for.
#[test]
fn nobodys_rights_are_left_out() {
    let mut held: Vec<&str> = COMPONENTS.iter().map(|(name, _)| *name).collect();
    held.extend(HELD_ELSEWHERE.iter().map(|(name, _)| *name));
    held.sort_unstable();
    assert_eq!(files(), held);
    for (name, test) in HELD_ELSEWHERE {
        assert!(is_there(*test), "{name}: there is no test {test:?}");
    }
}

/// One for a test that is not there is none.
#[test]
fn excuses_name_tests_that_are_there() {
    for Excuse {
        component, right, test, ..
    } in NOT_SEEN_HERE
    {
        assert!(is_there(*test), "{component} {right:?}: there is no test {test:?}");
    }
}

/// Whether this file, from the checkout's root, has this function.
fn is_there((file, name): (&str, &str)) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
    let mut lines = source.lines().map(str::trim_start);
    lines.any(|line| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|line| line.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('('))
    })
}
