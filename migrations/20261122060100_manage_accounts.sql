-- Accounts that can be disabled, sessions that name the network they were begun from, and what the owner's commands
-- (`weir user`, `weir sessions`) may do.
SET LOCAL lock_timeout = '3s';

ALTER TABLE users ADD COLUMN disabled_at timestamptz;

-- An IPv4 address or the /64 of an IPv6 address; NULL where it is not known.
ALTER TABLE sessions ADD COLUMN network text;
ALTER TABLE sessions ADD CONSTRAINT sessions_network_check CHECK (octet_length(network) <= 45);

CREATE POLICY sessions_owner ON sessions TO CURRENT_ROLE
    USING (true);
