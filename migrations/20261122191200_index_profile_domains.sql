-- The profile of a domain of the rate limit service is the only one of its tenant. Other profiles have no domain.
SET LOCAL lock_timeout = '3s';

CREATE UNIQUE INDEX profiles_tenant_id_domain_idx ON profiles (tenant_id, (spec ->> 'domain'));
