//! Kinds of one's own on an API server.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};

use crate::error::Error;
use crate::wait::eventually;

const SERVED_WITHIN: Duration = Duration::from_secs(30);

/// Makes these kinds known to an API server and waits until it serves them, too.
///
/// # Errors
/// [`Error::Api`] when one is refused; [`Error::TooLate`] when one is not served.
pub async fn serve_kinds(client: &Client, crds: &[CustomResourceDefinition]) -> Result<(), Error> {
    for crd in crds {
        Api::all(client.clone())
            .create(&PostParams::default(), crd)
            .await
            .map_err(Error::api(format!("create {}", crd.name_any())))?;
    }
    eventually("the CRDs to be served", SERVED_WITHIN, async || {
        let groups = client.list_api_groups().await.map_err(|error| error.to_string())?;
        for crd in crds {
            let version = format!("{}/{}", crd.spec.group, crd.spec.versions[0].name);
            if !groups.groups.iter().any(|group| group.name == crd.spec.group) {
                return Err(format!("{} is not served", crd.spec.group));
            }
            let resources = client
                .list_api_group_resources(&version)
                .await
                .map_err(|error| error.to_string())?;
            if !resources
                .resources
                .iter()
                .any(|resource| resource.name == crd.spec.names.plural)
            {
                return Err(format!("{} is not served", crd.name_any()));
            }
        }
        Ok(())
    })
    .await
}
