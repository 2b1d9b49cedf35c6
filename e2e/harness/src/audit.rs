//! Who asked an API server for what: its audit log, in which every request stands once, when it came.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde_json::Value;

use crate::credentials::Identity;
use crate::error::Error;

/// What makes an API server write down each request as it comes, and none a second time.
pub(crate) const POLICY: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "rules": [{"level": "Metadata"}],
    "omitStages": ["ResponseStarted", "ResponseComplete", "Panic"]
}"#;

/// Whether an API server writes down who asks it for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Auditing {
    /// It does not.
    Off,
    /// Every request.
    On,
}

/// The audit log of an API server.
#[derive(Clone, Debug)]
pub struct AuditLog {
    file: PathBuf,
}

/// A point in an audit log: what came before it, and what comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it came, since the start of 1970.
    pub at: Duration,
    /// Who asked, as RBAC knows them.
    pub user: String,
    /// As RBAC knows it, `watch` and `list` among others.
    pub verb: String,
    /// The kind in the plural, with the subresource, as in `pods/status`; empty for what is no resource.
    pub resource: String,
    /// Namespace and name, as far as they were said.
    pub object: String,
    /// Path and query.
    pub uri: String,
}

impl Request {
    /// Whether a Lease is renewed.
    #[must_use]
    pub fn is_renewal(&self) -> bool {
        self.resource == "leases" && matches!(self.verb.as_str(), "update" | "patch")
    }

    /// Whether it asks how the server is.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        let path = self.uri.split('?').next().unwrap_or_default();
        matches!(path, "/readyz" | "/healthz" | "/livez")
    }

    /// Whether changes are to be told from here on.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.verb == "watch"
    }
}

/// How often the Lease that is renewed most often is renewed in a minute, by the times between its renewals; 0 when none is
/// renewed twice.
#[must_use]
pub fn renewals_a_minute(requests: &[Request]) -> f64 {
    let mut of_leases: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for renewal in requests.iter().filter(|request| request.is_renewal()) {
        of_leases.entry(&renewal.object).or_default().push(renewal.at);
    }
    let a_minute = |times: &Vec<Duration>| {
        let between = times.iter().max()?.checked_sub(*times.iter().min()?)?;
        let times = u32::try_from(times.len()).ok()?;
        (!between.is_zero()).then(|| f64::from(times - 1) * 60.0 / between.as_secs_f64())
    };
    of_leases.values().filter_map(a_minute).fold(0.0, f64::max)
}

impl AuditLog {
    pub(crate) fn at(file: &Path) -> Self {
        Self { file: file.to_owned() }
    }

    /// Here.
    ///
    /// # Errors
    /// [`Error::System`] when the log is not there.
    pub fn mark(&self) -> Result<Mark, Error> {
        let length = self.file.metadata().map_err(self.cannot_read())?.len();
        Ok(Mark(length))
    }

    /// What this user has asked for since, in the order in which it came.
    ///
    /// # Errors
    /// [`Error::System`] when the log cannot be read, or is none.
    pub fn since(&self, mark: Mark, of: Identity) -> Result<Vec<Request>, Error> {
        let mut text = String::new();
        let mut file = File::open(&self.file).map_err(self.cannot_read())?;
        file.seek(SeekFrom::Start(mark.0)).map_err(self.cannot_read())?;
        file.read_to_string(&mut text).map_err(self.cannot_read())?;
        let mut requests = parse(&text).map_err(|error| self.cannot_read()(error.into()))?;
        let user = of.user();
        requests.retain(|request| request.user == user);
        Ok(requests)
    }

    fn cannot_read(&self) -> impl FnOnce(std::io::Error) -> Error + use<> {
        Error::system(format!("cannot read {}", self.file.display()))
    }
}

/// All whole lines; the last one may be on its way.
fn parse(log: &str) -> Result<Vec<Request>, serde_json::Error> {
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    whole.lines().map(request).collect()
}

