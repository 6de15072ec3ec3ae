-- hello_world: groups.yaml as SQL, by refinery
--
-- Run it in Python, because it calls last_members, profile, url_parts:
--
--     import duckdb, refinery
--     con = duckdb.connect("tables.duckdb")
--     refinery.register(con)
--     con.execute(open("script.sql").read()).fetchall()
--
-- It reads docs.jsonl and writes out/groups.jsonl and out/groups_stats.jsonl, whose folder must be there.
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
--     groups.yaml:5 step 1 text_length_filter {min_len: 10}
--     groups.yaml:7 step 2 alphanumeric_filter {min_ratio: 0.3}
CREATE OR REPLACE TEMP TABLE facts AS
WITH _read AS NOT MATERIALIZED (
  SELECT
    _i,
    CASE WHEN _kind = 'VARCHAR' THEN _line ->> '$.text' END AS _text_0,
    CASE
      WHEN _kind = 'VARCHAR'
      THEN _line ->> ['$."suffix"', '$."url"', '$."token_count"']
    END AS _grouping,
    CASE WHEN _kind = 'VARCHAR' THEN _line ->> '$.lang' END AS _in_lang,
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
    _bad IS NULL AS _alive_0, /* rows that could be read */
    coalesce(_grouping[1], try(url_parts(_grouping[2])).suffix, '') AS _key_suffix, /* suffix of the address */
    coalesce(try(CAST((
      _in_lang
    ) AS TEXT)), '') AS _key_1, /* what statistics are summed up by */
    coalesce(try(CAST((
      length(_text_0) > 30
    ) AS TEXT)), '') AS _key_2, /* what statistics are summed up by */
    CASE
      WHEN TRY_CAST(_grouping[3] AS DOUBLE) BETWEEN 0 AND 1099511627776
      AND TRY_CAST(_grouping[3] AS DOUBLE) = floor(TRY_CAST(_grouping[3] AS DOUBLE))
      THEN CAST(TRY_CAST(_grouping[3] AS DOUBLE) AS BIGINT)
    END AS _tokens /* number of tokens */
  FROM _read
), _s2 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN length(_text_0) END AS _chars_1, /* code points of the text */
    CASE WHEN _alive_0 THEN CAST(length(_text_0) AS BIGINT) END AS text_len /* groups.yaml:5 step 1 text_length_filter */
  FROM _s1
), _s3 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_0 AND coalesce(text_len >= 10, FALSE) AS _alive_1 /* whether step 1 keeps it */
  FROM _s2
), _s4 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_1 THEN profile(_text_0) END AS _profile_text_0 /* profile of the text after step 0 */
  FROM _s3
), _s5 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE
      WHEN _alive_1
      THEN CAST(CASE
        WHEN _profile_text_0.chars = 0
        THEN CAST(0 AS DOUBLE)
        ELSE CAST(_profile_text_0.alnum AS DOUBLE) / _profile_text_0.chars
      END AS DOUBLE)
    END AS alnum_ratio /* groups.yaml:7 step 2 alphanumeric_filter */
  FROM _s4
), _s6 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_1
    AND coalesce(alnum_ratio >= 0.3 AND alnum_ratio <= 9.223372036854776e+18, FALSE) AS _alive_2 /* whether step 2 keeps it */
  FROM _s5
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_1 THEN 1 WHEN NOT _alive_2 THEN 2 END AS _dropped,
  text_len,
  alnum_ratio,
  strlen(_text_0) AS _bytes_0,
  _key_suffix,
  _key_1,
  _key_2,
  _tokens,
  _chars_1
