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
