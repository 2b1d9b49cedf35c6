//! A stock Karmada as its Deployments on the host cluster say: which programs, of which version, with which arguments. Pure.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::apps::v1::Deployment;

use crate::versions::minor_version;

/// A program of stock's that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// karmada-controller-manager.
    ControllerManager,
    /// karmada-scheduler.
    Scheduler,
    /// karmada-webhook.
    Webhook,
}

impl Program {
    const ALL: [Self; 3] = [Self::ControllerManager, Self::Scheduler, Self::Webhook];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ControllerManager => "karmada-controller-manager",
            Self::Scheduler => "karmada-scheduler",
            Self::Webhook => "karmada-webhook",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One of them as it is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// NAMESPACE/NAME of its Deployment.
    pub deployment: String,
    /// The image's tag, as in `v1.17.2`.
    pub tag: Option<String>,
    /// What follows the program's name.
    pub args: Vec<String>,
    /// How many are wanted.
    pub replicas: i32,
}

/// A stock Karmada.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    programs: BTreeMap<Program, Deployed>,
}

impl Stock {
    /// What these Deployments say.
    #[must_use]
    pub fn of(deployments: &[Deployment]) -> Self {
        let mut programs = BTreeMap::new();
        for deployment in deployments {
            if let Some((program, deployed)) = deployed(deployment) {
                // Of two the one that runs counts.
                let known = programs
                    .get(&program)
                    .is_some_and(|known: &Deployed| known.replicas > 0);
                if !known {
                    programs.insert(program, deployed);
                }
            }
        }
        Self { programs }
    }

    /// The Deployment of a program.
    #[must_use]
    pub fn program(&self, program: Program) -> Option<&Deployed> {
        self.programs.get(&program)
    }

    /// All of them.
    pub fn programs(&self) -> impl Iterator<Item = (Program, &Deployed)> {
        self.programs.iter().map(|(program, deployed)| (*program, deployed))
    }
}

/// By the image or the command, whatever the release is called.
fn deployed(deployment: &Deployment) -> Option<(Program, Deployed)> {
    let spec = &deployment.spec;
    let containers = &spec.template.spec.as_ref()?.containers;
    containers.iter().find_map(|container| {
        let image = container.image.as_deref().unwrap_or_default();
        let image = image.split('@').next().unwrap_or_default();
        let last = image.rsplit('/').next().unwrap_or_default();
        let (repository, tag) = match last.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.to_owned())),
            None => (last, None),
        };
        let command = container.command.as_deref().unwrap_or_default();
        let started = command.first().map(|word| word.rsplit('/').next().unwrap_or_default());
        let program = Program::ALL
            .into_iter()
            .find(|program| repository == program.name() || started == Some(program.name()))?;
        let args = container.args.as_deref().unwrap_or_default();
        let deployed = Deployed {
            deployment: format!(
                "{}/{}",
                deployment.metadata.namespace.as_deref().unwrap_or_default(),
                deployment.metadata.name.as_deref().unwrap_or_default()
            ),
            tag,
            args: command.iter().skip(1).chain(args).cloned().collect(),
            replicas: spec.replicas.unwrap_or(1),
        };
        Some((program, deployed))
    })
}

impl Deployed {
    /// Every value of a flag, in their order. As stock reads them, the word after a flag without `=` is its value.
    fn values(&self, name: &str) -> Vec<&str> {
        let mut found = Vec::new();
        let mut words = self.args.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let rest = word.strip_prefix("--").and_then(|word| word.strip_prefix(name));
            match rest.map(|rest| (rest.strip_prefix('='), rest)) {
                Some((Some(value), _)) => found.push(value),
                Some((None, "")) => found.extend(words.next()),
                Some(_) | None => {}
            }
        }
        found
    }

    /// Whether a switch is on, which takes no word after it; nothing when the arguments do not say.
    #[must_use]
    pub fn switch(&self, name: &str) -> Option<bool> {
        let said = self.args.iter().rev();
        let mut said = said.filter_map(|word| word.strip_prefix("--")?.strip_prefix(name));
        // The last one counts.
        let said = said.find(|rest| rest.is_empty() || rest.starts_with('='));
        said.and_then(|rest| match rest.strip_prefix('=') {
            None => Some(true),
            Some(value) => parse_bool(value),
        })
    }

    /// How a feature gate stands, by itself or with all of its stage; nothing when the arguments do not say.
    #[must_use]
    pub fn gate(&self, name: &str) -> Option<bool> {
        let gates = self.values("feature-gates");
        let said = |name: &str| {
            let said = gates.iter().flat_map(|list| list.split(','));
            let mut said = said.filter_map(|gate| gate.split_once('=')).rev();
            parse_bool(said.find(|(gate, _)| gate.trim() == name)?.1.trim())
        };
        let stage = STAGES.iter().find(|(gate, _)| *gate == name).map(|(_, stage)| *stage);
        said(name).or_else(|| said(stage?))
    }

    /// Whether a list like `*,-foo` has `item` on, where `*` stands for what is on by default, as `item` is: the first that
    /// names it wins.
    #[must_use]
    pub fn list_has(&self, flag: &str, item: &str) -> bool {
        let lists = self.values(flag);
        if lists.is_empty() {
            return true;
        }
        let mut every = false;
        for word in lists.iter().flat_map(|list| list.split(',')).map(str::trim) {
            if word == item {
                return true;
            }
            if word.strip_prefix('-') == Some(item) {
                return false;
            }
            every |= word == "*";
        }
        every
    }

    /// Major and minor version, if the image's tag says one.
    #[must_use]
    pub fn version(&self) -> Option<(u32, u32)> {
        minor_version(self.tag.as_deref()?)
    }
}

