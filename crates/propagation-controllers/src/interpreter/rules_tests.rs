use api_types::config::{CustomizationTarget, LuaRule, ResourceInterpreterCustomizationSpec};
use proptest::prelude::*;

use super::*;

fn customization(name: &str, kind: &str, health: &str, dependencies: &str) -> Arc<ResourceInterpreterCustomization> {
    let rule = |script: &str| {
        (!script.is_empty()).then(|| LuaRule {
            lua_script: script.to_owned(),
        })
    };
    Arc::new(ResourceInterpreterCustomization::new(
        name,
        ResourceInterpreterCustomizationSpec {
            target: CustomizationTarget {
                api_version: "apps.example.com/v1".to_owned(),
                kind: kind.to_owned(),
            },
            customizations: CustomizationRules {
                health_interpretation: rule(health),
                dependency_interpretation: rule(dependencies),
                ..CustomizationRules::default()
            },
        },
    ))
}

fn names(rules: &Rules, kind: &str, operation: Operation) -> Vec<String> {
    let found = rules.find("apps.example.com/v1", kind, operation);
    found.iter().map(|rule| rule.customization.clone()).collect()
}

#[test]
fn of_two_the_first_by_name_counts_and_the_other_is_told() {
    let all = [customization("b", "Set", "2", ""), customization("a", "Set", "1", "")];
    let (rules, shadowed) = Rules::of(&all, &Rules::default());
    assert_eq!(names(&rules, "Set", Operation::HealthInterpretation), ["a"]);
    assert_eq!(shadowed.len(), 1);
    assert_eq!(
        (shadowed[0].customization.as_str(), shadowed[0].by.as_str()),
        ("b", "a")
    );
    assert_eq!(names(&rules, "Other", Operation::HealthInterpretation), [""; 0]);
}

#[test]
fn dependencies_add_up() {
    let all = [customization("b", "Set", "", "2"), customization("a", "Set", "", "1")];
    let (rules, shadowed) = Rules::of(&all, &Rules::default());
    assert_eq!(names(&rules, "Set", Operation::DependencyInterpretation), ["a", "b"]);
    assert_eq!(shadowed, []);
}

#[test]
fn an_empty_script_is_none() {
    let (rules, shadowed) = Rules::of(
        &[customization("a", "Set", "", ""), customization("b", "Set", "2", "")],
        &Rules::default(),
    );
    assert_eq!(names(&rules, "Set", Operation::HealthInterpretation), ["b"]);
    assert_eq!(shadowed, []);
}

#[test]
fn only_kinds_whose_scripts_changed_are_told_and_the_others_keep_their_machines() {
    let of = |set: &str, other: &str, before: &Rules| {
        Rules::of(
            &[
                customization("a", "Set", set, ""),
                customization("b", "Other", other, ""),
            ],
            before,
        )
        .0
    };
    let first = of("1", "1", &Rules::default());
    let kinds = |changed: BTreeSet<KindName>| changed.into_iter().map(|name| name.kind).collect::<Vec<_>>();
    assert_eq!(kinds(first.changed_since(&Rules::default())), ["Other", "Set"]);
    let same = of("1", "1", &first);
    assert_eq!(kinds(same.changed_since(&first)), [""; 0]);
    let second = of("2", "1", &first);
    assert_eq!(kinds(second.changed_since(&first)), ["Set"]);
    assert_eq!(kinds(Rules::default().changed_since(&second)), ["Other", "Set"]);
}

proptest! {
    #[test]
    fn the_order_of_reading_does_not_count(scripts in prop::collection::vec(("[a-d]", "[xyz]?", "[xyz]?"), 1..6).prop_shuffle()) {
        // One name, one object.
        let unique: BTreeMap<_, _> = scripts.iter().map(|(name, health, deps)| (name.clone(), (health.clone(), deps.clone()))).collect();
        let make = |reversed: bool| {
            let mut all: Vec<_> = unique.iter().map(|(name, (health, deps))| customization(name, "Set", health, deps)).collect();
            if reversed {
                all.reverse();
            }
            let (rules, shadowed) = Rules::of(&all, &Rules::default());
            let of = |operation| names(&rules, "Set", operation);
            (of(Operation::HealthInterpretation), of(Operation::DependencyInterpretation), shadowed)
        };
        prop_assert_eq!(make(false), make(true));
    }
}
