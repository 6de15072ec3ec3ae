/*---
doc: >
  Copy the score of a language from columns of a language detector. It is NULL for samples in another language or
  without a score; datatrove runs its model on these samples.
version: 2
peer: LangStats of datatrove 0.10.1 for samples with a score
params:
  language: {type: str, doc: "Language of the score, as in the column."}
  language_key: {type: str, default: language, doc: Column with the language of the sample.}
  score_key: {type: str, default: language_score, doc: Column with the score of that language.}
stats: {"fasttext_{language}": {type: DOUBLE, doc: Score of the language.}}
examples:
  - {text: Some words., params: {language: en}, fields: {language: en, language_score: 0.9}, stats: {fasttext_en: 0.9}}
  - {text: Des mots., params: {language: en}, fields: {language: fr, language_score: 0.8}, stats: {fasttext_en: null}}
  - {text: "", params: {language: en, score_key: p}, fields: {language: en, p: "1"}, stats: {fasttext_en: 1.0}}
  - {text: No label., params: {language: en}, stats: {fasttext_en: null}}
---*/
SELECT CASE WHEN json_extract_string(to_json({{ field(language_key) }}), '$') = {{ language | lit }}
    THEN TRY_CAST({{ field(score_key) }} AS DOUBLE) END AS {{ ('fasttext_' ~ language) | ident }}
