-- shared_features: shared_features.yaml as SQL, by refinery
--
-- Run it in Python, because it calls clean_email_delta, flagged_words_share, last_members, profile, refined_words, set_member:
--
--     import duckdb, refinery
--     con = duckdb.connect("tables.duckdb")
--     refinery.register(con)
--     con.execute(open("script.sql").read()).fetchall()
--
-- It reads docs.jsonl and writes out/shared_features.jsonl and out/shared_features_stats.jsonl, whose folder must be there.
-- It REPLACES what has that name, the export of `refinery run` too: `refinery sql --export_path FILE` names another file.
-- The tables quarantine, ledger, stats and stat_summary tell what became of every sample.
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
    ['docs.jsonl'], columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '', comment = '',
    header = false, auto_detect = false, strict_mode = false, max_line_size = 1073741824, filename = true,
    store_rejects = true
  )
)
WHERE trim(line, E' \t\r\n') <> '';

-- Refine: one pass over all samples. A filter only marks what it removes; steps see what is still there.
--     shared_features.yaml:6 step 1 clean_email_mapper {repl: "<e-mail>"}
--     shared_features.yaml:8 step 2 words_num_filter {min_num: 2}
--     shared_features.yaml:10 step 3 flagged_words_filter {max_ratio: 0.3, flagged_words_dir: "words"}
--     shared_features.yaml:13 step 4 average_line_length_filter {min_len: 5}
--     shared_features.yaml:15 step 5 special_characters_filter {max_ratio: 0.5}
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
    CASE
      WHEN _alive_0
      THEN CASE WHEN contains(_text_0, '@') THEN clean_email_delta(_text_0, '<e-mail>') END
    END AS _delta_1 /* shared_features.yaml:6 step 1 clean_email_mapper */
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
    CASE WHEN _alive_0 THEN refined_words(_text_1) END AS _words_text_1 /* words of the text after step 1 */
  FROM _s3
), _s5 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN CAST(_words_text_1.n AS BIGINT) END AS num_words /* shared_features.yaml:8 step 2 words_num_filter */
  FROM _s4
), _s6 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_0 AND coalesce(num_words >= 2, FALSE) AS _alive_2 /* whether step 2 keeps it */
  FROM _s5
), _s7 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE
      WHEN _alive_2
      THEN CAST(flagged_words_share(_words_text_1.lower, 'words', 'en', '', '') AS DOUBLE)
    END AS flagged_words_ratio /* shared_features.yaml:10 step 3 flagged_words_filter */
  FROM _s6
), _s8 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_2
    AND coalesce(flagged_words_ratio >= 0.0 AND flagged_words_ratio <= 0.3, FALSE) AS _alive_3 /* whether step 3 keeps it */
  FROM _s7
), _s9 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_3 THEN profile(_text_1) END AS _profile_text_1 /* profile of the text after step 1 */
  FROM _s8
), _s10 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE
      WHEN _alive_3
      THEN CAST(CASE
        WHEN _profile_text_1.lines = 0
        THEN CAST(0 AS DOUBLE)
        ELSE CAST(_profile_text_1.chars AS DOUBLE) / _profile_text_1.lines
      END AS DOUBLE)
    END AS avg_line_length /* shared_features.yaml:13 step 4 average_line_length_filter */
  FROM _s9
), _s11 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_3 AND coalesce(avg_line_length >= 5, FALSE) AS _alive_4 /* whether step 4 keeps it */
  FROM _s10
), _s12 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE
      WHEN _alive_4
      THEN CAST(CASE
        WHEN _profile_text_1.chars = 0
        THEN CAST(0 AS DOUBLE)
        ELSE CAST(_profile_text_1.special AS DOUBLE) / _profile_text_1.chars
      END AS DOUBLE)
    END AS special_char_ratio /* shared_features.yaml:15 step 5 special_characters_filter */
  FROM _s11
), _s13 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_4
    AND coalesce(special_char_ratio >= 0.0 AND special_char_ratio <= 0.5, FALSE) AS _alive_5 /* whether step 5 keeps it */
  FROM _s12
)
SELECT
  _i AS _row,
  _bad,
  CASE
    WHEN NOT _alive_2
    THEN 2
    WHEN NOT _alive_3
    THEN 3
    WHEN NOT _alive_4
    THEN 4
    WHEN NOT _alive_5
    THEN 5
  END AS _dropped,
  num_words,
  flagged_words_ratio,
  avg_line_length,
  special_char_ratio,
  coalesce(_changed_1, FALSE) AS _changed_1,
  strlen(_text_0) AS _bytes_0,
  strlen(_text_1) AS _bytes_1,
  CASE WHEN _alive_5 AND (
    _changed_1
  ) THEN _text_1 END AS _out_text
