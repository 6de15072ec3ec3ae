"""Random parameters of the peers' operators, within what the peers accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.conftest import RECORDED


@dataclass(frozen=True)
class Drawn:
    """An operator here, values that each of its parameters may have, and parameters that it has besides the peer's."""

    operator: str
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    besides: Mapping[str, Any] = field(default_factory=dict)
    every: Sequence[str] = ()  # parameters that the peer requires
    whole: bool = False  # compares all documents
    stat: str = ""  # the statistic that is the peer's score

    def draw(self, random: Random) -> dict[str, Any]:
        """Some of the parameters."""
        share = random.choice((0.2, 0.5, 0.9))
        names = [name for name in self.values if name in self.every or random.random() < share]
        return {name: random.choice(self.values[name]) for name in names}


YES = (True, False)
RATIO = (None, 0, 0.0, 0.01, 0.05, 0.1, 0.2, 1 / 3, 0.5, 2 / 3, 0.8, 0.95, 1, 1.0, 1.5, -0.1)
COUNT = (None, 0, 1, 2, 3, 5, 10, 50, 200, -1, 4.0)
LANGUAGES = (
    "eng",
    "eng",
    "en",
    "eng_Latn",
    "deu",
    "fra",
    "rus",
    "tur",
    "cmn",
    "cmn_Hani",
    "jpn",
    "kor",
    "vie",
    "tha",
    "hin_Deva",
    "pan_Guru",
    "khm",
    "lao",
    "und",
    "zho",
    "ell",
    "heb",
)
CHARS = ([], [0], [1], [3], [7, 7], [10, 30, 100], [-1], [5, 2])
STOPS = (None, [], ["the", "be"], ["die", "и", "的", "the"], ["."], ["The", "the", "THE"], ["n't"])
NORM = {name: YES for name in ("lowercase", "norm_whitespace", "remove_punctuation", "norm_unicode_diacritics", "norm_numbers", "norm_weekdays", "norm_monthnames")}  # fmt: skip


def present(values: Sequence[Any]) -> Sequence[Any]:
    return tuple(value for value in values if value is not None)


GRAMS = ([], [[2, 0.2]], [[1, 0.1], [2, 0.05]], [[3, 0.0]], [[2, 0.2], [3, 0.18], [4, 0.16]], [[5, 0.15], [10, 0.1]], [[4, 0.01], [2, 0.01]], [[20, 0]], [[7, 0.5]], [[2, 1]])  # fmt: skip

EVALUATION = str(RECORDED / "datatrove" / "decontamination" / "evaluation.jsonl")

