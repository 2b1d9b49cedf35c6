//! FailoverPauses on the API server: the only place of this program that writes there.

use api_types::failover::FailoverPause;
use controller_kit::api_errors;
use kube::Api;
use kube::api::{DeleteParams, PostParams, Preconditions};

use super::view::PauseObject;
use crate::control_plane::{ControlPlane, all_of};
use crate::failure::{ExitStatus, Failure};

const NEEDED: &str = "use a kubeconfig whose user may list, create and delete failoverpauses.failover.karmada.io";

/// Whether the server only says what would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DryRun {
    Yes,
    No,
}

/// The FailoverPauses.
pub(super) struct Pauses {
    api: Api<FailoverPause>,
}

impl Pauses {
    pub(super) fn of(control_plane: &ControlPlane) -> Self {
        Self {
            api: Api::all(control_plane.client()),
        }
    }

    /// All of them, by name.
    pub(super) async fn all(&self) -> Result<Vec<FailoverPause>, Failure> {
        let mut pauses = all_of(&self.api, "FailoverPause", "failoverpauses", NEEDED).await?;
        pauses.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        Ok(pauses)
    }

    /// Makes it, as the server then has it.
    pub(super) async fn create(&self, pause: &FailoverPause, dry_run: DryRun) -> Result<FailoverPause, Failure> {
        let params = PostParams {
            dry_run: dry_run == DryRun::Yes,
            ..PostParams::default()
        };
        let name = pause.metadata.name.as_deref().unwrap_or_default();
        match self.api.create(&params, pause).await {
            Ok(made) => Ok(made),
            Err(error) if api_errors::is_already_exists(&error) => Err(self.exists_already(name).await),
            Err(error) => Err(refused(&format!("cannot make FailoverPause {name}"), &error)),
        }
    }

    /// Deletes this very object; one that is gone already is as good.
    pub(super) async fn delete(&self, pause: &FailoverPause, dry_run: DryRun) -> Result<(), Failure> {
        let name = pause.metadata.name.as_deref().unwrap_or_default();
        let params = DeleteParams {
            dry_run: dry_run == DryRun::Yes,
            preconditions: Some(Preconditions {
                uid: pause.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.api.delete(name, &params).await {
            Ok(_) => Ok(()),
            Err(error) if api_errors::is_not_found(&error) => Ok(()),
            Err(error) if api_errors::is_conflict(&error) => Err(Failure::new(
                ExitStatus::Problem,
                format!("cannot end FailoverPause {name}"),
                "somebody replaced it by another of the same name meanwhile",
                "look at it: failoverctl pause list",
            )),
            Err(error) => Err(refused(&format!("cannot end FailoverPause {name}"), &error)),
        }
    }

    async fn exists_already(&self, name: &str) -> Failure {
        let there = match self.api.get_opt(name).await {
            Ok(Some(there)) => {
                let there = PauseObject::of(&there);
                format!("there is one of this name: it stops {}", there.in_words())
            }
            Ok(None) | Err(_) => "there is one of this name".to_owned(),
        };
        Failure::new(
            ExitStatus::Problem,
            format!("cannot make FailoverPause {name}"),
            there,
            format!("give another --name, or end that one first: failoverctl resume {name}"),
        )
    }
}

fn refused(what: &str, error: &kube::Error) -> Failure {
    if api_errors::is_not_found(error) {
        return Failure::kind_not_served("FailoverPause");
    }
    Failure::of_invalid(what, error, "correct the arguments: failoverctl pause --help")
        .unwrap_or_else(|| Failure::of_api_needing(what, error, NEEDED))
}
