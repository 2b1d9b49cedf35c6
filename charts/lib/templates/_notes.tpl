{{- /* What is said after an installation: the next command. */ -}}
{{- define "lib.notes" -}}
{{ .Chart.Name }} {{ .Chart.AppVersion }} is installed in {{ .Release.Namespace }} (mode {{ include "lib.mode" . }}).
{{- with include "lib.kubeconfigSecret" . }}

It needs the Secret {{ . }} with its kubeconfig of the control plane. If it is not there yet:

  kubeconfig=$(failoverctl --kubeconfig CONTROL-PLANE kubeconfig {{ $.Chart.Name }}) && printf '%s\n' "$kubeconfig" |
    kubectl -n {{ $.Release.Namespace }} create secret generic {{ . }} --from-file=kubeconfig=/dev/stdin
{{- end }}

Next, see whether it is ready:

  kubectl -n {{ .Release.Namespace }} rollout status deployment/{{ .Chart.Name }}
{{- end }}
