"""Names of other tools that are no operator here, each with what to write instead: a key of the recipe, or one line of SQL."""

from __future__ import annotations

_MINHASH = "- document_minhash_deduplicator: {normalize: datatrove, tokenization: word, n_grams: 5, num_buckets: 14, hashes_per_bucket: 8}"
_WORDS = "len(regexp_extract_all(text, '\\S+'))"

# Tool, names, and the line to write here.
ANSWERS: tuple[tuple[str, str, str], ...] = (
    # datatrove
    ("datatrove", "JsonlReader ParquetReader CsvReader WarcReader IpcReader", "dataset_path: FOLDER_OR_FILES"),
    ("datatrove", "HuggingFaceDatasetReader", "dataset: {configs: [{type: huggingface, path: NAME, split: train}]}"),
    (
        "datatrove",
        "JsonlWriter ParquetWriter HuggingFaceDatasetWriter",
        "export_path: FILE.jsonl (or .jsonl.gz, .parquet)",
    ),
    ("datatrove", "exclusion_writer", "removed_path: FOLDER"),
    ("datatrove", "Trafilatura", "- extract_html_mapper"),
    (
        "datatrove",
        "LambdaFilter",
        '- sql_filter: {where: "CONDITION"}, for example {where: "length(text) > 100 AND language = \'en\'"}',
    ),
    ("datatrove", "MinhashDedupSignature MinhashDedupBuckets MinhashDedupCluster MinhashDedupFilter", _MINHASH),
    ("datatrove", "SentenceDedupSignature SentenceFindDedups SentenceDedupFilter", "- sentence_deduplicator"),
    ("datatrove", "ExactDedupSignature ExactFindDedups ExactDedupFilter", "- document_deduplicator"),
    ("datatrove", "UrlDedupSignature UrlFindDedups UrlDedupFilter", "- key_deduplicator: {key: url}"),
    ("datatrove", "LocalPipelineExecutor", "np: WORKERS"),
    ("datatrove", "SlurmPipelineExecutor RayPipelineExecutor", "executor_type: ray"),
    ("datatrove", "TokensCounter", "- token_stats"),
    ("datatrove", "SamplerFilter", "- sampler_filter: {rate: 0.5}"),
    # Data-Juicer
    ("Data-Juicer", "specified_field_filter", "- sql_filter: {where: \"FIELD IN ('a', 'b')\"}"),
    ("Data-Juicer", "specified_numeric_field_filter", '- sql_filter: {where: "FIELD BETWEEN 1 AND 10"}'),
    ("Data-Juicer", "general_field_filter", '- sql_filter: {where: "CONDITION"}'),
    ("Data-Juicer", "replace_content_mapper", "- sql_mapper: {text: \"regexp_replace(text, 'PATTERN', 'NEW', 'g')\"}"),
    (
        "Data-Juicer",
        "remove_specific_chars_mapper",
        "- sql_mapper: {text: \"regexp_replace(text, '[◆●■►▼▲▴∆▻▷❖♡□]', '', 'g')\"}",
    ),
    (
        "Data-Juicer",
        "remove_non_chinese_character_mapper",
        "- sql_mapper: {text: \"regexp_replace(text, '[^\\x{4E00}-\\x{9FA5}]', '', 'g')\"}",
    ),
    ("Data-Juicer", "random_selector", '- sql_filter: {where: "hash(text) % 100 < 10"}'),
    # dolma: a tagger and its line in the mixer's filter
    (
        "dolma",
        "gopher_v1 gopher_v2",
        "- gopher_quality_filter and - gopher_repetition_filter, or `refinery import MIXER.yaml`, which translates the filter's lines",
    ),
    ("dolma", "c4_v1 c4_v2", "- c4_quality_filter"),
    ("dolma", "pii_regex_v1 pii_regex_v2 pii_regex_with_counts_v2 pii_regex_with_counts_fast_v2", "- pii_mapper"),
    ("dolma", "char_length_v1", '- expression_filter: {value: "length(text)", min: 100}'),
    ("dolma", "char_length_strip_ws_v1", '- expression_filter: {value: "length(trim(text))", min: 100}'),
    ("dolma", "bytes_length_v1", '- expression_filter: {value: "strlen(text)", min: 100}'),
    ("dolma", "whitespace_tokenizer_v1", f'- expression_filter: {{value: "{_WORDS}", min: 50}}'),
    ("dolma", "random_number_v1", "- sampler_filter: {rate: 0.5}"),
    # NeMo Curator
    ("NeMo Curator", "ScoreFilter Filter Score", "the filter itself, as a step: its score is a statistic of the run"),
    ("NeMo Curator", "Modify", "the modifier itself, as a step"),
    ("NeMo Curator", "DocumentDataset JsonlReader ParquetReader", "dataset_path: FOLDER_OR_FILES"),
    ("NeMo Curator", "JsonlWriter ParquetWriter", "export_path: FILE.jsonl (or .parquet)"),
    ("NeMo Curator", "ExactDuplicates ExactDeduplicationWorkflow", "- document_deduplicator"),
    (
        "NeMo Curator",
        "FuzzyDuplicates FuzzyDeduplicationWorkflow",
        "- document_minhash_deduplicator: {tokenization: character, window_size: 24}",
    ),
    (
        "NeMo Curator",
        "SemDedup SemanticDeduplicationWorkflow TextSemanticDeduplicationWorkflow",
        "- embedding_mapper and - semantic_deduplicator",
    ),
    ("NeMo Curator", "UnicodeReformatter", "- fix_unicode_mapper"),
    ("NeMo Curator", "PiiModifier PiiRedactor", "- pii_mapper"),
    ("NeMo Curator", "FastTextLangId", "- language_filter"),
    ("NeMo Curator", "FastTextQualityFilter", "- fasttext_filter"),
    ("NeMo Curator", "TokenCountFilter", "- token_num_filter"),
    ("NeMo Curator", "HistogramFilter", "- score_buckets and - sample_by_bucket"),
    # DCLM and datamap-rs
    ("DCLM", "key_name_modifier", "export_fields: {OLD: NEW, '*': true}"),
    ("DCLM", "html_content_extraction_modifier", "- extract_html_mapper: {by: justext}"),
    ("DCLM", "exact_dedup", "- key_deduplicator: {key: url}"),
    ("DCLM", "alphabetic_characters_to_tokens_filter", "- token_stats and - sql_filter: over its statistics"),
    ("datamap-rs", "rename_modifier", "export_fields: {OLD: NEW, '*': true}"),
    ("datamap-rs", "add_id", "every sample has the number _row in the tables of a run"),
    (
        "datamap-rs",
        "max_extractor",
        '- expression_filter: over the field\'s members, such as {value: "greatest(scores.a, scores.b)"}',
    ),
    ("datamap-rs", "fasttext_annotator", "- fasttext_filter"),
)
