-- exact: exact.yaml as SQL, by refinery
--
-- Run it with DuckDB 2.0, which is all that it needs:
--
--     duckdb tables.duckdb < script.sql
--
-- It reads docs.parquet and writes out/exact.parquet, whose folder must be there.
-- It REPLACES what has that name, the export of `refinery run` too: `refinery sql --export_path FILE` names another file.
-- The tables quarantine, duplicates, clusters, ledger, stats and stat_summary tell what became of every sample.

SET TimeZone = 'UTC';

-- Read: every sample is a row with its own columns.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row, *
FROM (
SELECT * EXCLUDE (filename), '.parquet' AS _suffix, filename AS _file
  FROM read_parquet(['docs.parquet'], union_by_name = true, hive_partitioning = false, filename = true)
);

-- Stage 1: one pass over all samples. A filter only marks what it removes; steps see what is still there.
--     exact.yaml:7 step 1 key_deduplicator {key: "nullif(stars, 1)", keep: "longest"}: what it compares
CREATE OR REPLACE TEMP TABLE facts_1 AS
WITH _read AS NOT MATERIALIZED (
  SELECT
    _i,
    meta.body AS _meta_body_cf2d095b_0,
    CASE WHEN meta.body IS NULL THEN 'no text' END AS _bad,
    stars AS _in_stars
  FROM batch
), _s1 AS NOT MATERIALIZED (
  SELECT
    *,
    _bad IS NULL AS _alive_0 /* rows that could be read */
  FROM _read
), _s2 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN (
      nullif(_in_stars, 1)
    ) END AS _mark_key, /* exact.yaml:7 step 1 key_deduplicator */
    CASE WHEN _alive_0 THEN (
      length(_meta_body_cf2d095b_0)
    ) END AS _mark_order_0 /* the order in which one is kept */
  FROM _s1
)
SELECT
  _i AS _row,
  _bad,
  CAST(NULL AS INT) AS _dropped,
  strlen(_meta_body_cf2d095b_0) AS _bytes_0,
  _mark_key,
  _mark_order_0
FROM _s2;

-- Samples that could not be read.
CREATE OR REPLACE TABLE quarantine AS
SELECT facts._row, batch._file AS file, facts._bad AS error, CAST(to_json(struct_pack(*COLUMNS(batch.* EXCLUDE (_i, _row, _suffix, _file)))) AS VARCHAR) AS raw
FROM facts_1 AS facts JOIN batch ON batch._i = facts._row
WHERE facts._bad IS NOT NULL
ORDER BY facts._row;
DELETE FROM facts_1 WHERE _bad IS NOT NULL;

-- One row per sample, or unit of one (a line, a paragraph, a span of sentences), that a deduplicator removed: what is kept
-- instead, and what it was matched with.
CREATE OR REPLACE TABLE duplicates (
  _row BIGINT, step INTEGER, operator VARCHAR, kept BIGINT, unit BIGINT, via BIGINT, matched VARCHAR, distance INTEGER,
  estimated_jaccard DOUBLE, jaccard DOUBLE, length BIGINT, copy_at BIGINT, kept_in_index VARCHAR
);

-- One row per sample that is like another one: which cluster it belongs to, and whether it is the one that stays.
CREATE OR REPLACE TABLE clusters (
  step INTEGER, operator VARCHAR, cluster BIGINT, _row BIGINT, survivor BOOLEAN, size BIGINT
);

-- What stage 1 leaves, with the texts that it changed.
CREATE OR REPLACE TEMPORARY TABLE batch AS
SELECT
  batch.*
FROM batch
JOIN facts_1 AS facts
  ON facts._row = batch._i
WHERE
  facts._dropped IS NULL;

-- What key_deduplicator compares of each of them; who has none of it is nobody's duplicate.
CREATE OR REPLACE TEMPORARY TABLE marks AS
SELECT
  _row,
  _mark_key AS key,
  _mark_order_0 AS order_0
