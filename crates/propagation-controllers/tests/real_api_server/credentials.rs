//! How a member is reached: its address, its Secret, its certificate, a proxy. What is wrong is said in the words of whom
//! it was said by, other members go on, and what is mended is used at once.

use std::time::Duration;

use e2e_harness::{Identity, Member};
use serde_json::{Value, json};

use crate::identity::{Bound, Id};
use crate::proxy::Proxy;
use crate::world::{World, config, merge_into};

/// What is mended in a Secret or a Cluster is used so soon, on a machine that does much else.
const AT_ONCE: Duration = Duration::from_secs(20);

pub async fn the_road_to_a_member(world: &World) {
    let road = Road {
        world,
        member: &world.members[1],
        probe: world.on_both(config("credentials", "probe", "0"), json!({}), 0).await,
    };
    road.a_token_that_counts_no_more().await;
    road.a_token_with_few_rights().await;
    road.a_certificate_of_somebody_else().await;
    road.an_impersonator_s_token_is_not_asked_with().await;
    road.a_token_that_acts_for_somebody_else().await;
    road.through_a_proxy().await;
}

/// To m2, with an object that shows whether it is open.
struct Road<'a> {
    world: &'a World,
    member: &'a Member,
    probe: Bound,
}

impl Road<'_> {
    /// Gives the template a value of its own.
    async fn change(&self, value: &str) {
        self.world
            .plane
            .merge(&self.probe.template, json!({"data": {"k": value}}))
            .await;
    }

    /// m1 has the value at once, whatever is the matter with m2; m2 says so in these words.
    async fn is_closed(&self, value: &str, words: &str) {
        self.change(value).await;
        let (world, probe) = (self.world, &self.probe);
        let others = world
            .m1
            .until(&probe.template, "follows", |copy| copy["data"]["k"] == value);
        tokio::time::timeout(AT_ONCE, others)
            .await
            .expect("another member waits");
        let work = world.refused(probe, "m2", words).await;
        assert_eq!(work["spec"]["workload"]["manifests"][0]["data"]["k"], value);
        let told = |item: &Value| item["appliedMessage"].as_str().is_some_and(|text| text.contains(words));
        world.item(probe, "m2", words, told).await;
    }

    async fn is_open(&self, value: &str) {
        let (world, probe) = (self.world, &self.probe);
        let follows = async {
            world
                .m2
                .until(&probe.template, &format!("has {value}"), |copy| {
                    copy["data"]["k"] == value
                })
                .await;
            world.applied(probe, "m2").await;
        };
        tokio::time::timeout(AT_ONCE, follows)
            .await
            .expect("what is mended is used at once");
    }

    async fn secret(&self, key: &str, value: &str) {
        let patch = json!({"stringData": {key: value}});
        self.world.plane.merge(&Id::credentials("m2"), patch).await;
    }

    async fn cluster(&self, spec: Value) {
        self.world.plane.merge(&Id::cluster("m2"), json!({"spec": spec})).await;
    }

    fn own_token(&self) -> &str {
        self.member.api().token(Identity::Admin)
    }

    /// A token that nobody knows, and one that was good.
    async fn a_token_that_counts_no_more(&self) {
        self.secret("token", "nobody-knows-this").await;
        self.is_closed("unknown", "HTTP 401: Unauthorized").await;
        self.secret("token", self.own_token()).await;
        self.is_open("unknown").await;
    }

    /// Of an account that may write nothing but ConfigMaps.
    async fn a_token_with_few_rights(&self) {
        let (world, namespace) = (self.world, "credentials");
        world
            .m2
            .create(json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"namespace": namespace, "name": "few"}}))
            .await;
        let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "update"]}]);
        world
            .m2
            .create(
                json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "few"}, "rules": rules}),
            )
            .await;
        let binding = world.m2.create(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "few"}, "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": "few"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "few"}})).await;
        let token = world.m2.token(namespace, "few").await;
        self.secret("token", &token).await;
        self.change("few rights").await;
        self.is_open("few rights").await;
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace, "name": "more"}});
        let account = world.spread(account, json!({})).await;
        world.place(&account, &[("m2", 0)]).await;
        let words = "User \"system:serviceaccount:credentials:few\" cannot";
        world.refused(&account, "m2", words).await;
        // It is given to another account: what it could before it can no more.
        world.m2.delete(&binding).await;
        self.is_closed("no rights", words).await;
        self.secret("token", self.own_token()).await;
        self.is_open("no rights").await;
        world.applied(&account, "m2").await;
    }

    /// As in stock, it is for people's own requests (`clusters/proxy`): whatever stands there, Works are applied with the token of
    /// `spec.secretRef`.
    async fn an_impersonator_s_token_is_not_asked_with(&self) {
        let (namespace, name) = ("karmada-cluster", "m2-impersonator");
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name},
            "stringData": {"token": "nobody-knows-this"}});
        self.world.plane.create(secret).await;
        self.cluster(json!({"impersonatorSecretRef": {"namespace": namespace, "name": name}}))
            .await;
        self.change("impersonator").await;
        self.is_open("impersonator").await;
    }

    /// Its account may do nothing but act for a user, who may write ConfigMaps, and that as one of a group: what arrives was asked
    /// for with these names, to the last request.
    async fn a_token_that_acts_for_somebody_else(&self) {
        let (world, namespace) = (self.world, "credentials");
        let groups = ["others", "shop-deployers"];
        let rules = json!([{"apiGroups": [""], "resources": ["users"], "resourceNames": ["shop-deployer"], "verbs": ["impersonate"]},
            {"apiGroups": [""], "resources": ["groups"], "resourceNames": groups, "verbs": ["impersonate"]}]);
        let rbac = "rbac.authorization.k8s.io";
        let of_kind = |kind: &str| json!({"apiVersion": format!("{rbac}/v1"), "kind": kind});
        let delegate = json!({"kind": "ServiceAccount", "namespace": namespace, "name": "delegate"});
        let group = json!({"kind": "Group", "name": groups[1], "apiGroup": rbac});
        let mut role = of_kind("ClusterRole");
        merge_into(&mut role, &json!({"metadata": {"name": "delegate"}, "rules": rules}));
        world.m2.create(role).await;
        for (role, subject) in [("delegate", &delegate), ("few", &group)] {
            let mut bound = of_kind("ClusterRoleBinding");
            merge_into(
                &mut bound,
                &json!({"metadata": {"name": format!("{role}-of-shop")}, "subjects": [subject],
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role}}),
            );
            world.m2.create(bound).await;
        }
        let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace, "name": name}});
        world.m2.create(account("delegate")).await;
        self.secret("token", &world.m2.token(namespace, "delegate").await).await;
        self.is_closed(
            "for nobody",
            "User \"system:serviceaccount:credentials:delegate\" cannot",
        )
        .await;
        self.secret("impersonateUser", "shop-deployer").await;
        self.is_closed("for a user", "User \"shop-deployer\" cannot").await;
        self.secret("impersonateGroups", &groups.join("\n")).await;
        self.is_open("for a user").await;
        self.change("of a group").await;
        self.is_open("of a group").await;
        let forbidden = world.spread(account("as-user"), json!({})).await;
        world.place(&forbidden, &[("m2", 0)]).await;
        world.refused(&forbidden, "m2", "User \"shop-deployer\" cannot").await;
        self.secret("impersonateUser", "somebody-else").await;
        self.is_closed("for another", "cannot impersonate resource \"users\"")
            .await;
        let none = json!({"data": {"impersonateUser": null, "impersonateGroups": null}});
        world.plane.merge(&Id::credentials("m2"), none).await;
        self.secret("token", self.own_token()).await;
        self.is_open("for another").await;
        world.applied(&forbidden, "m2").await;
    }

    async fn a_certificate_of_somebody_else(&self) {
        let own = self.member.api().ca_bundle().to_owned();
        self.secret("caBundle", self.world.members[0].api().ca_bundle()).await;
        self.is_closed("not trusted", "invalid peer certificate").await;
        self.cluster(json!({"insecureSkipTLSVerification": true})).await;
        self.is_open("not trusted").await;
        self.secret("caBundle", &own).await;
        self.cluster(json!({"insecureSkipTLSVerification": null})).await;
        self.change("trusted").await;
        self.is_open("trusted").await;
    }

    async fn through_a_proxy(&self) {
        let proxy = Proxy::start().await;
        self.cluster(json!({"proxyURL": format!("http://{}", proxy.address)}))
            .await;
        self.change("by proxy").await;
        self.is_open("by proxy").await;
        // The connection of before is still there for what was under way; what comes now goes by the proxy.
        assert!(proxy.led() > 0);
        self.cluster(json!({"proxyHeader": {"X-For": "m2,m3"}})).await;
        self.change("with headers").await;
        self.is_open("with headers").await;
        assert!(proxy.heard("x-for: m2") && proxy.heard("x-for: m3"));
        proxy.stop();
        self.is_closed("no proxy", "no answer from the API server").await;
        self.cluster(json!({"proxyURL": null, "proxyHeader": null})).await;
        self.is_open("no proxy").await;
    }
}