DATATROVE = {
    "GopherQualityFilter": Drawn(
        "gopher_quality_filter",
        {
            "min_doc_words": COUNT, "max_doc_words": COUNT, "min_avg_word_length": (None, 0, 1, 2, 3, 3.5, 4, -1),
            "max_avg_word_length": (None, 0, 5, 6.5, 8, 10, 100, -1), "max_symbol_word_ratio": RATIO, "max_bullet_lines_ratio": RATIO,
            "max_ellipsis_lines_ratio": RATIO, "max_non_alpha_words_ratio": RATIO, "min_stop_words": COUNT, "stop_words": STOPS,
            "language": LANGUAGES,
        },
    ),
    "GopherRepetitionFilter": Drawn(
        "gopher_repetition_filter",
        {
            "dup_line_frac": RATIO, "dup_para_frac": RATIO, "dup_line_char_frac": RATIO, "dup_para_char_frac": RATIO,
            "top_n_grams": GRAMS, "dup_n_grams": GRAMS, "language": LANGUAGES,
        },
    ),
    "C4QualityFilter": Drawn(
        "c4_quality_filter",
        {
            "split_paragraph": YES, "remove_citations": YES, "filter_no_terminal_punct": YES, "min_num_sentences": (-1, 0, 1, 2, 5, -2),
            "min_words_per_line": (-1, 0, 1, 3, 10, -5), "max_word_length": (-1, 0, 1, 5, 20, 64, 1000, -3), "filter_lorem_ipsum": YES,
            "filter_javascript": YES, "filter_curly_bracket": YES, "filter_policy": YES, "language": LANGUAGES,
        },
    ),
    "C4ParagraphFilter": Drawn("c4_paragraph_filter"),
    "FineWebQualityFilter": Drawn(
        "fineweb_quality_filter",
        {
            "line_punct_thr": present(RATIO), "line_punct_exclude_zero": YES,
            "stop_chars": (None, [], ["."], ["...", "。"], ["x"], ["a", "e", "."]),
            "short_line_thr": present(RATIO), "short_line_length": (0, 1, 10, 30, 100, -1, 20.0), "char_duplicates_ratio": present(RATIO),
            "new_line_ratio": present(RATIO), "language": LANGUAGES,
        },
    ),
    "RegexFilter": Drawn(
        "regex_filter",
        {"regex_exp": (r"", r"\d+", r"[A-Z]{3,}", r"^\s*$", r"(?i)the", r"(?<!a)b", r"(.)\1\1", r"\bword\b", r"\w+@\w+", "(?m)^-", r"\s{3}", r"(?s)a.*b", "é", r"\Z", r"[^\x00-\x7f]", r"$", r"(?i)ß|ı", r"\W$", r"(?P<a>.)(?P=a)")},
        every=("regex_exp",),
    ),
    "URLFilter": Drawn(
        "url_filter",
        {
            "soft_word_threshold": (0, 1, 2, 3, -1, 2.0), "extra_domains": (None, [], ["example.com", "blogspot.com"], ["a.b.blogspot.com", " host.net "], ["#x", "github.io", "foo.github.io"], ["kawasaki.jp", "1.2.3.4"]),
            "extra_urls": (None, ["http://example.com/", "https://localhost"], ["//..?q"]), "banned_words": (None, ["sex", "porn"], ["Cam"], ["a"], ["casino_games"]),
            "banned_subwords": (None, ["adult"], ["sex-vi"], ["PORN"], ["ax"]), "soft_banned_words": (None, ["free", "casino"], ["live", "cam", "girl"], ["https", "com"]), "use_integrated_lists": (False,),
        },
        every=("use_integrated_lists",),
    ),
    "PIIFormatter": Drawn(
        "pii_mapper",
        {"remove_emails": YES, "remove_ips": YES, "only_remove_public_ips": YES, "email_replacement": ("X", ["a@x", "b@x"], "", ["\\1", "q"], ["1.1.1.1"]), "ip_replacement": ("I", ["1", "2", "3"], "")},
    ),
    "SymbolLinesFormatter": Drawn("symbol_lines_mapper", {"symbols_to_remove": (None, [], ["|"], ["-", "•", "."], ["", "ab", "!"], ["\n", "\t"]), "replace_char": ("", "\n", "X", "--")}),
    "FTFYFormatter": Drawn(
        "ftfy_mapper",
        {
            "unescape_html": ("auto", True, False), **{name: YES for name in ("remove_terminal_escapes", "fix_encoding", "restore_byte_a0", "replace_lossy_sequences", "decode_inconsistent_utf8", "fix_c1_controls", "fix_latin_ligatures", "fix_character_width", "uncurl_quotes", "fix_line_breaks", "fix_surrogates", "remove_control_chars")},
            "normalization": (None, "NFC", "NFD", "NFKC", "NFKD"),
        },
    ),
    "NGramsDecont": Drawn("ngram_decontamination_filter", {"evaluation": (EVALUATION,), "n_grams": (1, 2, 3, 5, 12, 20), "find_query_ngrams": YES, "find_overlap_ngrams": YES, "language": LANGUAGES, **NORM}, every=("evaluation",)),
    "DocStats": Drawn("doc_stats"),
    "LineStats": Drawn("line_stats", {"max_k_chars_per_line_tresholds": (None, *CHARS), "min_k_chars_per_line_thresholds": (None, *CHARS), "ignore_empty_lines": YES}),
    "ParagraphStats": Drawn("paragraph_stats", {"short_paragraph_max_chars_threshold": (None, *CHARS), "long_paragraph_max_chars_threshold": (None, *CHARS), "ignore_empty_paragraphs": YES}),
    "SentenceStats": Drawn("sentence_stats", {"short_sentence_max_chars_threshold": (None, *CHARS), "long_sentence_max_chars_threshold": (None, *CHARS), "language": LANGUAGES}, {"words": "spacy"}),
    "WordStats": Drawn("word_stats", {"stop_words": present(STOPS), "short_word_max_chars_threshold": (None, *CHARS), "long_word_max_chars_threshold": (None, *CHARS), "language": LANGUAGES}, {"words": "spacy"}),
    "WordsContaminationStats": Drawn("words_contamination_stats", {"words": (["the"], ["The", "the"], ["a", "b", "0"], ["."], ["中文字符"], ["e"]), "language": LANGUAGES, **NORM}, {"words_from": "spacy"}, every=("words",)),
}  # fmt: skip


