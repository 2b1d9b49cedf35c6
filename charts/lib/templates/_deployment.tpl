{{- /* lib.deployment takes a dict:
       root       the component's own scope
       arguments  more of the command line, as YAML list items
       env        more of the environment, as YAML list items
       ports      more ports of the container, as YAML list items
       secrets    list of {name, secret, path}: what is mounted where, read only
       configMaps list of {name, configMap, path}: as well
       account    ServiceAccount in this cluster, for one that talks to it beside the control plane
     A pod has what it needs and no more: no user 0, no writable file, no capability, and a token only where it runs in the
     control plane's own cluster. */ -}}
{{- define "lib.deployment" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $global := $values.global | default dict -}}
{{- $kubeconfig := include "lib.kubeconfigSecret" $root -}}
{{- $secrets := .secrets | default list -}}
{{- $configMaps := .configMaps | default list -}}
{{- if $kubeconfig }}{{ $secrets = prepend $secrets (dict "name" "kubeconfig" "secret" $kubeconfig "path" "/etc/karmada") }}{{ end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $root.Chart.Name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
  {{- with $values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  replicas: {{ int $values.replicas }}
  revisionHistoryLimit: 5
  selector:
    matchLabels:
      {{- include "lib.selectorLabels" $root | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      # A new replica is there before an old one goes: somebody is always ready to take the Lease.
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        {{- include "lib.labels" $root | nindent 8 }}
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ $root.Chart.Name }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- if and $kubeconfig (not .account) }}
      automountServiceAccountToken: false
      {{- else }}
      serviceAccountName: {{ .account | default $root.Chart.Name }}
      automountServiceAccountToken: true
      {{- end }}
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      {{- with $values.priorityClassName | default $global.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $values.imagePullSecrets | default $global.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- with $values.podSecurityContext | default $global.podSecurityContext }}
        {{- toYaml . | nindent 8 }}
        {{- else }}
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
        {{- end }}
      containers:
        - name: {{ $root.Chart.Name }}
          image: {{ include "lib.image" $root | quote }}
          imagePullPolicy: {{ $values.image.pullPolicy }}
          args:
            {{- include "lib.arguments" $root | trim | nindent 12 }}
            {{- with .arguments }}
            {{- . | trim | nindent 12 }}
            {{- end }}
          {{- if or .env $values.extraEnv }}
          env:
            {{- with .env }}
            {{- . | trim | nindent 12 }}
            {{- end }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
          ports:
            - name: admin
              containerPort: {{ int $values.ports.admin }}
              protocol: TCP
            {{- with .ports }}
            {{- . | trim | nindent 12 }}
            {{- end }}
          startupProbe:
            httpGet: {path: /healthz, port: admin}
            periodSeconds: 2
            failureThreshold: 30
          livenessProbe:
            httpGet: {path: /healthz, port: admin}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet: {path: /readyz, port: admin}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 3
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          {{- with concat $secrets $configMaps }}
          volumeMounts:
            {{- range . }}
            - name: {{ .name }}
              mountPath: {{ .path }}
              readOnly: true
            {{- end }}
          {{- end }}
      {{- if or $secrets $configMaps }}
      volumes:
        {{- range $secrets }}
        - name: {{ .name }}
          secret:
            secretName: {{ .secret }}
            defaultMode: 288 # 0440: the owner and the group read
        {{- end }}
        {{- range $configMaps }}
        - name: {{ .name }}
          configMap:
            name: {{ .configMap }}
            defaultMode: 288
        {{- end }}
      {{- end }}
      {{- if $values.spread.enabled }}
      topologySpreadConstraints:
        {{- range $values.spread.topologyKeys }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: {{ $values.spread.whenUnsatisfiable }}
          labelSelector:
            matchLabels:
              {{- include "lib.selectorLabels" $root | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
      {{- end }}
      {{- with $values.nodeSelector | default $global.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations | default $global.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity | default $global.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
