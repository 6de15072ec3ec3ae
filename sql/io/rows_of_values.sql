  -- An array, or values over several lines: each value becomes one line.
  SELECT
    {{ line }} AS line,
    {{ suffix | lit }} AS suffix, filename AS file
  FROM read_json_objects({{ paths }}, format = 'auto', maximum_object_size = 1073741824, filename = true)
