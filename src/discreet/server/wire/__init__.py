"""The PostgreSQL wire protocol in front of datasets, for psql, drivers and BI tools. Loaded by `--pg-port` alone.

protocol    messages: bytes ↔ values, nothing else
stream      a connection: bounded buffers, TLS, time limits
types       values ↔ bytes of PostgreSQL's types
settings    SET, SHOW and RESET: what is known, and what a query costs
statements  a text cut into statements, and what each of them is
catalogue   what is public about tables, as PostgreSQL's catalogue has it; translation reads queries about it
questions   queries of private tables: planned, asked through the same queue as those of HTTP
session     one connection from its start to its end
serving     the port
"""
