-- A gate says when a key was last used, and may change nothing else of it.
SET LOCAL lock_timeout = '3s';

CREATE POLICY api_keys_gate_use ON api_keys FOR UPDATE TO weir_gate
    USING (true);

GRANT UPDATE (last_used_at) ON api_keys TO weir_gate;
