//! A control plane and its members.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::http_server::Served;
use crate::member::{Member, MemberOptions};
use crate::sandbox::{Now, Sandbox, SandboxOptions};

/// An endpoint that is no member's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no simulated member answers at {endpoint}; known are {known}")]
pub struct UnknownEndpoint {
    /// What was asked for.
    pub endpoint: String,
    /// The known endpoints, separated by commas.
    pub known: String,
}

/// One control plane server and any number of members, all on the same clock.
#[derive(Clone, Debug)]
pub struct Fleet {
    control_plane: Sandbox,
    members: Arc<Mutex<BTreeMap<String, Member>>>,
}

/// Finds members by their endpoints; what a component takes instead of dialling.
#[derive(Clone, Debug)]
pub struct MemberConnector {
    members: Arc<Mutex<BTreeMap<String, Member>>>,
}

impl Fleet {
    /// A fleet whose members have the given names and default options. Needs a tokio runtime.
    #[must_use]
    pub fn start(now: &Now, members: &[&str]) -> Self {
        let fleet = Self::with_control_plane(Sandbox::new(SandboxOptions::new(now.clone())));
        for name in members {
            fleet.add_member(MemberOptions::new(name, now.clone()));
        }
        fleet
    }

    /// A fleet without members around a control plane that exists.
    #[must_use]
    pub fn with_control_plane(control_plane: Sandbox) -> Self {
        Self {
            control_plane,
            members: Arc::default(),
        }
    }

    /// Starts a member; one of the same name is replaced.
    pub fn add_member(&self, options: MemberOptions) -> Member {
        let member = Member::start(options);
        self.members.lock().insert(member.name().to_owned(), member.clone());
        member
    }

    /// The server of the control plane.
    #[must_use]
    pub fn control_plane(&self) -> &Sandbox {
        &self.control_plane
    }

    /// The member of this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Member> {
        self.members.lock().get(name).cloned()
    }

    /// All members, by name.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        self.members.lock().values().cloned().collect()
    }

    /// What resolves `http://<name>.sandbox` to members, also to those added later.
    #[must_use]
    pub fn member_connector(&self) -> MemberConnector {
        MemberConnector {
            members: self.members.clone(),
        }
    }

    /// Serves the control plane and all present members over loopback HTTP, on free ports; the map has the members'
    /// servers by name.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn serve_http(&self) -> std::io::Result<(Served, BTreeMap<String, Served>)> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let control_plane = self.control_plane.serve_http(any).await?;
        let mut members = BTreeMap::new();
        for member in self.members() {
            members.insert(member.name().to_owned(), member.sandbox().serve_http(any).await?);
        }
        Ok((control_plane, members))
    }
}

impl MemberConnector {
    /// A client for the member at the endpoint. The client is made also while the member is stopped; its requests
    /// then fail like refused connections. Needs a tokio runtime.
    ///
    /// # Errors
    /// When no member has the endpoint.
    pub fn connect(&self, endpoint: &str) -> Result<kube::Client, UnknownEndpoint> {
        self.connect_named(endpoint, "")
    }

    /// The same for a client with a name, by which the member's faults and counts tell clients apart.
    ///
    /// # Errors
    /// When no member has the endpoint.
    pub fn connect_named(&self, endpoint: &str, client: &str) -> Result<kube::Client, UnknownEndpoint> {
        let members = self.members.lock();
        let wanted = endpoint.trim_end_matches('/');
        members
            .values()
            .find(|m| m.endpoint() == wanted)
            .map(|m| m.sandbox().client_named(client))
            .ok_or_else(|| UnknownEndpoint {
                endpoint: endpoint.to_owned(),
                known: members.values().map(Member::endpoint).collect::<Vec<_>>().join(", "),
            })
    }
}
