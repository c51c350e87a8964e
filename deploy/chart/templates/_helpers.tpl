{{/* The prefix of all names: "weir", or the release's name with it. */}}
{{- define "weir.name" -}}
{{- ternary .Release.Name (printf "%s-weir" .Release.Name) (contains "weir" .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* The arguments of the following helpers: root, and the component (control, gate, migrate, test). */}}
{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "weir.labels" -}}
{{ include "weir.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "weir.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* What all pods share: the "restricted" Pod Security Standard, no token, and where they run. */}}
{{- define "weir.podSettings" -}}
automountServiceAccountToken: false
# Links to services are variables such as WEIR_GATE_PORT, which would look like settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "weir.containerSettings" -}}
image: {{ include "weir.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* A volume with some keys of a Secret: the arguments are name, secret and items (file: key). */}}
{{- define "weir.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    # Readable for the group of the process only: Weir refuses a signing key that everyone can read.
    defaultMode: 0440
    items:
      {{- range $file, $key := .items }}
      - { key: {{ $key | quote }}, path: {{ $file | quote }} }
      {{- end }}
{{- end }}

{{- define "weir.databaseCaVolume" -}}
{{- with .Values.secrets.databaseCa }}
{{- if .existingSecret }}
{{ include "weir.secretVolume" (dict "name" "database-ca" "secret" .existingSecret "items" (dict "ca.crt" .key)) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "weir.databaseCaMount" -}}
{{- if .Values.secrets.databaseCa.existingSecret }}
- { name: database-ca, mountPath: /run/weir/database-ca, readOnly: true }
{{- end }}
{{- end }}

{{/* The pod of a command of the owner of the tables, such as `weir migrate`; the argument args is a list. */}}
{{- define "weir.ownerPod" -}}
{{- $root := .root -}}
restartPolicy: Never
{{ include "weir.podSettings" $root }}
containers:
  - name: weir
    {{- include "weir.containerSettings" $root | nindent 4 }}
    args: {{ toJson .args }}
    env:
      - { name: WEIR_DATABASE_URL_FILE, value: /run/weir/owner/database_url }
      - { name: WEIR_CONTROL_DATABASE_PASSWORD_FILE, value: /run/weir/owner/control_password }
      - { name: WEIR_GATE_DATABASE_PASSWORD_FILE, value: /run/weir/owner/gate_password }
      {{- if $root.Values.secrets.owner.backupPasswordKey }}
      - { name: WEIR_BACKUP_DATABASE_PASSWORD_FILE, value: /run/weir/owner/backup_password }
      {{- end }}
      {{- with $root.Values.settings.WEIR_DATABASE_INSECURE }}
      - { name: WEIR_DATABASE_INSECURE, value: {{ . | quote }} }
      {{- end }}
    resources: {{ toYaml $root.Values.migrate.resources | nindent 6 }}
    volumeMounts:
      - { name: owner, mountPath: /run/weir/owner, readOnly: true }
      {{- include "weir.databaseCaMount" $root | nindent 6 }}
volumes:
  {{- with $root.Values.secrets.owner }}
  {{- $items := dict "database_url" .databaseUrlKey "control_password" .controlPasswordKey "gate_password" .gatePasswordKey }}
  {{- if .backupPasswordKey }}{{ $_ := set $items "backup_password" .backupPasswordKey }}{{ end }}
  {{- include "weir.secretVolume" (dict "name" "owner" "secret" .existingSecret "items" $items) | nindent 2 }}
  {{- end }}
  {{- include "weir.databaseCaVolume" $root | nindent 2 }}
{{- end }}

{{/* "yes" if an object of the Prometheus operator is wanted: the arguments are root and create. */}}
{{- define "weir.operated" -}}
{{- $known := .root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1" -}}
{{- if or (eq .create "always") (and (eq .create "auto") $known) }}yes{{ end -}}
{{- end }}
