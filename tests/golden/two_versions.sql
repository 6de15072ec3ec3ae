-- two_versions: two_versions.yaml as SQL, by refinery
--
-- Run it with DuckDB 2.0, which is all that it needs:
--
--     duckdb tables.duckdb < script.sql
--
-- It reads docs.jsonl and writes out/two_versions.jsonl and out/two_versions_stats.jsonl, whose folder must be there.
-- It REPLACES what has that name, the export of `refinery run` too: `refinery sql --export_path FILE` names another file.
-- The tables quarantine, ledger, stats and stat_summary tell what became of every sample.
-- Lines that are not UTF-8 are left out and stand in the table reject_errors; a run has them in quarantine and
-- counts them, so _row of later samples is greater there. Errors in quarantine are put more briefly here, without
-- the number of the line.
-- A line with a new value (a text, statistics, a suffix) is written as compact JSON: its values are those of a run,
-- white space between them and escapes may differ. A script that needs refinery's functions writes a run's bytes.
-- A line that holds a key twice is written as compact JSON as well, whatever the steps do with it, with the last value
-- of the key; a key that stands twice inside of a value stays so. A run leaves the last one at any depth, and every
-- other byte.

SET TimeZone = 'UTC';

-- Read: every line of JSON is a sample, and `_line` carries it as it is. Lines of white space alone are none.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT
  row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row,
  -- Of a key that stands twice the last value counts.
  CASE
    WHEN CASE WHEN json_valid(line) THEN len(json_keys(line)) > len(list_distinct(json_keys(line))) END THEN '{' || array_to_string(
      list_transform(
        list_filter(
          list_zip(json_keys(line), json_extract(line, '$.*')),
          lambda pair, place: NOT list_contains(json_keys(line)[place + 1:], pair[1])
        ),
        lambda pair: json_quote(pair[1]) || ':' || pair[2]
      ),
      ','
    ) || '}'
    ELSE line
  END AS _line,
  suffix AS _suffix, file AS _file
FROM (
  -- A line is one value: there is nothing that separates, quotes or escapes.
  SELECT line, '.jsonl' AS suffix, filename AS file
  FROM read_csv(
    ['docs.jsonl'], columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '', comment = '',
    header = false, auto_detect = false, strict_mode = false, max_line_size = 1073741824, filename = true,
    store_rejects = true
  )
)
WHERE trim(line, E' \t\r\n') <> '';

