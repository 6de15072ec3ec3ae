  SELECT * EXCLUDE (filename){{ ' REPLACE (%s)' % replaced if replaced }}, {{ folders }}{{ suffix | lit }} AS _suffix, filename AS _file
  FROM read_parquet({{ paths }}, union_by_name = true, hive_partitioning = false, filename = true)
