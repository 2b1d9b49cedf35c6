//! Whose binding stands under the name that a template's binding has.

use std::sync::Arc;

use api_types::work::Binding;

use crate::kinds::group_of;
use crate::objects::TemplateKey;

/// The answer of one look.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// There is no binding of this name.
    Not,
    /// It is the template's own.
    ToUs(Arc<Binding>),
    /// It is that of another object, whose binding happens to have the same name.
    ToAnother(String),
}

impl Bound {
    /// What was found under the name of the template's binding.
    #[must_use]
    pub fn of(found: Option<Arc<Binding>>, template: &TemplateKey) -> Self {
        let Some(binding) = found else { return Self::Not };
        let resource = &binding.spec.resource;
        // Of whatever version: it is the same object in each.
        if resource.kind == template.kind.kind()
            && group_of(&resource.api_version) == template.kind.group()
            && resource.name == template.object.name
        {
            return Self::ToUs(binding);
        }
        Self::ToAnother(format!(
            "{} {} of {}",
            resource.kind, resource.name, resource.api_version
        ))
    }

    /// The template's own binding.
    #[must_use]
    pub fn ours(self) -> Option<Arc<Binding>> {
        match self {
            Self::ToUs(binding) => Some(binding),
            Self::Not | Self::ToAnother(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use controller_kit::ObjectKey;
    use serde_json::json;

    use super::*;
    use crate::kinds::find;

    #[test]
    fn a_binding_is_ours_or_anothers() {
        let template = TemplateKey::new(
            find("apps/v1", "Deployment").unwrap(),
            ObjectKey::namespaced("shop", "web"),
        );
        let binding = |api_version: &str, kind: &str, name: &str| -> Arc<Binding> {
            let spec =
                json!({"resource": {"apiVersion": api_version, "kind": kind, "namespace": "shop", "name": name}});
            let binding = json!({"metadata": {"namespace": "shop", "name": "web-deployment"}, "spec": spec});
            Arc::new(serde_json::from_value(binding).unwrap())
        };
        let ours = binding("apps/v1", "Deployment", "web");
        assert_eq!(Bound::of(None, &template), Bound::Not);
        assert_eq!(Bound::of(Some(ours.clone()), &template), Bound::ToUs(ours));
        let older = binding("apps/v1beta1", "Deployment", "web");
        assert_eq!(Bound::of(Some(older.clone()), &template), Bound::ToUs(older));
        let another = Bound::of(Some(binding("example.io/v1", "Deployment", "web")), &template);
        assert_eq!(another, Bound::ToAnother("Deployment web of example.io/v1".to_owned()));
        assert_eq!(another.ours(), None);
    }
}