def deduplicator(operator: str, besides: Mapping[str, Any] | None = None, **values: Sequence[Any]) -> Drawn:
    return Drawn(operator, values, besides or {}, whole=True)


DATATROVE_WHOLE = {
    "Minhash": deduplicator(
        "document_minhash_deduplicator",
        {"hash": "datatrove", "normalize": "datatrove", "tokenization": "english", "n_grams": 5, "num_buckets": 14, "hashes_per_bucket": 8},
        n_grams=(1, 2, 3, 5, 8), num_buckets=(1, 2, 5, 14, 20), hashes_per_bucket=(1, 2, 4, 8, 11), seed=(1, 0, 7, 123456), precision=(32, 64), hash_fc=("xxhash", "sha1"),
    ),
    "SentenceDedup": deduplicator(
        "sentence_deduplicator", None, n_sentences=(1, 2, 3, 5), min_doc_words=(0, 5, 50, -1), min_num_sentences=(0, 1, 3, -1), **NORM
    ),
}  # fmt: skip
BOUNDS = {"min_closed_interval": YES, "max_closed_interval": YES, "reversed_range": YES}
LENGTHS = (0, 1, 2, 5, 10, 64, 100, 1000, -1, 7.0)
RATIOS = present(RATIO)
PATTERNS = (
    None,
    r"\d+",
    r"[A-Z]+",
    r"(a)(b)?",
    r"r'\s\s'",
    'r"x|y"',
    "e.g",
    r"\p{L}+@",
    r"a.*b",
    "^-",
    r"(?<=t)he",
    "",
)
REPLACED = ("", "X", r"<\g<0>>", r"\n", "\\\\")
AUGMENTED = {
    "use_words_aug": YES,
    "words_aug_group_sizes": ([2], [3], [2, 3], [1], [10]),
    "words_aug_join_char": ("", " ", "-"),
}
WORDS = str(RECORDED / "data_juicer" / "assets" / "words")
WORD_LISTS = {"lang": ("en", "zh", "all"), "min_ratio": RATIOS, "max_ratio": RATIOS, **AUGMENTED, **BOUNDS}

DATA_JUICER = {
    "alphanumeric_filter": Drawn("alphanumeric_filter", {"min_ratio": RATIOS, "max_ratio": RATIOS, **BOUNDS}),
    "average_line_length_filter": Drawn("average_line_length_filter", {"min_len": LENGTHS, "max_len": LENGTHS, **BOUNDS}),
    "character_repetition_filter": Drawn("character_repetition_filter", {"rep_len": (1, 2, 3, 5, 10, 50, 1000), "min_ratio": RATIOS, "max_ratio": RATIOS, **BOUNDS}),
    "flagged_words_filter": Drawn("flagged_words_filter", {**WORD_LISTS, "flagged_words_dir": (WORDS,)}, every=("flagged_words_dir",)),
    "maximum_line_length_filter": Drawn("maximum_line_length_filter", {"min_len": LENGTHS, "max_len": LENGTHS, **BOUNDS}),
    "special_characters_filter": Drawn("special_characters_filter", {"min_ratio": RATIOS, "max_ratio": RATIOS, **BOUNDS}),
    "stopwords_filter": Drawn("stopwords_filter", {**WORD_LISTS, "stopwords_dir": (WORDS,)}, every=("stopwords_dir",)),
    "suffix_filter": Drawn("suffix_filter", {"suffixes": ([], None, ".txt", "txt", [".md", "txt"], [".TXT"], "", [""]), **BOUNDS}),
    "text_length_filter": Drawn("text_length_filter", {"min_len": LENGTHS, "max_len": LENGTHS, **BOUNDS}),
    "word_repetition_filter": Drawn("word_repetition_filter", {"rep_len": (1, 2, 3, 5, 10, 50, 1000), "min_ratio": RATIOS, "max_ratio": RATIOS, **BOUNDS}),
    "words_num_filter": Drawn("words_num_filter", {"min_num": LENGTHS, "max_num": LENGTHS, **BOUNDS}),
    "clean_copyright_mapper": Drawn("clean_copyright_mapper"),
    "clean_email_mapper": Drawn("clean_email_mapper", {"pattern": PATTERNS, "repl": REPLACED}),
    "clean_html_mapper": Drawn("clean_html_mapper"),
    "clean_ip_mapper": Drawn("clean_ip_mapper", {"pattern": PATTERNS, "repl": REPLACED}),
    "clean_links_mapper": Drawn("clean_links_mapper", {"pattern": PATTERNS, "repl": REPLACED}),
    "expand_macro_mapper": Drawn("expand_macro_mapper"),
    "fix_unicode_mapper": Drawn("fix_unicode_mapper", {"normalization": (None, "", "NFC", "nfkc", "NFD", "NFKD")}),
    "punctuation_normalization_mapper": Drawn("punctuation_normalization_mapper"),
    "remove_bibliography_mapper": Drawn("remove_bibliography_mapper"),
    "remove_comments_mapper": Drawn("remove_comments_mapper", {"doc_type": ("tex", ["tex"]), "inline": YES, "multiline": YES}),
    "remove_header_mapper": Drawn("remove_header_mapper", {"drop_no_head": YES}),
    "remove_long_words_mapper": Drawn("remove_long_words_mapper", {"min_len": LENGTHS, "max_len": LENGTHS}),
    "remove_words_with_incorrect_substrings_mapper": Drawn("remove_words_with_incorrect_substrings_mapper", {"substrings": (None, [], ["http"], ["a"], ["é", "."], [""], ["#", "@"])}),
    "whitespace_normalization_mapper": Drawn("whitespace_normalization_mapper"),
}  # fmt: skip

