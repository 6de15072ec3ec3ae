  -- Register your table under this name.
  SELECT *{{ ' REPLACE (%s)' % replaced if replaced }}, {{ suffix | lit }} AS _suffix, CAST(NULL AS VARCHAR) AS _file
  FROM dataset
