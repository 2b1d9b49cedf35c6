//! An operation: one request to an API server by one of three clients, and what is known to differ in the answer.

use std::fmt;

use futures::future::BoxFuture;
use http::Method;
use kube::Client;
use serde_json::Value;

/// A difference that stays, on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// What differs, as the heading of a paragraph.
    pub what: &'static str,
    /// Why it is left so.
    pub why: &'static str,
}

/// A part of an answer that later operations refer to as `%{name}`.
#[derive(Clone, Copy, Debug)]
pub struct Save {
    /// The name.
    pub name: &'static str,
    /// Where it is in the body of the answer, as a JSON pointer.
    pub pointer: &'static str,
}

/// A call of kube's own client: it gets the client and the namespace of the scenario.
pub type KubeCall = fn(Client, String) -> BoxFuture<'static, Result<Value, kube::Error>>;

/// What is asked.
#[derive(Clone)]
pub enum Call {
    /// A request as it stands, sent by a plain HTTP client. In path and body `%{ns}` is the namespace of the scenario and
    /// `%{name}` what was saved under that name.
    Http {
        /// The method.
        method: Method,
        /// Path and query.
        path: String,
        /// The body; empty for none.
        body: String,
        /// The type of the body.
        content_type: &'static str,
        /// The types of answer that are taken.
        accept: &'static str,
    },
    /// The answer of a watch (the first call), during which the other calls are made.
    Meanwhile(Box<Call>, Vec<Call>),
    /// kubectl with these arguments and this input.
    Kubectl {
        /// The arguments, split at spaces.
        line: String,
        /// The standard input.
        input: String,
    },
    /// kube's own client.
    Kube(KubeCall),
    /// The history of the server is dropped.
    Compact,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { method, path, body, .. } => write!(f, "{method} {path} {body}"),
            Self::Meanwhile(watch, calls) => {
                write!(f, "{watch}")?;
                calls.iter().try_for_each(|call| write!(f, "; {call}"))
            }
            Self::Kubectl { line, .. } => write!(f, "kubectl {line}"),
            Self::Kube(_) => f.write_str("kube client"),
            Self::Compact => f.write_str("compaction"),
        }
    }
}

/// One line of the table.
#[derive(Clone)]
pub struct Operation {
    /// Its name: unique in its scenario.
    pub name: &'static str,
    /// What is asked.
    pub call: Call,
    /// What later operations need of the answer.
    pub saves: Vec<Save>,
    /// The differences that are known, with the place in the answer (a pointer; everything below it is meant).
    pub known: Vec<(&'static str, Known)>,
    /// The same call again until it is answered with this code: for what other programs of a cluster do in their time.
    pub until: Option<u16>,
}

impl Operation {
    fn new(name: &'static str, call: Call) -> Self {
        Self {
            name,
            call,
            saves: Vec::new(),
            known: Vec::new(),
            until: None,
        }
    }

    /// Keeps a part of the answer under a name.
    #[must_use]
    pub fn save(mut self, name: &'static str, pointer: &'static str) -> Self {
        self.saves.push(Save { name, pointer });
        self
    }

    /// The answers differ here, on purpose.
    #[must_use]
    pub fn differs(mut self, at: &'static str, known: Known) -> Self {
        self.known.push((at, known));
        self
    }

    /// Asks again until the answer has this code.
    #[must_use]
    pub fn until(mut self, code: u16) -> Self {
        self.until = Some(code);
        self
    }

    /// Takes answers of these types.
    #[must_use]
    pub fn accept(mut self, types: &'static str) -> Self {
        if let Call::Http { accept, .. } = &mut self.call {
            *accept = types;
        }
        self
    }

    /// Sends the body as another type.
    #[must_use]
    pub fn content_type(mut self, type_: &'static str) -> Self {
        if let Call::Http { content_type, .. } = &mut self.call {
            *content_type = type_;
        }
        self
    }
}

/// Any request.
pub fn http(name: &'static str, method: Method, path: impl Into<String>, body: impl Into<String>) -> Operation {
    Operation::new(
        name,
        Call::Http {
            method,
            path: path.into(),
            body: body.into(),
            content_type: "application/json",
            accept: "application/json",
        },
    )
}

/// A read.
pub fn get(name: &'static str, path: impl Into<String>) -> Operation {
    http(name, Method::GET, path, "")
}

/// A create.
pub fn post(name: &'static str, path: impl Into<String>, body: &Value) -> Operation {
    http(name, Method::POST, path, body.to_string())
}

/// A replace.
pub fn put(name: &'static str, path: impl Into<String>, body: &Value) -> Operation {
    http(name, Method::PUT, path, body.to_string())
}

/// A JSON merge patch.
pub fn merge(name: &'static str, path: impl Into<String>, body: &Value) -> Operation {
    http(name, Method::PATCH, path, body.to_string()).content_type("application/merge-patch+json")
}

/// A JSON patch.
pub fn json_patch(name: &'static str, path: impl Into<String>, body: &Value) -> Operation {
    http(name, Method::PATCH, path, body.to_string()).content_type("application/json-patch+json")
}

/// A strategic merge patch.
pub fn strategic(name: &'static str, path: impl Into<String>, body: &Value) -> Operation {
    http(name, Method::PATCH, path, body.to_string()).content_type("application/strategic-merge-patch+json")
}

/// A server-side apply.
pub fn apply(name: &'static str, path: impl Into<String>, body: &Value) -> Operation {
    http(name, Method::PATCH, path, body.to_string()).content_type("application/apply-patch+yaml")
}

/// A delete without options.
pub fn delete(name: &'static str, path: impl Into<String>) -> Operation {
    http(name, Method::DELETE, path, "")
}

/// A delete with options in its body.
pub fn delete_with(name: &'static str, path: impl Into<String>, options: &Value) -> Operation {
    http(name, Method::DELETE, path, options.to_string())
}

/// kubectl with arguments and input.
pub fn kubectl(name: &'static str, line: impl Into<String>, input: impl Into<String>) -> Operation {
    Operation::new(
        name,
        Call::Kubectl {
            line: line.into(),
            input: input.into(),
        },
    )
}

/// A call of kube's own client.
pub fn kube(name: &'static str, call: KubeCall) -> Operation {
    Operation::new(name, Call::Kube(call))
}

/// A watch, and what is done while it runs.
pub fn meanwhile(name: &'static str, watch: Operation, then: Vec<Operation>) -> Operation {
    let calls = then.into_iter().map(|operation| operation.call).collect();
    Operation::new(name, Call::Meanwhile(Box::new(watch.call), calls))
}

/// The server forgets its history.
pub fn compact(name: &'static str) -> Operation {
    Operation::new(name, Call::Compact)
}
