"""The relations of PostgreSQL's catalogue that tools ask about, each with its columns: facts of PostgreSQL 15.

A column is text unless a colon says otherwise (`TYPES`). Most relations are empty here: there are no indexes, no
functions, no policies. Which rows the others have is in `catalogue`.
"""

from __future__ import annotations

from typing import Final

TYPES: Final = {
    "t": "VARCHAR", "o": "BIGINT", "i": "INTEGER", "s": "SMALLINT", "b": "BOOLEAN", "f": "DOUBLE", "z": "TIMESTAMP",
    "t[]": "VARCHAR[]", "o[]": "BIGINT[]", "s[]": "SMALLINT[]",
}  # fmt: skip
PG_CATALOG: Final = {
    "pg_get_keywords": "word catcode barelabel:b catdesc baredesc",
    "pg_stat_user_tables": "relid:o schemaname relname n_live_tup:o n_dead_tup:o seq_scan:o idx_scan:o",
    "pg_class": (
        "oid:o relname relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o reltablespace:o "
        "relpages:i reltuples:f relallvisible:i reltoastrelid:o relhasindex:b relisshared:b relpersistence "
        "relkind relnatts:s relchecks:s relhasrules:b relhastriggers:b relhassubclass:b relrowsecurity:b "
        "relforcerowsecurity:b relispopulated:b relreplident relispartition:b relrewrite:o relfrozenxid:o "
        "relminmxid:o relacl:t[] reloptions:t[] relpartbound"
    ),
    "pg_namespace": "oid:o nspname nspowner:o nspacl:t[]",
    "pg_attribute": (
        "attrelid:o attname atttypid:o attstattarget:i attlen:s attnum:s attndims:i attcacheoff:i atttypmod:i "
        "attbyval:b attalign attstorage attcompression attnotnull:b atthasdef:b atthasmissing:b attidentity "
        "attgenerated attisdropped:b attislocal:b attinhcount:i attcollation:o attacl:t[] attoptions:t[] "
        "attfdwoptions:t[] attmissingval:t[]"
    ),
    "pg_type": (
        "oid:o typname typnamespace:o typowner:o typlen:s typbyval:b typtype typcategory typispreferred:b "
        "typisdefined:b typdelim typrelid:o typsubscript typelem:o typarray:o typinput typoutput typreceive "
        "typsend typmodin typmodout typanalyze typalign typstorage typnotnull:b typbasetype:o typtypmod:i "
        "typndims:i typcollation:o typdefaultbin typdefault typacl:t[]"
    ),
    "pg_description": "objoid:o classoid:o objsubid:i description",
    "pg_database": (
        "oid:o datname datdba:o encoding:i datlocprovider datistemplate:b datallowconn:b datconnlimit:i "
        "datfrozenxid:o datminmxid:o dattablespace:o datcollate datctype daticulocale datcollversion "
        "datacl:t[]"
    ),
    "pg_roles": (
        "rolname rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b rolreplication:b "
        "rolconnlimit:i rolpassword rolvaliduntil:z rolbypassrls:b rolconfig:t[] oid:o"
    ),
    "pg_am": "oid:o amname amhandler amtype",
    "pg_tablespace": "oid:o spcname spcowner:o spcacl:t[] spcoptions:t[]",
    "pg_settings": (
        "name setting unit category short_desc extra_desc context vartype source min_val max_val enumvals:t[] "
        "boot_val reset_val sourcefile sourceline:i pending_restart:b"
    ),
    "pg_collation": (
        "oid:o collname collnamespace:o collowner:o collprovider collisdeterministic:b collencoding:i "
        "collcollate collctype colliculocale collversion"
    ),
    "pg_attrdef": "oid:o adrelid:o adnum:s adbin",
    "pg_constraint": (
        "oid:o conname connamespace:o contype condeferrable:b condeferred:b convalidated:b conrelid:o "
        "contypid:o conindid:o conparentid:o confrelid:o confupdtype confdeltype confmatchtype conislocal:b "
        "coninhcount:i connoinherit:b conkey:s[] confkey:s[] conpfeqop:o[] conppeqop:o[] conffeqop:o[] "
        "confdelsetcols:s[] conexclop:o[] conbin tableoid:o"
    ),
    "pg_index": (
        "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indnullsnotdistinct:b indisprimary:b "
        "indisexclusion:b indimmediate:b indisclustered:b indisvalid:b indcheckxmin:b indisready:b "
        "indislive:b indisreplident:b indkey:s[] indcollation:o[] indclass:o[] indoption:s[] indexprs indpred"
    ),
    "pg_inherits": "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b",
    "pg_policy": "oid:o polname polrelid:o polcmd polpermissive:b polroles:o[] polqual polwithcheck",
    "pg_publication": (
        "oid:o pubname pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b pubtruncate:b pubviaroot:b"
    ),
    "pg_publication_rel": "oid:o prpubid:o prrelid:o prqual prattrs:s[]",
    "pg_publication_namespace": "oid:o pnpubid:o pnnspid:o",
    "pg_statistic_ext": (
        "oid:o stxrelid:o stxname stxnamespace:o stxowner:o stxstattarget:i stxkeys:s[] stxkind:t[] stxexprs"
    ),
    "pg_auth_members": "roleid:o member:o grantor:o admin_option:b",
    "pg_proc": (
        "oid:o proname pronamespace:o proowner:o prolang:o procost:f prorows:f provariadic:o prosupport "
        "prokind prosecdef:b proleakproof:b proisstrict:b proretset:b provolatile proparallel pronargs:s "
        "pronargdefaults:s prorettype:o proargtypes:o[] proallargtypes:o[] proargmodes proargnames:t[] "
        "proargdefaults protrftypes:o[] prosrc probin prosqlbody proconfig:t[] proacl:t[]"
    ),
    "pg_extension": (
        "oid:o extname extowner:o extnamespace:o extrelocatable:b extversion extconfig:o[] extcondition:t[]"
    ),
    "pg_trigger": (
        "oid:o tgrelid:o tgparentid:o tgname tgfoid:o tgtype:s tgenabled tgisinternal:b tgconstrrelid:o "
        "tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b tgnargs:s tgattr:s[] tgargs tgqual "
        "tgoldtable tgnewtable tableoid:o"
    ),
    "pg_rewrite": "oid:o rulename ev_class:o ev_type ev_enabled is_instead:b ev_qual ev_action tableoid:o",
    "pg_opclass": (
        "oid:o opcmethod:o opcname opcnamespace:o opcowner:o opcfamily:o opcintype:o opcdefault:b "
        "opckeytype:o tableoid:o"
    ),
    "pg_opfamily": "oid:o opfmethod:o opfname opfnamespace:o opfowner:o tableoid:o",
    "pg_sequence": "seqrelid:o seqtypid:o seqstart:o seqincrement:o seqmax:o seqmin:o seqcache:o seqcycle:b",
    "pg_enum": "oid:o enumtypid:o enumsortorder:f enumlabel",
    "pg_range": "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical rngsubdiff",
    "pg_foreign_table": "ftrelid:o ftserver:o ftoptions:t[]",
    "pg_foreign_server": "oid:o srvname srvowner:o srvfdw:o srvtype srvversion srvacl:t[] srvoptions:t[]",
    "pg_depend": "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype",
    "pg_shdescription": "objoid:o classoid:o description",
    "pg_seclabel": "objoid:o classoid:o objsubid:i provider label",
    "pg_event_trigger": "oid:o evtname evtevent evtowner:o evtfoid:o evtenabled evttags:t[]",
    "pg_language": (
        "oid:o lanname lanowner:o lanispl:b lanpltrusted:b lanplcallfoid:o laninline:o lanvalidator:o lanacl:t[]"
    ),
    "pg_operator": (
        "oid:o oprname oprnamespace:o oprowner:o oprkind oprcanmerge:b oprcanhash:b oprleft:o oprright:o "
        "oprresult:o oprcom:o oprnegate:o oprcode oprrest oprjoin"
    ),
    "pg_cast": "oid:o castsource:o casttarget:o castfunc:o castcontext castmethod",
    "pg_tables": "schemaname tablename tableowner tablespace hasindexes:b hasrules:b hastriggers:b rowsecurity:b",
    "pg_views": "schemaname viewname viewowner definition",
    "pg_matviews": "schemaname matviewname matviewowner tablespace hasindexes:b ispopulated:b definition",
    "pg_indexes": "schemaname tablename indexname tablespace indexdef",
    "pg_sequences": (
        "schemaname sequencename sequenceowner data_type start_value:o min_value:o max_value:o increment_by:o "
        "cycle:b cache_size:o last_value:o"
    ),
    "pg_user": "usename usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd valuntil:z useconfig:t[]",
    "pg_stat_activity": (
        "datid:o datname pid:i leader_pid:i usesysid:o usename application_name client_addr client_hostname "
        "client_port:i backend_start:z xact_start:z query_start:z state_change:z wait_event_type wait_event "
        "state backend_xid:o backend_xmin:o query_id:o query backend_type"
    ),
    "pg_available_extensions": "name default_version installed_version comment",
    "pg_partitioned_table": (
        "partrelid:o partstrat partnatts:s partdefid:o partattrs:s[] partclass:o[] partcollation:o[] partexprs"
    ),
    "pg_group": "groname grosysid:o grolist:o[]",
}
INFORMATION_SCHEMA: Final = {
    "tables": (
        "table_catalog table_schema table_name table_type self_referencing_column_name reference_generation "
        "user_defined_type_catalog user_defined_type_schema user_defined_type_name is_insertable_into "
        "is_typed commit_action"
    ),
    "columns": (
        "table_catalog table_schema table_name column_name ordinal_position:i column_default is_nullable "
        "data_type character_maximum_length:i character_octet_length:i numeric_precision:i "
        "numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type interval_precision:i "
        "character_set_catalog character_set_schema character_set_name collation_catalog collation_schema "
        "collation_name domain_catalog domain_schema domain_name udt_catalog udt_schema udt_name "
        "scope_catalog scope_schema scope_name maximum_cardinality:i dtd_identifier is_self_referencing "
        "is_identity identity_generation identity_start identity_increment identity_maximum identity_minimum "
        "identity_cycle is_generated generation_expression is_updatable"
    ),
    "schemata": (
        "catalog_name schema_name schema_owner default_character_set_catalog default_character_set_schema "
        "default_character_set_name sql_path"
    ),
    "views": (
        "table_catalog table_schema table_name view_definition check_option is_updatable is_insertable_into "
        "is_trigger_updatable is_trigger_deletable is_trigger_insertable_into"
    ),
    "table_constraints": (
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name "
        "constraint_type is_deferrable initially_deferred enforced nulls_distinct"
    ),
    "key_column_usage": (
        "constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name "
        "column_name ordinal_position:i position_in_unique_constraint:i"
    ),
    "referential_constraints": (
        "constraint_catalog constraint_schema constraint_name unique_constraint_catalog "
        "unique_constraint_schema unique_constraint_name match_option update_rule delete_rule"
    ),
    "constraint_column_usage": (
        "table_catalog table_schema table_name column_name constraint_catalog constraint_schema constraint_name"
    ),
    "table_privileges": (
        "grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy"
    ),
    "role_table_grants": (
        "grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy"
    ),
    "routines": (
        "specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name "
        "routine_type data_type routine_body routine_definition external_language is_deterministic "
        "security_type"
    ),
    "sequences": (
        "sequence_catalog sequence_schema sequence_name data_type numeric_precision:i "
        "numeric_precision_radix:i numeric_scale:i start_value minimum_value maximum_value increment "
        "cycle_option"
    ),
    "triggers": (
        "trigger_catalog trigger_schema trigger_name event_manipulation event_object_catalog "
        "event_object_schema event_object_table action_order:i action_condition action_statement "
        "action_orientation action_timing action_reference_old_table action_reference_new_table "
        "action_reference_old_row action_reference_new_row created:z"
    ),
    "check_constraints": "constraint_catalog constraint_schema constraint_name check_clause",
}


def columns_of(written: str) -> dict[str, str]:
    """The columns of a relation with the types that DuckDB has for them.

    >>> columns_of("oid:o nspname nspacl:t[]")
    {'oid': 'BIGINT', 'nspname': 'VARCHAR', 'nspacl': 'VARCHAR[]'}
    """
    pairs = (word.partition(":") for word in written.split())
    return {name: TYPES[kind or "t"] for name, _, kind in pairs}
