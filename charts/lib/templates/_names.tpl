{{- /* Names, labels, and what the umbrella says for all. A component's chart, Deployment, container, program and
     ServiceAccount have one name. */ -}}

{{- define "lib.mode" -}}
{{- $global := .Values.global | default dict -}}
{{- $global.mode | default .Values.mode -}}
{{- end }}

{{- define "lib.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lib.labels" -}}
{{ include "lib.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: karmada-failover
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* The Secret with this component's kubeconfig of the control plane; empty: the control plane is this cluster. */ -}}
{{- define "lib.kubeconfigSecret" -}}
{{- $shared := (.Values.global | default dict).karmada | default dict -}}
{{- if .Values.karmada.kubeconfigSecret -}}
{{- .Values.karmada.kubeconfigSecret -}}
{{- else if $shared.kubeconfigSecretSuffix -}}
{{- printf "%s%s" .Chart.Name $shared.kubeconfigSecretSuffix -}}
{{- end -}}
{{- end }}

{{- define "lib.image" -}}
{{- $global := .Values.global | default dict -}}
{{- $shared := $global.image | default dict -}}
{{- $registry := .Values.image.registry | default $shared.registry -}}
{{- $tag := .Values.image.tag | default $shared.tag | default .Chart.AppVersion -}}
{{- with $registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}:{{ $tag }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}