FROM facts_1
WHERE
  _dropped IS NULL AND NOT _mark_key IS NULL;

-- Pairs of samples that match: each with the first of those that have the same key.
CREATE OR REPLACE TEMPORARY TABLE pairs AS
WITH compared AS (
  SELECT
    _row,
    key
  FROM marks
)
SELECT
  _row,
  via,
  0 AS how,
  CAST(NULL AS DOUBLE) AS jaccard
FROM (
  SELECT
    compared._row AS _row,
    groups.first AS via
  FROM compared
  JOIN (
    SELECT
      key AS key,
      min(_row) AS first
    FROM compared
    GROUP BY
      key
    HAVING
      count(*) > 1
  ) AS groups
    ON compared.key = groups.key
  WHERE
    compared._row <> groups.first
);

-- Clusters: samples with the same key, named after the first of them.
CREATE OR REPLACE TEMPORARY TABLE members AS
SELECT
  _row,
  via AS root
FROM pairs
UNION
SELECT
  via,
  via
FROM pairs;

-- Which sample of each cluster stays: the first in the order asked for, and among equals the first of the input.
CREATE OR REPLACE TEMPORARY TABLE clustered AS
SELECT
  members._row,
  survivors.kept AS kept,
  count(*) OVER (PARTITION BY members.root) AS size
FROM members
JOIN (
  SELECT
    members.root,
    members._row AS kept
  FROM members
  LEFT JOIN marks
    ON marks._row = members._row
  QUALIFY
    row_number() OVER (
      PARTITION BY members.root
      ORDER BY least(members._row, 0), marks.order_0 DESC, members._row
    ) = 1
) AS survivors
  ON survivors.root = members.root;

-- What each removed sample was matched with.
CREATE OR REPLACE TEMPORARY TABLE found AS
SELECT
  clustered._row,
  clustered.kept,
  matches.via,
  matches.how,
  matches.jaccard
FROM clustered
JOIN (
  SELECT
    *
  FROM (
    SELECT
      _row,
      via,
      how,
      jaccard
    FROM pairs
    UNION ALL
    SELECT
      via,
      _row,
      how,
      jaccard
    FROM pairs
  )
  QUALIFY
    row_number() OVER (PARTITION BY _row ORDER BY via > _row, how, via) = 1
) AS matches
  ON matches._row = clustered._row
WHERE
  clustered._row <> clustered.kept;

INSERT INTO clusters BY NAME
SELECT
  1 AS step,
  'key_deduplicator' AS operator,
  dense_rank() OVER (ORDER BY kept) - 1 AS cluster,
  _row,
  _row = kept AS survivor,
  size
FROM clustered
ORDER BY
  cluster,
  _row;

INSERT INTO duplicates BY NAME
SELECT
  1 AS step,
  'key_deduplicator' AS operator,
  _row,
  kept,
  via,
  matched,
  distance,
  estimated_jaccard,
  jaccard
FROM (
  SELECT
    found._row,
    found.kept,
    found.via,
    CAST(one.key AS TEXT) AS matched,
    NULL AS distance,
    NULL AS estimated_jaccard,
    found.jaccard
  FROM found
  LEFT JOIN marks AS one
    ON one._row = found._row
  LEFT JOIN marks AS other
    ON other._row = found.via
  ORDER BY
    found._row
);

DELETE FROM batch WHERE _i IN (SELECT _row FROM duplicates WHERE step = 1);

