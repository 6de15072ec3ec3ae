-- The statistics of the samples that stay, as Data-Juicer writes them.
COPY (
  SELECT struct_pack({{ fields }}) AS __dj__stats__
  FROM stats
  WHERE kept
  ORDER BY _row
) TO {{ path | lit }} (FORMAT json)
