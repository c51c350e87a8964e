-- The customers' own view of their usage: title, color, logo, origins of browsers, hidden rules, and the
-- public keys that verify their tokens.
SET LOCAL lock_timeout = '3s';

ALTER TABLE tenants ADD COLUMN customer_view jsonb;

DROP TRIGGER tenants_note_update ON tenants;
CREATE TRIGGER tenants_note_update
    BEFORE UPDATE OF suspended, record_checks, enforced, customer_attribute, customer_view ON tenants
    FOR EACH ROW
    WHEN (
        (OLD.suspended, OLD.record_checks, OLD.enforced, OLD.customer_attribute, OLD.customer_view)
        IS DISTINCT FROM
        (NEW.suspended, NEW.record_checks, NEW.enforced, NEW.customer_attribute, NEW.customer_view)
    )
    EXECUTE FUNCTION weir_note_tenant();
