//! The differences that stay, on purpose, each with its reason and the operations in whose answers it shows.

use e2e_conformance::{Known, Scenario};

/// A difference, and where it shows: scenario, operation, place in the answer.
struct Listed {
    known: Known,
    shows: &'static [(&'static str, &'static str, &'static str)],
}

/// The scenarios with their known differences.
pub fn mark(mut scenarios: Vec<Scenario>) -> Vec<Scenario> {
    for listed in LISTED {
        for (scenario, operation, place) in listed.shows {
            let found = scenarios
                .iter_mut()
                .find(|s| s.name == *scenario)
                .and_then(|s| s.operations.iter_mut().find(|o| o.name == *operation));
            let found = found.unwrap_or_else(|| panic!("no operation {scenario}: {operation}"));
            found.known.push((place, listed.known));
        }
    }
    scenarios
}

const LISTED: &[Listed] = &[
    Listed {
        known: Known {
            what: "Decoding and parsing errors in other words",
            why: "The real server quotes Go's decoders and names Go's types; the sandbox says it in the words of its own. Code and reason are the same, and nobody should decide by the text.",
        },
        shows: &[
            ("refusals", "another kind", "/body/message"),
            ("refusals", "another version", "/body/message"),
            ("refusals", "another group", "/body/message"),
            ("refusals", "half an object", "/body/message"),
            ("refusals", "no body", "/body/message"),
            ("refusals", "a list", "/body/message"),
            ("refusals", "a string", "/body/message"),
            ("refusals", "a number for a string", "/body/message"),
            ("refusals", "a string for a map", "/body/message"),
            ("refusals", "a number for a name", "/body/message"),
            ("refusals", "replace without a body", "/body/message"),
            ("refusals", "options of a delete that are none", "/body/message"),
            ("lists", "a bad key", "/body/message"),
            ("lists", "a bad value", "/body/message"),
            ("lists", "a field selector without a sign", "/body/message"),
            ("lists", "a token that is none", "/body/message"),
            ("patches", "merge a list", "/body/message"),
            ("patches", "merge half an object", "/body/message"),
            ("patches", "no list", "/body/message"),
            ("custom-objects", "a wrong type in metadata", "/body/message"),
            ("custom-objects", "no kind", "/body/message"),
            ("custom-objects", "half an object", "/body/message"),
            ("built-in-kinds", "deployment with a wrong type", "/body/message"),
            ("built-in-kinds", "secret that is no base64", "/body/message"),
            ("built-in-kinds", "lease with a bad time", "/body/message"),
        ],
    },
    Listed {
        known: Known {
            what: "Refusals of invalid objects with fewer or other sentences",
            why: "Errors of one value are told alike. Where one mistake makes the real server say several things (alternatives of anyOf and oneOf, subresource paths that cannot be read, keys that are missing, values in Go's notation, or the same error twice), the sandbox tells the essential one, or in another order.",
        },
        shows: &[
            ("refusals", "a label with a bad prefix", "/body/details"),
            ("refusals", "a label with a bad prefix", "/body/message"),
            ("refusals", "two controllers", "/body/details"),
            ("refusals", "two controllers", "/body/message"),
            ("watches", "an exact match", "/body/details"),
            ("watches", "an exact match", "/body/message"),
            ("patches", "merge another uid", "/body/details"),
            ("custom-objects", "a string for a number", "/body/details"),
            ("custom-objects", "a fraction for a number", "/body/details"),
            ("custom-objects", "exclusive minimum", "/body/details"),
            ("custom-objects", "exclusive minimum", "/body/message"),
            ("custom-objects", "a wrong item", "/body/details"),
            ("custom-objects", "neither", "/body/details"),
            ("custom-objects", "neither", "/body/message"),
            ("custom-objects", "both", "/body/details"),
            ("custom-objects", "both", "/body/message"),
            ("custom-objects", "an int or string: bool", "/body/details"),
            ("custom-objects", "an int or string: object", "/body/details"),
            ("custom-objects", "a string for the spec", "/body/details"),
            ("status-and-scale", "a wrong type in the status", "/body/details"),
            ("deletion", "a new finalizer", "/body/details"),
            ("definitions", "no versions", "/body/details"),
            ("definitions", "no versions", "/body/message"),
            ("definitions", "two storage versions", "/body/details"),
            ("definitions", "two storage versions", "/body/message"),
            ("definitions", "a bad pattern", "/body/details"),
            ("definitions", "a bad pattern", "/body/message"),
            ("definitions", "a rule without text", "/body/details"),
            ("definitions", "a rule without text", "/body/message"),
            ("built-in-kinds", "another template", "/body/details"),
            ("built-in-kinds", "another template", "/body/message"),
            ("built-in-kinds", "taints of a node", "/body/details"),
            ("built-in-kinds", "taints of a node", "/body/message"),
        ],
    },
    Listed {
        known: Known {
            what: "Fewer checks of built-in kinds",
            why: "Of the thousands of checks of built-in kinds the sandbox has those that controllers run into. Status numbers, fields of pods that may not change, and details of events are not checked.",
        },
        shows: &[
            ("status-and-scale", "a negative status", "/code"),
            ("built-in-kinds", "another name of a container", "/code"),
            ("built-in-kinds", "new event without a time", "/code"),
        ],
    },
    Listed {
        known: Known {
            what: "Definitions with bad rules or defaults are accepted",
            why: "Rules are compiled, but without types and without an estimate of their cost; defaults are not validated. The definitions of the project are checked on a real API server.",
        },
        shows: &[
            ("definitions", "a default of another type", "/code"),
            ("definitions", "a rule that does not compile", "/code"),
            ("definitions", "a rule that is no bool", "/code"),
            ("definitions", "a rule of great cost", "/code"),
        ],
    },
    Listed {
        known: Known {
            what: "Whole numbers written with a fraction",
            why: "JSON does not tell 2.0 from 2 in the sandbox; the real server refuses it for the scale path.",
        },
        shows: &[("custom-objects", "a whole fraction for a number", "/code")],
    },
    Listed {
        known: Known {
            what: "No warnings in headers",
            why: "Unknown fields are dropped or, strictly, refused; deprecated versions and odd finalizers are served without a word.",
        },
        shows: &[
            ("refusals", "an unknown field with a warning", "/warning"),
            ("patches", "merge an unknown field", "/warning"),
            ("custom-objects", "pruned and completed", "/warning"),
            ("custom-objects", "unknown fields with a warning", "/warning"),
            ("custom-objects", "unknown metadata", "/warning"),
            ("custom-objects", "an embedded object", "/warning"),
            ("custom-objects", "another version", "/warning"),
            ("custom-objects", "a simple finalizer", "/warning"),
            ("status-and-scale", "its status", "/warning"),
            ("definitions", "the gear by its old version", "/warning"),
            ("definitions", "no generation of a status", "/warning"),
        ],
    },
    Listed {
        known: Known {
            what: "A field that is given twice",
            why: "The last one counts, as when the real server is not asked to be strict.",
        },
        shows: &[("custom-objects", "a field twice, strictly", "/code")],
    },
    Listed {
        known: Known {
            what: "No field owners",
            why: "Apply creates or merges. Nobody owns fields: no conflicts, no removal of what is no longer applied, no managedFields, no new version for a mere change of owners. The programs of the project own their fields alone.",
        },
        shows: &[
            ("apply", "by another, the same value", "/body/metadata/resourceVersion"),
            ("apply", "forced", "/body/metadata/resourceVersion"),
            ("apply", "in a dry run", "/body/metadata/resourceVersion"),
            ("apply", "after all", "/body/metadata/resourceVersion"),
            ("apply", "by another, another value", "/code"),
            ("apply", "managed fields", "/body/metadata/managedFields"),
            ("apply", "a field that is no longer applied", "/body/data/gone"),
            (
                "apply",
                "a field that is no longer applied",
                "/body/metadata/annotations",
            ),
            (
                "apply",
                "a field that is no longer applied",
                "/body/metadata/resourceVersion",
            ),
            ("kubectl", "get as yaml", "/out/5"),
        ],
    },
    Listed {
        known: Known {
            what: "Apply does not type-check its patch",
            why: "The patch is merged first and then checked like any other object; unknown fields are dropped, and short YAML forms are read as YAML 1.2 has them.",
        },
        shows: &[
            ("apply", "as yaml", "/code"),
            ("apply", "an unknown field, strictly", "/code"),
            ("apply", "an unknown field of a widget", "/code"),
        ],
    },
    Listed {
        known: Known {
            what: "A patch that makes no valid object",
            why: "The real server answers 422 and shows the whole object in Go's notation, with its managedFields; the sandbox shows its own form or answers 400 like for a whole object.",
        },
        shows: &[
            ("patches", "merge another kind", "/code"),
            ("patches", "merge a wrong type", "/code"),
            ("patches", "merge an unknown field, strictly", "/body/details"),
            ("patches", "merge an unknown field, strictly", "/body/message"),
            ("patches", "an unknown operation", "/code"),
            ("patches", "merge strictly", "/body/details"),
            ("patches", "merge strictly", "/body/message"),
            ("kube-client", "strict patch", "/error/details"),
            ("kube-client", "strict patch", "/error/message"),
            ("kubectl", "apply an unknown field", "/err/0"),
        ],
    },
    Listed {
        known: Known {
            what: "Wrong strategic merge patches",
            why: "Patches that lack a merge key or have an unknown directive are client errors that the sandbox does not look for.",
        },
        shows: &[
            ("patches", "a key is missing", "/code"),
            ("patches", "an unknown directive", "/code"),
        ],
    },
    Listed {
        known: Known {
            what: "Columns of tables without descriptions",
            why: "Only `kubectl get -o` could show them, and does not.",
        },
        shows: &[
            ("watches", "as a table", "/body/0/object/columnDefinitions"),
            ("shapes", "table of config maps", "/body/columnDefinitions"),
            ("shapes", "table of a namespace", "/body/columnDefinitions"),
            ("shapes", "table of secrets", "/body/columnDefinitions"),
            ("shapes", "table of events", "/body/columnDefinitions"),
            ("shapes", "table of leases", "/body/columnDefinitions"),
            ("shapes", "table of deployments", "/body/columnDefinitions"),
            ("shapes", "table of stateful sets", "/body/columnDefinitions"),
            ("shapes", "table of jobs", "/body/columnDefinitions"),
            ("shapes", "table of pods", "/body/columnDefinitions"),
            ("shapes", "table of services", "/body/columnDefinitions"),
            ("shapes", "table of a definition", "/body/columnDefinitions"),
        ],
    },
    Listed {
        known: Known {
            what: "A definition is served and Established at once",
            why: "The real server needs a moment, in which `status` is empty. Tests on the sandbox need not wait; programs that do are not hurt.",
        },
        shows: &[
            ("definitions", "in a dry run", "/body/status"),
            ("definitions", "gears", "/body/status"),
        ],
    },
    Listed {
        known: Known {
            what: "Quantities are kept as they were written",
            why: "`1000m` stays `1000m`. Programs parse quantities before they compare them.",
        },
        shows: &[
            ("built-in-kinds", "deployment", "/body/spec/template/spec"),
            ("built-in-kinds", "deployment, recreated", "/body/spec/template/spec"),
            ("built-in-kinds", "replica set", "/body/spec/template/spec"),
            ("built-in-kinds", "stateful set", "/body/spec/template/spec"),
            ("built-in-kinds", "daemon set", "/body/spec/template/spec"),
            ("built-in-kinds", "status of a node", "/body/status/allocatable/cpu"),
            ("built-in-kinds", "status of a node", "/body/status/capacity/cpu"),
            ("built-in-kinds", "unschedulable", "/body/status/allocatable/cpu"),
            ("built-in-kinds", "unschedulable", "/body/status/capacity/cpu"),
            ("built-in-kinds", "nodes by field", "/body/items/0/status/allocatable"),
            ("built-in-kinds", "nodes by field", "/body/items/0/status/capacity"),
        ],
    },
    Listed {
        known: Known {
            what: "Empty fields that Go shows",
            why: "Structs without `omitempty` (node info, metadata of templates) appear empty on the real server, and left out in the sandbox.",
        },
        shows: &[
            ("built-in-kinds", "cron job", "/body/spec/jobTemplate/metadata"),
            ("built-in-kinds", "cron job", "/body/spec/jobTemplate/spec"),
            ("built-in-kinds", "node", "/body/status"),
            ("built-in-kinds", "status of a node", "/body/status/daemonEndpoints"),
            ("built-in-kinds", "status of a node", "/body/status/nodeInfo"),
            ("built-in-kinds", "unschedulable", "/body/status/daemonEndpoints"),
            ("built-in-kinds", "unschedulable", "/body/status/nodeInfo"),
            (
                "built-in-kinds",
                "nodes by field",
                "/body/items/0/status/daemonEndpoints",
            ),
            ("built-in-kinds", "nodes by field", "/body/items/0/status/nodeInfo"),
        ],
    },
    Listed {
        known: Known {
            what: "No admission plugins",
            why: "Pods get no priority and no default tolerations; daemon sets no annotation about their generation.",
        },
        shows: &[
            ("built-in-kinds", "daemon set", "/body/metadata/annotations"),
            ("built-in-kinds", "pod", "/body/spec/preemptionPolicy"),
            ("built-in-kinds", "pod", "/body/spec/priority"),
            ("built-in-kinds", "pod", "/body/spec/tolerations"),
            ("built-in-kinds", "status of a pod", "/body/spec/preemptionPolicy"),
            ("built-in-kinds", "status of a pod", "/body/spec/priority"),
            ("built-in-kinds", "status of a pod", "/body/spec/tolerations"),
            ("built-in-kinds", "another image", "/body/spec/preemptionPolicy"),
            ("built-in-kinds", "another image", "/body/spec/priority"),
            ("built-in-kinds", "another image", "/body/spec/tolerations"),
            ("built-in-kinds", "pods by phase", "/body/items/0/spec/preemptionPolicy"),
            ("built-in-kinds", "pods by phase", "/body/items/0/spec/priority"),
            ("built-in-kinds", "pods by phase", "/body/items/0/spec/tolerations"),
            ("built-in-kinds", "delete a pod", "/body/spec/preemptionPolicy"),
            ("built-in-kinds", "delete a pod", "/body/spec/priority"),
            ("built-in-kinds", "delete a pod", "/body/spec/tolerations"),
        ],
    },
    Listed {
        known: Known {
            what: "Pods go at once",
            why: "There is no kubelet that a deletion would have to wait for.",
        },
        shows: &[
            (
                "built-in-kinds",
                "delete a pod",
                "/body/metadata/deletionGracePeriodSeconds",
            ),
            ("built-in-kinds", "delete a pod", "/body/metadata/deletionTimestamp"),
            ("built-in-kinds", "delete a pod", "/body/metadata/generation"),
        ],
    },
    Listed {
        known: Known {
            what: "Times with and without fractions are the same",
            why: "The real server reads a micro time only with its six digits; the sandbox reads any RFC 3339 time and writes the real form.",
        },
        shows: &[("built-in-kinds", "lease with a short time", "/code")],
    },
    Listed {
        known: Known {
            what: "No authorization",
            why: "Whoever is let in may do everything; questions about rights are answered so (or by the RBAC objects that are stored, where a test wants that), and questions without a subject are not refused. What rights the programs need is tested on a real API server.",
        },
        shows: &[
            ("reviews", "may I, nothing", "/code"),
            ("reviews", "may somebody", "/body/status/allowed"),
        ],
    },
    Listed {
        known: Known {
            what: "Another administrator",
            why: "Without tokens everybody is `system:admin`; the real server here knows its administrator by a token file.",
        },
        shows: &[
            ("reviews", "who am I", "/body/metadata/creationTimestamp"),
            ("reviews", "who am I", "/body/status/userInfo/uid"),
            ("reviews", "who am I", "/body/status/userInfo/username"),
        ],
    },
    Listed {
        known: Known {
            what: "Not served",
            why: "Kinds and paths that the project has no use for: admission webhooks, tokens of service accounts, the old path of watches, OpenAPI v2.",
        },
        shows: &[
            ("watches", "the old path", "/code"),
            ("built-in-kinds", "token of a service account", "/code"),
            ("built-in-kinds", "webhook", "/code"),
            ("shapes", "openapi, the old form", "/code"),
        ],
    },
    Listed {
        known: Known {
            what: "Discovery tells of fewer kinds",
            why: "The sandbox serves about thirty kinds, without hashes of their storage versions and without addresses of the server.",
        },
        shows: &[
            ("definitions", "its resources", "/body/resources/0/storageVersionHash"),
            ("shapes", "core resources", "/body/resources"),
            ("shapes", "core versions", "/body/serverAddressByClientCIDRs"),
            ("shapes", "resources of apps", "/body/resources"),
            ("shapes", "resources of batch", "/body/resources/0/storageVersionHash"),
            ("shapes", "resources of batch", "/body/resources/2/storageVersionHash"),
            ("shapes", "resources of leases", "/body/resources/0/storageVersionHash"),
            (
                "shapes",
                "resources of definitions",
                "/body/resources/0/storageVersionHash",
            ),
            ("shapes", "resources of widgets", "/body/resources/0/storageVersionHash"),
            ("shapes", "groups", "/body/groups"),
            ("shapes", "aggregated core", "/body/items/0/versions/0"),
            ("kube-client", "discovery", "/ok/resources/0/storageVersionHash"),
        ],
    },
    Listed {
        known: Known {
            what: "OpenAPI is as much as kubectl reads",
            why: "Schemas for `explain` and the parameters by which kubectl knows that the server validates fields; not all operations, and shorter descriptions of metadata.",
        },
        shows: &[
            ("shapes", "openapi of widgets", "/body/components"),
            ("shapes", "openapi of widgets", "/body/info"),
            ("shapes", "openapi of widgets", "/body/paths"),
            ("kubectl", "explain a kind", "/out"),
        ],
    },
    Listed {
        known: Known {
            what: "Another version",
            why: "The sandbox says that it is one.",
        },
        shows: &[("shapes", "version", "/body")],
    },
    Listed {
        known: Known {
            what: "Answers are always JSON",
            why: "Protobuf bodies are read for the kinds that `kubectl create` makes, and YAML bodies always; but answers are JSON, whatever else is asked for beside it. Refusals of media types have one form for all.",
        },
        shows: &[
            ("refusals", "no answer type that we have", "/body/message"),
            ("shapes", "table of another version", "/code"),
            ("shapes", "protobuf", "/body"),
            ("shapes", "protobuf", "/content-type/0"),
            ("shapes", "cbor", "/body/message"),
            ("shapes", "yaml", "/body"),
            ("shapes", "yaml", "/content-type/0"),
        ],
    },
    Listed {
        known: Known {
            what: "Questions in protobuf",
            why: "`kubectl auth can-i` sends its question in protobuf, which the sandbox reads only for the kinds that are created.",
        },
        shows: &[
            ("kubectl", "may I", "/code"),
            ("kubectl", "may I", "/err"),
            ("kubectl", "may I", "/out"),
        ],
    },
    Listed {
        known: Known {
            what: "Owners that were never there",
            why: "An object whose owner does not exist stays: garbage is collected when an owner goes. Tests may name owners that they do not make.",
        },
        shows: &[("deletion", "it goes as well", "/code")],
    },
    Listed {
        known: Known {
            what: "404 in another form",
            why: "Some paths that lead nowhere are answered in plain text by one server, and by a Status by the other.",
        },
        shows: &[
            ("refusals", "a path that is too long", "/body"),
            ("refusals", "a path that is too long", "/content-type/0"),
            ("definitions", "gears without a namespace", "/body"),
            ("definitions", "gears without a namespace", "/content-type/0"),
        ],
    },
    Listed {
        known: Known {
            what: "Selectors with open brackets",
            why: "An `in` without its closing bracket is read as if it had one.",
        },
        shows: &[("lists", "an open bracket", "/code")],
    },
    Listed {
        known: Known {
            what: "Embedded objects are not checked",
            why: "Their metadata are not pruned, and they may lack kind and version.",
        },
        shows: &[
            ("custom-objects", "an embedded object", "/body/spec/embedded/metadata"),
            ("custom-objects", "an embedded object without a kind", "/code"),
        ],
    },
];
