//! What the checks look at, asked for. What cannot be seen is part of the answer, and why; only a server that does not answer
//! at all, or does not know who asks, is an error.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use api_types::policy::{Policy, PolicyKind};
use api_types::second_home::{self, Unreadable};
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::api_errors;
use failover_core::second_owner::{Job, is_stocks_event};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::client::Body;
use kube::core::{ApiResource, Status};
use serde_json::{Value, json};

use super::facts::{Facts, Right, Seen, Stage, StockEvent, Trial};
use super::granted;
use super::rules::{KINDS, http_date};
use super::stock::Stock;
use crate::cli::{CheckArgs, Target};
use crate::control_plane::{ControlPlane, each_page};
use crate::controllers::Mode;
use crate::failure::{Failure, is_forbidden};
use crate::host::DeploymentsNotListed;
use crate::queue::Queue;
use crate::run::Surroundings;

/// Reviews at once.
const AT_ONCE: usize = 8;
const OF_A_DUMP: &str = "a dump does not tell";

/// Gathers.
///
/// # Errors
/// The API server does not answer.
pub async fn gather(
    control_plane: &ControlPlane,
    queue: Result<Queue, Failure>,
    args: &CheckArgs,
    target: &Target,
    around: &Surroundings,
) -> Result<Facts, Failure> {
    let stage = if args.before_install {
        Stage::BeforeInstall
    } else {
        Stage::Installed
    };
    let is_dump = target.from.is_some();
    let mode = control_plane.mode().await?;
    let meant = args.mode.map(Mode::from);
    let served = match is_dump {
        true => Err(OF_A_DUMP.to_owned()),
        false => served(control_plane).await?,
    };
    let schemas = schemas(control_plane, &served).await;
    let beside = meant.unwrap_or(mode) != Mode::Standalone;
    Ok(Facts {
        stage,
        now: around.clock.now(),
        meant,
        mode,
        system_namespace: control_plane.system_namespace().to_owned(),
        server_time: match is_dump {
            true => Err(OF_A_DUMP.to_owned()),
            false => server_time(control_plane).await,
        },
        no_execute_policy: match is_dump {
            true => Err(OF_A_DUMP.to_owned()),
            false => trial(control_plane).await,
        },
        unreadable: unreadable(control_plane).await,
        schemas,
        served,
        leases: control_plane.leases().await.map_err(|failure| failure.one_line()),
        stock_events: match beside && stage == Stage::Installed {
            true => stock_events(control_plane).await,
            false => Ok(Vec::new()),
        },
        policies: policies(control_plane).await,
        way_to_queue_named: target.queue_address.is_some() || around.host(target).await?.is_some(),
        stock: match beside {
            true => stock(target, around).await?,
            false => Ok(Stock::default()),
        },
        queue: match (queue, stage) {
            (Ok(mut queue), Stage::Installed) => queue.status().await.map_err(|failure| failure.one_line()),
            (Err(failure), _) => Err(failure.one_line()),
            (_, Stage::BeforeInstall) => Err("nothing of ours is installed yet".to_owned()),
        },
        rights: match is_dump {
            true => Err(OF_A_DUMP.to_owned()),
            false => rights(control_plane).await,
        },
    })
}

fn unseen(error: &kube::Error) -> String {
    let why = api_errors::one_line(error);
    if is_forbidden(error) {
        format!("the API server refuses: {why}")
    } else {
        why
    }
}

