-- text_files: text_files.yaml as SQL, by refinery
--
-- Run it with DuckDB 2.0, which is all that it needs:
--
--     duckdb tables.duckdb < script.sql
--
-- It reads texts/a.md, texts/b.txt, texts/c.py and 1 more and writes out/text_files.jsonl and out/text_files_stats.jsonl, whose folder must be there.
-- It REPLACES what has that name, the export of `refinery run` too: `refinery sql --export_path FILE` names another file.
-- The tables quarantine, ledger, stats and stat_summary tell what became of every sample.

SET TimeZone = 'UTC';

-- Read: every sample is a row with its own columns.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row, *
FROM (
SELECT
    regexp_replace(content, '\r\n?', chr(10), 'g') AS text, 
    lower(regexp_extract(filename, '[^/](\.[^./]+)$', 1)) AS _suffix, filename AS _file
  FROM read_text(['texts/a.md', 'texts/b.txt', 'texts/c.py', 'texts/d.txt'])
);

-- Refine: one pass over all samples. A filter only marks what it removes; steps see what is still there.
--     text_files.yaml:6 step 1 suffix_filter {suffixes: [".md", ".txt"]}
--     text_files.yaml:8 step 2 text_length_filter {min_len: 3}
CREATE OR REPLACE TEMP TABLE facts AS
WITH _read AS NOT MATERIALIZED (
  SELECT
    _i,
    text AS _text_0,
    CASE WHEN text IS NULL THEN 'no text' END AS _bad,
    _suffix AS _file_suffix
  FROM batch
), _s1 AS NOT MATERIALIZED (
  SELECT
    *,
    _bad IS NULL AS _alive_0 /* rows that could be read */
  FROM _read
), _s2 AS NOT MATERIALIZED (
  SELECT
    *,
    coalesce(
      CASE WHEN _alive_0 THEN coalesce(_file_suffix IN ('.md', '.txt'), FALSE) END,
      FALSE
    ) AS _alive_1 /* whether step 1 keeps it */
  FROM _s1
), _s3 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_1 THEN CAST(length(_text_0) AS BIGINT) END AS text_len /* text_files.yaml:8 step 2 text_length_filter */
  FROM _s2
), _s4 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_1 AND coalesce(text_len >= 3, FALSE) AS _alive_2 /* whether step 2 keeps it */
  FROM _s3
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_1 THEN 1 WHEN NOT _alive_2 THEN 2 END AS _dropped,
  text_len,
  strlen(_text_0) AS _bytes_0
FROM _s4;

-- Samples that could not be read.
CREATE OR REPLACE TABLE quarantine AS
SELECT facts._row, batch._file AS file, facts._bad AS error, CAST(to_json(struct_pack(*COLUMNS(batch.* EXCLUDE (_i, _row, _suffix, _file)))) AS VARCHAR) AS raw
FROM facts JOIN batch ON batch._i = facts._row
WHERE facts._bad IS NOT NULL
ORDER BY facts._row;
DELETE FROM facts WHERE _bad IS NOT NULL;

-- One row per sample that a step removed: where, why, and by which value against which bound.
CREATE OR REPLACE TABLE ledger AS
SELECT
  _row,
  _dropped AS step,
  CAST(CASE _dropped WHEN 1 THEN 'suffix_filter' WHEN 2 THEN 'text_length_filter' END AS TEXT) AS operator,
  CAST(CASE _dropped WHEN 1 THEN 'text_files.yaml:6' WHEN 2 THEN 'text_files.yaml:8' END AS TEXT) AS recipe_line,
  CAST(CASE _dropped
    WHEN 1
    THEN 'not kept by suffixes: [''.md'', ''.txt'']'
    WHEN 2
    THEN CASE
      WHEN text_len < 3
      THEN 'text_len below min_len'
      WHEN text_len IS NULL
      THEN 'text_len is NULL'
      ELSE 'not kept by min_len: 3'
    END
  END AS TEXT) AS reason,
  CAST(CASE _dropped
    WHEN 1
    THEN NULL
    WHEN 2
    THEN CASE
      WHEN text_len < 3
      THEN 'text_len'
      WHEN text_len IS NULL
      THEN 'text_len'
      ELSE NULL
    END
  END AS TEXT) AS statistic,
  CAST(CASE _dropped
    WHEN 1
    THEN NULL
    WHEN 2
    THEN CASE WHEN text_len < 3 THEN TRY_CAST(text_len AS DOUBLE) ELSE NULL END
  END AS DOUBLE) AS value,
  CAST(CASE _dropped
    WHEN 1
    THEN NULL
    WHEN 2
    THEN CASE WHEN text_len < 3 THEN 3 ELSE NULL END
  END AS DOUBLE) AS bound,
  CAST(NULL AS BIGINT) AS kept_instead,
  CAST(NULL AS TEXT) AS name
FROM facts
WHERE
  NOT _dropped IS NULL
ORDER BY
  _row;

-- One row per sample that was read: every statistic, removed samples included. NULL: removed before it was computed.
CREATE OR REPLACE TABLE stats AS
SELECT
  _row,
  _dropped IS NULL AS kept,
  text_len
FROM facts
ORDER BY
  _row;

-- Moments of every statistic: n, mean and M2 = sum((x - mean)^2) are all that an exact merge needs. Distances are taken from
-- a value near the mean first; what is left of the mean then corrects both. NaN and infinities are counted apart.
CREATE OR REPLACE TABLE stat_summary AS
SELECT
  'summary' AS "group",
  'summary' AS key,
  'text_len' AS stat,
  count(_value) AS n,
  any_value(_near) + fsum(_value - _near) / count(_value) AS mean,
  CASE
    WHEN min(_value) < max(_value)
    THEN fsum((
      _value - _near
    ) * (
      _value - _near
    )) - fsum(_value - _near) * fsum(_value - _near) / count(_value)
    ELSE 0.0
  END AS m2,
  min(_value) AS min,
  max(_value) AS max,
  fsum(_value) AS total,
  CAST(0 AS BIGINT) AS nans,
  CAST(0 AS BIGINT) AS infinities
FROM (
  SELECT
    text_len,
    CAST(text_len AS DOUBLE) AS _value,
    (
      SELECT
        avg(CAST(text_len AS DOUBLE))
      FROM stats
    ) AS _near
  FROM stats
);

-- Write: the samples that stay, in the order of the input.
CREATE OR REPLACE TEMP VIEW kept AS
SELECT
  batch.* EXCLUDE (_row, _suffix, _file)
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT * EXCLUDE (_i) FROM kept ORDER BY _i
) TO 'out/text_files.jsonl' (FORMAT json);

-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack(text_len := text_len) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO 'out/text_files_stats.jsonl' (FORMAT json);
