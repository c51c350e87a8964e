-- The namespaces to which a key of the admin API is restricted; NULL for a key that is not. Only the scopes `read` and `write`
-- can be restricted: what the others permit is not of a namespace.
SET LOCAL lock_timeout = '3s';

ALTER TABLE api_keys ADD COLUMN namespaces text[];
ALTER TABLE api_keys ADD CONSTRAINT api_keys_namespaces_check CHECK (
    namespaces IS NULL
    OR (cardinality(namespaces) BETWEEN 1 AND 20 AND scopes <@ ARRAY['read', 'write'])
);
