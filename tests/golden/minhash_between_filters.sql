-- minhash_between_filters: minhash_between_filters.yaml as SQL, by refinery
--
-- Run it in Python, because it calls estimate_jaccard, jaccard, last_members, minhash_marks, minhash_shingles, set_member, whitespace_delta:
--
--     import duckdb, refinery
--     con = duckdb.connect("tables.duckdb")
--     refinery.register(con)
--     con.execute(open("script.sql").read()).fetchall()
--
-- It reads near.jsonl and writes out/minhash_between_filters.jsonl and out/minhash_between_filters_stats.jsonl, whose folder must be there.
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
--     minhash_between_filters.yaml:7 step 1 whitespace_normalization_mapper
--     minhash_between_filters.yaml:8 step 2 text_length_filter: fragments {min_len: 12}
--     minhash_between_filters.yaml:11 step 3 document_minhash_deduplicator: nearly the same, but shorter {window_size: 2, jaccard_threshold: 0.4, verify: true, keep: "text_len desc"}: what it compares
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
    CASE WHEN _alive_0 THEN whitespace_delta(_text_0) END AS _delta_1 /* minhash_between_filters.yaml:7 step 1 whitespace_normalization_mapper */
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
    CASE WHEN _alive_0 THEN CAST(length(_text_1) AS BIGINT) END AS text_len /* minhash_between_filters.yaml:8 step 2 text_length_filter */
  FROM _s3
), _s5 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_0 AND coalesce(text_len >= 12, FALSE) AS _alive_2 /* whether step 2 keeps it */
  FROM _s4
), _s6 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE
      WHEN _alive_2
      THEN minhash_marks(
        _text_1,
        'none',
        'space',
        TRUE,
        NULL,
        NULL,
        2,
        'data_juicer',
        256,
        0.4,
        NULL,
        NULL,
        'data_juicer',
        1,
        64,
        'xxhash'
      )
    END AS _mark_marks, /* minhash_between_filters.yaml:11 step 3 document_minhash_deduplicator */
    CASE
      WHEN _alive_2
      THEN CASE
        WHEN typeof((
          text_len
        )) IN ('DOUBLE', 'FLOAT')
        AND CAST((
          text_len
        ) AS TEXT) = 'nan'
        THEN NULL
        ELSE (
          text_len
        )
      END
    END AS _mark_order_0 /* the order in which one is kept */
  FROM _s5
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_2 THEN 2 END AS _dropped,
  text_len,
  coalesce(_changed_1, FALSE) AS _changed_1,
  strlen(_text_0) AS _bytes_0,
  strlen(_text_1) AS _bytes_1,
  _mark_marks,
  _mark_order_0,
  CASE WHEN _alive_2 AND (
    _changed_1
  ) THEN _text_1 END AS _out_text
FROM _s6;

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
  JOIN facts_1 AS facts
    ON facts._row = batch._i
  WHERE
    facts._dropped IS NULL
);

-- What document_minhash_deduplicator compares of each of them; who has none of it is nobody's duplicate.
CREATE OR REPLACE TEMPORARY TABLE marks AS
SELECT
  _row,
  _mark_marks.bands AS bands,
  _mark_marks.signature AS signature,
  _mark_order_0 AS order_0
FROM facts_1
WHERE
  _dropped IS NULL AND NOT _mark_marks.bands IS NULL;

-- Samples that share a band with others, by band.
CREATE OR REPLACE TEMPORARY TABLE buckets AS
SELECT
  band,
  key,
  _row
FROM (
  SELECT
    generate_subscripts(bands, 1) - 1 AS band,
    unnest(bands) AS key,
    _row
  FROM marks
)
QUALIFY
  count(*) OVER (PARTITION BY band, key) > 1;

-- Their shingles, which candidates are compared by.
CREATE OR REPLACE TEMP TABLE shingles AS
WITH batch AS NOT MATERIALIZED (
  SELECT
    *
  FROM temp.batch
  WHERE
    _i IN (
      SELECT
        _row
      FROM buckets
    )
), _read AS NOT MATERIALIZED (
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
      THEN minhash_shingles(_text_0, 'none', 'space', TRUE, NULL, NULL, 2)
    END AS _mark_shingles /* minhash_between_filters.yaml:11 step 3 document_minhash_deduplicator */
  FROM _s1
)
SELECT
  _i AS _row,
  _mark_shingles AS shingles
