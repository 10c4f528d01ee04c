"""The store: schema, migrations and synchronous operations, one hop each, on SQLite and PostgreSQL."""