-- Stage 2: one pass over what is left. A filter only marks what it removes; steps see what is still there.
--     exact.yaml:10 step 2 key_deduplicator {key: "lower(left(text, 2))"}: what it compares
CREATE OR REPLACE TEMP TABLE facts_2 AS
WITH _read AS NOT MATERIALIZED (
  SELECT
    _i,
    meta.body AS _meta_body_cf2d095b_0,
    CASE WHEN meta.body IS NULL THEN 'no text' END AS _bad
  FROM batch
), _s1 AS NOT MATERIALIZED (
  SELECT
    *,
    _bad IS NULL AS _alive_0 /* rows that could be read */
  FROM _read
), _s2 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN (
      lower(left(_meta_body_cf2d095b_0, 2))
    ) END AS _mark_key /* exact.yaml:10 step 2 key_deduplicator */
  FROM _s1
)
SELECT
  _i AS _row,
  _bad,
  CAST(NULL AS INT) AS _dropped,
  _mark_key
FROM _s2;

-- What stage 2 leaves, with the texts that it changed.
CREATE OR REPLACE TEMPORARY TABLE batch AS
SELECT
  batch.*
FROM batch
JOIN facts_2 AS facts
  ON facts._row = batch._i
WHERE
  facts._dropped IS NULL;

-- What key_deduplicator compares of each of them; who has none of it is nobody's duplicate.
CREATE OR REPLACE TEMPORARY TABLE marks AS
SELECT
  _row,
  _mark_key AS key
FROM facts_2
WHERE
  _dropped IS NULL AND NOT _mark_key IS NULL;

-- Pairs of samples that match: each with the first of those that have the same key.
CREATE OR REPLACE TEMPORARY TABLE pairs AS
WITH compared AS (
  SELECT
    _row,
    key
  FROM marks
)
SELECT
  _row,
  via,
  0 AS how,
  CAST(NULL AS DOUBLE) AS jaccard
FROM (
  SELECT
    compared._row AS _row,
    groups.first AS via
  FROM compared
  JOIN (
    SELECT
      key AS key,
      min(_row) AS first
    FROM compared
    GROUP BY
      key
    HAVING
      count(*) > 1
  ) AS groups
    ON compared.key = groups.key
  WHERE
    compared._row <> groups.first
);

-- Clusters: samples with the same key, named after the first of them.
CREATE OR REPLACE TEMPORARY TABLE members AS
SELECT
  _row,
  via AS root
FROM pairs
UNION
SELECT
  via,
  via
FROM pairs;

-- Which sample of each cluster stays: the first.
CREATE OR REPLACE TEMPORARY TABLE clustered AS
SELECT
  members._row,
  members.root AS kept,
  count(*) OVER (PARTITION BY members.root) AS size
FROM members;

-- What each removed sample was matched with.
CREATE OR REPLACE TEMPORARY TABLE found AS
SELECT
  clustered._row,
  clustered.kept,
  matches.via,
  matches.how,
  matches.jaccard
FROM clustered
JOIN (
  SELECT
    *
  FROM (
    SELECT
      _row,
      via,
      how,
      jaccard
    FROM pairs
    UNION ALL
    SELECT
      via,
      _row,
      how,
      jaccard
    FROM pairs
  )
  QUALIFY
    row_number() OVER (PARTITION BY _row ORDER BY via > _row, how, via) = 1
) AS matches
  ON matches._row = clustered._row
WHERE
  clustered._row <> clustered.kept;

INSERT INTO clusters BY NAME
SELECT
  2 AS step,
  'key_deduplicator' AS operator,
  dense_rank() OVER (ORDER BY kept) - 1 AS cluster,
  _row,
  _row = kept AS survivor,
  size
FROM clustered
ORDER BY
  cluster,
  _row;

INSERT INTO duplicates BY NAME
SELECT
  2 AS step,
  'key_deduplicator' AS operator,
  _row,
  kept,
  via,
  matched,
  distance,
  estimated_jaccard,
  jaccard
FROM (
  SELECT
    found._row,
    found.kept,
    found.via,
    CAST(one.key AS TEXT) AS matched,
    NULL AS distance,
    NULL AS estimated_jaccard,
    found.jaccard
  FROM found
  LEFT JOIN marks AS one
    ON one._row = found._row
  LEFT JOIN marks AS other
    ON other._row = found.via
  ORDER BY
    found._row
);

