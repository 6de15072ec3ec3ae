  -- A line is one value: there is nothing that separates, quotes or escapes.
  SELECT {{ line }}{{ ' AS line' if line != 'line' }}, {{ suffix | lit }} AS suffix, filename AS file
  FROM read_csv(
    {{ paths }}, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', escape = '', comment = '',
    header = false, auto_detect = false, strict_mode = false, max_line_size = 1073741824, filename = true,
    store_rejects = true
  )
