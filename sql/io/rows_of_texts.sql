  SELECT
    regexp_replace(content, '\r\n?', chr(10), 'g') AS text, {{ folders }}
    lower(regexp_extract(filename, '[^/](\.[^./]+)$', 1)) AS _suffix, filename AS _file
  FROM read_text({{ paths }})