async fn served(control_plane: &ControlPlane) -> Result<Seen<BTreeMap<String, Vec<String>>>, Failure> {
    let client = control_plane.client();
    let groups = match client.list_api_groups().await {
        Ok(groups) => groups.groups,
        Err(error) if is_forbidden(&error) => return Ok(Err(unseen(&error))),
        Err(error) => return Err(Failure::of_api("cannot ask the API server what it serves", &error)),
    };
    let of_interest = |name: &str| {
        let group = |(version, _): &(&'static str, &str)| version.split('/').next();
        KINDS.iter().any(|kind| group(kind) == Some(name))
    };
    let mut found = BTreeMap::new();
    for group in groups.iter().filter(|group| of_interest(&group.name)) {
        for version in &group.versions {
            let version = &version.group_version;
            let kinds = match client.list_api_group_resources(version).await {
                Ok(list) => list.resources.into_iter().map(|resource| resource.kind).collect(),
                // An aggregated API server that is down: its group is there and answers nothing.
                Err(error) => {
                    return Ok(Err(format!(
                        "{version} does not answer: {}",
                        api_errors::one_line(&error)
                    )));
                }
            };
            found.insert(version.clone(), kinds);
        }
    }
    Ok(Ok(found))
}

/// The OpenAPI documents of the groups that are served and have fields of ours.
async fn schemas(
    control_plane: &ControlPlane,
    served: &Seen<BTreeMap<String, Vec<String>>>,
) -> BTreeMap<String, Seen<Value>> {
    let mut found = BTreeMap::new();
    let mut wanted: Vec<&str> = KINDS.iter().map(|(version, _)| *version).collect();
    wanted.dedup();
    for version in wanted {
        let answer = match served {
            Err(why) => Err(why.clone()),
            Ok(served) if !served.contains_key(version) => continue,
            Ok(_) => {
                let request = http::Request::get(format!("/openapi/v3/apis/{version}")).body(Vec::new());
                match request {
                    Ok(request) => control_plane
                        .client()
                        .request::<Value>(request)
                        .await
                        .map_err(|error| unseen(&error)),
                    Err(error) => Err(error.to_string()),
                }
            }
        };
        found.insert(version.to_owned(), answer);
    }
    found
}

async fn server_time(control_plane: &ControlPlane) -> Seen<Timestamp> {
    let request = http::Request::get("/version")
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    let answer = control_plane
        .client()
        .send(request)
        .await
        .map_err(|error| unseen(&error))?;
    let date = answer
        .headers()
        .get(http::header::DATE)
        .and_then(|date| date.to_str().ok());
    date.and_then(http_date)
        .ok_or_else(|| "the API server's answers say no time".to_owned())
}

/// Asks whether a ClusterTaintPolicy in stock's form with effect NoExecute would be admitted. Nothing is made.
async fn trial(control_plane: &ControlPlane) -> Seen<Trial> {
    let resource = ApiResource {
        group: "policy.karmada.io".to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: "policy.karmada.io/v1alpha1".to_owned(),
        kind: "ClusterTaintPolicy".to_owned(),
        plural: "clustertaintpolicies".to_owned(),
    };
    let policy = json!({
        "apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "failoverctl-check"},
        "spec": {
            "targetClusters": {"clusterNames": ["failoverctl-check"]},
            "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
            "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
            "taints": [{"key": "failover.karmada.io/check", "effect": "NoExecute"}],
        },
    });
    let policy: DynamicObject = serde_json::from_value(policy).map_err(|error| error.to_string())?;
    let api: Api<DynamicObject> = Api::all_with(control_plane.client(), &resource);
    let only_try = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match api.create(&only_try, &policy).await {
        Ok(_) => Ok(Trial::Taken),
        Err(kube::Error::Api(status)) if is_refusal(&status) => Ok(Trial::Refused(status.message.clone())),
        Err(error) if api_errors::is_not_found(&error) => Err("ClusterTaintPolicies are not served yet".to_owned()),
        Err(error) if is_forbidden(&error) => {
            Err("this user may not create clustertaintpolicies, not even for a trial".to_owned())
        }
        Err(error) => Err(format!("the trial came to nothing: {}", unseen(&error))),
    }
}

/// A webhook may refuse with any code, and the API server says that it did so; one that does not answer refuses nothing.
fn is_refusal(status: &Status) -> bool {
    status.code == 422 || status.message.contains("denied the request")
}

async fn stock_events(control_plane: &ControlPlane) -> Seen<Vec<StockEvent>> {
    let api = Api::<Event>::all(control_plane.client());
    let mut found = Vec::new();
    let read = each_page(
        ListParams::default(),
        async |params| api.list(params).await,
        |page: Vec<Event>| {
            found.extend(page.iter().filter_map(of_stock));
            ControlFlow::Continue(())
        },
    );
    read.await.map_err(|error| unseen(&error))?;
    Ok(found)
}

fn of_stock(event: &Event) -> Option<StockEvent> {
    let source = event.source.as_ref().and_then(|source| source.component.clone());
    let source = source.or_else(|| event.reporting_component.clone())?;
    let is_of_ours = Job::ALL.iter().any(|job| job.sources().contains(&source.as_str()));
    let of_series = event
        .series
        .as_ref()
        .and_then(|series| series.last_observed_time.as_ref());
    let at = of_series.map(|time| time.0);
    let at = at.or_else(|| event.last_timestamp.as_ref().map(|time| time.0));
    let at = at.or_else(|| event.event_time.as_ref().map(|time| time.0))?;
    let is_stocks = is_stocks_event(event.reporting_instance.as_deref(), at, Timestamp::MIN);
    (is_of_ours && is_stocks).then_some(())?;
    let about = &event.involved_object;
    let kind = about.kind.clone().unwrap_or_default();
    let name = about.name.clone().unwrap_or_default();
    let about = match about.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    };
    Some(StockEvent { source, about, at })
}

