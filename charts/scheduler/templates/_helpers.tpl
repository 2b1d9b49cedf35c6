{{- /* The name that policies place by, where mode is beside and settings say none: default-scheduler is stock's there. */ -}}
{{- define "scheduler.besideName" -}}
{{- if eq (include "lib.mode" .) "beside" -}}
{{- if eq .Values.settings.schedulerName "default-scheduler" }}
{{- fail "scheduler: where mode is beside, stock's scheduler handles default-scheduler: leave settings.schedulerName out (failover-scheduler) or say another, and name it in the policies that are to be placed by this one" }}
{{- end }}
{{- if not .Values.settings.schedulerName -}}
- --scheduler-name=failover-scheduler
{{- end }}
{{- end }}
{{- end }}