TOKENS = ("space", "punctuation", "character")
IGNORED = (None, r"\d+", r"[.,!]", "the")
DATA_JUICER_WHOLE = {
    "document_deduplicator": deduplicator("document_deduplicator", lowercase=YES, ignore_non_character=YES),
    "document_simhash_deduplicator": deduplicator(
        "document_simhash_deduplicator", tokenization=TOKENS, window_size=(1, 2, 6, 10), lowercase=YES, ignore_pattern=IGNORED, num_blocks=(5, 6, 8, 12), hamming_distance=(1, 2, 4)
    ),
    "document_minhash_deduplicator": deduplicator(
        "document_minhash_deduplicator", tokenization=TOKENS, window_size=(1, 2, 5, 10), lowercase=YES, ignore_pattern=IGNORED, num_permutations=(16, 64, 100, 256), jaccard_threshold=(0.1, 0.3, 0.5, 0.7, 0.9)
    ),
    "document_line_deduplicator": deduplicator(
        "document_line_deduplicator", frequency_threshold=(0, 1, 2, 6, -1), lowercase=YES, ignore_special_character=YES, min_line_length=(0, 2, 5, -1), skip_brackets=YES, skip_markdown_headers=YES, skip_latex_env=YES, skip_html_tags=YES
    ),
}  # fmt: skip
SPLIT = ("en", "zh", "fr", "EN")
COUNTS = (0, 1, 2, 5, 50, -1, 4.0, 1000)


def nemo(operator: str, stat: str, lang: bool = False, **values: Sequence[Any]) -> Drawn:
    return Drawn(operator, {**values, **({"lang": SPLIT} if lang else {})}, stat=stat)


