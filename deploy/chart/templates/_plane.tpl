{{/* The settings of a plane: those that the chart needs, then those of both planes, then those of the plane. */}}
{{- define "weir.settings" -}}
{{- $values := .root.Values -}}
{{- $plane := index $values .component -}}
{{- $settings := dict
  "WEIR_ROLES" .component
  "WEIR_DATABASE_URL_FILE" "/run/weir/plane/database_url"
  "WEIR_REDIS_URL_FILE" "/run/weir/redis/redis_url"
  "WEIR_OPERATIONS_ADDR" "0.0.0.0:9090"
  "WEIR_HEALTH_URL" "http://127.0.0.1:9090"
  "WEIR_DRAIN_MS" (toString $values.drainMs)
-}}
{{- if $values.secrets.redis.caKey -}}
{{- $_ := set $settings "WEIR_REDIS_CA_FILE" "/run/weir/redis/ca.crt" -}}
{{- end -}}
{{- with $values.secrets.tls -}}
{{- if .existingSecret -}}
{{- $_ := set $settings "WEIR_TLS_CERT_FILE" "/run/weir/tls/tls.crt" -}}
{{- $_ := set $settings "WEIR_TLS_KEY_FILE" "/run/weir/tls/tls.key" -}}
{{- if .rlsClientCaKey }}{{ $_ := set $settings "WEIR_RLS_CLIENT_CA_FILE" "/run/weir/tls/client_ca.crt" }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if eq .component "control" -}}
{{- $_ := set $settings "WEIR_CONTROL_ADDR" "0.0.0.0:8080" -}}
{{- $_ := set $settings "WEIR_JWT_KEY_FILE" "/run/weir/plane/jwt_key" -}}
{{- with $values.secrets.control -}}
{{- if .smtpUrlKey }}{{ $_ := set $settings "WEIR_SMTP_URL_FILE" "/run/weir/plane/smtp_url" }}{{ end -}}
{{- if .oidcClientSecretKey }}{{ $_ := set $settings "WEIR_OIDC_CLIENT_SECRET_FILE" "/run/weir/plane/oidc_client_secret" }}{{ end -}}
{{- end -}}
{{- if $values.gate.url }}{{ $_ := set $settings "WEIR_GATE_ORIGINS" $values.gate.url }}{{ end -}}
{{- else -}}
{{- $_ := set $settings "WEIR_GATE_ADDR" "0.0.0.0:8081" -}}
{{- $_ := set $settings "WEIR_STATE_DIR" "/var/lib/weir" -}}
{{- if $values.gate.rateLimitService.enabled }}{{ $_ := set $settings "WEIR_RLS_ADDR" "0.0.0.0:8082" }}{{ end -}}
{{- if $values.secrets.gate.webhookKeyKey }}{{ $_ := set $settings "WEIR_WEBHOOK_KEY_FILE" "/run/weir/plane/webhook_key" }}{{ end -}}
{{- with $values.gate.region -}}
{{- if .name -}}
{{- $_ := set $settings "WEIR_REGION" .name -}}
{{- $_ := set $settings "WEIR_INTERNAL_ADDR" "0.0.0.0:8443" -}}
{{- $_ := set $settings "WEIR_REGION_BUDGET_MS" (toString .budgetMs) -}}
{{- $_ := set $settings "WEIR_REGION_KEY_FILE" "/run/weir/plane/region_key" -}}
{{- end -}}
{{- end -}}
{{- if $values.gate.url }}{{ $_ := set $settings "WEIR_GATE_URL" $values.gate.url }}{{ end -}}
{{- if $values.control.url }}{{ $_ := set $settings "WEIR_DASHBOARD_ORIGINS" $values.control.url }}{{ end -}}
{{- end -}}
{{- range $name, $value := mergeOverwrite $settings $values.settings $plane.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* The digest of the Secrets of a plane, so that an upgrade after a change replaces its pods. Empty without a cluster. */}}
{{- define "weir.secretsDigest" -}}
{{- $root := .root -}}
{{- $names := list (index $root.Values.secrets .component).existingSecret $root.Values.secrets.redis.existingSecret $root.Values.secrets.databaseCa.existingSecret -}}
{{- range compact $names -}}
{{- with lookup "v1" "Secret" $root.Release.Namespace . }}{{ toJson .data }}{{ end -}}
{{- end -}}
{{- end }}