FROM _s13;

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
    WHEN 2
    THEN 'words_num_filter'
    WHEN 3
    THEN 'flagged_words_filter'
    WHEN 4
    THEN 'average_line_length_filter'
    WHEN 5
    THEN 'special_characters_filter'
  END AS TEXT) AS operator,
  CAST(CASE _dropped
    WHEN 2
    THEN 'shared_features.yaml:8'
    WHEN 3
    THEN 'shared_features.yaml:10'
    WHEN 4
    THEN 'shared_features.yaml:13'
    WHEN 5
    THEN 'shared_features.yaml:15'
  END AS TEXT) AS recipe_line,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE
      WHEN num_words < 2
      THEN 'num_words below min_num'
      WHEN num_words IS NULL
      THEN 'num_words is NULL'
      ELSE 'not kept by min_num: 2'
    END
    WHEN 3
    THEN CASE
      WHEN flagged_words_ratio < 0.0
      THEN 'flagged_words_ratio below min_ratio'
      WHEN flagged_words_ratio > 0.3
      THEN 'flagged_words_ratio above max_ratio'
      WHEN flagged_words_ratio IS NULL
      THEN 'flagged_words_ratio is NULL'
      ELSE 'not kept by max_ratio: 0.3, flagged_words_dir: words'
    END
    WHEN 4
    THEN CASE
      WHEN avg_line_length < 5
      THEN 'avg_line_length below min_len'
      WHEN avg_line_length IS NULL
      THEN 'avg_line_length is NULL'
      ELSE 'not kept by min_len: 5'
    END
    WHEN 5
    THEN CASE
      WHEN special_char_ratio < 0.0
      THEN 'special_char_ratio below min_ratio'
      WHEN special_char_ratio > 0.5
      THEN 'special_char_ratio above max_ratio'
      WHEN special_char_ratio IS NULL
      THEN 'special_char_ratio is NULL'
      ELSE 'not kept by max_ratio: 0.5'
    END
  END AS TEXT) AS reason,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE
      WHEN num_words < 2
      THEN 'num_words'
      WHEN num_words IS NULL
      THEN 'num_words'
      ELSE NULL
    END
    WHEN 3
    THEN CASE
      WHEN flagged_words_ratio < 0.0
      THEN 'flagged_words_ratio'
      WHEN flagged_words_ratio > 0.3
      THEN 'flagged_words_ratio'
      WHEN flagged_words_ratio IS NULL
      THEN 'flagged_words_ratio'
      ELSE NULL
    END
    WHEN 4
    THEN CASE
      WHEN avg_line_length < 5
      THEN 'avg_line_length'
      WHEN avg_line_length IS NULL
      THEN 'avg_line_length'
      ELSE NULL
    END
    WHEN 5
    THEN CASE
      WHEN special_char_ratio < 0.0
      THEN 'special_char_ratio'
      WHEN special_char_ratio > 0.5
      THEN 'special_char_ratio'
      WHEN special_char_ratio IS NULL
      THEN 'special_char_ratio'
      ELSE NULL
    END
  END AS TEXT) AS statistic,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE WHEN num_words < 2 THEN TRY_CAST(num_words AS DOUBLE) ELSE NULL END
    WHEN 3
    THEN CASE
      WHEN flagged_words_ratio < 0.0
      THEN TRY_CAST(flagged_words_ratio AS DOUBLE)
      WHEN flagged_words_ratio > 0.3
      THEN TRY_CAST(flagged_words_ratio AS DOUBLE)
      ELSE NULL
    END
    WHEN 4
    THEN CASE WHEN avg_line_length < 5 THEN TRY_CAST(avg_line_length AS DOUBLE) ELSE NULL END
    WHEN 5
    THEN CASE
      WHEN special_char_ratio < 0.0
      THEN TRY_CAST(special_char_ratio AS DOUBLE)
      WHEN special_char_ratio > 0.5
      THEN TRY_CAST(special_char_ratio AS DOUBLE)
      ELSE NULL
    END
  END AS DOUBLE) AS value,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE WHEN num_words < 2 THEN 2 ELSE NULL END
    WHEN 3
    THEN CASE
      WHEN flagged_words_ratio < 0.0
      THEN 0.0
      WHEN flagged_words_ratio > 0.3
      THEN 0.3
      ELSE NULL
    END
    WHEN 4
    THEN CASE WHEN avg_line_length < 5 THEN 5 ELSE NULL END
    WHEN 5
    THEN CASE
      WHEN special_char_ratio < 0.0
      THEN 0.0
      WHEN special_char_ratio > 0.5
      THEN 0.5
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
  num_words,
  flagged_words_ratio,
  avg_line_length,
  special_char_ratio
