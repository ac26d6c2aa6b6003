-- as Superset asks beside what SQLAlchemy does for it
SELECT pg_catalog.version();

SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname;

SELECT datname FROM pg_database WHERE datistemplate = false;

SET search_path = "public";

SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p');

SELECT current_database() AS db, pg_backend_pid(), pg_is_in_recovery();
