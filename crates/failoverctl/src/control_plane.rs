//! What is asked of the API server by several commands: reads only.

use std::ops::ControlFlow;

use api_types::cluster::Cluster;
use api_types::policy::{Policy, PolicyKind};
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind, BindingSnapshot};
use api_types::{BindingKey, ClusterName};
use controller_kit::api_errors;
use controller_kit::{RequiredKind, connect, require_kinds};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Namespace};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::api::{Api, ListParams, ObjectList};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use api_types::names::namespace::{CLUSTER as CLUSTER_LEASES, CLUSTER_SCOPED_EVENTS};

use crate::cli::Target;
use crate::controllers::Mode;
use crate::failure::{ExitStatus, Failure, is_forbidden};

/// Objects a page; the server holds one page in memory at a time.
const PAGE: u32 = 500;
/// By this APIService a stock Karmada serves Clusters itself.
pub(crate) const CLUSTER_API_SERVICE: &str = "v1alpha1.cluster.karmada.io";
/// How many bindings an error proposes.
const PROPOSALS: usize = 5;

/// The API server of the control plane.
#[derive(Clone)]
pub struct ControlPlane {
    client: Client,
    system_namespace: String,
}

impl ControlPlane {
    /// Finds the API server. Whether it answers is found out by the first question.
    ///
    /// # Errors
    /// The kubeconfig is wrong or there is none.
    pub async fn find(target: &Target) -> Result<Self, Failure> {
        let config = connect::find_config(target.kubeconfig.as_deref(), target.context.as_deref()).await?;
        let client = connect::connect(config, target.request_timeout())?;
        Ok(Self::new(client, &target.system_namespace))
    }

    /// An API server that is found already.
    #[must_use]
    pub fn new(client: Client, system_namespace: &str) -> Self {
        Self {
            client,
            system_namespace: system_namespace.to_owned(),
        }
    }

    /// For what only one command asks.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Namespace of the Leases.
    #[must_use]
    pub fn system_namespace(&self) -> &str {
        &self.system_namespace
    }

    /// Asks whether the server has the kinds that every command reads.
    ///
    /// # Errors
    /// It has not, or cannot be reached.
    pub async fn require_our_kinds(&self) -> Result<(), Failure> {
        let kinds = [
            RequiredKind::of::<Cluster>(),
            RequiredKind::with::<Binding>(&BindingKind::Namespaced),
            RequiredKind::with::<Binding>(&BindingKind::Cluster),
        ];
        Ok(require_kinds(&self.client, &kinds).await?)
    }