FROM _s6;

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
  CAST(CASE _dropped WHEN 1 THEN 'text_length_filter' WHEN 2 THEN 'alphanumeric_filter' END AS TEXT) AS operator,
  CAST(CASE _dropped WHEN 1 THEN 'groups.yaml:5' WHEN 2 THEN 'groups.yaml:7' END AS TEXT) AS recipe_line,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE
      WHEN text_len < 10
      THEN 'text_len below min_len'
      WHEN text_len IS NULL
      THEN 'text_len is NULL'
      ELSE 'not kept by min_len: 10'
    END
    WHEN 2
    THEN CASE
      WHEN alnum_ratio < 0.3
      THEN 'alnum_ratio below min_ratio'
      WHEN alnum_ratio > 9.223372036854776e+18
      THEN 'alnum_ratio above max_ratio'
      WHEN alnum_ratio IS NULL
      THEN 'alnum_ratio is NULL'
      ELSE 'not kept by min_ratio: 0.3'
    END
  END AS TEXT) AS reason,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE
      WHEN text_len < 10
      THEN 'text_len'
      WHEN text_len IS NULL
      THEN 'text_len'
      ELSE NULL
    END
    WHEN 2
    THEN CASE
      WHEN alnum_ratio < 0.3
      THEN 'alnum_ratio'
      WHEN alnum_ratio > 9.223372036854776e+18
      THEN 'alnum_ratio'
      WHEN alnum_ratio IS NULL
      THEN 'alnum_ratio'
      ELSE NULL
    END
  END AS TEXT) AS statistic,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE WHEN text_len < 10 THEN TRY_CAST(text_len AS DOUBLE) ELSE NULL END
    WHEN 2
    THEN CASE
      WHEN alnum_ratio < 0.3
      THEN TRY_CAST(alnum_ratio AS DOUBLE)
      WHEN alnum_ratio > 9.223372036854776e+18
      THEN TRY_CAST(alnum_ratio AS DOUBLE)
      ELSE NULL
    END
  END AS DOUBLE) AS value,
  CAST(CASE _dropped
    WHEN 1
    THEN CASE WHEN text_len < 10 THEN 10 ELSE NULL END
    WHEN 2
    THEN CASE
      WHEN alnum_ratio < 0.3
      THEN 0.3
      WHEN alnum_ratio > 9.223372036854776e+18
      THEN 9.223372036854776e+18
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
  alnum_ratio
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
  'alnum_ratio' AS stat,
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
    isnan(CAST(alnum_ratio AS DOUBLE))) AS nans,
  count(*) FILTER(WHERE
    isinf(CAST(alnum_ratio AS DOUBLE))) AS infinities
FROM (
  SELECT
    alnum_ratio,
    CASE
      WHEN isfinite(CAST(alnum_ratio AS DOUBLE))
      THEN CAST(alnum_ratio AS DOUBLE)
    END AS _value,
    (
      SELECT
        avg(
          CASE
            WHEN isfinite(CAST(alnum_ratio AS DOUBLE))
            THEN CAST(alnum_ratio AS DOUBLE)
          END
        )
      FROM stats
    ) AS _near
  FROM stats
);

