-- written from memory: this tool could not be installed, and nobody has recorded it
-- as Tableau and ODBC drivers ask when they connect
SET DateStyle = 'ISO';

SET extra_float_digits = 2;

SHOW transaction_isolation;

SELECT oid, typbasetype FROM pg_type WHERE typname = 'lo';

SELECT NULL, n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n
WHERE n.oid = c.relnamespace AND c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname LIKE E'public' ORDER BY nspname, relname;

SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1, 2;

SELECT column_name, data_type, is_nullable, ordinal_position FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position;

SELECT COUNT(*) FROM information_schema.columns;
