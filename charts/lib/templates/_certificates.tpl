{{- /* Certificates of an authority that nobody keeps: made at once, all together, when one is missing or a new generation
     is asked for, and else taken over from the Secrets that are there. When they are made anew the old authority stays in
     ca.crt: who has read the new files takes the certificates of who has not. Not the other way round: until all have read them,
     some calls fail, and are tried again.

     lib.certificates takes a dict: root; authority, its name; generation and days; wanted, a list of
     {secret, name, dnsNames, addresses}. */ -}}
{{- define "lib.certificates" -}}
{{- $root := .root -}}
{{- $namespace := $root.Release.Namespace -}}
{{- $days := int .days -}}
{{- $stamp := printf "%v/%s" .generation (toJson .wanted | sha256sum | trunc 12) -}}
{{- $authorities := dict -}}
{{- $kept := dict -}}
{{- range .wanted -}}
{{- $there := lookup "v1" "Secret" $namespace .secret | default dict -}}
{{- $data := $there.data | default dict -}}
{{- with index $data "ca.crt" }}{{ $_ := set $authorities . true }}{{ end -}}
{{- if and (index $data "tls.crt") (index $data "tls.key") (eq $stamp (dig "metadata" "annotations" "failover.karmada.io/certificates" "" $there)) -}}
{{- $_ := set $kept .secret $data -}}
{{- end -}}
{{- end -}}
{{- $areKept := and (eq (len $kept) (len .wanted)) (eq (len $authorities) 1) -}}
{{- $authority := dict -}}
{{- $bundle := "" -}}
{{- if not $areKept -}}
{{- $authority = genCAWithKey .authority $days (genPrivateKey "ecdsa") -}}
{{- $bundle = $authority.Cert -}}
{{- range $old := keys $authorities | sortAlpha -}}
{{- $first := regexFind "-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----" (b64dec $old) -}}
{{- if $first }}{{ $bundle = printf "%s\n%s\n" (trim $bundle) $first }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range .wanted }}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: {{ .secret }}
  namespace: {{ $namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
  annotations:
    failover.karmada.io/certificates: {{ $stamp | quote }}
data:
  {{- if $areKept }}
  {{- $data := index $kept .secret }}
  ca.crt: {{ index $data "ca.crt" }}
  tls.crt: {{ index $data "tls.crt" }}
  tls.key: {{ index $data "tls.key" }}
  {{- else }}
  {{- $made := genSignedCertWithKey .name (.addresses | default list) .dnsNames $days $authority (genPrivateKey "ecdsa") }}
  ca.crt: {{ $bundle | b64enc }}
  tls.crt: {{ $made.Cert | b64enc }}
  tls.key: {{ $made.Key | b64enc }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* With the source existing: Secrets that this release made before stay as they are. helm would take them away under Pods
     that run. Takes what lib.certificates takes. */ -}}
{{- define "lib.certificatesThatAreThere" -}}
{{- $root := .root -}}
{{- range .wanted }}
{{- $there := lookup "v1" "Secret" $root.Release.Namespace .secret | default dict -}}
{{- $of := dig "metadata" "annotations" dict $there -}}
{{- $stamp := get $of "failover.karmada.io/certificates" -}}
{{- if and $stamp (eq $root.Release.Name (get $of "meta.helm.sh/release-name")) }}
---
apiVersion: v1
kind: Secret
type: {{ $there.type }}
metadata:
  name: {{ .secret }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
  annotations:
    failover.karmada.io/certificates: {{ $stamp | quote }}
data:
  {{- toYaml $there.data | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The same by cert-manager. Beside wanted, where each has usage (server auth or client auth), it takes certManager. */ -}}
{{- define "lib.certManager" -}}
{{- $root := .root -}}
{{- $namespace := $root.Release.Namespace -}}
{{- $settings := .certManager -}}
{{- $issuer := $settings.issuerRef -}}
{{- if not $issuer }}
{{- $issuer = dict "name" .authority "kind" "Issuer" }}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .authority }}-root
  namespace: {{ $namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .authority }}
  namespace: {{ $namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
spec:
  isCA: true
  commonName: {{ .authority }}
  secretName: {{ .authority }}
  duration: 87600h
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: {{ .authority }}-root, kind: Issuer}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ .authority }}
  namespace: {{ $namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
spec:
  ca:
    secretName: {{ .authority }}
{{- end }}
{{- range .wanted }}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ .secret }}
  namespace: {{ $namespace }}
  labels:
    {{- include "lib.labels" $root | nindent 4 }}
spec:
  secretName: {{ .secret }}
  commonName: {{ .name }}
  dnsNames: {{ toJson .dnsNames }}
  {{- with .addresses }}
  ipAddresses: {{ toJson . }}
  {{- end }}
  usages: [{{ .usage }}]
  duration: {{ $settings.duration }}
  renewBefore: {{ $settings.renewBefore }}
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {{ toJson $issuer }}
{{- end }}
{{- end }}