FROM facts
ORDER BY
  _row;

-- Moments of every statistic: n, mean and M2 = sum((x - mean)^2) are all that an exact merge needs. Distances are taken from
-- a value near the mean first; what is left of the mean then corrects both. NaN and infinities are counted apart.
CREATE OR REPLACE TABLE stat_summary AS
SELECT
  'summary' AS "group",
  'summary' AS key,
  'num_words' AS stat,
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
    num_words,
    CAST(num_words AS DOUBLE) AS _value,
    (
      SELECT
        avg(CAST(num_words AS DOUBLE))
      FROM stats
    ) AS _near
  FROM stats
)
UNION ALL
SELECT
  'summary' AS "group",
  'summary' AS key,
  'flagged_words_ratio' AS stat,
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
  count(*) FILTER(WHERE
    isnan(CAST(flagged_words_ratio AS DOUBLE))) AS nans,
  count(*) FILTER(WHERE
    isinf(CAST(flagged_words_ratio AS DOUBLE))) AS infinities
FROM (
  SELECT
    flagged_words_ratio,
    CASE
      WHEN isfinite(CAST(flagged_words_ratio AS DOUBLE))
      THEN CAST(flagged_words_ratio AS DOUBLE)
    END AS _value,
    (
      SELECT
        avg(
          CASE
            WHEN isfinite(CAST(flagged_words_ratio AS DOUBLE))
            THEN CAST(flagged_words_ratio AS DOUBLE)
          END
        )
      FROM stats
    ) AS _near
  FROM stats
)
UNION ALL
SELECT
  'summary' AS "group",
  'summary' AS key,
  'avg_line_length' AS stat,
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
  count(*) FILTER(WHERE
    isnan(CAST(avg_line_length AS DOUBLE))) AS nans,
  count(*) FILTER(WHERE
    isinf(CAST(avg_line_length AS DOUBLE))) AS infinities
FROM (
  SELECT
    avg_line_length,
    CASE
      WHEN isfinite(CAST(avg_line_length AS DOUBLE))
      THEN CAST(avg_line_length AS DOUBLE)
    END AS _value,
    (
      SELECT
        avg(
          CASE
            WHEN isfinite(CAST(avg_line_length AS DOUBLE))
            THEN CAST(avg_line_length AS DOUBLE)
          END
        )
      FROM stats
    ) AS _near
  FROM stats
)
UNION ALL
SELECT
  'summary' AS "group",
  'summary' AS key,
  'special_char_ratio' AS stat,
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
  count(*) FILTER(WHERE
    isnan(CAST(special_char_ratio AS DOUBLE))) AS nans,
  count(*) FILTER(WHERE
    isinf(CAST(special_char_ratio AS DOUBLE))) AS infinities
FROM (
  SELECT
    special_char_ratio,
    CASE
      WHEN isfinite(CAST(special_char_ratio AS DOUBLE))
      THEN CAST(special_char_ratio AS DOUBLE)
    END AS _value,
    (
      SELECT
        avg(
          CASE
            WHEN isfinite(CAST(special_char_ratio AS DOUBLE))
            THEN CAST(special_char_ratio AS DOUBLE)
          END
        )
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
) TO 'out/shared_features.jsonl' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '');

-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack(num_words := num_words, flagged_words_ratio := flagged_words_ratio, avg_line_length := avg_line_length, special_char_ratio := special_char_ratio) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO 'out/shared_features_stats.jsonl' (FORMAT json);
