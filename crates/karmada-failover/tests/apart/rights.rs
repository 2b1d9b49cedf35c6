//! Each component asks the control plane for what the chart `control-plane` grants its ServiceAccount, and for nothing
//! else: the stories are played, every request is noted and held against the rights, and a right that nobody needed is as
//! wrong as one that is missing.

use controller_kit::Mode;

use crate::COMPONENTS;
use crate::granted::{Right, granted};
use crate::lives;
use crate::log::Asked;

/// Rights that no story here needs, and why they are granted nevertheless: component (`*`: each), verb, resource.
const NOT_SEEN_HERE: &[(&str, &str, &str, &str)] = &[
    ("*", "patch", "events", "what is told again is counted in its Event"),
    (
        "application-failover-controller",
        "get",
        "resourcebindings",
        "read anew when somebody else was faster: the controller's own test of its rights",
    ),
    (
        "cluster-health-controller",
        "list",
        "works",
        "what a deletion waits for is counted when its member is away",
    ),
    (
        "cluster-health-controller",
        "list",
        "failoverpauses",
        "a person's word is looked for while the monitor seems to be isolated",
    ),
    (
        "cluster-health-controller",
        "patch",
        "namespaces",
        "an execution namespace that another hand made gets its label",
    ),
    (
        "eviction-queue",
        "create",
        "tokenreviews",
        "whose a caller's token is: the tests of the queue's access",
    ),
    (
        "eviction-queue",
        "create",
        "subjectaccessreviews",
        "what a caller may: the tests of the queue's access",
    ),
    (
        "graceful-eviction-controller",
        "get",
        "clusters",
        "before a task is let go because its cluster is gone",
    ),
    (
        "graceful-eviction-controller",
        "create",
        "failoverrecords",
        "makes up for one that the evictor could not write",
    ),
    (
        "scheduler",
        "get",
        "clusters",
        "before a copy counts as gone because its cluster is",
    ),
    (
        "scheduler",
        "get",
        "resourcebindings",
        "read anew when somebody else was faster, as the longer set of stories shows",
    ),
    (
        "propagation-controllers",
        "delete",
        "resourcebindings",
        "its template is gone: the controllers' own test of their rights",
    ),
    (
        "propagation-controllers",
        "get",
        "priorityclasses",
        "of a policy that names one: the controllers' own test of their rights",
    ),
    (
        "propagation-controllers",
        "get",
        "namespaces",
        "before what is in one counts as gone: the controllers' own test of their rights",
    ),
    (
        "propagation-controllers",
        "get",
        "resourcebindings",
        "before one counts as gone: the controllers' own test of their rights",
    ),
];

/// Every account may ask what is served.
fn is_discovery(asked: &Asked) -> bool {
    matches!(asked, Asked::Path { verb, path } if verb == "get" && (path.starts_with("/api") || path == "/version"))
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
            .any(|(who, what, on, _)| ["*", component].contains(who) && (*what, *on) == (verb, resource))
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
    for &(component, verb, resource, why) in NOT_SEEN_HERE {
        let of_whom = COMPONENTS.iter().map(|(name, _)| *name);
        let mut of_whom = of_whom.filter(|name| component == "*" || component == *name);
        let is_granted = of_whom.any(|name| {
            granted(name, Mode::Beside)
                .iter()
                .any(|right| right.one() == (verb, resource))
        });
        assert!(is_granted, "{component} {verb} {resource}: {why}");
    }
}