/// What annotations of ours on Clusters and policies cannot be read.
async fn unreadable(control_plane: &ControlPlane) -> Seen<Vec<String>> {
    let mut found = Vec::new();
    let mut add = |object: String, complaint: Option<Unreadable>| {
        found.extend(complaint.map(|complaint| format!("{object}: {complaint}")));
    };
    for cluster in control_plane.clusters().await.map_err(|failure| failure.one_line())? {
        add(
            format!("Cluster {}", cluster.cluster_name()),
            second_home::cluster::complaint(&cluster),
        );
    }
    for policy in policies(control_plane).await? {
        let name = policy.metadata.name.clone().unwrap_or_default();
        add(
            format!("ClusterTaintPolicy {name}"),
            second_home::taint_policy::complaint(&policy),
        );
    }
    for kind in [PolicyKind::Namespaced, PolicyKind::Cluster] {
        let api = Api::<Policy>::all_with(control_plane.client(), &kind);
        let read = each_page(
            ListParams::default(),
            async |params| api.list(params).await,
            |page: Vec<Policy>| {
                for policy in &page {
                    let name = policy.metadata.name.as_deref().unwrap_or_default();
                    let object = match policy.metadata.namespace.as_deref() {
                        Some(namespace) => format!("PropagationPolicy {namespace}/{name}"),
                        None => format!("ClusterPropagationPolicy {name}"),
                    };
                    add(object, second_home::failover::complaint(policy));
                }
                ControlFlow::Continue(())
            },
        );
        match read.await {
            Err(error) if !api_errors::is_not_found(&error) => return Err(unseen(&error)),
            _ => {}
        }
    }
    Ok(found)
}

async fn policies(control_plane: &ControlPlane) -> Seen<Vec<ClusterTaintPolicy>> {
    let listed = control_plane.taint_policies_if_served().await;
    listed.map_err(|failure| failure.one_line())
}

/// The Deployments of stock, on the cluster that it runs on. A host that was named and does not answer, or does not know the
/// user, is an error; a user who may not list Deployments there sees the rest.
async fn stock(target: &Target, around: &Surroundings) -> Result<Seen<Stock>, Failure> {
    let Some(host) = around.host(target).await? else {
        let why = "stock's arguments stand on its host cluster: give --host-kubeconfig or --host-context";
        return Ok(Err(why.to_owned()));
    };
    match host.deployments().await {
        Ok(deployments) => Ok(Ok(Stock::of(&deployments))),
        Err(DeploymentsNotListed::Forbidden(failure)) => Ok(Err(failure.one_line())),
        Err(DeploymentsNotListed::Failed(failure)) => Err(failure),
    }
}

async fn rights(control_plane: &ControlPlane) -> Seen<Vec<Right>> {
    let wanted = granted::wanted(control_plane.system_namespace())?;
    let reviews = stream::iter(wanted.into_iter().map(|wanted| review(control_plane, wanted)));
    let answers: Vec<Seen<Right>> = reviews.buffered(AT_ONCE).collect().await;
    answers.into_iter().collect()
}

async fn review(control_plane: &ControlPlane, wanted: granted::Wanted) -> Seen<Right> {
    let api = Api::<SelfSubjectAccessReview>::all(control_plane.client());
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(wanted.group.clone()),
                resource: Some(wanted.resource.clone()),
                verb: Some(wanted.verb.clone()),
                namespace: wanted.namespace.clone(),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let answer = api
        .create(&PostParams::default(), &review)
        .await
        .map_err(|error| unseen(&error))?;
    Ok(Right {
        allowed: answer.status.is_some_and(|status| status.allowed),
        what: wanted.in_words(),
        verb: wanted.verb,
        to_change: wanted.to_change,
    })
}
