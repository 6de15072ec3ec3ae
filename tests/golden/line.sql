-- line: line.yaml as SQL, by refinery
--
-- Run it in Python, because it calls last_members, line_keys, paragraph_keys, set_member, without_lines, without_paragraphs:
--
--     import duckdb, refinery
--     con = duckdb.connect("tables.duckdb")
--     refinery.register(con)
--     con.execute(open("script.sql").read()).fetchall()
--
-- It reads near.jsonl and writes out/line.jsonl and out/line_stats.jsonl, whose folder must be there.
-- It REPLACES what has that name, the export of `refinery run` too: `refinery sql --export_path FILE` names another file.
-- The tables quarantine, duplicates, clusters, ledger, stats and stat_summary tell what became of every sample.
-- Lines that are not UTF-8 are left out and stand in the table reject_errors; a run has them in quarantine and
-- counts them, so _row of later samples is greater there. Errors in quarantine are put more briefly here, without
-- the number of the line.

SET TimeZone = 'UTC';

-- Read: every line of JSON is a sample, and `_line` carries it as it is. Lines of white space alone are none.
CREATE OR REPLACE TEMP TABLE batch AS
SELECT
  row_number() OVER () - 1 AS _i, row_number() OVER () - 1 AS _row,
  -- Of a key that stands twice the last value counts.
  last_members(line) AS _line,
  suffix AS _suffix, file AS _file
FROM (
  -- A line is one value: there is nothing that separates, quotes or escapes.
  SELECT line, '.jsonl' AS suffix, filename AS file
  FROM read_csv(
    ['near.jsonl'], columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '', comment = '',
    header = false, auto_detect = false, strict_mode = false, max_line_size = 1073741824, filename = true,
    store_rejects = true
  )
)
WHERE trim(line, E' \t\r\n') <> '';

-- Stage 1: one pass over all samples. A filter only marks what it removes; steps see what is still there.
--     line.yaml:6 step 1 document_line_deduplicator {frequency_threshold: 2}: what it compares
CREATE OR REPLACE TEMP TABLE facts_1 AS
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
    CASE
      WHEN _alive_0
      THEN line_keys(_text_0, FALSE, FALSE, 2, TRUE, TRUE, TRUE, TRUE)
    END AS _mark_units /* line.yaml:6 step 1 document_line_deduplicator */
  FROM _s1
)
SELECT
  _i AS _row,
  _bad,
  CAST(NULL AS INT) AS _dropped,
  strlen(_text_0) AS _bytes_0,
  _mark_units
FROM _s2;

-- Samples that could not be read.
CREATE OR REPLACE TABLE quarantine AS
SELECT facts._row, batch._file AS file, facts._bad AS error, batch._line AS raw
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
  _i,
  _row,
  line_0 AS _line,
  _suffix,
  _file
FROM (
  SELECT
    batch._i,
    batch._row,
    batch._line AS line_0,
    batch._suffix,
    batch._file
  FROM batch
  JOIN facts_1 AS facts
    ON facts._row = batch._i
  WHERE
    facts._dropped IS NULL
);

-- What document_line_deduplicator compares of each of them; who has none of it is nobody's duplicate.
CREATE OR REPLACE TEMPORARY TABLE marks AS
SELECT
  _row,
  unit,
  key
FROM (
  SELECT
    _row,
    generate_subscripts(_mark_units, 1) - 1 AS unit,
    unnest(_mark_units) AS key
  FROM facts_1
  WHERE
    _dropped IS NULL
)
WHERE
  key <> 0;

-- The units that go, which stage 2 takes out of their texts.
CREATE OR REPLACE TEMPORARY TABLE removed_units AS
WITH often AS MATERIALIZED (
  SELECT
    key
  FROM marks
  GROUP BY
    key
  HAVING
    count(*) > 2
), places AS MATERIALIZED (
  SELECT
    _row,
    unit,
    key
  FROM marks
  SEMI JOIN often
    USING (key)
), frequent AS (
  SELECT
    key,
    count(*) AS samples
  FROM (
    SELECT DISTINCT
      key,
      _row
    FROM places
  )
  GROUP BY
    key
  HAVING
    count(*) > 2
)
SELECT
  places._row,
  places.unit,
  CAST(NULL AS BIGINT) AS kept,
  'in ' || frequent.samples || ' samples' AS matched
FROM places
JOIN frequent
  ON places.key = frequent.key
ORDER BY
  places._row,
  places.unit;