-- Refine: one pass over all samples. A filter only marks what it removes; steps see what is still there.
--     two_versions.yaml:6 step 1 text_length_filter {min_len: 1}
--     two_versions.yaml:8 step 2 sql_mapper {text: "regexp_replace(text, '\\s+', ' ', 'g')"}
--     two_versions.yaml:10 step 3 text_length_filter {min_len: 10, max_len: 100}
--     two_versions.yaml:13 step 4 sql_filter {where: "text_len_1 >= text_len AND text_len = text_len_3"}
CREATE OR REPLACE TEMP TABLE facts AS
WITH _read AS NOT MATERIALIZED (
  SELECT
    _i,
    CASE WHEN _kind = 'VARCHAR' THEN _line ->> '$.text' END AS _text_0,
    CASE
      WHEN _kind = 'VARCHAR'
      THEN NULL
      WHEN _kind = '' OR NOT json_valid(_line)
      THEN 'malformed JSON'
      WHEN json_type(_line) <> 'OBJECT'
      THEN 'not an object'
      ELSE 'no text'
    END AS _bad
  FROM (
    SELECT
      *,
      CASE
        WHEN CASE
          WHEN regexp_matches(_line, ',[ 	]*[]}]')
          THEN regexp_matches(regexp_replace(_line, '"([^"\\]|\\.)*"', '""', 'g'), ',[ 	]*[]}]')
        END
        THEN ''
        ELSE try(json_type(_line, '$."text"'))
      END AS _kind
    FROM batch
  )
), _s1 AS NOT MATERIALIZED (
  SELECT
    *,
    _bad IS NULL AS _alive_0 /* rows that could be read */
  FROM _read
), _s2 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN CAST(length(_text_0) AS BIGINT) END AS text_len /* two_versions.yaml:6 step 1 text_length_filter */
  FROM _s1
), _s3 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_0 AND coalesce(text_len >= 1, FALSE) AS _alive_1 /* whether step 1 keeps it */
  FROM _s2
), _s4 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE
      WHEN _alive_1
      THEN nullif(regexp_replace(_text_0, '\s+', ' ', 'g'), _text_0)
    END AS _delta_2 /* two_versions.yaml:8 step 2 sql_mapper */
  FROM _s3
), _s5 AS NOT MATERIALIZED (
  SELECT
    *,
    coalesce(_delta_2, _text_0) AS _text_2, /* text after step 2 */
    NOT _delta_2 IS NULL AS _changed_2 /* whether step 2 changed it */
  FROM _s4
), _s6 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_1 THEN CAST(length(_text_2) AS BIGINT) END AS text_len_3 /* two_versions.yaml:10 step 3 text_length_filter */
  FROM _s5
), _s7 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_1 AND coalesce(text_len_3 >= 10 AND text_len_3 <= 100, FALSE) AS _alive_3 /* whether step 3 keeps it */
  FROM _s6
), _s8 AS NOT MATERIALIZED (
  SELECT
    *,
    coalesce(
      CASE WHEN _alive_3 THEN text_len >= text_len_3 AND text_len_3 = text_len_3 END,
      FALSE
    ) AS _alive_4 /* whether step 4 keeps it */
  FROM _s7
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_1 THEN 1 WHEN NOT _alive_3 THEN 3 WHEN NOT _alive_4 THEN 4 END AS _dropped,
  text_len,
  text_len_3,
  coalesce(_changed_2, FALSE) AS _changed_2,
  strlen(_text_0) AS _bytes_0,
  strlen(_text_2) AS _bytes_2,
  CASE WHEN _alive_4 AND (
    _changed_2
  ) THEN _text_2 END AS _out_text
FROM _s8;

-- Samples that could not be read.
CREATE OR REPLACE TABLE quarantine AS
SELECT facts._row, batch._file AS file, facts._bad AS error, batch._line AS raw
FROM facts JOIN batch ON batch._i = facts._row
WHERE facts._bad IS NOT NULL
ORDER BY facts._row;
DELETE FROM facts WHERE _bad IS NOT NULL;

-- One row per sample that a step removed: where, why, and by which value against which bound.
CREATE OR REPLACE TABLE ledger AS
SELECT
  _row,
  _dropped AS step,
  CAST(CASE _dropped
    WHEN 1
    THEN 'text_length_filter'
    WHEN 3
    THEN 'text_length_filter'
    WHEN 4
    THEN 'sql_filter'
  END AS TEXT) AS operator,
  CAST(CASE _dropped
    WHEN 1
    THEN 'two_versions.yaml:6'
    WHEN 3
    THEN 'two_versions.yaml:10'
    WHEN 4
    THEN 'two_versions.yaml:13'
  END AS TEXT) AS recipe_line,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE
      WHEN text_len < 1
      THEN 'text_len below min_len'
      WHEN text_len IS NULL
      THEN 'text_len is NULL'
      ELSE 'not kept by min_len: 1'
    END
    WHEN 3
    THEN CASE
      WHEN text_len_3 < 10
      THEN 'text_len_3 below min_len'
      WHEN text_len_3 > 100
      THEN 'text_len_3 above max_len'
      WHEN text_len_3 IS NULL
      THEN 'text_len_3 is NULL'
      ELSE 'not kept by min_len: 10, max_len: 100'
    END
    WHEN 4
    THEN CASE
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len IS NULL
      THEN 'text_len_1 is NULL: text_len_1 >= text_len'
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len_3 IS NULL
      THEN 'text_len_3 is NULL: text_len_1 >= text_len'
      WHEN NOT coalesce(text_len >= text_len_3, FALSE)
      THEN 'not kept by where: text_len_1 >= text_len'
      WHEN (
        text_len_3 = text_len_3
      ) IS NULL AND text_len_3 IS NULL
      THEN 'text_len_3 is NULL: text_len = text_len_3'
      WHEN NOT coalesce(text_len_3 = text_len_3, FALSE)
      THEN 'not kept by where: text_len = text_len_3'
      ELSE 'not kept by where: text_len_1 >= text_len AND text_len = text_len_3'
    END
  END AS TEXT) AS reason,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE
      WHEN text_len < 1
      THEN 'text_len'
      WHEN text_len IS NULL
      THEN 'text_len'
      ELSE NULL
    END
    WHEN 3
    THEN CASE
      WHEN text_len_3 < 10
      THEN 'text_len_3'
      WHEN text_len_3 > 100
      THEN 'text_len_3'
      WHEN text_len_3 IS NULL
      THEN 'text_len_3'
      ELSE NULL
    END
    WHEN 4
    THEN CASE
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len IS NULL
      THEN 'text_len'
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len_3 IS NULL
      THEN 'text_len'
      WHEN NOT coalesce(text_len >= text_len_3, FALSE)
      THEN 'text_len'
      ELSE NULL
    END
  END AS TEXT) AS statistic,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE WHEN text_len < 1 THEN TRY_CAST(text_len AS DOUBLE) ELSE NULL END
    WHEN 3
    THEN CASE
      WHEN text_len_3 < 10
      THEN TRY_CAST(text_len_3 AS DOUBLE)
      WHEN text_len_3 > 100
      THEN TRY_CAST(text_len_3 AS DOUBLE)
      ELSE NULL
    END
    WHEN 4
    THEN CASE
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len IS NULL
      THEN NULL
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len_3 IS NULL
      THEN NULL
      WHEN NOT coalesce(text_len >= text_len_3, FALSE)
      THEN TRY_CAST(text_len AS DOUBLE)
      ELSE NULL
    END
  END AS DOUBLE) AS value,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE WHEN text_len < 1 THEN 1 ELSE NULL END
    WHEN 3
    THEN CASE WHEN text_len_3 < 10 THEN 10 WHEN text_len_3 > 100 THEN 100 ELSE NULL END
    WHEN 4
    THEN CASE
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len IS NULL
      THEN NULL
      WHEN (
        text_len >= text_len_3
      ) IS NULL AND text_len_3 IS NULL
      THEN NULL
      WHEN NOT coalesce(text_len >= text_len_3, FALSE)
      THEN TRY_CAST(text_len_3 AS DOUBLE)
      ELSE NULL
    END
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
  text_len,
  text_len_3
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
)
UNION ALL
SELECT
  'summary' AS "group",
  'summary' AS key,
  'text_len_3' AS stat,
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
    text_len_3,
    CAST(text_len_3 AS DOUBLE) AS _value,
    (
      SELECT
        avg(CAST(text_len_3 AS DOUBLE))
      FROM stats
    ) AS _near
  FROM stats
);

-- Write: the samples that stay, in the order of the input. A line whose text did not change is written as it was.
CREATE OR REPLACE TEMP VIEW kept AS
SELECT
  batch._i,
  rtrim(batch._line, E' \t\r\n') AS line_0,
  CASE WHEN facts._out_text IS NULL THEN line_0 ELSE json_set(line_0, '$."text"', json_quote(facts._out_text)) END AS line
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT line FROM kept ORDER BY _i
) TO 'out/two_versions.jsonl' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '');

-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack(text_len := text_len, text_len_3 := text_len_3) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO 'out/two_versions_stats.jsonl' (FORMAT json);