DELETE FROM batch WHERE _i IN (SELECT _row FROM duplicates WHERE step = 2);

-- What all stages found out of every sample that could be read, and which step removed it.
CREATE OR REPLACE TEMPORARY TABLE facts AS
SELECT
  facts_1._row,
  coalesce(facts_1._dropped, facts_2._dropped, gone.step) AS _dropped
FROM facts_1
LEFT JOIN facts_2
  ON facts_2._row = facts_1._row
LEFT JOIN (
  SELECT
    _row,
    step
  FROM duplicates
  WHERE
    unit IS NULL
) AS gone
  ON gone._row = facts_1._row
ORDER BY
  1;

-- One row per sample that a step removed: where, why, and by which value against which bound.
CREATE OR REPLACE TABLE ledger AS
SELECT
  _row,
  _dropped AS step,
  CAST(NULL AS TEXT) AS operator,
  CAST(NULL AS TEXT) AS recipe_line,
  CAST(NULL AS TEXT) AS reason,
  CAST(NULL AS TEXT) AS statistic,
  CAST(NULL AS DOUBLE) AS value,
  CAST(NULL AS DOUBLE) AS bound,
  CAST(NULL AS BIGINT) AS kept_instead,
  CAST(NULL AS TEXT) AS name
FROM facts
WHERE
  NOT _dropped IS NULL AND _dropped <> 1 AND _dropped <> 2
UNION ALL
SELECT
  f._row,
  f._dropped,
  'key_deduplicator',
  'exact.yaml:7',
  'duplicate of ' || coalesce('row ' || d.kept, d.kept_in_index),
  NULL,
  CAST(d.estimated_jaccard AS DOUBLE),
  CAST(NULL AS DOUBLE),
  d.kept,
  CAST(NULL AS TEXT)
FROM facts AS f
JOIN duplicates AS d
  ON d.step = 1 AND d._row = f._row
WHERE
  f._dropped = 1
UNION ALL
SELECT
  f._row,
  f._dropped,
  'key_deduplicator',
  'exact.yaml:10',
  'duplicate of ' || coalesce('row ' || d.kept, d.kept_in_index),
  NULL,
  CAST(d.estimated_jaccard AS DOUBLE),
  CAST(NULL AS DOUBLE),
  d.kept,
  CAST(NULL AS TEXT)
FROM facts AS f
JOIN duplicates AS d
  ON d.step = 2 AND d._row = f._row
WHERE
  f._dropped = 2
ORDER BY
  _row;

-- One row per sample that was read: every statistic, removed samples included. NULL: removed before it was computed.
CREATE OR REPLACE TABLE stats AS
SELECT
  _row,
  _dropped IS NULL AS kept
FROM facts
ORDER BY
  _row;

-- Moments of every statistic: n, mean and M2 = sum((x - mean)^2) are all that an exact merge needs. Distances are taken from
-- a value near the mean first; what is left of the mean then corrects both. NaN and infinities are counted apart.
CREATE OR REPLACE TABLE stat_summary AS
SELECT
  *
FROM (
  SELECT
    '' AS "group",
    '' AS key,
    '' AS stat,
    CAST(0 AS BIGINT) AS n,
    CAST(0 AS DOUBLE) AS mean,
    CAST(0 AS DOUBLE) AS m2,
    CAST(0 AS DOUBLE) AS min,
    CAST(0 AS DOUBLE) AS max,
    CAST(0 AS DOUBLE) AS total,
    CAST(0 AS BIGINT) AS nans,
    CAST(0 AS BIGINT) AS infinities
)
WHERE
  FALSE;

-- Write: the samples that stay, in the order of the input.
CREATE OR REPLACE TEMP VIEW kept AS
SELECT
  batch.* EXCLUDE (_row, _suffix, _file)
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT * EXCLUDE (_i) FROM kept ORDER BY _i
) TO 'out/exact.parquet' (FORMAT parquet, COMPRESSION zstd);
