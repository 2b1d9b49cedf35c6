{{- /* The kinds of this chart that are there already, and not from this release. */ -}}
{{- define "karmada-crds.others" -}}
{{- $others := list -}}
{{- range $path, $_ := .Files.Glob "kinds/*.yaml" -}}
{{- $name := ($.Files.Get $path | fromYaml).metadata.name -}}
{{- $there := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
{{- if $there -}}
{{- $of := dig "metadata" "annotations" dict $there -}}
{{- $release := printf "%s/%s" (get $of "meta.helm.sh/release-namespace") (get $of "meta.helm.sh/release-name") -}}
{{- if ne $release (printf "%s/%s" $.Release.Namespace $.Release.Name) }}{{ $others = append $others $name }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toJson $others -}}
{{- end }}

{{- define "karmada-crds.othersNotes" -}}
{{- with include "karmada-crds.others" . | fromJsonArray }}

Kinds that another release, or another hand, made are as they were, and do not come with upgrades of this release. To take
them over, and upgrade once more:

  kubectl annotate --overwrite crd {{ join " " . }} \
    meta.helm.sh/release-name={{ $.Release.Name }} meta.helm.sh/release-namespace={{ $.Release.Namespace }}
  kubectl label --overwrite crd {{ join " " . }} \
    app.kubernetes.io/managed-by=Helm
{{- end }}
{{- end }}