-- How many samples have which value, rounded, and the lengths and tokens of their texts; by statistic and value. Sums of
-- whole numbers are exact, so their order does not matter; only where a square does not fit are they taken as DOUBLE.
INSERT INTO stat_summary
WITH rounded AS (
  SELECT
    1 AS nth,
    CAST(_value AS DOUBLE) AS place,
    CAST(_value AS TEXT) AS key,
    *
    EXCLUDE (_value)
  FROM (
    SELECT
      _value,
      count(*) AS n,
      count(_chars_1) AS n_chars,
      sum(_chars_1) AS total_chars,
      sum(CAST(_chars_1 AS INT128) * _chars_1) AS squares_chars,
      min(_chars_1) AS min_chars,
      max(_chars_1) AS max_chars,
      count(_tokens) AS n_tokens,
      sum(_tokens) AS total_tokens,
      sum(CAST(_tokens AS INT128) * _tokens) AS squares_tokens,
      min(_tokens) AS min_tokens,
      max(_tokens) AS max_tokens
    FROM (
      SELECT
        CAST(text_len AS BIGINT) AS _value,
        _chars_1,
        _tokens
      FROM facts
      WHERE
        NOT text_len IS NULL
    )
    GROUP BY
      _value
  )
  UNION ALL
  SELECT
    2 AS nth,
    CAST(_value AS DOUBLE) AS place,
    CASE
      WHEN isnan(_value)
      THEN 'nan'
      WHEN _value = -5e-324
      THEN '-0.0'
      ELSE CAST(_value AS TEXT)
    END AS key,
    *
    EXCLUDE (_value)
  FROM (
    SELECT
      _value,
      count(*) AS n,
      count(_chars_1) AS n_chars,
      sum(_chars_1) AS total_chars,
      sum(CAST(_chars_1 AS INT128) * _chars_1) AS squares_chars,
      min(_chars_1) AS min_chars,
      max(_chars_1) AS max_chars,
      count(_tokens) AS n_tokens,
      sum(_tokens) AS total_tokens,
      sum(CAST(_tokens AS INT128) * _tokens) AS squares_tokens,
      min(_tokens) AS min_tokens,
      max(_tokens) AS max_tokens
    FROM (
      SELECT
        CASE WHEN _value = 0 AND signbit(_value) THEN -5e-324 ELSE _value END AS _value,
        _chars_1,
        _tokens
      FROM (
        SELECT
          CASE
            WHEN NOT isfinite(CAST(alnum_ratio AS DOUBLE))
            THEN CAST(alnum_ratio AS DOUBLE)
            WHEN abs(CAST(alnum_ratio AS DOUBLE)) < 1e9 / 1e1
            AND abs(
              abs(CAST(alnum_ratio AS DOUBLE) * 1e1 - floor(CAST(alnum_ratio AS DOUBLE) * 1e1)) - 0.5
            ) > 1e-6
            THEN round(CAST(alnum_ratio AS DOUBLE) * 1e1) / 1e1
            ELSE CAST(format('{:.1f}', CAST(alnum_ratio AS DOUBLE)) AS DOUBLE)
          END AS _value,
          _chars_1,
          _tokens
        FROM facts
        WHERE
          NOT alnum_ratio IS NULL
      )
    )
    GROUP BY
      _value
  )
), counted AS (
  SELECT
    nth,
    0 AS part,
    place,
    key,
    n,
    1.0 AS mean,
    0.0 AS m2,
    1.0 AS min,
    1.0 AS max,
    CAST(n AS DOUBLE) AS total
  FROM rounded
  UNION ALL
  SELECT
    nth,
    1,
    place,
    key,
    n_chars,
    CAST(total_chars AS DOUBLE) / n_chars,
    coalesce(
      try(CAST(n_chars * squares_chars - total_chars * total_chars AS DOUBLE) / n_chars),
      CAST(squares_chars AS DOUBLE) - CAST(total_chars AS DOUBLE) * CAST(total_chars AS DOUBLE) / n_chars
    ),
    CAST(min_chars AS DOUBLE),
    CAST(max_chars AS DOUBLE),
    CAST(total_chars AS DOUBLE)
  FROM rounded
  WHERE
    n_chars > 0
  UNION ALL
  SELECT
    nth,
    2,
    place,
    key,
    n_tokens,
    CAST(total_tokens AS DOUBLE) / n_tokens,
    coalesce(
      try(
        CAST(n_tokens * squares_tokens - total_tokens * total_tokens AS DOUBLE) / n_tokens
      ),
      CAST(squares_tokens AS DOUBLE) - CAST(total_tokens AS DOUBLE) * CAST(total_tokens AS DOUBLE) / n_tokens
    ),
    CAST(min_tokens AS DOUBLE),
    CAST(max_tokens AS DOUBLE),
    CAST(total_tokens AS DOUBLE)
  FROM rounded
  WHERE
    n_tokens > 0
)
SELECT
  'histogram',
  key,
  ['text_len', 'alnum_ratio'][nth] || ['', '__chars', '__tokens'][part + 1],
  n,
  mean,
  m2,
  min,
  max,
  total,
  0,
  0
FROM counted
ORDER BY
  nth,
  part,
  place,
  key;

