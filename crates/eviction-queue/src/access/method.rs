//! What each method needs of its caller. One table; a method that is not in it is not served.

use std::fmt;

/// What a caller may be allowed to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Says who has to be evicted.
    Producer,
    /// Evicts.
    Consumer,
    /// Looks.
    Reader,
    /// Looks, and changes what people may change.
    Admin,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Producer, Self::Consumer, Self::Reader, Self::Admin];

    /// Its name, as in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Consumer => "consumer",
            Self::Reader => "reader",
            Self::Admin => "admin",
        }
    }

    /// The flag that names who has it.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::Producer => "--queue-producers",
            Self::Consumer => "--queue-consumers",
            Self::Reader => "--queue-readers",
            Self::Admin => "--queue-admins",
        }
    }

    /// The ClusterRole of the chart that allows what it may, for users of tokens.
    #[must_use]
    pub fn cluster_role(self) -> &'static str {
        match self {
            Self::Producer => "karmada-failover:eviction-queue-producer",
            Self::Consumer => "karmada-failover:eviction-queue-consumer",
            Self::Reader => "karmada-failover:eviction-queue-reader",
            Self::Admin => "karmada-failover:eviction-queue-admin",
        }
    }

    /// Whether whoever has this role may also do what `other` may: everybody looks.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self == other || other == Self::Reader
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How long a call lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// A question and its answer.
    AMoment,
    /// A stream that may stay open for ever: its caller's right is looked at again and again.
    AsAStream,
}

/// What a method needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The role, by a certificate's name.
    pub role: Role,
    /// The verb on `evictionqueues.failover.karmada.io`, by a token's user.
    pub verb: &'static str,
    /// How long a call lasts.
    pub lasts: Lasts,
}

/// Who may call a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callable {
    /// Whoever has a connection.
    ByAnybody,
    /// Whoever has the right.
    ByThoseWith(Need),
}

const fn of(role: Role, verb: &'static str, lasts: Lasts) -> Callable {
    Callable::ByThoseWith(Need { role, verb, lasts })
}

/// Services that anybody with a connection may call: they tell nothing of what is in the queue.
const OPEN: [&str; 3] = [
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

const PACKAGE: &str = "karmada.failover.evictionqueue.v1.";

/// Who may call the method at this path, as in `/package.Service/Method`; nothing when there is none.
#[must_use]
pub fn callable(path: &str) -> Option<Callable> {
    use Lasts::{AMoment, AsAStream};
    use Role::{Admin, Consumer, Producer, Reader};
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    if OPEN.contains(&service) {
        return Some(Callable::ByAnybody);
    }
    Some(match (service.strip_prefix(PACKAGE)?, method) {
        ("EvictionQueue", "Publish") => of(Producer, "publish", AsAStream),
        ("EvictionQueue", "OrderWritten") => of(Producer, "publish", AMoment),
        ("EvictionQueue", "Lease") => of(Consumer, "lease", AsAStream),
        ("EvictionQueue", "Complete") => of(Consumer, "lease", AMoment),
        ("QueueInspection", "GetStatus" | "GetEntry") => of(Reader, "get", AMoment),
        ("QueueInspection", "ListEntries" | "ListLanes" | "ListRecent") => of(Reader, "list", AMoment),
        ("QueueInspection", "WatchEntries") => of(Reader, "watch", AsAStream),
        ("QueueAdmin", "Drop" | "Undrop") => of(Admin, "update", AMoment),
        _ => return None,
    })
}

/// The method at a path, as people say it: `QueueInspection/GetStatus`.
#[must_use]
pub fn short(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_prefix(PACKAGE).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eviction_queue_api::DESCRIPTORS;
    use prost::Message;
    use rstest::rstest;

    // A method that is added to the API and not to the table would answer UNIMPLEMENTED.
    #[test]
    fn every_method_of_the_api_is_in_the_table() {
        let set = prost_types::FileDescriptorSet::decode(DESCRIPTORS).unwrap();
        let mut methods = 0;
        for file in set.file.iter().filter(|file| !file.service.is_empty()) {
            for service in &file.service {
                for method in &service.method {
                    let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                    let Some(Callable::ByThoseWith(need)) = callable(&path) else {
                        panic!("{path} needs no right")
                    };
                    let streams = method.client_streaming() || method.server_streaming();
                    assert_eq!(need.lasts == Lasts::AsAStream, streams, "{path}");
                    methods += 1;
                }
            }
        }
        assert!(methods >= 9, "{methods}");
    }

    #[rstest]
    #[case("/grpc.health.v1.Health/Check", Some(Callable::ByAnybody))]
    #[case(
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        Some(Callable::ByAnybody)
    )]
    #[case("/karmada.failover.evictionqueue.v1.EvictionQueue/Other", None)]
    #[case("/karmada.failover.evictionqueue.v1.EvictionQueue", None)]
    #[case("/karmada.failover.evictionqueue.v2.EvictionQueue/Publish", None)]
    #[case("//Publish", None)]
    #[case("", None)]
    fn whatever_else_is_asked(#[case] path: &str, #[case] expected: Option<Callable>) {
        assert_eq!(callable(path), expected);
    }

    #[rstest]
    #[case(Role::Producer, &[Role::Producer, Role::Reader])]
    #[case(Role::Consumer, &[Role::Consumer, Role::Reader])]
    #[case(Role::Reader, &[Role::Reader])]
    #[case(Role::Admin, &[Role::Reader, Role::Admin])]
    fn what_a_role_covers(#[case] role: Role, #[case] covered: &[Role]) {
        let covers: Vec<Role> = Role::ALL.into_iter().filter(|other| role.covers(*other)).collect();
        assert_eq!(covers, covered);
    }
}
