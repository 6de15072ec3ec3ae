-- simhash: simhash.yaml as SQL, by refinery
--
-- Run it in Python, because it calls hamming_pairs, last_members, set_member, text_simhash:
--
--     import duckdb, refinery
--     con = duckdb.connect("tables.duckdb")
--     refinery.register(con)
--     con.execute(open("script.sql").read()).fetchall()
--
-- It reads near.jsonl and writes out/simhash.jsonl.gz and out/simhash_stats.jsonl, whose folder must be there.
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
--     simhash.yaml:6 step 1 sql_mapper {text: "replace(text, 'dog', 'cat')"}
--     simhash.yaml:8 step 2 document_simhash_deduplicator {window_size: 3, num_blocks: 12, hamming_distance: 10, save_cluster_size: "copies"}: what it compares
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
    CASE WHEN _alive_0 THEN nullif(replace(_text_0, 'dog', 'cat'), _text_0) END AS _delta_1 /* simhash.yaml:6 step 1 sql_mapper */
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
    CASE WHEN _alive_0 THEN text_simhash(_text_1, 'space', 3, TRUE, NULL, FALSE) END AS _mark_simhash /* simhash.yaml:8 step 2 document_simhash_deduplicator */
  FROM _s3
)
SELECT
  _i AS _row,
  _bad,
  CAST(NULL AS INT) AS _dropped,
  coalesce(_changed_1, FALSE) AS _changed_1,
  strlen(_text_0) AS _bytes_0,
  strlen(_text_1) AS _bytes_1,
  _mark_simhash,
  CASE WHEN _bad IS NULL AND (
    _changed_1
  ) THEN _text_1 END AS _out_text
FROM _s4;

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

-- What document_simhash_deduplicator compares of each of them; who has none of it is nobody's duplicate.
CREATE OR REPLACE TEMPORARY TABLE marks AS
SELECT
  _row,
  _mark_simhash AS simhash
FROM facts_1
WHERE
  _dropped IS NULL AND NOT _mark_simhash IS NULL;

-- Pairs of samples that match: each with the first of the same SimHash; then these, where at most 10 bits differ.
-- Of pairs that connect the same samples hamming_pairs gives some only, as many as it takes.
CREATE OR REPLACE TEMPORARY TABLE pairs AS
WITH compared AS (
  SELECT
    _row,
    simhash AS key
  FROM marks
), firsts AS (
  SELECT
    simhash,
    min(_row) AS _row
  FROM marks
  GROUP BY
    simhash
), near AS (
  SELECT
    unnest(hamming_pairs(array_agg(simhash ORDER BY simhash), 12, 10)) AS pair
  FROM firsts
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
)
UNION ALL
SELECT
  greatest(one._row, other._row),
  least(one._row, other._row),
  CAST(bit_count(xor(pair.a, pair.b)) AS INT),
  NULL
FROM near
JOIN firsts AS one
  ON one.simhash = pair.a
JOIN firsts AS other
  ON other.simhash = pair.b;

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

-- Which sample of each cluster stays: the first.
CREATE OR REPLACE TEMPORARY TABLE clustered AS
SELECT
  members._row,
  members.root AS kept,
  count(*) OVER (PARTITION BY members.root) AS size
FROM members;

-- The match that explains each removed sample: with an earlier one if there is any, then the lowest distance.
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
  'document_simhash_deduplicator' AS operator,
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
  'document_simhash_deduplicator' AS operator,
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
    'distance ' || found.how AS matched,
    found.how AS distance,
    NULL AS estimated_jaccard,
    found.jaccard
  FROM found
  ORDER BY
    found._row
);

DELETE FROM batch WHERE _i IN (SELECT _row FROM duplicates WHERE step = 2);