FROM _s2;

-- Pairs of samples that share a band and whose true Jaccard similarity is at least 0.4. Copies in a bucket are
-- compared with the first of them, the others with one of all; those that are not like it with one of those, and so on. Their
-- shingles choose which.
CREATE OR REPLACE TEMPORARY TABLE pairs AS
WITH RECURSIVE compared AS (
  SELECT
    open.*,
    jaccard(one.shingles, other.shingles) AS jaccard
  FROM (
    SELECT
      1 AS round,
      band,
      key,
      _row,
      content,
      CASE
        WHEN _row <> first_value(_row) OVER copies
        THEN first_value(_row) OVER copies
        ELSE first_value(_row) OVER bucket
      END AS via
    FROM buckets
    JOIN (
      SELECT
        _row,
        CAST(coalesce(list_sum(shingles), 0) % 18446744073709551616 AS UBIGINT) AS content
      FROM shingles
    )
      USING (_row)
    WINDOW bucket AS (PARTITION BY band, key ORDER BY content, _row), copies AS (PARTITION BY band, key, content ORDER BY _row)
  ) AS open
  JOIN shingles AS one
    ON one._row = open._row
  JOIN shingles AS other
    ON other._row = open.via
  UNION ALL
  SELECT
    open.*,
    jaccard(one.shingles, other.shingles)
  FROM (
    SELECT
      round + 1 AS round,
      band,
      key,
      _row,
      content,
      first_value(_row) OVER bucket AS via
    FROM compared
    WHERE
      round < 8 AND _row <> via AND NOT coalesce(jaccard >= 0.4, FALSE)
    WINDOW bucket AS (PARTITION BY band, key ORDER BY content, _row)
  ) AS open
  JOIN shingles AS one
    ON one._row = open._row
  JOIN shingles AS other
    ON other._row = open.via
)
SELECT
  _row,
  via,
  CAST(min(band) AS INT) AS how,
  jaccard
FROM compared
WHERE
  _row <> via AND jaccard >= 0.4
GROUP BY ALL;

-- Clusters: what pairs connect, named after the first sample. Each takes on the smallest name that is known to its
-- neighbours' namesakes, until none changes: about as many rounds as the longest way has digits in base two.
CREATE OR REPLACE TEMPORARY TABLE members AS
WITH RECURSIVE edges AS MATERIALIZED (
  SELECT
    _row,
    via
  FROM pairs
  UNION
  SELECT
    via,
    _row
  FROM pairs
), labels(_row, root) USING KEY (_row) AS (
  SELECT
    _row,
    least(_row, min(via))
  FROM edges
  GROUP BY
    _row
  UNION
  SELECT
    edges._row,
    min(top.root)
  FROM labels
  JOIN recurring.labels AS top
    ON top._row = labels.root
  JOIN edges
    ON edges.via = labels._row
  JOIN recurring.labels AS own
    ON own._row = edges._row
  GROUP BY
    edges._row,
    own.root
  HAVING
    min(top.root) < own.root
)
SELECT
  _row,
  root
FROM labels;

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

-- The match that explains each removed sample: with an earlier one if there is any, then the lowest band.
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
  3 AS step,
  'document_minhash_deduplicator' AS operator,
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
  3 AS step,
  'document_minhash_deduplicator' AS operator,
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
    'band ' || found.how AS matched,
    NULL AS distance,
    estimate_jaccard(one.signature, other.signature) AS estimated_jaccard,
    found.jaccard
  FROM found
  LEFT JOIN marks AS one
    ON one._row = found._row
  LEFT JOIN marks AS other
    ON other._row = found.via
  ORDER BY
    found._row
);

DELETE FROM batch WHERE _i IN (SELECT _row FROM duplicates WHERE step = 3);

