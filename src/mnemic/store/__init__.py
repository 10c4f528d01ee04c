"""The store: schema, migrations and one synchronous function per transaction step, on SQLite and PostgreSQL."""
