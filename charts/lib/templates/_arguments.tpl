{{- /* The command line. A setting's name is its flag's in camel case; one that is empty is not given, and the program's
     own default counts. */ -}}

{{- /* A value as a flag takes it. Numbers of values.yaml are floating ones to helm, and 1000000 would be 1e+06. */ -}}
{{- define "lib.flagValue" -}}
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- int64 . -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end }}

{{- /* Of a map of settings: a flag for each. */ -}}
{{- define "lib.settings" -}}
{{- range $name, $value := . }}
{{- $empty := or (kindIs "invalid" $value) (and (kindIs "string" $value) (eq $value "")) (and (kindIs "slice" $value) (empty $value)) }}
{{- if not $empty }}
- {{ printf "--%s=%s" (kebabcase $name) (include "lib.flagValue" $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "lib.featureGates" -}}
{{- $global := .Values.global | default dict -}}
{{- $gates := deepCopy ($global.featureGates | default dict) -}}
{{- range $gate, $on := .Values.featureGates }}{{ $_ := set $gates $gate $on }}{{ end -}}
{{- $list := list -}}
{{- range $gate, $on := $gates }}{{ $list = append $list (printf "%s=%v" $gate $on) }}{{ end -}}
{{- join "," $list -}}
{{- end }}

{{- define "lib.otlpEndpoint" -}}
{{- .Values.otlpEndpoint | default (.Values.global | default dict).otlpEndpoint | default "" -}}
{{- end }}

{{- define "lib.arguments" -}}
{{- if include "lib.kubeconfigSecret" . }}
- --kubeconfig=/etc/karmada/kubeconfig
{{- with .Values.karmada.context }}
- {{ printf "--context=%s" . | quote }}
{{- end }}
{{- end }}
{{- with include "lib.featureGates" . }}
- {{ printf "--feature-gates=%s" . | quote }}
{{- end }}
- --admin-bind-address=0.0.0.0:{{ int .Values.ports.admin }}
- --log-format={{ .Values.log.format }}
- {{ printf "--log-level=%s" .Values.log.level | quote }}
{{- with include "lib.otlpEndpoint" . }}
- {{ printf "--otlp-endpoint=%s" . | quote }}
{{- end }}
{{- include "lib.settings" .Values.settings }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* What is done otherwise where a stock Karmada runs, too. */ -}}
{{- define "lib.besideArguments" -}}
{{- if eq (include "lib.mode" .) "beside" -}}
- --beside-stock=true
{{- end }}
{{- end }}

{{- /* How a caller of the eviction queue is known to it, and it to the caller. */ -}}
{{- define "lib.queueArguments" -}}
- --queue-ca-file=/etc/karmada-failover/queue-tls/ca.crt
- --queue-client-cert-file=/etc/karmada-failover/queue-tls/tls.crt
- --queue-client-key-file=/etc/karmada-failover/queue-tls/tls.key
- --queue-server-name={{ .Values.queue.serverName }}
{{- with .Values.queue.address }}
- {{ printf "--eviction-queue-address=%s" . | quote }}
{{- end }}
{{- end }}