-- Moments of every statistic for each key of a group, the keys of the most samples first (ties: the one met first).
INSERT INTO stat_summary
WITH chosen AS MATERIALIZED (
  SELECT
    _key_suffix AS _group_key,
    row_number() OVER (ORDER BY count(text_len) DESC, min(_row)) AS _place
  FROM facts
  GROUP BY
    1
), found AS (
  SELECT
    _place,
    CAST(text_len AS DOUBLE) AS _value_1,
    CASE
      WHEN isfinite(CAST(alnum_ratio AS DOUBLE))
      THEN CAST(alnum_ratio AS DOUBLE)
    END AS _value_2,
    alnum_ratio AS _odd_2
  FROM facts
  JOIN chosen
    ON chosen._group_key = facts._key_suffix
), sums AS MATERIALIZED (
  SELECT
    _place,
    count(_value_1) AS n_1,
    fsum(_value_1) AS total_1,
    fsum(_value_1) / count(_value_1) AS near_1,
    min(_value_1) AS min_1,
    max(_value_1) AS max_1,
    count(_value_2) AS n_2,
    fsum(_value_2) AS total_2,
    fsum(_value_2) / count(_value_2) AS near_2,
    min(_value_2) AS min_2,
    max(_value_2) AS max_2,
    count(*) FILTER(WHERE
      isnan(_odd_2)) AS nans_2,
    count(*) FILTER(WHERE
      isinf(_odd_2)) AS infinities_2
  FROM found
  GROUP BY
    _place
), squares AS (
  SELECT
    _place,
    fsum(_value_1 - near_1) AS rest_1,
    fsum((
      _value_1 - near_1
    ) * (
      _value_1 - near_1
    )) AS squares_1,
    fsum(_value_2 - near_2) AS rest_2,
    fsum((
      _value_2 - near_2
    ) * (
      _value_2 - near_2
    )) AS squares_2
  FROM found
  JOIN sums
    USING (_place)
  GROUP BY
    _place
), rows AS (
  SELECT
    _place,
    unnest(
      [
        {'nth': 1, 'stat': 'text_len', 'n': n_1, 'mean': near_1 + rest_1 / n_1, 'm2': CASE WHEN min_1 < max_1 THEN squares_1 - rest_1 * rest_1 / n_1 ELSE 0.0 END, 'min': min_1, 'max': max_1, 'total': total_1, 'nans': CAST(0 AS BIGINT), 'infinities': CAST(0 AS BIGINT)},
        {'nth': 2, 'stat': 'alnum_ratio', 'n': n_2, 'mean': near_2 + rest_2 / n_2, 'm2': CASE WHEN min_2 < max_2 THEN squares_2 - rest_2 * rest_2 / n_2 ELSE 0.0 END, 'min': min_2, 'max': max_2, 'total': total_2, 'nans': nans_2, 'infinities': infinities_2}
      ],
      recursive := TRUE
    )
  FROM sums
  JOIN squares
    USING (_place)
)
SELECT
  'suffix',
  _group_key,
  stat,
  n,
  mean,
  m2,
  min,
  max,
  total,
  nans,
  infinities
FROM rows
JOIN chosen
  USING (_place)
WHERE
  n + nans + infinities > 0
ORDER BY
  nth,
  _place;

-- Moments of every statistic for each key of a group, the keys of the most samples first (ties: the one met first).
INSERT INTO stat_summary
WITH chosen AS MATERIALIZED (
  SELECT
    _key_1 AS _group_key,
    row_number() OVER (ORDER BY count(text_len) DESC, min(_row)) AS _place
  FROM facts
  GROUP BY
    1
  ORDER BY
    2
  LIMIT 2
), found AS (
  SELECT
    _place,
    CAST(text_len AS DOUBLE) AS _value_1,
    CASE
      WHEN isfinite(CAST(alnum_ratio AS DOUBLE))
      THEN CAST(alnum_ratio AS DOUBLE)
    END AS _value_2,
    alnum_ratio AS _odd_2
  FROM facts
  JOIN chosen
    ON chosen._group_key = facts._key_1
), sums AS MATERIALIZED (
  SELECT
    _place,
    count(_value_1) AS n_1,
    fsum(_value_1) AS total_1,
    fsum(_value_1) / count(_value_1) AS near_1,
    min(_value_1) AS min_1,
    max(_value_1) AS max_1,
    count(_value_2) AS n_2,
    fsum(_value_2) AS total_2,
    fsum(_value_2) / count(_value_2) AS near_2,
    min(_value_2) AS min_2,
    max(_value_2) AS max_2,
    count(*) FILTER(WHERE
      isnan(_odd_2)) AS nans_2,
    count(*) FILTER(WHERE
      isinf(_odd_2)) AS infinities_2
  FROM found
  GROUP BY
    _place
), squares AS (
  SELECT
    _place,
    fsum(_value_1 - near_1) AS rest_1,
    fsum((
      _value_1 - near_1
    ) * (
      _value_1 - near_1
    )) AS squares_1,
    fsum(_value_2 - near_2) AS rest_2,
    fsum((
      _value_2 - near_2
    ) * (
      _value_2 - near_2
    )) AS squares_2
  FROM found
  JOIN sums
    USING (_place)
  GROUP BY
    _place
), rows AS (
  SELECT
    _place,
    unnest(
      [
        {'nth': 1, 'stat': 'text_len', 'n': n_1, 'mean': near_1 + rest_1 / n_1, 'm2': CASE WHEN min_1 < max_1 THEN squares_1 - rest_1 * rest_1 / n_1 ELSE 0.0 END, 'min': min_1, 'max': max_1, 'total': total_1, 'nans': CAST(0 AS BIGINT), 'infinities': CAST(0 AS BIGINT)},
        {'nth': 2, 'stat': 'alnum_ratio', 'n': n_2, 'mean': near_2 + rest_2 / n_2, 'm2': CASE WHEN min_2 < max_2 THEN squares_2 - rest_2 * rest_2 / n_2 ELSE 0.0 END, 'min': min_2, 'max': max_2, 'total': total_2, 'nans': nans_2, 'infinities': infinities_2}
      ],
      recursive := TRUE
    )
  FROM sums
  JOIN squares
    USING (_place)
)
SELECT
  'language',
  _group_key,
  stat,
  n,
  mean,
  m2,
  min,
  max,
  total,
  nans,
  infinities
