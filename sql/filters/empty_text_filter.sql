/*---
doc: Keep samples whose text is not empty. `drop_empty` in a recipe adds it as the last step.
version: 1
params: {}
examples:
  - {text: "a", keep: true}
  - {text: "", keep: false, reason: empty_text}
  - {text: " ", keep: true}
  - {text: "\n", keep: true}
---*/
SELECT {{ text }} <> '' AS keep_empty_text