    /// All Clusters, by name.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn clusters(&self) -> Result<Vec<Cluster>, Failure> {
        let mut clusters = all(
            &Api::<Cluster>::all(self.client.clone()),
            ListParams::default(),
            "clusters",
        )
        .await?;
        clusters.sort_by_key(Cluster::cluster_name);
        Ok(clusters)
    }

    /// The names of the Clusters; nothing when we may not ask, or the server does not serve them.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn cluster_names(&self) -> Result<Option<Vec<String>>, Failure> {
        names(&Api::<Cluster>::all(self.client.clone()), "clusters").await
    }

    /// The namespaces of the control plane; nothing when we may not ask.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn namespaces(&self) -> Result<Option<Vec<String>>, Failure> {
        names(&Api::<Namespace>::all(self.client.clone()), "namespaces").await
    }

    /// Asks whether the server has ClusterTaintPolicies.
    ///
    /// # Errors
    /// It has not, or cannot be reached.
    pub async fn require_taint_policies(&self) -> Result<(), Failure> {
        Ok(require_kinds(&self.client, &[RequiredKind::of::<ClusterTaintPolicy>()]).await?)
    }

    /// The Cluster of this name.
    ///
    /// # Errors
    /// It is not there (the failure names those that are), or cannot be read.
    pub async fn cluster(&self, name: &str) -> Result<Cluster, Failure> {
        let api = Api::<Cluster>::all(self.client.clone());
        match api.get_opt(name).await {
            Ok(Some(cluster)) => Ok(cluster),
            Ok(None) => {
                let known = self.clusters().await.unwrap_or_default();
                let known = known.iter().map(|cluster| cluster.cluster_name().to_string());
                Err(no_such("Cluster", name, "clusters", known.collect()))
            }
            Err(error) => Err(Failure::of_api(&format!("cannot read Cluster {name}"), &error)),
        }
    }

    /// The Cluster of this name, for a command that wants `what` of it.
    ///
    /// # Errors
    /// It is not there (the failure names those that are), or cannot be read.
    pub async fn cluster_to(&self, what: &str, name: &str) -> Result<Cluster, Failure> {
        let api = Api::<Cluster>::all(self.client.clone());
        match api.get_opt(name).await {
            Ok(Some(cluster)) => Ok(cluster),
            Ok(None) => {
                let known = self.clusters().await.unwrap_or_default();
                let known = known.iter().map(|cluster| cluster.cluster_name().to_string());
                Err(Failure::new(
                    ExitStatus::Problem,
                    format!("cannot {what}"),
                    format!("there is no Cluster {name}"),
                    others(name, "clusters", known.collect()),
                ))
            }
            Err(error) => Err(Failure::of_api(&format!("cannot read Cluster {name}"), &error)),
        }
    }

    /// All ClusterTaintPolicies, by name.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn taint_policies(&self) -> Result<Vec<ClusterTaintPolicy>, Failure> {
        let api = Api::<ClusterTaintPolicy>::all(self.client.clone());
        let mut policies = all(&api, ListParams::default(), "clustertaintpolicies").await?;
        policies.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(policies)
    }

    /// The same; none where the server does not have the kind.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn taint_policies_if_served(&self) -> Result<Vec<ClusterTaintPolicy>, Failure> {
        let api = Api::<ClusterTaintPolicy>::all(self.client.clone());
        match collected(&api, ListParams::default(), |_| true).await {
            Ok(policies) => Ok(policies),
            Err(error) if api_errors::is_not_found(&error) => Ok(Vec::new()),
            Err(error) => Err(Failure::of_api("cannot list clustertaintpolicies", &error)),
        }
    }

    /// Whether any PropagationPolicy of either kind has failover.cluster; nothing when there is none at all, or we may
    /// not ask.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn somebody_opted_in(&self) -> Result<Option<bool>, Failure> {
        let mut found = None;
        for kind in [PolicyKind::Namespaced, PolicyKind::Cluster] {
            let api = Api::<Policy>::all_with(self.client.clone(), &kind);
            let opted_in = |policy: &Policy| {
                let failover = policy.spec.failover.as_ref();
                failover.is_some_and(|failover| failover.cluster.is_some())
            };
            let read = each_page(
                ListParams::default(),
                async |params| api.list(params).await,
                |policies| {
                    for policy in &policies {
                        found = Some(opted_in(policy));
                        if found == Some(true) {
                            return ControlFlow::Break(());
                        }
                    }
                    ControlFlow::Continue(())
                },
            );
            match read.await {
                Ok(()) if found == Some(true) => break,
                Ok(()) => {}
                Err(error) if is_forbidden(&error) || api_errors::is_not_found(&error) => {}
                Err(error) => {
                    let kind = Policy::plural(&kind);
                    return Err(Failure::of_api(&format!("cannot list {kind}"), &error));
                }
            }
        }
        Ok(found)
    }

    /// The Events that are kept about a Cluster, oldest first. Who may not read them gets none: they are a courtesy.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn cluster_events(&self, name: &str) -> Result<Vec<Event>, Failure> {
        let api = Api::<Event>::namespaced(self.client.clone(), CLUSTER_SCOPED_EVENTS);
        let about = format!("involvedObject.kind=Cluster,involvedObject.name={name}");
        match api.list(&ListParams::default().fields(&about)).await {
            Ok(list) => Ok(list.items),
            Err(error) if is_forbidden(&error) || api_errors::is_not_found(&error) => Ok(Vec::new()),
            Err(error) => Err(Failure::of_api(
                &format!("cannot list events about Cluster {name}"),
                &error,
            )),
        }
    }

    /// The Lease that the agent of a Pull Cluster renews, if there is one and we may read it.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn agent_lease(&self, cluster: &str) -> Result<Option<Lease>, Failure> {
        let api = Api::<Lease>::namespaced(self.client.clone(), CLUSTER_LEASES);
        match api.get_opt(cluster).await {
            Ok(lease) => Ok(lease),
            Err(error) if is_forbidden(&error) => Ok(None),
            Err(error) => Err(Failure::of_api(
                &format!("cannot read Lease {cluster} in namespace {CLUSTER_LEASES}"),
                &error,
            )),
        }
    }

    /// All Leases of the system namespace.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn leases(&self) -> Result<Vec<Lease>, Failure> {
        let api = Api::<Lease>::namespaced(self.client.clone(), &self.system_namespace);
        all(
            &api,
            ListParams::default(),
            &format!("leases in namespace {}", self.system_namespace),
        )
        .await
    }

    /// Whether a stock Karmada is there. Without the right to ask it is unknown, which is no error.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn mode(&self) -> Result<Mode, Failure> {
        match Api::<APIService>::all(self.client.clone())
            .get_opt(CLUSTER_API_SERVICE)
            .await
        {
            Ok(Some(service)) if service.spec.as_ref().is_some_and(|spec| spec.service.is_some()) => Ok(Mode::Beside),
            Ok(_) => Ok(Mode::Standalone),
            // A server without aggregation does not know the kind at all: its answer is a plain 404, no Status.
            Err(error) if api_errors::is_not_found(&error) => Ok(Mode::Standalone),
            Err(error) if is_forbidden(&error) => Ok(Mode::Unknown),
            Err(error) => Err(Failure::of_api(
                &format!("cannot read APIService {CLUSTER_API_SERVICE}"),
                &error,
            )),
        }
    }

    /// The binding of this name.
    ///
    /// # Errors
    /// It is not there (the failure proposes others), or cannot be read.
    pub async fn binding(&self, key: &BindingKey) -> Result<Binding, Failure> {
        let kind = key.kind();
        let shown = Binding::kind(&kind).into_owned();
        match self.bindings(key).get_opt(&key.name).await {
            Ok(Some(binding)) => Ok(binding),
            Ok(None) => Err(Failure::new(
                ExitStatus::Problem,
                format!("cannot explain {shown} {key}"),
                "there is no such object",
                self.proposal(key).await,
            )),
            Err(error) => Err(Failure::of_api(&format!("cannot read {shown} {key}"), &error)),
        }
    }

    /// The bindings of both kinds that have the Cluster in their result. All of them are read, a page at a time.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn bindings_on(&self, cluster: &str) -> Result<Vec<Binding>, Failure> {
        let mut found = Vec::new();
        for kind in [BindingKind::Namespaced, BindingKind::Cluster] {
            let api = Api::<Binding>::all_with(self.client.clone(), &kind);
            let on_it = |binding: &Binding| binding.spec.clusters.iter().any(|target| target.name == cluster);
            found.extend(those(&api, on_it, &Binding::plural(&kind)).await?);
        }
        Ok(found)
    }

    /// The bindings of both kinds that have the Cluster in their result, in a task, or in the result of a binding that needs
    /// them. All of them are read, a page at a time.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn bindings_about(&self, cluster: &ClusterName) -> Result<Vec<Binding>, Failure> {
        let mut found = Vec::new();
        for kind in [BindingKind::Namespaced, BindingKind::Cluster] {
            let api = Api::<Binding>::all_with(self.client.clone(), &kind);
            let about_it = |binding: &Binding| {
                let spec = &binding.spec;
                let needed =
                    |snapshot: &BindingSnapshot| snapshot.clusters.iter().any(|target| target.name == cluster.as_str());
                spec.target(cluster).is_some() || spec.task(cluster).is_some() || spec.required_by.iter().any(needed)
            };
            found.extend(those(&api, about_it, &Binding::plural(&kind)).await?);
        }
        found.sort_by_key(Binding::key);
        Ok(found)
    }

    /// All bindings of both kinds, by name.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn all_bindings(&self) -> Result<Vec<Binding>, Failure> {
        let mut found = Vec::new();
        for kind in [BindingKind::Namespaced, BindingKind::Cluster] {
            let api = Api::<Binding>::all_with(self.client.clone(), &kind);
            found.extend(all(&api, ListParams::default(), &Binding::plural(&kind)).await?);
        }
        found.sort_by_key(Binding::key);
        Ok(found)
    }

    fn bindings(&self, key: &BindingKey) -> Api<Binding> {
        let kind = key.kind();
        match &key.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
            None => Api::all_with(self.client.clone(), &kind),
        }
    }

    /// What somebody who wrote a wrong name may have meant: the template's name, or no namespace.
    async fn proposal(&self, key: &BindingKey) -> String {
        let nearby = match &key.namespace {
            Some(_) => self.bindings(key),
            None => Api::all_with(self.client.clone(), &BindingKind::Namespaced),
        };
        let mut similar: Vec<String> = all(&nearby, ListParams::default(), "bindings")
            .await
            .unwrap_or_default()
            .iter()
            .filter(|binding| {
                let name = binding.metadata.name.as_deref().unwrap_or_default();
                name == key.name
                    || name.starts_with(&format!("{}-", key.name))
                    || binding.spec.resource.name == key.name
            })
            .map(|binding| binding.key().to_string())
            .collect();
        similar.sort();
        similar.truncate(PROPOSALS);
        if similar.is_empty() {
            let list = match &key.namespace {
                Some(namespace) => format!("kubectl get resourcebindings -n {namespace}"),
                None => "kubectl get clusterresourcebindings".to_owned(),
            };
            format!("see what there is: {list}; a binding is named after its template, as in nginx-deployment")
        } else {
            format!("did you mean {}?", similar.join(" or "))
        }
    }
}

