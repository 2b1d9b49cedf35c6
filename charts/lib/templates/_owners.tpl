{{- /* Refusals, where helm can look: `helm template` cannot, and then nothing is refused here. The components find a second
     owner at run time too. */ -}}

{{- /* The karmada-controller-manager of stock in this namespace, with its flags as one text: a flag and its value that are two
     words there are joined by = here. */ -}}
{{- define "lib.stockFlags" -}}
{{- $stock := lookup "apps/v1" "Deployment" .Release.Namespace "karmada-controller-manager" -}}
{{- range (dig "spec" "template" "spec" "containers" list ($stock | default dict)) }}
{{- regexReplaceAll "--(controllers|feature-gates) +" (join " " (concat (.command | default list) (.args | default list))) "--${1}=" }}
{{ end }}
{{- end }}

{{- /* Whether stock runs a controller: takes a dict of flags, its flags, and name. As stock reads its lists, and failoverctl check
     does: the first that names it decides, name for on and -name for off, and else *; without the flag all are on.
     Empty: no. */ -}}
{{- define "lib.stockRuns" -}}
{{- $name := .name -}}
{{- $lists := regexFindAll "--controllers=[^ \\n]*" .flags -1 -}}
{{- $runs := ternary "" "yes" (gt (len $lists) 0) -}}
{{- $isNamed := false -}}
{{- range $lists -}}
{{- range trimPrefix "--controllers=" . | splitList "," -}}
{{- if and (not $isNamed) (has (trim .) (list $name (printf "-%s" $name))) -}}
{{- $isNamed = true -}}
{{- $runs = ternary "yes" "" (eq (trim .) $name) -}}
{{- else if and (not $isNamed) (eq (trim .) "*") -}}
{{- $runs = "yes" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $runs -}}
{{- end }}

{{- /* Whether stock's gate is on: takes a dict of flags and name. The last word counts; without any it is off. Empty: no. */ -}}
{{- define "lib.stockGate" -}}
{{- $name := .name -}}
{{- $on := "" -}}
{{- range regexFindAll "--feature-gates=[^ \\n]*" .flags -1 -}}
{{- range trimPrefix "--feature-gates=" . | splitList "," -}}
{{- if hasPrefix (printf "%s=" $name) (trim .) }}{{ $on = ternary "yes" "" (eq (trim .) (printf "%s=true" $name)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $on -}}
{{- end }}

{{- /* lib.refusals takes a dict: root; standaloneOnly: stock does this itself; stockController: its switch in stock's
     --controllers; gate true: stock does it while its gate Failover is on. */ -}}
{{- define "lib.refusals" -}}
{{- $root := .root -}}
{{- $name := $root.Chart.Name -}}
{{- $mode := include "lib.mode" $root -}}
{{- if not (has $mode (list "standalone" "beside")) }}
{{- fail (printf "%s: mode is %q: say standalone or beside" $name $mode) }}
{{- end }}
{{- if and .standaloneOnly (eq $mode "beside") }}
{{- fail (printf "%s: stock Karmada does this itself where mode is beside: leave this chart out (%s.enabled=false in karmada-failover)" $name $name) }}
{{- end }}
{{- if and (not (include "lib.kubeconfigSecret" $root)) (ne $root.Release.Namespace "karmada-system") (not .anywhere) }}
{{- fail (printf "%s: without karmada.kubeconfigSecret it runs as the ServiceAccount karmada-system/%s: install it into the namespace karmada-system, or name the Secret with the control plane's kubeconfig" $name $name) }}
{{- end }}
{{- if eq $mode "standalone" }}
{{- if not (include "lib.kubeconfigSecret" $root) }}
{{- $api := lookup "apiregistration.k8s.io/v1" "APIService" "" "v1alpha1.cluster.karmada.io" }}
{{- if and $api (dig "spec" "service" "" $api) }}
{{- fail (printf "%s: this API server is a stock Karmada's (its APIService v1alpha1.cluster.karmada.io has a service): say mode=beside" $name) }}
{{- end }}
{{- end }}
{{- /* Whatever its flags say. The control plane that a kubeconfig leads to cannot be looked at from here. */ -}}
{{- if include "lib.stockFlags" $root }}
{{- fail (printf "%s: a stock Karmada runs in %s (its karmada-controller-manager is there): say mode=beside" $name $root.Release.Namespace) }}
{{- end }}
{{- else }}
{{- $flags := include "lib.stockFlags" $root }}
{{- if $flags }}
{{- if and .stockController (include "lib.stockRuns" (dict "flags" $flags "name" .stockController)) }}
{{- fail (printf "%s: stock's karmada-controller-manager in %s does this too: add -%s to its --controllers first, as in --controllers=*,-gracefulEviction,-applicationFailover" $name $root.Release.Namespace .stockController) }}
{{- end }}
{{- if and .gate (include "lib.stockGate" (dict "flags" $flags "name" "Failover")) }}
{{- fail (printf "%s: stock's karmada-controller-manager in %s does this too: set its --feature-gates=Failover=false first" $name $root.Release.Namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
