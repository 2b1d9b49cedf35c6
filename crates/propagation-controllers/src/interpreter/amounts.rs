//! Amounts of resources that are written as numbers, such as `cpu: 1`. The API server makes texts of them in the kinds of
//! Kubernetes itself; in custom kinds, and in what scripts make, they stay numbers, and mean the same.

use serde_json::Value;

use crate::quantity;

/// Fields of a pod template that hold amounts by the name of the resource.
const BY_RESOURCE: [&str; 3] = ["limits", "requests", "overhead"];
/// Fields of a pod template that hold one amount.
const SINGLE: [&str; 2] = ["divisor", "sizeLimit"];

/// Makes texts of the amounts of an object that holds them by the name of the resource.
///
/// # Errors
/// When a number is too large for an amount.
pub(super) fn as_texts(amounts: &mut Value) -> Result<(), String> {
    match amounts {
        Value::Object(amounts) => amounts.values_mut().try_for_each(as_text),
        _ => Ok(()),
    }
}

/// The same with every amount in a pod template.
///
/// # Errors
/// When a number is too large for an amount.
pub(super) fn in_pod_template(template: &mut Value) -> Result<(), String> {
    match template {
        Value::Array(items) => items.iter_mut().try_for_each(in_pod_template),
        Value::Object(fields) => fields.iter_mut().try_for_each(|(name, field)| {
            if BY_RESOURCE.contains(&name.as_str()) {
                as_texts(field)
            } else if SINGLE.contains(&name.as_str()) {
                as_text(field)
            } else {
                in_pod_template(field)
            }
        }),
        _ => Ok(()),
    }
}

fn as_text(amount: &mut Value) -> Result<(), String> {
    if let Value::Number(number) = amount {
        *amount = Value::String(quantity::of_number(number)?.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_of_a_pod_template_are_texts() {
        let mut template = json!({"metadata": {"annotations": {"limits": "5"}}, "spec": {
            "terminationGracePeriodSeconds": 30, "overhead": {"cpu": 0.25},
            "containers": [{"ports": [{"containerPort": 80}], "resources": {"limits": {"example.com/gpu": 2}, "requests": {"cpu": 1.5, "memory": "1Gi"}},
                "env": [{"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": 1}}}]}],
            "volumes": [{"emptyDir": {"sizeLimit": 1_073_741_824}},
                {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": 5}}}}}}],
        }});
        in_pod_template(&mut template).unwrap();
        let wanted = json!({"metadata": {"annotations": {"limits": "5"}}, "spec": {
            "terminationGracePeriodSeconds": 30, "overhead": {"cpu": "250m"},
            "containers": [{"ports": [{"containerPort": 80}], "resources": {"limits": {"example.com/gpu": "2"}, "requests": {"cpu": "1500m", "memory": "1Gi"}},
                "env": [{"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1"}}}]}],
            "volumes": [{"emptyDir": {"sizeLimit": "1073741824"}},
                {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "5"}}}}}}],
        }});
        assert_eq!(template, wanted);
    }

    #[rstest]
    #[case(json!({"cpu": 1e300}))]
    #[case(json!({"cpu": 1, "memory": -1e40}))]
    fn what_no_amount_holds_is_an_error(#[case] mut amounts: Value) {
        assert!(as_texts(&mut amounts).unwrap_err().ends_with("is no quantity"));
    }
}