FROM rows
JOIN chosen
  USING (_place)
WHERE
  n + nans + infinities > 0
ORDER BY
  nth,
  _place;

-- Moments of every statistic for each key of a group, the keys of the most samples first (ties: the one met first).
INSERT INTO stat_summary
WITH chosen AS MATERIALIZED (
  SELECT
    _key_2 AS _group_key,
    row_number() OVER (ORDER BY count(text_len) DESC, min(_row)) AS _place
  FROM facts
  GROUP BY
    1
), found AS (
  SELECT
    _place,
    CAST(text_len AS DOUBLE) AS _value_1,
    CASE
      WHEN isfinite(CAST(alnum_ratio AS DOUBLE))
      THEN CAST(alnum_ratio AS DOUBLE)
    END AS _value_2,
    alnum_ratio AS _odd_2
  FROM facts
  JOIN chosen
    ON chosen._group_key = facts._key_2
), sums AS MATERIALIZED (
  SELECT
    _place,
    count(_value_1) AS n_1,
    fsum(_value_1) AS total_1,
    fsum(_value_1) / count(_value_1) AS near_1,
    min(_value_1) AS min_1,
    max(_value_1) AS max_1,
    count(_value_2) AS n_2,
    fsum(_value_2) AS total_2,
    fsum(_value_2) / count(_value_2) AS near_2,
    min(_value_2) AS min_2,
    max(_value_2) AS max_2,
    count(*) FILTER(WHERE
      isnan(_odd_2)) AS nans_2,
    count(*) FILTER(WHERE
      isinf(_odd_2)) AS infinities_2
  FROM found
  GROUP BY
    _place
), squares AS (
  SELECT
    _place,
    fsum(_value_1 - near_1) AS rest_1,
    fsum((
      _value_1 - near_1
    ) * (
      _value_1 - near_1
    )) AS squares_1,
    fsum(_value_2 - near_2) AS rest_2,
    fsum((
      _value_2 - near_2
    ) * (
      _value_2 - near_2
    )) AS squares_2
  FROM found
  JOIN sums
    USING (_place)
  GROUP BY
    _place
), rows AS (
  SELECT
    _place,
    unnest(
      [
        {'nth': 1, 'stat': 'text_len', 'n': n_1, 'mean': near_1 + rest_1 / n_1, 'm2': CASE WHEN min_1 < max_1 THEN squares_1 - rest_1 * rest_1 / n_1 ELSE 0.0 END, 'min': min_1, 'max': max_1, 'total': total_1, 'nans': CAST(0 AS BIGINT), 'infinities': CAST(0 AS BIGINT)},
        {'nth': 2, 'stat': 'alnum_ratio', 'n': n_2, 'mean': near_2 + rest_2 / n_2, 'm2': CASE WHEN min_2 < max_2 THEN squares_2 - rest_2 * rest_2 / n_2 ELSE 0.0 END, 'min': min_2, 'max': max_2, 'total': total_2, 'nans': nans_2, 'infinities': infinities_2}
      ],
      recursive := TRUE
    )
  FROM sums
  JOIN squares
    USING (_place)
)
SELECT
  'long',
  _group_key,
  stat,
  n,
  mean,
  m2,
  min,
  max,
  total,
  nans,
  infinities
FROM rows
JOIN chosen
  USING (_place)
WHERE
  n + nans + infinities > 0
ORDER BY
  nth,
  _place;

-- Write: the samples that stay, in the order of the input. A line whose text did not change is written as it was.
CREATE OR REPLACE TEMP VIEW kept AS
SELECT
  batch._i,
  rtrim(batch._line, E' \t\r\n') AS line
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT line FROM kept ORDER BY _i
) TO 'out/groups.jsonl' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '');

-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack(text_len := text_len, alnum_ratio := alnum_ratio) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO 'out/groups_stats.jsonl' (FORMAT json);