{{/* The pod of a plane. */}}
{{- define "weir.plane" -}}
{{- $root := .root -}}
{{- $plane := index $root.Values .component -}}
{{- $secret := index $root.Values.secrets .component -}}
metadata:
  labels: {{ include "weir.labels" . | nindent 4 }}
  annotations:
    checksum/settings: {{ include "weir.settings" . | sha256sum }}
    checksum/secrets: {{ include "weir.secretsDigest" . | sha256sum }}
    {{- with $root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "weir.podSettings" $root | nindent 2 }}
  # The time to be "not ready", at most 20 s for requests in flight, and 10 s for the last statistics.
  terminationGracePeriodSeconds: {{ add 30 (div (add $root.Values.drainMs 999) 1000) }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      # A preference: a full zone must not keep a gate from starting.
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{ include "weir.selector" $ | nindent 10 }}
    {{- end }}
  containers:
    - name: weir
      {{- include "weir.containerSettings" $root | nindent 6 }}
      args: [serve]
      envFrom:
        - configMapRef: { name: {{ include "weir.name" $root }}-{{ .component }} }
      ports:
        - { name: http, containerPort: {{ ternary 8080 8081 (eq .component "control") }} }
        - { name: operations, containerPort: 9090 }
        {{- if and (eq .component "gate") $plane.rateLimitService.enabled }}
        - { name: grpc-rls, containerPort: 8082 }
        {{- end }}
        {{- if and (eq .component "gate") $plane.region.name }}
        - { name: region, containerPort: 8443 }
        {{- end }}
      # Liveness asks the process only. If it asked Redis or Postgres, an outage of these would restart every pod at once.
      livenessProbe:
        httpGet: { path: /healthz, port: operations }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # A gate with a million rules loads them in about 15 s.
      startupProbe:
        httpGet: { path: /healthz, port: operations }
        periodSeconds: 2
        failureThreshold: 60
      readinessProbe:
        httpGet: { path: /readyz, port: operations }
        # Shorter than drainMs, so that a pod that stops is taken out in time.
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources: {{ toYaml $plane.resources | nindent 8 }}
      volumeMounts:
        - { name: plane, mountPath: /run/weir/plane, readOnly: true }
        - { name: redis, mountPath: /run/weir/redis, readOnly: true }
        {{- include "weir.databaseCaMount" $root | nindent 8 }}
        {{- if $root.Values.secrets.tls.existingSecret }}
        - { name: tls, mountPath: /run/weir/tls, readOnly: true }
        {{- end }}
        - { name: tmp, mountPath: /tmp }
        {{- if eq .component "gate" }}
        - { name: state, mountPath: /var/lib/weir }
        {{- end }}
  volumes:
    {{- $items := dict "database_url" $secret.databaseUrlKey }}
    {{- if eq .component "control" }}
    {{- $_ := set $items "jwt_key" $secret.jwtKeyKey }}
    {{- if $secret.smtpUrlKey }}{{ $_ := set $items "smtp_url" $secret.smtpUrlKey }}{{ end }}
    {{- if $secret.oidcClientSecretKey }}{{ $_ := set $items "oidc_client_secret" $secret.oidcClientSecretKey }}{{ end }}
    {{- end }}
    {{- if and (eq .component "gate") $secret.webhookKeyKey }}{{ $_ := set $items "webhook_key" $secret.webhookKeyKey }}{{ end }}
    {{- if and (eq .component "gate") $plane.region.name }}{{ $_ := set $items "region_key" $secret.regionKeyKey }}{{ end }}
    {{- include "weir.secretVolume" (dict "name" "plane" "secret" $secret.existingSecret "items" $items) | nindent 4 }}
    {{- with $root.Values.secrets.redis }}
    {{- $items := dict "redis_url" .urlKey }}
    {{- if .caKey }}{{ $_ := set $items "ca.crt" .caKey }}{{ end }}
    {{- include "weir.secretVolume" (dict "name" "redis" "secret" .existingSecret "items" $items) | nindent 4 }}
    {{- end }}
    {{- include "weir.databaseCaVolume" $root | nindent 4 }}
    {{- with $root.Values.secrets.tls }}
    {{- if .existingSecret }}
    {{- $items := dict "tls.crt" .certificateKey "tls.key" .keyKey }}
    {{- if .rlsClientCaKey }}{{ $_ := set $items "client_ca.crt" .rlsClientCaKey }}{{ end }}
    {{- include "weir.secretVolume" (dict "name" "tls" "secret" .existingSecret "items" $items) | nindent 4 }}
    {{- end }}
    {{- end }}
    - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
    {{- if and (eq .component "gate") (eq $plane.kind "Deployment") }}
    - { name: state, emptyDir: { sizeLimit: {{ $plane.state.size }} } }
    {{- end }}
{{- end }}