/// An object that is not there and cannot be explained; proposes those of a similar name, or names some that are.
pub(crate) fn no_such(kind: &str, name: &str, plural: &str, known: Vec<String>) -> Failure {
    Failure::new(
        ExitStatus::Problem,
        format!("cannot explain {kind} {name}"),
        "there is no such object",
        others(name, plural, known),
    )
}

/// What somebody may have meant who wrote a name that is not there.
pub(crate) fn others(name: &str, plural: &str, mut known: Vec<String>) -> String {
    known.sort();
    let similar: Vec<String> = known
        .iter()
        .filter(|other| other.contains(name) || name.contains(other.as_str()))
        .take(PROPOSALS)
        .cloned()
        .collect();
    match (&similar[..], &known[..]) {
        ([], []) => format!("there is none at all: kubectl get {plural}"),
        ([], known) if known.len() <= PROPOSALS => format!("choose one of those that there are: {}", known.join(", ")),
        ([], _) => format!("see what there is: kubectl get {plural}"),
        (similar, _) => format!("did you mean {}?", similar.join(" or ")),
    }
}

async fn all<K>(api: &Api<K>, params: ListParams, what: &str) -> Result<Vec<K>, Failure>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    pages(api, params, |_| true, what).await
}

/// Those that are wanted, without holding the others in memory together.
async fn those<K>(api: &Api<K>, wanted: impl Fn(&K) -> bool, what: &str) -> Result<Vec<K>, Failure>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    pages(api, ListParams::default(), wanted, what).await
}