INSERT INTO duplicates BY NAME
SELECT
  1 AS step,
  'document_line_deduplicator' AS operator,
  _row,
  kept,
  unit,
  matched
FROM (
  SELECT
    *
  FROM removed_units
  ORDER BY
    _row,
    unit
);

-- Stage 2: one pass over what is left. A filter only marks what it removes; steps see what is still there.
--     line.yaml:6 step 1 document_line_deduplicator {frequency_threshold: 2}
--     line.yaml:8 step 2 text_length_filter {min_len: 1}
--     line.yaml:10 step 3 paragraph_deduplicator {separator: "\n", min_length: 4}: what it compares
CREATE OR REPLACE TEMP TABLE facts_2 AS
WITH batch AS NOT MATERIALIZED (
  SELECT
    samples.*,
    removed.units AS _removed_1
  FROM temp.batch AS samples
  LEFT JOIN (
    SELECT
      _row,
      array_agg(unit ORDER BY unit) AS units
    FROM removed_units
    GROUP BY
      _row
  ) AS removed
    ON removed._row = samples._i
), _read AS NOT MATERIALIZED (
  SELECT
    _i,
    CASE WHEN _kind = 'VARCHAR' THEN _line ->> '$.text' END AS _text_0,
    CASE WHEN _kind = 'VARCHAR' THEN _removed_1 END AS _removed_1,
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
    CASE WHEN _alive_0 THEN without_lines(_text_0, _removed_1) END AS _delta_1 /* line.yaml:6 step 1 document_line_deduplicator */
  FROM _s1
), _s3 AS NOT MATERIALIZED (
  SELECT
    *,
    coalesce(_delta_1, _text_0) AS _text_1, /* text after step 1 */
    NOT _delta_1 IS NULL AS _changed_1 /* whether step 1 changed it */
  FROM _s2
), _s4 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN CAST(length(_text_1) AS BIGINT) END AS text_len /* line.yaml:8 step 2 text_length_filter */
  FROM _s3
), _s5 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_0 AND coalesce(text_len >= 1, FALSE) AS _alive_2 /* whether step 2 keeps it */
  FROM _s4
), _s6 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE
      WHEN _alive_2
      THEN paragraph_keys(_text_1, '
', FALSE, TRUE, 4)
    END AS _mark_units /* line.yaml:10 step 3 paragraph_deduplicator */
  FROM _s5
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_2 THEN 2 END AS _dropped,
  text_len,
  coalesce(_changed_1, FALSE) AS _changed_1,
  strlen(_text_1) AS _bytes_1,
  _mark_units,
  CASE WHEN _alive_2 AND (
    _changed_1
  ) THEN _text_1 END AS _out_text
FROM _s6;

-- What stage 2 leaves, with the texts that it changed.
CREATE OR REPLACE TEMPORARY TABLE batch AS
SELECT
  _i,
  _row,
  line_1 AS _line,
  _suffix,
  _file
FROM (
  SELECT
    batch._i,
    batch._row,
    batch._line AS line_0,
    CASE
      WHEN facts._out_text IS NULL
      THEN line_0
      ELSE set_member(line_0, facts._out_text, '["text"]', TRUE)
    END AS line_1,
    batch._suffix,
    batch._file
  FROM batch
  JOIN facts_2 AS facts
    ON facts._row = batch._i
  WHERE
    facts._dropped IS NULL
);

-- What paragraph_deduplicator compares of each of them; who has none of it is nobody's duplicate.
CREATE OR REPLACE TEMPORARY TABLE marks AS
SELECT
  _row,
  unit,
  key
FROM (
  SELECT
    _row,
    generate_subscripts(_mark_units, 1) - 1 AS unit,
    unnest(_mark_units) AS key
  FROM facts_2
  WHERE
    _dropped IS NULL
)
WHERE
  key <> 0;

-- The units that go, which stage 3 takes out of their texts.
CREATE OR REPLACE TEMPORARY TABLE removed_units AS
SELECT
  marks._row,
  marks.unit,
  firsts.first.r AS kept,
  'seen before' AS matched
FROM marks
JOIN (
  SELECT
    key,
    min({'r': _row, 'u': unit}) AS first
  FROM marks
  GROUP BY
    key
  HAVING
    count(*) > 1
) AS firsts
  ON marks.key = firsts.key
WHERE
  NOT (
    marks._row = firsts.first.r AND marks.unit = firsts.first.u
  )
ORDER BY
  marks._row,
  marks.unit;

INSERT INTO duplicates BY NAME
SELECT
  3 AS step,
  'paragraph_deduplicator' AS operator,
  _row,
  kept,
  unit,
  matched
FROM (
  SELECT
    *
  FROM removed_units
  ORDER BY
    _row,
    unit
);

-- Stage 3: one pass over what is left. A filter only marks what it removes; steps see what is still there.
--     line.yaml:10 step 3 paragraph_deduplicator {separator: "\n", min_length: 4}
CREATE OR REPLACE TEMP TABLE facts_3 AS
WITH batch AS NOT MATERIALIZED (
  SELECT
    samples.*,
    removed.units AS _removed_3
  FROM temp.batch AS samples
  LEFT JOIN (
    SELECT
      _row,
      array_agg(unit ORDER BY unit) AS units
    FROM removed_units
    GROUP BY
      _row
  ) AS removed
    ON removed._row = samples._i
), _read AS NOT MATERIALIZED (
  SELECT
    _i,
    CASE WHEN _kind = 'VARCHAR' THEN _line ->> '$.text' END AS _text_0,
    CASE WHEN _kind = 'VARCHAR' THEN _removed_3 END AS _removed_3,
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
    CASE
      WHEN _alive_0
      THEN without_paragraphs(_text_0, _removed_3, '
')
    END AS _delta_3 /* line.yaml:10 step 3 paragraph_deduplicator */
  FROM _s1
), _s3 AS NOT MATERIALIZED (
  SELECT
    *,
    coalesce(_delta_3, _text_0) AS _text_3, /* text after step 3 */
    NOT _delta_3 IS NULL AS _changed_3 /* whether step 3 changed it */
  FROM _s2
), _s4 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_0 AND NOT (
      _changed_3 AND _text_3 = ''
    ) AS _alive_3 /* whether step 3 keeps it */
  FROM _s3
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_3 THEN 3 END AS _dropped,
  coalesce(_changed_3, FALSE) AS _changed_3,
  strlen(_text_3) AS _bytes_3,
  CASE WHEN _alive_3 AND (
    _changed_3
  ) THEN _text_3 END AS _out_text
FROM _s4;

-- What all stages found out of every sample that could be read, and which step removed it.
CREATE OR REPLACE TEMPORARY TABLE facts AS
SELECT
  facts_1._row,
  coalesce(facts_1._dropped, facts_2._dropped, facts_3._dropped, gone.step) AS _dropped,
  facts_2.text_len,
  facts_3._out_text
FROM facts_1
LEFT JOIN facts_2
  ON facts_2._row = facts_1._row
LEFT JOIN facts_3
  ON facts_3._row = facts_1._row
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
  CAST(CASE _dropped
    WHEN 2
    THEN 'text_length_filter'
    WHEN 3
    THEN 'paragraph_deduplicator'
  END AS TEXT) AS operator,
  CAST(CASE _dropped WHEN 2 THEN 'line.yaml:8' WHEN 3 THEN 'line.yaml:10' END AS TEXT) AS recipe_line,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE
      WHEN text_len < 1
      THEN 'text_len below min_len'
      WHEN text_len IS NULL
      THEN 'text_len is NULL'
      ELSE 'not kept by min_len: 1'
    END
    WHEN 3
    THEN 'nothing is left of the text'
  END AS TEXT) AS reason,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE
      WHEN text_len < 1
      THEN 'text_len'
      WHEN text_len IS NULL
      THEN 'text_len'
      ELSE NULL
    END
    WHEN 3
    THEN NULL
  END AS TEXT) AS statistic,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE WHEN text_len < 1 THEN TRY_CAST(text_len AS DOUBLE) ELSE NULL END
    WHEN 3
    THEN NULL
  END AS DOUBLE) AS value,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE WHEN text_len < 1 THEN 1 ELSE NULL END
    WHEN 3
    THEN NULL
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

-- Write: the samples that stay, in the order of the input. A line whose text did not change is written as it was.
CREATE OR REPLACE TEMP VIEW kept AS
SELECT
  batch._i,
  rtrim(batch._line, E' \t\r\n') AS line_0,
  CASE WHEN facts._out_text IS NULL THEN line_0 ELSE set_member(line_0, facts._out_text, '["text"]', TRUE) END AS line
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT line FROM kept ORDER BY _i
) TO 'out/line.jsonl' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '');

-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack(text_len := text_len) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO 'out/line_stats.jsonl' (FORMAT json);
