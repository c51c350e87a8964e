-- The regions of the installation, as the API has them. Gates serve them, so a change raises the version of the rulebook.
SET LOCAL lock_timeout = '3s';

ALTER TABLE installation ADD COLUMN regions jsonb NOT NULL DEFAULT '{"home": null, "regions": []}';

-- The region in which a gate says it is.
ALTER TABLE gates ADD COLUMN region text;

CREATE TRIGGER installation_note_regions
    BEFORE UPDATE OF regions ON installation
    FOR EACH ROW
    WHEN (OLD.regions IS DISTINCT FROM NEW.regions)
    EXECUTE FUNCTION weir_note_installation();
