{{- /* Refusals, where helm can look: `helm template` cannot, and then nothing is refused here. The components find a second
     owner at run time too. */ -}}

{{- /* The karmada-controller-manager of stock in these namespaces, a list, as JSON: deployment, its NAMESPACE/NAME; arguments,
     what follows the program's name; runs, whether it has replicas. It is known by its image or its command, whatever the
     Deployment is called, and of several the first that runs counts, as for failoverctl check. */ -}}
{{- define "lib.stockManager" -}}
{{- $found := dict -}}
{{- range . -}}
{{- range lookup "apps/v1" "Deployment" . "" | dig "items" list -}}
{{- $deployment := . -}}
{{- range dig "spec" "template" "spec" "containers" list $deployment -}}
{{- $command := .command | default list -}}
{{- $image := .image | default "" | splitList "@" | first | splitList "/" | last | splitList ":" | first -}}
{{- $program := first $command | default "" | splitList "/" | last -}}
{{- if and (has "karmada-controller-manager" (list $image $program)) (not (get $found "runs")) -}}
{{- $_ := set $found "deployment" (printf "%s/%s" $deployment.metadata.namespace $deployment.metadata.name) -}}
{{- $_ := set $found "arguments" (concat (rest $command | default list) (.args | default list)) -}}
{{- $_ := set $found "runs" (gt (dig "spec" "replicas" 1 $deployment | int) 0) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end }}

{{- /* Every value of a flag of stock's, as a JSON list: takes a dict of arguments and flag. The word after a flag without = is
     its value. */ -}}
{{- define "lib.stockValues" -}}
{{- $flag := printf "--%s" .flag -}}
{{- $values := list -}}
{{- $isNext := false -}}
{{- range .arguments -}}
{{- if $isNext -}}
{{- $values = append $values . -}}
{{- $isNext = false -}}
{{- else if eq . $flag -}}
{{- $isNext = true -}}
{{- else if hasPrefix (printf "%s=" $flag) . -}}
{{- $values = append $values (trimPrefix (printf "%s=" $flag) .) -}}
{{- end -}}
{{- end -}}
{{- toJson $values -}}
{{- end }}

{{- /* Whether stock runs a controller: takes a dict of arguments and name. As stock reads its lists, and failoverctl check
     does: the first that names it decides, name for on and -name for off, and else *; without the flag all are on.
     Empty: no. */ -}}
{{- define "lib.stockRuns" -}}
{{- $name := .name -}}
{{- $lists := include "lib.stockValues" (dict "arguments" .arguments "flag" "controllers") | fromJsonArray -}}
{{- $runs := ternary "" "yes" (gt (len $lists) 0) -}}
{{- $isNamed := false -}}
{{- range $lists -}}
{{- range splitList "," . -}}
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

{{- /* Whether stock's gate is on: takes a dict of arguments, name, and stage, the word for all gates of its stage. As stock
     reads them, and failoverctl check does: of each the last word counts, in any spelling that Go's strconv.ParseBool knows;
     its own goes before its stage's; without any it is off. Empty: no. */ -}}
{{- define "lib.stockGate" -}}
{{- $said := dict -}}
{{- range include "lib.stockValues" (dict "arguments" .arguments "flag" "feature-gates") | fromJsonArray -}}
{{- range splitList "," . -}}
{{- if contains "=" . -}}
{{- $gate := splitn "=" 2 . -}}
{{- $_ := set $said (trim $gate._0) (trim $gate._1) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $on := list "1" "t" "T" "true" "TRUE" "True" -}}
{{- $off := list "0" "f" "F" "false" "FALSE" "False" -}}
{{- if has (get $said .name) $on -}}
yes
{{- else if and (not (has (get $said .name) $off)) (has (get $said .stage) $on) -}}
yes
{{- end -}}
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
{{- /* Whatever its flags say. The control plane that a kubeconfig leads to cannot be looked at from here: in a namespace
     without a stock Karmada it is taken for one of its own. */ -}}
{{- with include "lib.stockManager" (list $root.Release.Namespace) | fromJson }}
{{- fail (printf "%s: a stock Karmada runs in %s (its karmada-controller-manager is Deployment %s): say mode=beside" $name $root.Release.Namespace .deployment) }}
{{- end }}
{{- else }}
{{- $stock := include "lib.stockManager" (list $root.Release.Namespace "karmada-system" | uniq) | fromJson }}
{{- if $stock }}
{{- if and .stockController (include "lib.stockRuns" (dict "arguments" $stock.arguments "name" .stockController)) }}
{{- fail (printf "%s: stock's karmada-controller-manager (Deployment %s) does this too: add -%s to its --controllers first, as in --controllers=*,-gracefulEviction,-applicationFailover" $name $stock.deployment .stockController) }}
{{- end }}
{{- if and .gate (include "lib.stockGate" (dict "arguments" $stock.arguments "name" "Failover" "stage" "AllBeta")) }}
{{- fail (printf "%s: stock's karmada-controller-manager (Deployment %s) does this too: set its --feature-gates=Failover=false first" $name $stock.deployment) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
