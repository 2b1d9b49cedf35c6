{{- define "control-plane.mode" -}}
{{- (.Values.global | default dict).mode | default .Values.mode -}}
{{- end }}

{{- /* The components that have rights here, as files under rbac/. Beside stock two are not installed: stock does this. */ -}}
{{- define "control-plane.components" -}}
{{- $stocks := list "cluster-health-controller" "propagation-controllers" -}}
{{- $names := list -}}
{{- range $path, $_ := .Files.Glob "rbac/*.yaml" -}}
{{- $name := trimSuffix ".yaml" (base $path) -}}
{{- if not (and (eq (include "control-plane.mode" $) "beside") (has $name $stocks)) }}{{ $names = append $names $name }}{{ end -}}
{{- end -}}
{{- toJson $names -}}
{{- end }}

{{- /* yes: an object of cluster scope that is there already, and not from this release. Takes the root, API version, kind and name. */ -}}
{{- define "control-plane.isOfAnother" -}}
{{- $root := index . 0 -}}
{{- $there := lookup (index . 1) (index . 2) "" (index . 3) -}}
{{- if $there -}}
{{- $of := dig "metadata" "annotations" dict $there -}}
{{- $release := printf "%s/%s" (get $of "meta.helm.sh/release-namespace") (get $of "meta.helm.sh/release-name") -}}
{{- if ne $release (printf "%s/%s" $root.Release.Namespace $root.Release.Name) }}yes{{ end -}}
{{- end -}}
{{- end }}

{{- /* The kinds of this chart that are there already, and not from this release. */ -}}
{{- define "control-plane.others" -}}
{{- $others := list -}}
{{- range $path, $_ := .Files.Glob "kinds/*.yaml" -}}
{{- $name := ($.Files.Get $path | fromYaml).metadata.name -}}
{{- if eq (include "control-plane.isOfAnother" (list $ "apiextensions.k8s.io/v1" "CustomResourceDefinition" $name)) "yes" }}{{ $others = append $others $name }}{{ end -}}
{{- end -}}
{{- toJson $others -}}
{{- end }}

{{- define "control-plane.othersNotes" -}}
{{- with include "control-plane.others" . | fromJsonArray }}

Kinds that another release, or another hand, made are as they were, and do not come with upgrades of this release. To take
them over, and upgrade once more:

  kubectl annotate --overwrite crd {{ join " " . }} \
    meta.helm.sh/release-name={{ $.Release.Name }} meta.helm.sh/release-namespace={{ $.Release.Namespace }}
  kubectl label --overwrite crd {{ join " " . }} \
    app.kubernetes.io/managed-by=Helm
{{- end }}
{{- end }}
