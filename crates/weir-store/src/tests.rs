//! What the store promises, against real Postgres.