async fn pages<K>(api: &Api<K>, params: ListParams, wanted: impl Fn(&K) -> bool, what: &str) -> Result<Vec<K>, Failure>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    collected(api, params, wanted)
        .await
        .map_err(|error| Failure::of_api(&format!("cannot list {what}"), &error))
}

/// All objects of a kind that only some commands need.
///
/// # Errors
/// They cannot be listed; where the kind is not served, that is said. `needed` is what to do about missing rights.
pub(crate) async fn all_of<K>(api: &Api<K>, kind: &str, what: &str, needed: &str) -> Result<Vec<K>, Failure>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let read = collected(api, ListParams::default(), |_| true).await;
    read.map_err(|error| {
        if api_errors::is_not_found(&error) {
            Failure::kind_not_served(kind)
        } else {
            Failure::of_api_needing(&format!("cannot list {what}"), &error, needed)
        }
    })
}

/// The names of all objects of a kind; nothing when we may not ask, or the server does not serve it.
async fn names<K>(api: &Api<K>, what: &str) -> Result<Option<Vec<String>>, Failure>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let mut names = Vec::new();
    let read = each_page(
        ListParams::default(),
        async |params| api.list_metadata(params).await,
        |page| {
            names.extend(page.into_iter().filter_map(|item| item.metadata.name));
            ControlFlow::Continue(())
        },
    );
    match read.await {
        Ok(()) => Ok(Some(names)),
        Err(error) if is_forbidden(&error) || api_errors::is_not_found(&error) => Ok(None),
        Err(error) => Err(Failure::of_api(&format!("cannot list {what}"), &error)),
    }
}

async fn collected<K>(api: &Api<K>, params: ListParams, wanted: impl Fn(&K) -> bool) -> kube::Result<Vec<K>>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let mut items = Vec::new();
    let take = |page: Vec<K>| {
        items.extend(page.into_iter().filter(&wanted));
        ControlFlow::Continue(())
    };
    each_page(params, async |params| api.list(params).await, take).await?;
    Ok(items)
}

/// Reads a list page by page, until `take` has enough.
pub(crate) async fn each_page<T: Clone>(
    params: ListParams,
    ask: impl AsyncFn(&ListParams) -> kube::Result<ObjectList<T>>,
    mut take: impl FnMut(Vec<T>) -> ControlFlow<()>,
) -> kube::Result<()> {
    let mut params = params.limit(PAGE);
    loop {
        let page = ask(&params).await?;
        let next = page.metadata.continue_.filter(|token| !token.is_empty());
        match (take(page.items), next) {
            (ControlFlow::Continue(()), Some(token)) => params = params.continue_token(&token),
            _ => return Ok(()),
        }
    }
}