NEMO = {
    "AlphaFilter": nemo("alpha_filter", "alpha_filter", min_alpha_ratio=RATIOS),
    "BoilerPlateStringFilter": nemo("boiler_plate_string_filter", "boilerplate_string_ratio", remove_if_at_top_or_bottom=YES, max_boilerplate_string_ratio=RATIOS),
    "BulletsFilter": nemo("bullets_filter", "bullet_ratio", max_bullet_lines_ratio=RATIOS),
    "CommonEnglishWordsFilter": nemo("common_english_words_filter", "common_english_words", min_num_common_words=(1, 2, 5, 50), stop_at_false=YES),
    "EllipsisFilter": nemo("ellipsis_filter", "ellipsis", max_num_lines_ending_with_ellipsis_ratio=RATIOS),
    "HTMLBoilerplateFilter": nemo("html_boilerplate_filter", "html_boilerplate", min_lang_content_ratio=RATIOS, min_lang_content_num_chars=COUNTS),
    "LongWordFilter": nemo("long_word_filter", "max_word_length", True, max_word_length=COUNTS),
    "MeanWordLengthFilter": nemo("mean_word_length_filter", "mean_word_length", True, min_mean_word_length=COUNTS, max_mean_word_length=COUNTS),
    "NonAlphaNumericFilter": nemo("non_alpha_numeric_filter", "alpha_numeric", max_non_alpha_numeric_to_text_ratio=RATIOS),
    "NumberOfLinesOfCodeFilter": nemo("number_of_lines_of_code_filter", "num_lines", min_lines=COUNTS, max_lines=COUNTS),
    "NumbersFilter": nemo("numbers_filter", "numbers_ratio", max_number_to_text_ratio=RATIOS),
    "ParenthesesFilter": nemo("parentheses_filter", "parentheses_ratio", max_parentheses_ratio=RATIOS),
    "PornographicUrlsFilter": nemo("pornographic_urls_filter", "pornographic_urls", url_regex=(None, r"\S+", r"https?://\S+")),
    "PunctuationFilter": nemo("punctuation_filter", "punctuation", max_num_sentences_without_endmark_ratio=RATIOS),
    "PythonCommentToCodeFilter": nemo("python_comment_to_code_filter", "python_comment_ratio", min_comment_to_code_ratio=RATIOS, max_comment_to_code_ratio=RATIOS),
    "RepeatedLinesByCharFilter": nemo("repeated_lines_by_char_filter", "repeated_lines_char", max_repeated_lines_char_ratio=RATIOS),
    "RepeatedLinesFilter": nemo("repeated_lines_filter", "repeated_lines", max_repeated_line_fraction=RATIOS),
    "RepeatedParagraphsByCharFilter": nemo("repeated_paragraphs_by_char_filter", "repeated_paragraphs_char", max_repeated_paragraphs_char_ratio=RATIOS),
    "RepeatedParagraphsFilter": nemo("repeated_paragraphs_filter", "repeated_paragraphs", max_repeated_paragraphs_ratio=RATIOS),
    "RepeatingDuplicateNGramsFilter": nemo("repeating_duplicate_n_grams_filter", "repeating_dup_{n}gram", True, n=(1, 2, 3, 5, 10, 30), max_repeating_duplicate_ngram_ratio=RATIOS),
    "SymbolsToWordsFilter": nemo("symbols_to_words_filter", "symbol_to_word", True, max_symbol_to_word_ratio=RATIOS),
    "UrlsFilter": nemo("urls_filter", "urls_ratio", max_url_to_text_ratio=RATIOS, url_regex=(None, r"\S+", r"https?://\S+", r"(a)b|(c)")),
    "WhiteSpaceFilter": nemo("white_space_filter", "white_space", max_white_space_ratio=RATIOS),
    "WordCountFilter": nemo("word_count_filter", "word_count", True, min_words=COUNTS, max_words=COUNTS),
    "WordsWithoutAlphabetsFilter": nemo("words_without_alphabets_filter", "words_without_alphabets", True, min_words_with_alphabets=RATIOS),
    "XMLHeaderFilter": nemo("xml_header_filter", "xml_header", char_prefix_search_length=(0, 1, 10, 100, -1, -20)),
    "SubstringFilter": Drawn("substring_filter", {"substring": ("the", "Σ", " ", "\n", "."), "position": ("any", "prefix", "suffix")}, {"as": "nemo"}, every=("substring", "position")),
    "BoilerPlateStringModifier": Drawn("boiler_plate_string_modifier", {"remove_if_at_top_or_bottom": YES}),
    "LineRemover": Drawn("line_remover", {"patterns": ([], [""], ["- item", "the"], ["\t\t", "   "], ["..."])}, every=("patterns",)),
    "MarkdownRemover": Drawn("markdown_remover"),
    "NewlineNormalizer": Drawn("newline_normalizer"),
    "QuotationRemover": Drawn("quotation_remover"),
    "Slicer": Drawn("slicer", {"left": (0, 3, -3, None, "the", ".", "zzz", ""), "right": (None, 5, -2, 0, "the", "a", "", 1000), "include_left": YES, "include_right": YES, "strip": YES}),
    "UrlRemover": Drawn("url_remover"),
}  # fmt: skip

DOLMA = {name: Drawn(name) for name in (
    "bytes_length_v1", "c4_v1", "c4_v2", "char_length_strip_ws_v1", "char_length_v1", "char_length_with_paragraphs_v1", "doc_count_v1", "gopher_v1",
    "gopher_v2", "not_alphanum_paragraph_v1", "paragraph_repetitions_v1", "pii_regex_v1", "pii_regex_v2", "pii_regex_with_counts_fast_v2",
    "pii_regex_with_counts_v2", "repetitions_v1", "uniseg_length_paragraphs_v1", "uniseg_length_paragraphs_with_doc_length_v1", "uniseg_length_v1", "whitespace_tokenizer_v1",
)}  # fmt: skip
