{{- /* What stands around a Deployment: each behind its switch. */ -}}

{{- /* All of it; takes what lib.networkPolicy takes. */ -}}
{{- define "lib.around" -}}
{{- include "lib.podDisruptionBudget" .root }}
---
{{- include "lib.metricsService" .root | nindent 0 }}
---
{{- include "lib.serviceMonitor" .root | nindent 0 }}
---
{{- include "lib.networkPolicy" . | nindent 0 }}
{{- end }}

{{- define "lib.podDisruptionBudget" -}}
{{- if and .Values.podDisruptionBudget.enabled (gt (int .Values.replicas) 1) -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "lib.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "lib.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end }}

{{- /* Where Prometheus finds the replicas. Nobody else calls them here: clients of the queue go to its leader. */ -}}
{{- define "lib.metricsService" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .Chart.Name }}-metrics
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "lib.labels" . | nindent 4 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "lib.selectorLabels" . | nindent 4 }}
  ports:
    - name: admin
      port: {{ int .Values.ports.admin }}
      targetPort: admin
      protocol: TCP
{{- end }}

{{- define "lib.serviceMonitor" -}}
{{- $global := .Values.global | default dict -}}
{{- $shared := $global.serviceMonitor | default dict -}}
{{- if or .Values.serviceMonitor.enabled $shared.enabled -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ .Chart.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "lib.labels" . | nindent 4 }}
    {{- with .Values.serviceMonitor.labels | default $shared.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  jobLabel: app.kubernetes.io/name
  selector:
    matchLabels:
      {{- include "lib.selectorLabels" . | nindent 6 }}
  endpoints:
    - port: admin
      path: /metrics
      interval: {{ .Values.serviceMonitor.interval }}
{{- end }}
{{- end }}

{{- /* lib.networkPolicy takes a dict: root; ingress and egress, more rules as YAML list items; members true where the
     component calls member clusters, whose addresses are anything. */ -}}
{{- define "lib.networkPolicy" -}}
{{- $root := .root -}}
{{- $policy := $root.Values.networkPolicy -}}
{{- $global := $root.Values.global | default dict -}}
{{- $shared := $global.networkPolicy | default dict -}}
{{- if $policy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $root.Chart.Name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "lib.selectorLabels" $root | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    # Metrics and probes.
    - ports:
        - port: admin
          protocol: TCP
      {{- with $policy.metricsFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- with .ingress }}
    {{- . | trim | nindent 4 }}
    {{- end }}
  egress:
    # Names.
    - ports:
        {{- range concat $policy.dnsPorts ($shared.dnsPorts | default list) | uniq }}
        - {port: {{ int . }}, protocol: UDP}
        - {port: {{ int . }}, protocol: TCP}
        {{- end }}
    {{- if .members }}
    # The control plane's API server and those of the members, wherever they are.
    - ports:
        - {port: 1, endPort: 65535, protocol: TCP}
    {{- else }}
    # The control plane's API server.
    - ports:
        {{- range concat $policy.apiServerPorts ($shared.apiServerPorts | default list) | uniq }}
        - {port: {{ int . }}, protocol: TCP}
        {{- end }}
      {{- with $policy.apiServers }}
      to:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- with include "lib.otlpEndpoint" $root }}
    # Traces.
    - ports:
        - {port: {{ regexFind ":[0-9]+/?$" . | trimPrefix ":" | trimSuffix "/" | default "4317" | int }}, protocol: TCP}
    {{- end }}
    {{- end }}
    {{- with .egress }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    {{- with $policy.extraEgress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{- /* To the replicas of the eviction queue. */ -}}
{{- define "lib.queueEgress" -}}
- ports:
    - {port: {{ int .Values.queue.port }}, protocol: TCP}
  to:
    - podSelector:
        matchLabels:
          app.kubernetes.io/name: eviction-queue
{{- end }}
