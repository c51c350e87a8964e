-- The migrations that were applied, for processes that compare their release with the schema. Their logins cannot read the
-- table of the migrations.
SET LOCAL lock_timeout = '3s';

-- The body is plpgsql, so that the table need not exist when the function is created.
CREATE FUNCTION weir_schema_versions() RETURNS bigint []
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ARRAY(SELECT m.version FROM public._sqlx_migrations m WHERE m.success);
END
$$;
REVOKE EXECUTE ON FUNCTION weir_schema_versions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION weir_schema_versions() TO weir_app, weir_gate;
