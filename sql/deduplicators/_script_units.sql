-- The units that go, which stage {{ stage + 1 }} takes out of their texts.
CREATE OR REPLACE TEMP TABLE removed_units AS
{{ units }}
