//! `kubeconfig COMPONENT`: how a component reaches the control plane, with its own token and no more rights than it needs.
//!
//! The token is that of the component's ServiceAccount: the lasting one of Secret `COMPONENT-token`, which the chart
//! `control-plane` makes, or, with `--expires-in`, a new one that ends.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use controller_kit::{api_errors, connect};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::{Value, json};

use crate::cli::{KubeconfigArgs, Target};
use crate::control_plane::ControlPlane;
use crate::failure::{ExitStatus, Failure};
use crate::run::Surroundings;
use crate::token;

/// Who has a ServiceAccount on the control plane: every component, and who works with this program.
pub const COMPONENTS: [&str; 10] = [
    "cluster-health-controller",
    "taint-policy-controller",
    "taint-manager",
    "application-failover-controller",
    "eviction-queue",
    "graceful-eviction-controller",
    "scheduler",
    "propagation-controllers",
    "webhook",
    token::ACCOUNT,
];

/// How often the Secret is looked at until the API server has filled it.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Where the API server is, for another program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its URL.
    pub server: String,
    /// The certificates of its authority, in PEM; none: those that the system trusts.
    pub authority: Option<Vec<u8>>,
    /// The name that its certificate has, where that is not the URL's.
    pub server_name: Option<String>,
}

/// A token, and what came with it.
struct Token {
    text: String,
    authority: Option<Vec<u8>>,
}

/// The kubeconfig as text.
///
/// # Errors
/// There is no such ServiceAccount or token, this user may not read it, or the file cannot be written.
pub async fn kubeconfig(
    control_plane: &ControlPlane,
    place: Place,
    args: &KubeconfigArgs,
    around: &Surroundings,
) -> Result<String, Failure> {
    let token = match args.expires_in {
        Some(lasts) => new_token(control_plane, &args.component, lasts, around).await?,
        None => lasting_token(control_plane, &args.component).await?,
    };
    let given = args.ca_file.as_deref().map(read).transpose()?;
    let place = Place {
        server: args.server.clone().unwrap_or(place.server),
        // An authority of another URL says nothing about this one.
        authority: given.or(token.authority).or(place.authority),
        ..place
    };
    let text = written(&args.component, &place, &token.text)?;
    let Some(file) = &args.file else { return Ok(text) };
    save(file, &text)?;
    around.console.note(&format!(
        "{} holds a token: make the Secret from it, and delete it\n  next: kubectl create secret generic {}-kubeconfig --from-file=kubeconfig={}\n",
        file.display(),
        args.component,
        file.display()
    ));
    Ok(String::new())
}

/// Where the command line leads, for others.
///
/// # Errors
/// The kubeconfig is wrong or there is none.
pub async fn place(target: &Target) -> Result<Place, Failure> {
    let config = connect::find_config(target.kubeconfig.as_deref(), target.context.as_deref()).await?;
    let server = config.cluster_url.to_string();
    if config.accept_invalid_certs {
        return Err(Failure::new(
            ExitStatus::Usage,
            "cannot make a kubeconfig",
            "the one that is used does not look at the API server's certificate, and a component has to",
            "give --ca-file, and a kubeconfig without insecure-skip-tls-verify",
        ));
    }
    Ok(Place {
        server: server.trim_end_matches('/').to_owned(),
        authority: config.root_cert.as_deref().map(pem),
        server_name: config.tls_server_name.clone(),
    })
}

/// Certificates in PEM.
fn pem(certificates: &[Vec<u8>]) -> Vec<u8> {
    let mut text = String::new();
    for certificate in certificates {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let encoded = base64(certificate);
        for line in encoded.as_bytes().chunks(64) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text.into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    let encoded = json!(ByteString(bytes.to_vec()));
    encoded.as_str().unwrap_or_default().to_owned()
}

/// The document. Pure.
fn written(component: &str, place: &Place, token: &str) -> Result<String, Failure> {
    let mut cluster = json!({"server": place.server});
    if let Some(authority) = &place.authority {
        cluster["certificate-authority-data"] = base64(authority).into();
    }
    if let Some(name) = &place.server_name {
        cluster["tls-server-name"] = name.clone().into();
    }
    let document: Value = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "karmada", "cluster": cluster}],
        "users": [{"name": component, "user": {"token": token}}],
        "contexts": [{"name": component, "context": {"cluster": "karmada", "user": component}}],
        "current-context": component,
    });
    serde_saphyr::to_string(&document).map_err(|error| {
        Failure::new(
            ExitStatus::Problem,
            "cannot write a kubeconfig",
            error.to_string(),
            "report this as a defect of failoverctl",
        )
    })
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| {
        Failure::new(
            ExitStatus::Usage,
            format!("cannot read {}", file.display()),
            error.to_string(),
            "check --ca-file",
        )
    })
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let saved = options.open(file).and_then(|mut made| made.write_all(text.as_bytes()));
    saved.map_err(|error| {
        Failure::new(
            ExitStatus::Usage,
            format!("cannot write {}", file.display()),
            error.to_string(),
            "name another file with -f: none is overwritten",
        )
    })
}