/// Gates that matter here, and what switches all of their stage that are not named themselves.
const STAGES: [(&str, &str); 2] = [("Failover", "AllBeta"), ("StatefulFailoverInjection", "AllAlpha")];

/// As Go's `strconv.ParseBool` reads it, by which stock reads its flags and gates.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn with_args(args: &[&str]) -> Deployed {
        Deployed {
            deployment: "karmada-system/karmada-controller-manager".to_owned(),
            tag: None,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            replicas: 1,
        }
    }

    #[rstest]
    #[case::not_said(&[], true)]
    #[case::all(&["--controllers=*"], true)]
    #[case::off(&["--controllers=*,-gracefulEviction"], false)]
    #[case::off_in_front(&["--controllers=-gracefulEviction,*"], false)]
    #[case::off_after_on(&["--controllers=gracefulEviction,-gracefulEviction"], true)]
    #[case::two_flags(&["--controllers=*", "--controllers", "-gracefulEviction"], false)]
    #[case::only_others(&["--controllers=binding"], false)]
    #[case::another_name(&["--controllers=*,-gracefulEvictionToo"], true)]
    fn lists_as_stock_reads_them(#[case] args: &[&str], #[case] on: bool) {
        assert_eq!(with_args(args).list_has("controllers", "gracefulEviction"), on);
    }

    #[test]
    fn flags_and_gates() {
        let deployed = with_args(&[
            "--v=4",
            "--feature-gates=Failover=true,A=false",
            "--enable",
            "--feature-gates",
            "Failover=false",
        ]);
        assert_eq!(deployed.gate("Failover"), Some(false), "the last one counts");
        assert_eq!(deployed.gate("A"), Some(false));
        assert_eq!(deployed.gate("B"), None);
        assert_eq!(deployed.switch("enable"), Some(true));
        assert_eq!(deployed.switch("other"), None);
    }

    #[rstest]
    #[case::python(&["--feature-gates=Failover=True"], Some(true))]
    #[case::short(&["--feature-gates=Failover=t"], Some(true))]
    #[case::number(&["--feature-gates=Failover=0"], Some(false))]
    #[case::stage(&["--feature-gates=AllBeta=true"], Some(true))]
    #[case::named_before_stage(&["--feature-gates=AllBeta=true,Failover=F"], Some(false))]
    #[case::another_stage(&["--feature-gates=AllAlpha=true"], None)]
    #[case::no_word_of_theirs(&["--feature-gates=Failover=on"], None)]
    fn gates_as_stock_reads_them(#[case] args: &[&str], #[case] expected: Option<bool>) {
        assert_eq!(with_args(args).gate("Failover"), expected);
    }

    #[rstest]
    #[case("--allow=True", Some(true))]
    #[case("--allow", Some(true))]
    #[case("--allow=f", Some(false))]
    #[case("--allow=yes", None)]
    fn switches_as_stock_reads_them(#[case] arg: &str, #[case] expected: Option<bool>) {
        assert_eq!(with_args(&[arg]).switch("allow"), expected);
    }

    #[test]
    fn programs_are_known_by_image_or_command() {
        let deployment = |name: &str, image: &str, command: &[&str]| -> Deployment {
            serde_json::from_value(json!({
                "metadata": {"name": name, "namespace": "karmada-system"},
                "spec": {"selector": {}, "template": {"spec": {"containers": [{
                    "name": "c", "image": image, "command": command,
                }]}}},
            }))
            .unwrap()
        };
        let stock = Stock::of(&[
            deployment(
                "kube-controller-manager",
                "registry.k8s.io/kube-controller-manager:v1.31.0",
                &["kube-controller-manager"],
            ),
            deployment(
                "x-controller-manager",
                "registry:5000/karmada-controller-manager:v1.18.0@sha256:00",
                &["/bin/a", "--v=2"],
            ),
            deployment(
                "x-scheduler",
                "mirror/some-image",
                &["/bin/karmada-scheduler", "--plugins=*"],
            ),
        ]);
        let manager = stock.program(Program::ControllerManager).unwrap();
        assert_eq!(manager.deployment, "karmada-system/x-controller-manager");
        assert_eq!(manager.version(), Some((1, 18)));
        assert_eq!(manager.args, ["--v=2"]);
        assert_eq!(stock.program(Program::Scheduler).unwrap().version(), None);
        assert_eq!(stock.program(Program::Webhook), None);
    }
}
