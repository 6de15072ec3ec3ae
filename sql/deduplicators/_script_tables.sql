-- One row per sample, or unit of one (a line, a paragraph, a span of sentences), that a deduplicator removed: what is kept
-- instead, and what it was matched with.
CREATE OR REPLACE TABLE duplicates (
  _row BIGINT, step INTEGER, operator VARCHAR, kept BIGINT, unit BIGINT, via BIGINT, matched VARCHAR, distance INTEGER,
  estimated_jaccard DOUBLE, jaccard DOUBLE, length BIGINT, copy_at BIGINT, kept_in_index VARCHAR
);

-- One row per sample that is like another one: which cluster it belongs to, and whether it is the one that stays.
CREATE OR REPLACE TABLE clusters (
  step INTEGER, operator VARCHAR, cluster BIGINT, _row BIGINT, survivor BOOLEAN, size BIGINT
)
