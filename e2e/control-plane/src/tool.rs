//! The programs, and what each is built from.

use crate::pins::Module;

/// A program that tests on real API servers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The store behind the API servers.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// Runs the controllers of the built-in kinds: Deployments, Jobs, garbage collection, …
    KubeControllerManager,
    /// Puts a member's pods on its node.
    KubeScheduler,
    /// Plays the kubelet of a member's node.
    Kwok,
    /// The stock command line, which users have.
    Kubectl,
    /// Asks a gRPC server with reflection as an operator would.
    Grpcurl,
    /// Renders and installs the charts as users do.
    Helm,
}

impl Tool {
    /// Every program, in the order in which they are built: those that share the most code stand together.
    pub const ALL: [Self; 8] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::Kwok,
        Self::Grpcurl,
        Self::Helm,
    ];

    /// The programs without which no control plane with members can run. The others are conveniences that a folder
    /// made by somebody else (`KUBEBUILDER_ASSETS`) may lack.
    pub const NEEDED: [Self; 6] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::Kwok,
    ];

    /// The program's file name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kwok => "kwok",
            Self::Kubectl => "kubectl",
            Self::Grpcurl => "grpcurl",
            Self::Helm => "helm",
        }
    }

    /// The Go package that is its main package.
    pub(crate) const fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::KubeApiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::KubeControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::KubeScheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Kwok => "sigs.k8s.io/kwok/cmd/kwok",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::Helm => "helm.sh/helm/v4/cmd/helm",
            Self::Grpcurl => "github.com/fullstorydev/grpcurl/cmd/grpcurl",
        }
    }

    /// The Go module beside this crate that pins it.
    pub(crate) const fn module(self) -> &'static Module {
        match self {
            Self::Kwok => &Module::KWOK,
            Self::Grpcurl => &Module::GRPCURL,
            Self::Helm => &Module::HELM,
            Self::Etcd | Self::KubeApiserver | Self::KubeControllerManager | Self::KubeScheduler | Self::Kubectl => {
                &Module::KUBERNETES
            }
        }
    }
}
