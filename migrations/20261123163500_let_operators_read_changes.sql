-- Operators see when gates served the changes of all tenants, without the content of any change.
SET LOCAL lock_timeout = '3s';

CREATE POLICY tenant_changes_operator ON tenant_changes FOR SELECT TO weir_app
    USING (EXISTS (SELECT FROM users u WHERE u.id = weir_user() AND u.operator));
