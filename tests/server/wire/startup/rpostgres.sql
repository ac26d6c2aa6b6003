-- sent by RPostgres 1.4.10: on connecting, dbListTables, dbListFields, dbExistsTable, dbListObjects
set client_encoding to 'UTF-8';

SET datestyle to 'iso, mdy';

SET TIMEZONE = 'UTC';

SELECT oid, typname FROM pg_type;

SELECT table_schema, table_name 
FROM information_schema.tables 
WHERE TRUE 
  AND (table_schema = ANY(current_schemas(true))) 
  AND (table_schema <> 'pg_catalog') 
ORDER BY table_type, table_name;

SELECT column_name FROM (SELECT *, rank() OVER (ORDER BY nr) AS rnr FROM (SELECT * FROM unnest(current_schemas(true)) WITH ORDINALITY AS tbl(table_schema, nr) 
WHERE table_schema != 'pg_catalog') schemas_on_path INNER JOIN INFORMATION_SCHEMA.COLUMNS USING (table_schema) WHERE table_name = 'patients') tttt WHERE rnr = 1 ORDER BY ordinal_position;

SELECT EXISTS ( 
SELECT table_schema, table_name 
FROM information_schema.tables 
WHERE TRUE 
  AND (table_schema = ANY(current_schemas(true))) 
  AND (table_schema <> 'pg_catalog') 
  AND table_name = 'patients' 
);

SELECT NULL::text AS schema, table_name AS table FROM ( 
SELECT table_schema, table_name 
FROM information_schema.tables 
WHERE TRUE 
  AND (table_schema = ANY(current_schemas(true))) 
  AND (table_schema <> 'pg_catalog') 
ORDER BY table_type, table_name) as table_query 
UNION ALL
SELECT DISTINCT table_schema AS schema, NULL::text AS table FROM ( 
SELECT table_schema, table_name 
FROM information_schema.tables 
WHERE TRUE 
  AND true) as schema_query;