/// The lasting token. The API server fills a new Secret after a moment.
async fn lasting_token(control_plane: &ControlPlane, component: &str) -> Result<Token, Failure> {
    let namespace = control_plane.system_namespace();
    let api = Api::<Secret>::namespaced(control_plane.client(), namespace);
    let name = format!("{component}-token");
    let what = format!("cannot read the token of {component}");
    for look in 0..LOOKS {
        if look > 0 {
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        let secret = match api.get_opt(&name).await {
            Ok(Some(secret)) => secret,
            Ok(None) => {
                return Err(Failure::new(
                    ExitStatus::Problem,
                    what,
                    format!("there is no Secret {name} in namespace {namespace}"),
                    "install the chart control-plane on this API server, which makes it; or pass --expires-in for a token that ends",
                ));
            }
            Err(error) => {
                let needed = format!("use a kubeconfig whose user may get Secret {name} in namespace {namespace}");
                return Err(Failure::of_api_needing(&what, &error, &needed));
            }
        };
        let field = |name: &str| {
            let data = secret.data.as_ref()?.get(name)?;
            Some(data.0.clone()).filter(|bytes| !bytes.is_empty())
        };
        if let Some(text) = field("token").and_then(|token| String::from_utf8(token).ok()) {
            let authority = field("ca.crt");
            return Ok(Token { text, authority });
        }
    }
    Err(Failure::new(
        ExitStatus::TimedOut,
        what,
        format!("Secret {name} in namespace {namespace} has none: the API server's token controller has not filled it"),
        format!(
            "see that ServiceAccount {component} exists there and that kube-controller-manager of the control plane runs with \
             controller serviceaccount-token; or pass --expires-in"
        ),
    ))
}

/// A token that ends.
async fn new_token(
    control_plane: &ControlPlane,
    component: &str,
    lasts: Duration,
    around: &Surroundings,
) -> Result<Token, Failure> {
    let namespace = control_plane.system_namespace();
    let what = format!("cannot make a token for {component}");
    let answer = token::request(control_plane, component, lasts).await;
    let status = match answer {
        Ok(answer) => answer.status,
        Err(error) if api_errors::is_not_found(&error) => {
            return Err(Failure::new(
                ExitStatus::Problem,
                what,
                format!("there is no ServiceAccount {component} in namespace {namespace}"),
                "install the chart control-plane on this API server, which makes it",
            ));
        }
        Err(error) => {
            let needed = format!(
                "use a kubeconfig whose user may create serviceaccounts/token for {component} in namespace {namespace}"
            );
            return Err(
                Failure::of_invalid(&what, &error, "give a longer --expires-in: 10m is the least")
                    .unwrap_or_else(|| Failure::of_api_needing(&what, &error, &needed)),
            );
        }
    };
    let told = status.and_then(|status| {
        let token = status.token.filter(|token| !token.is_empty())?;
        Some((token, status.expiration_timestamp))
    });
    let Some((token, until)) = told else {
        return Err(Failure::new(
            ExitStatus::Problem,
            what,
            "the API server's answer holds none",
            "see its logs; or use the lasting token, without --expires-in",
        ));
    };
    if let Some(until) = until {
        around.console.note(&format!("the token is good until {}\n", until.0));
    }
    Ok(Token {
        text: token,
        authority: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_in_pem() {
        let text = String::from_utf8(pem(&[vec![7; 60], vec![1, 2, 3]])).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "-----BEGIN CERTIFICATE-----");
        assert_eq!(lines[1].len(), 64);
        assert_eq!(lines[5], "AQID");
        assert!(lines.iter().all(|line| line.len() <= 64));
    }
}