fn request(line: &str) -> Result<Request, serde_json::Error> {
    let event: Value = serde_json::from_str(line)?;
    let came: MicroTime = serde_json::from_value(event["requestReceivedTimestamp"].clone())?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &event["objectRef"];
    let joined = |first: &str, second: &str| {
        let parts = [text(&object[first]), text(&object[second])];
        let said: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        said.join("/")
    };
    Ok(Request {
        at: Duration::from_micros(came.0.as_microsecond().unsigned_abs()),
        user: text(&event["user"]["username"]),
        verb: text(&event["verb"]),
        resource: joined("resource", "subresource"),
        object: joined("namespace", "name"),
        uri: text(&event["requestURI"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = concat!(
        r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"RequestReceived","#,
        r#""requestURI":"/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/scheduler?fieldManager=x","#,
        r#""verb":"update","user":{"username":"system:serviceaccount:karmada-system:scheduler"},"#,
        r#""objectRef":{"resource":"leases","namespace":"karmada-system","name":"scheduler"},"#,
        r#""requestReceivedTimestamp":"1970-01-01T00:00:02.500000Z","stageTimestamp":"1970-01-01T00:00:03.000000Z"}"#,
        "\n",
        r#"{"requestURI":"/readyz?verbose","verb":"get","user":{"username":"admin"},"#,
        r#""requestReceivedTimestamp":"1970-01-01T00:00:04.000001Z"}"#,
        "\n",
        r#"{"requestURI":"/api/v1/pods/x/sta"#,
    );

    #[test]
    fn each_line_is_a_request_and_half_a_line_is_none_yet() {
        let requests = parse(LOG).unwrap();
        let (renewal, probe) = (&requests[0], &requests[1]);
        assert_eq!(requests.len(), 2);
        assert_eq!(renewal.at, Duration::from_millis(2_500));
        assert_eq!(renewal.user, Identity::Component("scheduler").user());
        assert_eq!(renewal.object, "karmada-system/scheduler");
        assert!(renewal.is_renewal() && !renewal.is_probe() && !renewal.is_watch());
        assert_eq!(probe.at, Duration::from_micros(4_000_001));
        assert_eq!((probe.resource.as_str(), probe.object.as_str()), ("", ""));
        assert!(probe.is_probe() && !probe.is_renewal());
        parse("no JSON\n").unwrap_err();
    }

    #[test]
    fn a_log_is_read_from_a_mark_on_and_for_one_user() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::at(&folder.path().join("audit.log"));
        assert!(log.mark().is_err(), "it is not there yet");
        std::fs::write(&log.file, "").unwrap();
        let before = log.mark().unwrap();
        std::fs::write(&log.file, LOG).unwrap();
        assert_eq!(log.since(before, Identity::Admin).unwrap().len(), 1);
        assert_eq!(log.since(before, Identity::Component("scheduler")).unwrap().len(), 1);
        let first_line = Mark(LOG.find('\n').unwrap() as u64 + 1);
        assert_eq!(log.since(first_line, Identity::Admin).unwrap().len(), 1);
        assert_eq!(log.since(first_line, Identity::Component("scheduler")).unwrap(), []);
    }

    #[test]
    fn the_lease_that_is_renewed_most_often_counts() {
        let renewal = |object: &str, seconds: u64| Request {
            at: Duration::from_secs(seconds),
            user: String::new(),
            verb: "update".to_owned(),
            resource: "leases".to_owned(),
            object: object.to_owned(),
            uri: String::new(),
        };
        let once = renewal("c", 7);
        let mut requests = vec![renewal("a", 0), renewal("b", 1), renewal("a", 5), renewal("b", 3), once];
        assert!((renewals_a_minute(&requests) - 30.0).abs() < 1e-9);
        requests.retain(|request| request.object != "b");
        assert!((renewals_a_minute(&requests) - 12.0).abs() < 1e-9);
        assert!(renewals_a_minute(&requests[2..]).abs() < 1e-9);
    }
}