-- Stage 2: one pass over what is left. A filter only marks what it removes; steps see what is still there.
--     simhash.yaml:8 step 2 document_simhash_deduplicator {window_size: 3, num_blocks: 12, hamming_distance: 10, save_cluster_size: "copies"}
--     simhash.yaml:13 step 3 text_length_filter {max_len: 60}
CREATE OR REPLACE TEMP TABLE facts_2 AS
WITH batch AS NOT MATERIALIZED (
  SELECT
    samples.*,
    removed.size AS _size_2
  FROM temp.batch AS samples
  LEFT JOIN (
    SELECT
      _row,
      size
    FROM clusters
    WHERE
      step = 2 AND survivor
  ) AS removed
    ON removed._row = samples._i
), _read AS NOT MATERIALIZED (
  SELECT
    _i,
    CASE WHEN _kind = 'VARCHAR' THEN _line ->> '$.text' END AS _text_0,
    CASE WHEN _kind = 'VARCHAR' THEN _size_2 END AS _size_2,
    CASE WHEN _kind = 'VARCHAR' THEN CAST(_line -> '$.copies' AS TEXT) END AS _copies_0,
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
    CASE WHEN _alive_0 THEN CAST(coalesce(CAST(_size_2 AS BIGINT), 1) AS BIGINT) END AS _value_2 /* simhash.yaml:8 step 2 document_simhash_deduplicator */
  FROM _s1
), _s3 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN nullif(CAST(to_json(_value_2) AS TEXT), _copies_0) END AS _delta_2 /* simhash.yaml:8 step 2 document_simhash_deduplicator */
  FROM _s2
), _s4 AS NOT MATERIALIZED (
  SELECT
    *,
    coalesce(_delta_2, _copies_0) AS _copies_2, /* text after step 2 */
    NOT _delta_2 IS NULL AS _changed_2 /* whether step 2 changed it */
  FROM _s3
), _s5 AS NOT MATERIALIZED (
  SELECT
    *,
    CASE WHEN _alive_0 THEN CAST(length(_text_0) AS BIGINT) END AS text_len /* simhash.yaml:13 step 3 text_length_filter */
  FROM _s4
), _s6 AS NOT MATERIALIZED (
  SELECT
    *,
    _alive_0 AND coalesce(text_len >= 10 AND text_len <= 60, FALSE) AS _alive_3 /* whether step 3 keeps it */
  FROM _s5
)
SELECT
  _i AS _row,
  _bad,
  CASE WHEN NOT _alive_3 THEN 3 END AS _dropped,
  text_len,
  coalesce(_changed_2, FALSE) AS _changed_2,
  CASE WHEN _alive_3 THEN _copies_2 END AS _out_copies
FROM _s6;

-- What all stages found out of every sample that could be read, and which step removed it.
CREATE OR REPLACE TEMPORARY TABLE facts AS
SELECT
  facts_1._row,
  coalesce(facts_1._dropped, facts_2._dropped, gone.step) AS _dropped,
  facts_2.text_len,
  facts_2._out_copies
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
  CAST(CASE _dropped WHEN 3 THEN 'text_length_filter' END AS TEXT) AS operator,
  CAST(CASE _dropped WHEN 3 THEN 'simhash.yaml:13' END AS TEXT) AS recipe_line,
  CAST(CASE _dropped
    WHEN 3
    THEN CASE
      WHEN text_len < 10
      THEN 'text_len below min_len'
      WHEN text_len > 60
      THEN 'text_len above max_len'
      WHEN text_len IS NULL
      THEN 'text_len is NULL'
      ELSE 'not kept by max_len: 60'
    END
  END AS TEXT) AS reason,
  CAST(CASE _dropped
    WHEN 3
    THEN CASE
      WHEN text_len < 10
      THEN 'text_len'
      WHEN text_len > 60
      THEN 'text_len'
      WHEN text_len IS NULL
      THEN 'text_len'
      ELSE NULL
    END
  END AS TEXT) AS statistic,
  CAST(CASE _dropped
    WHEN 3
    THEN CASE
      WHEN text_len < 10
      THEN TRY_CAST(text_len AS DOUBLE)
      WHEN text_len > 60
      THEN TRY_CAST(text_len AS DOUBLE)
      ELSE NULL
    END
  END AS DOUBLE) AS value,
  CAST(CASE _dropped
    WHEN 3
    THEN CASE WHEN text_len < 10 THEN 10 WHEN text_len > 60 THEN 60 ELSE NULL END
  END AS DOUBLE) AS bound,
  CAST(NULL AS BIGINT) AS kept_instead,
  CAST(NULL AS TEXT) AS name
FROM facts
WHERE
  NOT _dropped IS NULL AND _dropped <> 2
UNION ALL
SELECT
  f._row,
  f._dropped,
  'document_simhash_deduplicator',
  'simhash.yaml:8',
  'duplicate of ' || coalesce('row ' || d.kept, d.kept_in_index),
  'hamming_distance',
  CAST(d.distance AS DOUBLE),
  CAST(10.0 AS DOUBLE),
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
  CASE WHEN facts._out_copies IS NULL THEN line_0 ELSE set_member(line_0, facts._out_copies, '["copies"]', FALSE) END AS line
FROM batch JOIN facts ON facts._row = batch._i
WHERE facts._dropped IS NULL;

COPY (
  SELECT line FROM kept ORDER BY _i
) TO 'out/simhash.jsonl.gz' (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '', COMPRESSION gzip);

-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack(text_len := text_len) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO 'out/simhash_stats.jsonl' (FORMAT json);
