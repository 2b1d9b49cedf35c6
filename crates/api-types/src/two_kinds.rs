//! One Rust type for two kinds that differ in their scope only.

/// Implements [`kube::Resource`] for `$type`, whose value of `$kind` says which of the two kinds an object is.
macro_rules! two_kinds {
    ($type:ident by $kind:ident in $group:literal $version:literal: $($variant:ident => $name:literal, $plural:literal;)+) => {
        impl kube::Resource for $type {
            type DynamicType = $kind;
            type Scope = kube::core::DynamicResourceScope;

            fn kind(kind: &$kind) -> std::borrow::Cow<'_, str> {
                match kind {
                    $($kind::$variant => $name.into(),)+
                }
            }
            fn group(_: &$kind) -> std::borrow::Cow<'_, str> {
                $group.into()
            }
            fn version(_: &$kind) -> std::borrow::Cow<'_, str> {
                $version.into()
            }
            fn plural(kind: &$kind) -> std::borrow::Cow<'_, str> {
                match kind {
                    $($kind::$variant => $plural.into(),)+
                }
            }
            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use two_kinds;