-- Stage 2: one pass over what is left. A filter only marks what it removes; steps see what is still there.
--     minhash_between_filters.yaml:17 step 4 sql_mapper {text: "text || '!'"}
--     minhash_between_filters.yaml:19 step 5 sql_filter {where: "text_len < 60"}
CREATE OR REPLACE TEMP TABLE facts_2 AS
WITH batch AS NOT MATERIALIZED (
  SELECT
    samples.*,
    facts_1.text_len AS text_len
  FROM temp.batch AS samples
  LEFT JOIN facts_1
    ON facts_1._row = samples._i
), _read AS NOT MATERIALIZED (
  SELECT
    _i,
    CASE WHEN _kind = 'VARCHAR' THEN _line ->> '$.text' END AS _text_0,
    CASE WHEN _kind = 'VARCHAR' THEN text_len END AS text_len,
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
    CASE WHEN _alive_0 THEN nullif(_text_0 || '!', _text_0) END AS _delta_4, /* minhash_between_filters.yaml:17 step 4 sql_mapper */
    coalesce(CASE WHEN _alive_0 THEN text_len < 60 END, FALSE) AS _alive_5 /* whether step 5 keeps it */
  FROM _s1
), _s3 AS NOT MATERIALIZED (
  SELECT
    *,
    coalesce(_delta_4, _text_0) AS _text_4, /* text after step 4 */
    NOT _delta_4 IS NULL AS _changed_4 /* whether step 4 changed it */
  FROM _s2
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_5 THEN 5 END AS _dropped,
  coalesce(_changed_4, FALSE) AS _changed_4,
  strlen(_text_4) AS _bytes_4,
  CASE WHEN _alive_5 AND (
    _changed_4
  ) THEN _text_4 END AS _out_text
FROM _s3;

-- What all stages found out of every sample that could be read, and which step removed it.
CREATE OR REPLACE TEMPORARY TABLE facts AS
SELECT
  facts_1._row,
  coalesce(facts_1._dropped, facts_2._dropped, gone.step) AS _dropped,
  facts_1.text_len,
  facts_2._out_text
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
  CAST(CASE _dropped WHEN 2 THEN 'text_length_filter' WHEN 5 THEN 'sql_filter' END AS TEXT) AS operator,
  CAST(CASE _dropped
    WHEN 2
    THEN 'minhash_between_filters.yaml:8'
    WHEN 5
    THEN 'minhash_between_filters.yaml:19'
  END AS TEXT) AS recipe_line,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE
      WHEN text_len < 12
      THEN 'text_len below min_len'
      WHEN text_len IS NULL
      THEN 'text_len is NULL'
      ELSE 'not kept by min_len: 12'
    END
    WHEN 5
    THEN CASE
      WHEN (
        text_len < 60
      ) IS NULL AND text_len IS NULL
      THEN 'text_len is NULL: text_len < 60'
      ELSE 'not kept by where: text_len < 60'
    END
  END AS TEXT) AS reason,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE
      WHEN text_len < 12
      THEN 'text_len'
      WHEN text_len IS NULL
      THEN 'text_len'
      ELSE NULL
    END
    WHEN 5
    THEN NULL
  END AS TEXT) AS statistic,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE WHEN text_len < 12 THEN TRY_CAST(text_len AS DOUBLE) ELSE NULL END
    WHEN 5
    THEN NULL
  END AS DOUBLE) AS value,
  CAST(CASE _dropped
    WHEN 2
    THEN CASE WHEN text_len < 12 THEN 12 ELSE NULL END
    WHEN 5
    THEN NULL
  END AS DOUBLE) AS bound,
  CAST(NULL AS BIGINT) AS kept_instead,
  CAST(CASE _dropped WHEN 2 THEN 'fragments' END AS TEXT) AS name
FROM facts
WHERE
  NOT _dropped IS NULL AND _dropped <> 3
UNION ALL
SELECT
  f._row,
  f._dropped,
  'document_minhash_deduplicator',
  'minhash_between_filters.yaml:11',
  'duplicate of ' || coalesce('row ' || d.kept, d.kept_in_index),
  'estimated_jaccard',
  CAST(d.estimated_jaccard AS DOUBLE),
  CAST(0.4 AS DOUBLE),
  d.kept,
  CAST('nearly the same, but shorter' AS TEXT)
FROM facts AS f
JOIN duplicates AS d
  ON d.step = 3 AND d._row = f._row
WHERE
  f._dropped = 3
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
  CASE WHEN facts._out_text IS NULL THEN line_0 ELSE set_member(line_0, facts._out_text, '["text"]', TRUE) END AS line_1,
  set_member(line_1, json_object('text_len', text_len), '["__dj__stats__"]', FALSE) AS line
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT line FROM kept ORDER BY _i
) TO 'out/minhash_between_filters.jsonl' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '');

-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack(text_len := text_len) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO 'out/minhash_between_filters_stats.jsonl' (FORMAT json);
